/* A descriptor too short for the required functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("short_struct"),
    .struct_size = offsetof(struct stiffit_model, rhs)};
