#pragma once
/* The level of the tests that tests/run was asked for (see there).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool level_is(const char *name)
{
    const char *level = getenv("STIFFIT_LEVEL");
    return level && strcmp(level, name) == 0;
}

/* Whether tests take their long forms, as in `make check-all`. */
static inline bool level_is_slow(void) { return level_is("slow"); }

/* Whether a program with a line `test-level: both` is to be quick, as in `make check`. */
static inline bool level_is_quick(void) { return level_is("quick"); }
