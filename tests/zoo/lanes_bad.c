/* A table of lanes without one of its functions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const struct stiffit_lanes lanes = {ZOO_LANES, .curve = 0};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_bad"), .lanes = &lanes};
