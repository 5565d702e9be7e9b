/* The length of a turn: a multiple of the median cost of a job, estimated while jobs run.
 * Separate from the policy because it is statistics: for jobs that have not ended only a lower
 * bound of the cost is known (censored).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

/* Number of recent jobs in the median: enough to be steady, few enough to follow a change in the
 * data. */
enum { TURN_N_SAMPLE = 127 };

struct turn_length {
    double medians;
    int64_t first_ns;
    int64_t known_ns;               /* the turn length when the median was last known; 0: never */
    int surplus;                    /* the largest surplus of censored samples since then */
    uint64_t n_sampled;
    int n;                          /* in ring and sorted */
    /* sample s in slot s mod TURN_N_SAMPLE; TURN_CENSORED: longer than its turn */
    int64_t ring[TURN_N_SAMPLE];
    int64_t sorted[TURN_N_SAMPLE];
};
#define TURN_CENSORED INT64_MAX

void turn_length_init(struct turn_length *length, double medians, int64_t first_ns);
/* Adds the cost of a job that has ended, or TURN_CENSORED for a job that has used up its first
 * turn. Returns the ticket of the sample (> 0). */
uint64_t turn_length_add(struct turn_length *length, int64_t cost_ns);
/* A censored job has ended, and its cost is known. Does nothing if the sample has left the ring. */
void turn_length_resolve(struct turn_length *length, uint64_t ticket, int64_t cost_ns);

/* The length of a turn in nanoseconds. While most samples are censored there is no median. The
 * turn then grows from its last known length (or the first one) with the square of the surplus
 * of censored samples. The largest surplus so far counts: a turn that shrank when the first jobs
 * end within it would settle at a length that suspends every other job. The square is a
 * compromise. A constant turn would suspend job after job if all jobs are long. Growth by a
 * constant factor would give ever longer turns to a few long jobs that happen to come first,
 * while many short ones wait. */
int64_t turn_length_ns(struct turn_length *length);
