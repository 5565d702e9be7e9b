/* Two parameters of one name, and names that are none.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const char *const names[] = {"k", "k"};
static const char *const states[] = {"1 y"};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("duplicate_names"),
    .parameter_name = names, .state_name = states};
