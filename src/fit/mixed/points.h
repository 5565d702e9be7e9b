/* The points that a dataset's integral is summed over: around its mode or on several hills, and how
 * many.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/mixed/effects.h"
#include "fit/mixed/sums.h"

/* What -log likelihood may be off by, unless less would cost too much: by the integrals, and by the
 * sample of datasets that corrects them. Twice both is the error of -2 log likelihood. */
static inline double mixed_rule_error(const struct mixed *mixed)
{
    double asked = mixed->joint->options->likelihood_error;
    return asked > 0 ? asked / 4 : mixed->progress.is_rough ? 0.1 : 0.025;
}
static inline double mixed_sample_error(const struct mixed *mixed)
{
    double asked = mixed->joint->options->likelihood_error;
    return asked > 0 ? asked / 4 : 0.0125;
}

/* How many hills the pass sums over; 1: the points are around the mode. */
size_t points_n_hill(const struct effects *local);
/* A level of the rule's lattices for the dataset. */
struct rule_level points_lattice(const struct effects *local, unsigned level);
/* Evaluates the points of a level of the rule. ASKED_FAILED: none of them can be evaluated. */
enum asked points_add(struct effects *local, unsigned level, struct sums *sums);
/* Chooses the dataset's points and level, and leaves their sums. `sums` are made for one hill. */
enum asked points_choose(struct effects *local, struct sums *sums);
/* The level of a stage. With variables that are tried it follows from the number of points. */
unsigned points_level(const struct effects *local, enum mixed_level stage);
/* Whether the pass refines the integral of this dataset, one of a sample chosen at random. */
bool points_are_refined(const struct effects *local);
/* Takes the level beyond the last stage's, or levels until they change little; leaves the sums of
 * the last one, and tells the block what they have changed. */
enum asked points_refine(struct effects *local, struct sums *sums);
/* Whether the block has been refined as far as the pass wants, if at all. */
bool points_are_there(const struct effects *local);
/* Mean (r) and covariance (r x r) of b; scratch (r x (r + 1)): of a hill's. */
void points_moments(const struct effects *local, const struct sums *sums, double *mean,
                    double *second, double *scratch);
