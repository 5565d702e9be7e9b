/* The right-hand side declares every parameter vector hopeless.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    (void)at;
    (void)ydot;
    return STIFFIT_FATAL;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("fatal_always"), .rhs = rhs};
