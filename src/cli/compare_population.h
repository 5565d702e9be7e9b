/* What `stiffit compare` prints of fits with random parameters; nothing if there are none.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
#include "use/compare.h"

/* Whether all results are such fits: there are no datasets to compare one by one then. */
bool compare_all_populations(const struct comparison *comparison);
void compare_add_populations(struct view *view, const struct comparison *comparison);
