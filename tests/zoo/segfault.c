/* The right-hand side crashes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    *(volatile double *)(uintptr_t)8 = at->y[0];
    ydot[0] = 0;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("segfault"), .rhs = rhs};
