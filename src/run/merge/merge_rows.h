/* Merges rows of many shards by dataset. The rows of each shard are sorted, so the next row is always the first remaining
 * one of some shard. Separate because /fits and the other tables are merged alike.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_ROWS_H
#define RUN_MERGE_ROWS_H

#include "run/merge/merge_shards.h"

enum { MERGE_MEMORY = 64 << 20, MERGE_MIN_ROWS = 4 }; /* bytes of rows in memory at once, over all shards */

/* A table to be merged. Shards are numbered from 0. */
struct merge_kind {
    const char *column; /* the column with the dataset, for messages */
    /* Reads rows of a shard into memory, from `first` on; *n of them, 0: there are no more. */
    enum status (*load)(void *context, size_t shard, uint64_t first, size_t *n, struct error *error);
    /* Row `at` of those: returns its dataset; takes it as the next row. */
    uint64_t (*dataset)(const void *context, size_t shard, size_t at);
    enum status (*take)(void *context, size_t shard, size_t at, struct error *error);
};

/* STATUS_BAD_PROBLEM: a shard's datasets decrease or are not in the problem. */
enum status merge_rows(const struct merge_shards *shards, const struct merge_kind *kind, void *context, struct error *error);
/* How many rows of `row_bytes` each shard may have in memory. */
size_t merge_rows_at_once(const struct merge_shards *shards, size_t row_bytes);

#endif
