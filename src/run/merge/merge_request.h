/* What is to be merged.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct run_hooks;

struct merge_request {
    const char *const *path; /* n results, in any order */
    size_t n;
    const char *output;
    bool overwrite;          /* an existing result */
    /* shards may be missing: the result then has /fits/dataset, and says what it lacks */
    bool partial;
    const char *command_line; /* for the provenance */
    const struct run_hooks *hooks; /* `say` reports missing shards and differing machines */
};
