/* How long a turn is: a multiple of the median cost of a job, learnt from the jobs themselves. Separate from the policy
 * because it is statistics: the costs of jobs that have not ended are only known from below (censored).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_TURN_LENGTH_H
#define RUN_TURN_LENGTH_H

#include <stdint.h>

/* Recent jobs that the median is taken over: enough for a steady one, few enough to follow a change in the data. */
enum { TURN_N_SAMPLE = 127 };

struct turn_length {
    double medians;
    int64_t first_ns;
    int64_t known_ns;               /* the turn when the median was last known; 0: never */
    int surplus;                    /* the largest surplus of censored samples since then */
    uint64_t n_sampled;
    int n;                          /* in ring and sorted */
    int64_t ring[TURN_N_SAMPLE];    /* sample s in slot s mod TURN_N_SAMPLE; TURN_CENSORED: longer than its turn */
    int64_t sorted[TURN_N_SAMPLE];
};
#define TURN_CENSORED INT64_MAX

void turn_length_init(struct turn_length *length, double medians, int64_t first_ns);
/* Adds the cost of a job that has ended, or TURN_CENSORED for one that has used up its first turn. Returns the sample's
 * ticket (> 0). */
uint64_t turn_length_add(struct turn_length *length, int64_t cost_ns);
/* A censored job has ended: its cost is known now. Nothing happens if the sample has been forgotten. */
void turn_length_resolve(struct turn_length *length, uint64_t ticket, int64_t cost_ns);

/* The turn in nanoseconds. While most of the samples are censored there is no median; then the turn grows from the last known
 * one (or the first) with the square of the surplus of censored samples (the largest so far: a turn that shrank again as the
 * first jobs end within it would settle where it suspends every other job). That is a compromise: a constant would suspend
 * job after job where all jobs are long; growing by a factor each time would give ever longer turns to a few long jobs that
 * happen to come first, while many short ones wait behind them. */
int64_t turn_length_ns(struct turn_length *length);

#endif
