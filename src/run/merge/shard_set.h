/* The shards of a problem as files beside it: their names and number. Separate because submit, status and merge all need it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SHARD_SET_H
#define RUN_SHARD_SET_H

#include "base/error.h"

#include <stdint.h>

enum { SHARD_SET_MAX = 100000 };

/* The path of the result of `stiffit run PROBLEM --shard k/n`; n = 0: of the whole run. free() it. NULL: out of memory. */
char *shard_result_path(const char *problem, uint32_t k, uint32_t n);
char *shard_journal_path(const char *problem, uint32_t k, uint32_t n);

/* The number of shards, from the results and journals beside the problem; *n = 0: there are none. Files that disagree about the
 * number are STATUS_USAGE, which names them. */
enum status shard_set_find(const char *problem, uint32_t *n, struct error *error);

#endif
