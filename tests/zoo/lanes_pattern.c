/* A table of lanes with patterns that are out of order, out of range, or missing, and with
 * a noise that the model does not have.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const int32_t bad_start[] = {0, 2, 1}, bad_row[] = {5};

static const struct stiffit_lanes lanes = {ZOO_LANES, .by_state = {bad_start, zoo_one_row},
    .by_parameter = {zoo_one_start, bad_row}, .curve_state = {0, 0}, .noise = zoo_lanes_noise};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_pattern"), .lanes = &lanes};
