/* What `stiffit compare` prints of fits with random parameters; nothing if there are none.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/json.h"
#include "use/compare.h"

#include <stdio.h>

/* Whether all results are such fits: there are no datasets to compare one by one then. */
bool compare_all_populations(const struct comparison *comparison);
void compare_population_text(FILE *file, const struct comparison *comparison);
void compare_population_json(struct json *json, const struct comparison *comparison);
