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
 * residual_error, or by the integrator's errors if those are larger; without degrees of freedom there are no errors, and the
 * covariance is for a sigma of 1. Intervals use Student's t, as they do with parameters
 * of the noise only. Criteria are of the full normal likelihood; an unknown sigma counts as a parameter. */
bool fit_statistics_compute(struct fit_record *record, const struct fit_asker *asker, const struct fit_point *point,
                            struct arena *arena);

/* Whether a fit can be judged by its residuals (fit/goodness.h): errors are normal or log-normal, and no row is censored. Not
 * asked of the rest: robust losses are chosen for data that do not follow the curve, and censored rows have no residual. */
bool fit_statistics_can_test(const struct fit_asker *asker);

/* Whether free parameter j affects only the noise: a standard deviation that is estimated along with the others. `point` has
 * derivatives. */
bool fit_statistics_is_noise(const struct fit_asker *asker, const struct fit_point *point, size_t j);

/* The rise of the objective from the best fit, of n_row measurements, to a confidence limit; fit/profile.h has the formulas. If
 * one sigma is estimated too, n/2 log(1 + F/(n - p)) is exact for a straight line, whose t is then Student's quantile (Bates &
 * Watts 1988, section 6.1). */
double fit_statistics_rise(const struct fit_record *best, size_t n_row, double confidence);
