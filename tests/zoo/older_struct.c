/* A descriptor of an older header, that ended after jacobian: what follows must count as absent, though
 * it is no zero here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("older_struct"),
    .struct_size = offsetof(struct stiffit_model, jacobian_sparse),
    .jacobian_sparse = zoo_jacobian, .noise = zoo_observe,
    .lanes = (const struct stiffit_lanes *)8};
