/* What `prepare` fills is not finite where nothing uses it: a sound model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int prepare(const struct stiffit_point *at, double *work)
{
    work[0] = NAN;
    work[1] = INFINITY;
    work[2] = -at->p[0];
    return STIFFIT_OK;
}

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = at->work[2] * at->y[0];
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("nan_in_prepare"), .n_work = 3, .prepare = prepare,
                                                           .rhs = rhs};
