/* A right-hand side that takes some 20 microseconds: arithmetic and no sleep, so that it costs CPU time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    double waste = at->y[0];
    for (int i = 0; i < 4000; i++)
        waste = 0.999 * waste + 1e-3;
    ydot[0] = -at->p[0] * at->y[0] + 1e-300 * waste;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("slow"), .rhs = rhs};
