/* Merges the tables of shards other than /fits: starts, profile points and bootstrap replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_TABLES_H
#define RUN_MERGE_TABLES_H

#include "run/merge/merge_shards.h"

/* Writes the tables that any shard has; call after all rows of /fits, before result_writer_finish. */
enum status merge_tables(const struct merge_shards *shards, struct result_writer *writer, struct error *error);

#endif
