/* Defaults that contradict themselves: a scale that does not exist, and a start that its scale and bounds rule out.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const double start[] = {0.3, -1}, lower[] = {1, -2}, upper[] = {2, 2};
static const char *const scale[] = {"ln", "log10"};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("bad_defaults"),
    .parameter_start = start, .parameter_lower = lower, .parameter_upper = upper, .parameter_scale = scale};
