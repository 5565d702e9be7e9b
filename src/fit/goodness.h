/* What measures how well a curve describes its data: for the note poor_fit, for ranking fits, and for the sentences about them.
 * Separate because runs, their summaries and reports must mean the same.
 *
 * Chi-square does where every sigma is known. If sigma is not known, or is a parameter of the dataset's own, it follows the
 * residuals, and chi-square is about n whatever the curve. Then R squared ranks fits, and what is left can be judged by whether
 * the curve explains the data better than a constant, and by how long the residuals keep their signs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective.h"
#include "io/fit_record.h"

/* Whether it is chi-square; else R squared. */
bool fit_is_judged_by_chi_square(const struct fit_record *record);
/* Larger is worse: reduced chi-square, or 1 - R squared, which is taken of the former's fits, too, if these have no degrees of
 * freedom. NaN: there is no best fit, or all values are equal. */
bool fit_has_reduced(const struct fit_record *record);
double fit_badness(const struct fit_record *record);

/* Whether the curve fails to describe the data, as the note poor_fit says. Errors are normal or log-normal, and nothing is
 * censored. freedom: measurements minus parameters of the predictions. With known sigmas: chi-square is too large for them
 * (below 1e-6 probable). Without:
 * - residuals change their sign too rarely from one measurement of an observable to its next (below 1e-6 probable if signs are
 *   independent, Geary 1970), and exceed 1 % of the values; or
 * - the curve leaves more than half of the variance about a constant for each observable, no less than chance would (1 %, F
 *   test), and residuals exceed 10 % of the values, so that a constant does not describe the data either. */
bool fit_goodness_is_poor(const struct fit_criteria *criteria, bool is_known, double n_row, double freedom);
