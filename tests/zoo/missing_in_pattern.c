/* Two states that act on each other, and a sparse pattern that knows the diagonal alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const char *const states[] = {"a", "b"};
static const int32_t column_start[] = {0, 1, 2}, row_index[] = {0, 1};

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[0] * at->y[0];
    ydot[1] = at->p[0] * at->y[0] - at->y[1];
    return STIFFIT_OK;
}

static int initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[1];
    y[1] = 0;
    return STIFFIT_OK;
}

static int jacobian_sparse(const struct stiffit_point *at, double *J)
{
    J[0] = -at->p[0];
    J[1] = -1;
    return STIFFIT_OK;
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("missing_in_pattern"),
    .n_state = 2, .state_name = states, .rhs = rhs, .initial = initial,
    .jacobian = NULL, .jacobian_sparse = jacobian_sparse, .n_nonzero = 2,
    .column_start = column_start, .row_index = row_index,
    .rhs_parameter = NULL, .initial_parameter = NULL, .observe_state = NULL};
