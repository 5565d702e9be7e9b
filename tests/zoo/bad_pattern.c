/* A sparse pattern whose rows lie outside of the matrix.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const int32_t column_start[] = {0, 2};
static const int32_t row_index[] = {0, 7};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("bad_pattern"), .jacobian = NULL, .n_nonzero = 2,
    .jacobian_sparse = zoo_jacobian, .column_start = column_start, .row_index = row_index};
