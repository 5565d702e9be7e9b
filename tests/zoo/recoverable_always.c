/* The right-hand side can never be computed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    (void)at;
    (void)ydot;
    return STIFFIT_RECOVERABLE;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("recoverable_always"), .rhs = rhs};
