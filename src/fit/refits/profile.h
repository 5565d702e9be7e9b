/* Profile likelihood: one parameter is moved away from the best fit, and all others are fitted
 * again at each place, until the objective has risen to the threshold of a confidence limit.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/refits/subject.h"

struct fit_profile_request {
    size_t parameter;  /* the file's order */
    int side;          /* -1 below, 1 above */
    /* Of a review: the limit that was found, and where other sides of the fit's profiles ended:
     * n_end times an objective (NaN: nowhere) and the n_parameter parameters. 0: it is no
     * review. */
    double limit;
    size_t n_end;
    const double *end;
};

/* The threshold is the objective at the best fit plus
 *   chi-square's quantile(1) / 2                  if every standard deviation is known (Wilks
 *                                                 1938),
 *   chi_square/(n - p) F's quantile(1, n - p) / 2  if none is (Bates & Watts 1988, eq. 6.4),
 *   n/2 log(1 + F's quantile(1, n - p) / (n - p))  if it is a parameter of the noise, which is
 *                                                  not counted in p.
 * The limit is found to 1e-4 of the rise and then refined by interpolation. A parameter is
 * followed to its bound, however far that is, or without one over six decades on a logarithmic
 * scale, and on a linear scale over a thousand times its value (or ten half-widths of the
 * interval from the covariance, if that is more). A review continues from the farthest end
 * beyond the limit that is not above the threshold: the limit is then further out; without such
 * an end it is `none`. What datasets do not have in common then begins at the best fit. The
 * budgets of `options` apply to the whole side. A side in which fits leave the lanes is repeated
 * with CVODES alone.
 *
 * The record has `limit`, the limit's value (natural scale; NaN: there is none) as the profiled
 * parameter, the other parameters of the first dataset at the last point, in at_bound those that
 * a bound holds, and the points, which are in the arena, in the order of evaluation. Its outcome
 * is converged unless the limit is `failed` or `freedom`, with a reason. */
void fit_profile_run(const struct fit_subject *subject, const struct fit_options *options,
                     struct arena *arena, const struct fit_profile_request *request,
                     struct fit_record *record);
