/* Rows of many shards in one order: each shard's rows are in the order of datasets already, so the next row is the first of
 * one of them. Separate because /fits and the tables beside it are merged alike.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_ROWS_H
#define RUN_MERGE_ROWS_H

#include "run/merge/merge_shards.h"

enum { MERGE_MEMORY = 64 << 20, MERGE_MIN_ROWS = 4 }; /* bytes of rows that are in memory at once, over all shards */

/* What is merged. Shards are numbered from 0. */
struct merge_kind {
    const char *column; /* that says the dataset, for messages */
    /* Brings rows of a shard into memory, from `first` on; *n of them, 0: there are no more. */
    enum status (*load)(void *context, size_t shard, uint64_t first, size_t *n, struct error *error);
    /* Row `at` of those: its dataset, and that it is the next one. */
    uint64_t (*dataset)(const void *context, size_t shard, size_t at);
    enum status (*take)(void *context, size_t shard, size_t at, struct error *error);
};

/* STATUS_BAD_PROBLEM where a shard's datasets decrease or are none of the problem's. */
enum status merge_rows(const struct merge_shards *shards, const struct merge_kind *kind, void *context, struct error *error);
/* How many rows of so many bytes each shard may have in memory. */
size_t merge_rows_at_once(const struct merge_shards *shards, size_t row_bytes);

#endif
