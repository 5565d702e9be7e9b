/* The tables beside /fits (all starts, points of profiles, bootstrap replicates) of shards put together.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_TABLES_H
#define RUN_MERGE_TABLES_H

#include "run/merge/merge_shards.h"

/* Writes those that any shard has; after all rows of /fits, before result_writer_finish. */
enum status merge_tables(const struct merge_shards *shards, struct result_writer *writer, struct error *error);

#endif
