/* A right-hand side that counts its calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    static int n_call;
    ydot[0] = -at->p[0] * at->y[0] * (1 + 1e-15 * ++n_call);
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("impure"), .rhs = rhs};
