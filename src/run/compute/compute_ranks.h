/* What the ranks that share fits over many datasets tell each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* Shares fits over many datasets with the other ranks that were launched, if any. After
 * campaign_open. */
enum status compute_join(struct compute *compute, struct error *error);

/* A dataset that crashed in an earlier process or hung. */
struct compute_crash {
    uint64_t dataset;
    uint32_t task, outcome;
    char reason[160];
};
/* Sets compute->crashes.of from the journals of all ranks. */
enum status compute_find_crashes(struct compute *compute, struct error *error);
/* The n bytes of the first rank that has some, until the next call; others have none. NULL:
 * lost. */
const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n);
/* The error of a process that the others have left, or that was asked to stop. */
enum status compute_lost(struct error *error);
