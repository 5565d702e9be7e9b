/* The right-hand side does not return.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    for (volatile int i = 0;; i++)
        ydot[0] = at->y[0] * i;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("loops_forever"), .rhs = rhs};
