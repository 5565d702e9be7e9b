/* Functions of lanes of an older header, whose table ended after observe_parameter: what follows must count as absent, though
 * it is no zero here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const struct stiffit_lanes lanes = {ZOO_LANES, .struct_size = offsetof(struct stiffit_lanes, opencl),
    .opencl = (const char *const *)8, .noise = zoo_lanes_observe};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_older"), ZOO_NOISE, .lanes = &lanes};
