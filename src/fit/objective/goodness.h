/* What measures how well a curve describes its data: for the note poor_fit, for ranking fits,
 * and for the sentences about them. Separate because runs, their summaries and reports must mean
 * the same.
 *
 * Chi-square does where every sigma is known. If sigma is not known, or is a parameter of the
 * dataset's own, it follows the residuals, and chi-square is about n whatever the curve. Then R
 * squared ranks fits, and what is left can be judged by whether the curve explains the data
 * better than a constant, and by how long the residuals keep their signs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/fit_record.h"

/* Summary numbers of a fit, from which chi-square, AIC and R squared are computed, for every
 * loss. */
struct fit_criteria {
    /* The sum of rho'(r) r over uncensored rows: r squared for normal and log-normal errors, |r|
     * for Laplace's (whose share is `distances`), and with less weight for outliers for Huber's
     * and Student's. If sigma is right, its expectation is the number of rows for all losses. */
    double chi_square, distances;
    /* -2 log likelihood of the data under the loss's own distribution, kinks not rounded,
     * without priors (for log-normal errors that of the values, not of their logarithms, so that
     * it compares with the others); and the part of it that depends on sigmas and values alone,
     * without censored rows. */
    double deviance, constants;
    /* 1 if all errors are normal or log-normal, 2 if all are Laplace's: the most likely common
     * factor of all sigmas makes the deviance this times n (log(chi_square / n) + 1) plus the
     * constants. 0: there is no such closed form. */
    double scaling;
    /* Sums of squares of plain residuals, and of the data about the weighted mean of each
     * observable (log-normal: of logarithms), without censored rows. */
    double squares, total_squares;
    /* Without censored rows: the sum of squares of what r would be without predictions (log-normal:
     * of a change of the value by a factor of e); the observables; pairs of one measurement of an
     * observable and its next (the rows' order, over all experiments, residuals of exactly 0
     * skipped), and those in which r changes its sign. */
    double sizes;
    size_t n_constant, n_neighbour, n_change;
};

/* Whether it is chi-square; else R squared. */
bool fit_is_judged_by_chi_square(const struct fit_record *record);
/* Larger is worse: reduced chi-square, or 1 - R squared, which is taken of the former's fits,
 * too, if these have no degrees of freedom. NaN: there is no best fit, or all values are equal. */
bool fit_has_reduced(const struct fit_record *record);
double fit_badness(const struct fit_record *record);

/* Whether the curve fails to describe the data, as the note poor_fit says. Errors are normal or
 * log-normal, and nothing is censored. freedom: measurements minus parameters of the
 * predictions. With known sigmas: chi-square is too large for them (below 1e-6 probable).
 * Without:
 * - residuals change their sign too rarely from one measurement of an observable to its next
 *   (below 1e-6 probable if signs are independent, Geary 1970), and exceed 1 % of the values; or
 * - the curve leaves more than half of the variance about a constant for each observable, no
 *   less than chance would (1 %, F test), and residuals exceed 10 % of the values, so that a
 *   constant does not describe the data either. */
bool fit_goodness_is_poor(const struct fit_criteria *criteria, bool is_known, double n_row,
                          double freedom);
