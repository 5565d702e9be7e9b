/* d rhs / d y is off by a millionth.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static int jacobian(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[0] * (1 + 1e-6);
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("wrong_jacobian"), .jacobian = jacobian};
