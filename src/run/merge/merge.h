/* Merging shards: their results, row by row in the problem's order, become the result of the
 * whole run, with the same bits. Memory holds one block of each shard, however many fits there
 * are.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/merge/merge_request.h"
#include "run/run.h"

/* Refuses (STATUS_SYSTEM, with names) shards that do not belong together: a different problem,
 * model, seed, options or deal, duplicate rows, and missing shards unless `partial`. The output
 * appears whole or not at all. The summary counts all rows; already_complete: the output existed
 * and is this merge. */
enum status run_merge(const struct merge_request *request, struct run_summary *summary,
                      struct error *error);
