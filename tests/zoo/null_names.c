/* Names that are not there.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const char *const names[] = {"k", NULL};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("null_names"),
    .parameter_name = names, .state_name = NULL};
