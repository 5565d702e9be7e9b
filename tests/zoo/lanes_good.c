/* Sound functions of lanes, written by hand.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const struct stiffit_lanes lanes = {ZOO_LANES, ZOO_LANES_NOISE};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_good"), ZOO_NOISE, .lanes = &lanes};
