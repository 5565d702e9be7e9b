/* Residuals around the mode of a dataset's random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/population_draw.h"

/* Of all measurements of the dataset, as in struct population_view: predictions at its mode,
 * weighted residuals there, and those of the model linearised there. After
 * population_draw_dataset. False: out of memory. */
bool population_mode_residuals(struct population_draw *draw, const struct fitted_dataset *data,
                               double *individual, double *weighted, double *conditional,
                               struct arena *arena);
