/* Dealing datasets to shards so that each has the same work, by costs that an earlier run has measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_DEAL_H
#define RUN_DEAL_H

#include "base/error.h"

#include <stdint.h>

/* The most expensive dataset first, each to the shard that has least so far (longest processing time first: Graham 1969);
 * ties go by number. Bit d of `bit` (bit d mod 8 of byte d / 8; all zero before) is set where shard k of n_shard, from 1, gets
 * dataset d. Every shard computes the same deal. n below 2^32. A dataset of cost 0 counts as 1. */
enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard, unsigned char *bit,
                         struct error *error);

#endif
