/* The shards of a problem as files beside it: what they are called and how many there are. Separate from running and
 * merging because submit, status and merge all ask.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SHARD_SET_H
#define RUN_SHARD_SET_H

#include "base/error.h"

#include <stdint.h>

enum { SHARD_SET_MAX = 100000 };

/* The result that `stiffit run PROBLEM --shard k/n` writes; n = 0: that of the whole run. free() it. NULL: out of memory. */
char *shard_result_path(const char *problem, uint32_t k, uint32_t n);
char *shard_journal_path(const char *problem, uint32_t k, uint32_t n);

/* How many shards the files beside the problem are of, from results and journals; *n = 0: there are none. Files of several
 * numbers are STATUS_USAGE that names them. */
enum status shard_set_find(const char *problem, uint32_t *n, struct error *error);

#endif
