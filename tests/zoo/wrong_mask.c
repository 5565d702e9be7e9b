/* The masks say that k enters nothing and A the right-hand side.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const uint8_t use[] = {0, STIFFIT_USE_RHS};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("wrong_mask"), .parameter_use = use};
