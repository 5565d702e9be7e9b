/* d rhs / d k has the wrong sign.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int rhs_parameter(const struct stiffit_point *at, double *F)
{
    F[0] = at->y[0];
    F[1] = 0;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("wrong_rhs_parameter"),
    .rhs_parameter = rhs_parameter};
