/* Passes over the datasets of a fit with random parameters, and sums of what they give.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/pass.h"
#include "fit/mixed/mixed.h"

/* A pass at these estimates; the sums are in mixed->sum. ASKED_FAILED: some dataset cannot be
 * evaluated there. */
enum asked mixed_run(struct mixed *mixed, enum joint_pass pass, const double *estimates);
/* A pass at the best estimates, where it must succeed; sets the value and gradient there. */
enum asked mixed_run_at_best(struct mixed *mixed, enum joint_pass pass);
/* Whether some mode has been on a kink. False: out of memory. */
bool mixed_find_kinks(struct mixed *mixed, bool *has_kinks);
/* Datasets look for higher modes, and for hills, at the best estimates: whether one has found some,
 * whose numbers there are then not known. */
enum asked mixed_seek(struct mixed *mixed, bool *has_changed);
/* Ends the search, which has no point to go to after ASKED_FAILED: which dataset, and why. */
enum asked mixed_end_failed(struct mixed *mixed);
/* What datasets found in the latest pass belongs to the best estimates. */
void mixed_keep_found(struct mixed *mixed);
/* Datasets that could not be evaluated before take part from now on if they can be at the best
 * estimates. *has_run: there are such, and sums and value are those of a new pass there. */
enum asked mixed_take_back(struct mixed *mixed, bool *has_run);
/* The outer products of the datasets' gradients, less that of their mean: m x m. False: out of
 * memory. */
bool mixed_products(const struct mixed *mixed, double *matrix);
/* How often a dataset counts: not at all without measurements. */
double mixed_weight(const struct mixed *mixed, const struct joint_block *block);
/* A packed lower triangle as a matrix. */
void mixed_unpack(size_t m, const double *packed, double *matrix);

/* accuracy.c */
/* The last passes (JOINT_TELL) at the best estimates, whose value they correct; sets the result's
 * error of -2 log L. */
enum asked mixed_run_last(struct mixed *mixed);

/* errors.c */
/* Second derivatives of the objective at the best estimates, by those that are not held, to two
 * or three digits, in mixed->second: by differences, but for those that passes of the exact
 * likelihood's last stage observe. */
enum asked mixed_differ(struct mixed *mixed);
/* The latter, from such a pass. If the second derivatives are a minimum's, they become the
 * search's curvature. False: out of memory. */
bool mixed_observe(struct mixed *mixed);
/* Fills mixed->result: estimates, their errors, and the likelihood. */
enum asked mixed_conclude(struct mixed *mixed, enum outcome outcome);
