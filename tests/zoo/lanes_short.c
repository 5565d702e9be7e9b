/* A table of lanes that is too short to be one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const struct stiffit_lanes lanes = {ZOO_LANES, .struct_size = 24};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_short"), .lanes = &lanes};
