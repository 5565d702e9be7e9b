/* Functions of four lanes, which this program cannot use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

static const struct stiffit_lanes lanes = {ZOO_LANES, .n_lane = 4};

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("lanes_of_four"), .lanes = &lanes};
