/* The right-hand side fails where k > 0.5: hopeless above 0.75, otherwise perhaps not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[0] * at->y[0];
    return at->p[0] > 0.75 ? STIFFIT_FATAL : at->p[0] > 0.5 ? STIFFIT_RECOVERABLE : STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("error_some_parameters"), .rhs = rhs};
