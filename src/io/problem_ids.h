/* The ids of a problem's datasets alone: for whoever writes results without a model to validate the rest against.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_PROBLEM_IDS_H
#define IO_PROBLEM_IDS_H

#include "io/problem.h"

/* Ids of datasets [first, first + n). Owned by itself; valid until the next read. Zero-initialise before the first use. */
struct problem_ids {
    uint64_t first;
    size_t n;
    char **id;
    struct arena *arena;
};

/* Reads up to n ids, fewer at the end. The problem need not have been validated. */
enum status problem_read_ids(struct problem *problem, struct problem_ids *ids, uint64_t first, size_t n,
                             struct error *error);
void problem_ids_fini(struct problem_ids *ids);

#endif
