/* The points that a dataset's integral is summed over: around its mode or on several hills, and how
 * many.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/effects.h"
#include "fit/mixed/sums.h"

/* How many hills the pass sums over; 1: the points are around the mode. */
size_t points_n_hill(const struct effects *local);
/* Evaluates the points of a level of the rule. ASKED_FAILED: none of them can be evaluated. */
enum asked points_add(struct effects *local, unsigned level, struct sums *sums);
/* Chooses the dataset's points and level, and leaves their sums. `sums` are made for one hill. */
enum asked points_choose(struct effects *local, struct sums *sums);
/* The level of a stage. With variables that are tried it follows from the number of points. */
unsigned points_level(const struct effects *local, enum mixed_level stage);
/* How many levels beyond the last stage's the pass takes in this dataset: those that are sampled
 * are chosen at random, and those of a further level are among them. */
unsigned points_beyond(const struct effects *local);
/* What levels change around the last stage's, but for the first beyond it, whose value is not there
 * yet: block->beyond[0] is minus the value before. */
enum asked points_compare(struct effects *local, unsigned n_beyond, struct sums *sums);
/* Once it is: the levels' changes. */
void points_put_changes(struct mixed_block *block);
/* Mean (r) and covariance (r x r) of b; scratch (r x (r + 1)): of a hill's. */
void points_moments(const struct effects *local, const struct sums *sums, double *mean,
                    double *second, double *scratch);
