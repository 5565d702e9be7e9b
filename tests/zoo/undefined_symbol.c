/* A plugin that needs a function which nobody has.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

int somebody_elses_function(int);

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = somebody_elses_function((int)at->y[0]);
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("undefined_symbol"), .rhs = rhs};
