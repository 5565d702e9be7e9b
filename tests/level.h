#pragma once
/* The level of the tests that tests/run was asked for (see there).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether tests take their long forms, as in `make check-all`. */
static inline bool level_is_slow(void)
{
    const char *level = getenv("STIFFIT_LEVEL");
    return level && strcmp(level, "slow") == 0;
}
