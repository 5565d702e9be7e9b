/* The right-hand side is NaN where k > 0.5.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = at->p[0] > 0.5 ? NAN : -at->p[0] * at->y[0];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("nan_some_parameters"), .rhs = rhs};
