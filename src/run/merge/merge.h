/* Shards put together: their results, row by row in the problem's order, become the result of the whole run, with the same
 * bits. In memory is a block of each shard, however many fits there are.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_H
#define RUN_MERGE_H

#include "run/run.h"

#include <stddef.h>

struct merge_request {
    const char *const *path; /* n results, in any order */
    size_t n;
    const char *output;
    bool overwrite;          /* an existing result */
    bool partial;            /* shards may be missing: the result has /fits/dataset then, and says what it lacks */
    const char *command_line; /* for the provenance */
    const struct run_hooks *hooks; /* `say` hears of what is missing and of machines that differ */
};

/* Refuses (STATUS_SYSTEM, with names) what does not belong together: another problem, model, seed or options, other deals,
 * rows twice, and missing shards unless `partial`. The output appears whole or not at all. The summary counts all rows;
 * already_complete: the output was there and is this merge. */
enum status run_merge(const struct merge_request *request, struct run_summary *summary, struct error *error);

#endif
