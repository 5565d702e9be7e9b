/* Selections by name and by costs of an earlier run. Used by selection*.c; its lists of names by others, too.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/plan/selection.h"

/* Both fill bit and text; n_dataset is set. */

/* --only: names between commas, or one name with commas in it. STATUS_USAGE if there is no such dataset. */
enum status selection_by_ids(struct selection *selection, const char *list, struct problem *problem, struct error *error);
/* --shard with --cost-from: costs are the steps of the rows of a result; a dataset that it lacks counts as their mean. */
enum status selection_by_cost(struct selection *selection, const struct shard *shard, const char *result_path,
                              struct problem *problem, struct error *error);

/* Deals n datasets to shards so that all have the same work. The most expensive dataset comes first, and each goes to the
 * shard with the least cost so far (longest processing time first, Graham 1969); ties are broken by number. Bit d of `bit`
 * (bit d mod 8 of byte d / 8, zero on entry) is set if shard k of n_shard, counted from 1, gets dataset d. Every shard
 * computes the same deal. n < 2^32. A cost of 0 counts as 1. */
enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard, unsigned char *bit,
                         struct error *error);

/* The names of a list, sorted, without duplicates; they point into `copy`. Free both. False: out of memory. */
struct selection_names {
    char *copy;
    char **name;
    size_t n;
};
bool selection_split(struct selection_names *names, const char *list);
void selection_names_fini(struct selection_names *names);

static inline void selection_set(unsigned char *bit, uint64_t dataset)
{
    bit[dataset / 8] |= (unsigned char)(1u << dataset % 8);
}
