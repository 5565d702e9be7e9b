/* Statistics of one fit: covariance, intervals, how well the data determine each direction, and the usual criteria. Separate
 * from the search: needs only the best point and its derivatives.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/point.h"

/* Fills standard errors, intervals, covariance, directions and criteria of a cleared record, its n_noise, and adds the notes
 * about them. `point` has derivatives. Scratch from `arena`. False: out of memory.
 *
 * Standard errors are by the delta method if the optimiser's scale is a logarithm; intervals are computed on that scale and
 * keep the sign. Eigenvalues are of the parameters that are neither fixed nor held by a bound. The flattest direction has unit
 * length and its largest entry is positive; it combines one direction for each number of flat_group. Errors come from the
 * observed information, or from the expected one if that is not positive definite. If sigma is unknown, they are scaled by
 * residual_error, or by the integrator's errors if those are larger, and intervals use Student's t, as they do with parameters
 * of the noise only. Criteria are of the full normal likelihood; an unknown sigma counts as a parameter. */
bool fit_statistics_compute(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena);

/* The criteria alone of any point, which needs no derivatives of its predictions. Of values that
 * were not fitted: the degrees of freedom are the measurements, and AIC and BIC, which are about a
 * maximum, are missing. */
void fit_statistics_describe(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point);

/* The log of the priors' density between the bounds, of the parameters that have one and are not
 * fixed; NaN: none has. Beyond the bounds, where only evaluations are, the density is 0. */
double fit_statistics_log_prior(const struct fit_asker *asker, const struct fit_point *point);

/* Whether chi-square follows its distribution if the model is right: errors are normal and every sigma is known. Not asked of
 * the rest: robust losses are chosen for data that do not, estimated sigmas follow the residuals, and censored rows are not
 * in the sum. */
bool fit_statistics_can_test(const struct fit_asker *asker, bool estimates_noise);

/* Whether chi-square is far too large, as the note poor_fit says: the data do not follow the curve. */
bool fit_statistics_is_poor(double chi_square, double freedom);
