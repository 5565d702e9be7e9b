/* A right-hand side that leaves the processor rounding upwards where a covariate says so.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

#include <fenv.h>

static int rhs(const struct stiffit_point *at, double *ydot)
{
    if (at->covariate[0] > 0)
        fesetround(FE_UPWARD);
    return zoo_rhs(at, ydot);
}

static const char *const covariates[] = {"upwards"};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    ZOO_MODEL("changes_rounding"), .rhs = rhs, .n_covariate = 1, .covariate_name = covariates};
