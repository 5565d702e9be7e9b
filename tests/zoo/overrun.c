/* observe writes one entry too many, rhs_parameter one too few, and jacobian into its inputs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = h[1] = at->y[0];
    return STIFFIT_OK;
}

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    F[0] = -at->y[0];
    return STIFFIT_OK;
}

static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[0];
    *(double *)(uintptr_t)at->y = 3;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("overrun"),
    .observe = observe, .rhs_parameter = rhs_parameter, .jacobian = jacobian};
