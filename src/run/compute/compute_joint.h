/* What the files of one fit over all datasets share: its tasks, and what the ranks tell each other.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

struct compute_crash {
    uint64_t dataset;
    uint32_t task, outcome;
    char reason[160];
};

/* How a refit of it begins. */
struct joint_request {
    const uint32_t *weight;     /* of this process's datasets: how often each counts; 0: it does not take part */
    struct fit_options options;
    feed_prepare *prepare;      /* sets starts, as in the feed */
    void *context;
    bool keeps;                 /* its state, from which another process continues */
};
/* The fit of that task, a start (request: NULL) or a refit, until joint_record can tell. Also OK if it was stopped: then
 * *has_ended is false. */
enum status compute_joint_fit(struct compute *compute, uint32_t task, const struct joint_request *request, bool *journal_gone,
                              bool *has_ended, struct error *error);

/* In compute_ranks.c: compute->crash, from the journals of all ranks; the records of all datasets; */
enum status compute_find_crashes(struct compute *compute, struct error *error);
enum status compute_collect_records(struct compute *compute, struct error *error);
/* the n bytes of the first rank that has some, until the next call; others have none. NULL: lost. */
const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n);
enum status compute_lost(struct error *error);
