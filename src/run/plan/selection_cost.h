/* Shards of equal work, by the costs of an earlier run.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem/problem.h"
#include "io/journal/run_identity.h"
#include "run/plan/selection_request.h"

/* --shard with --cost-from: costs are the steps of the rows of a result; a dataset that it lacks
 * counts as their mean. Sets bits of the shard's datasets, and the text of struct selection. */
enum status selection_by_cost(const struct shard *shard, const char *result_path,
                              struct problem *problem, unsigned char *bit,
                              char text[IDENTITY_SELECTION], struct error *error);

/* Deals n datasets to shards so that all have the same work. The most expensive dataset comes
 * first, and each goes to the shard with the least cost so far (longest processing time first,
 * Graham 1969); ties are broken by number. Bit d of `bit` (bit d mod 8 of byte d / 8, zero on
 * entry) is set if shard k of n_shard, counted from 1, gets dataset d. Every shard computes the
 * same deal. n < 2^32. A cost of 0 counts as 1. */
enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard,
                         unsigned char *bit, struct error *error);
