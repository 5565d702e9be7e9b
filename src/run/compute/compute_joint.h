/* What the workers tell fits over many datasets, and what the ranks tell each other of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

struct search;

/* Worker: a block has been evaluated; it cannot be; or it is a suspect, which is put off. */
void compute_block_done(struct compute *compute, uint64_t dataset, double seconds);
void compute_block_fail(struct compute *compute, uint64_t dataset, enum outcome outcome, const char *reason);
void compute_block_put_off(struct compute *compute, uint64_t dataset);
/* Main thread, for the display: n fits of which so many have ended, and where one stands. */
uint64_t compute_n_search(const struct compute *compute), compute_n_search_before(const struct compute *compute);
void compute_show_searches(struct compute *compute);

struct compute_crash {
    uint64_t dataset;
    uint32_t task, outcome;
    char reason[160];
};
/* In compute_ranks.c: compute->crash, from the journals of all ranks; the records of all datasets
 * of a fit; */
enum status compute_find_crashes(struct compute *compute, struct error *error);
enum status compute_collect_records(struct search *search, struct error *error);
/* the n bytes of the first rank that has some, until the next call; others have none. NULL:
 * lost. */
const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n);
enum status compute_lost(struct error *error);
