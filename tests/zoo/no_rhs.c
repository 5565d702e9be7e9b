/* The right-hand side is missing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("no_rhs"), .rhs = NULL};
