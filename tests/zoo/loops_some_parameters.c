/* A right-hand side that never returns for some parameters: A above 2.6.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    volatile double amplitude = at->p[1];
    while (amplitude > 2.6)
        ;
    ydot[0] = -at->p[0] * at->y[0];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("loops_some_parameters"), .rhs = rhs};
