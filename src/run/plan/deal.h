/* Deals datasets to shards so that all have the same work, by costs measured in an earlier run.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_DEAL_H
#define RUN_DEAL_H

#include "base/error.h"

#include <stdint.h>

/* The most expensive dataset comes first, and each goes to the shard with the least cost so far (longest processing time
 * first, Graham 1969); ties are broken by number. Bit d of `bit` (bit d mod 8 of byte d / 8, zero on entry) is set if shard
 * k of n_shard, counted from 1, gets dataset d. Every shard computes the same deal. n < 2^32. A cost of 0 counts as 1. */
enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard, unsigned char *bit,
                         struct error *error);

#endif
