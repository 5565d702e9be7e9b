/* Summary numbers of a fit, from which chi-square, AIC and R squared are computed, for every loss.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_OBJECTIVE_CRITERIA_H
#define FIT_OBJECTIVE_CRITERIA_H

#include "fit/objective.h"

struct objective_criteria {
    /* The sum of rho'(r) r over uncensored rows: r squared for normal and log-normal errors, |r| for Laplace's (whose share
     * is `distances`), and with less weight for outliers for Huber's and Student's. If sigma is right, its expectation is
     * the number of rows for all losses. */
    double chi_square, distances;
    /* -2 log likelihood of the data under the loss's own distribution, without priors (for log-normal errors that of the
     * values, not of their logarithms, so that it compares with the others). deviance_scaled: maximised over a common factor
     * of all sigmas, for an unknown sigma; in closed form if all errors are normal or log-normal, or all are Laplace's. */
    double deviance, deviance_scaled;
    /* Sums of squares of plain residuals, and of the data about the weighted mean of each observable (log-normal: of
     * logarithms), without censored rows. */
    double squares, total_squares;
};

/* After fit_objective_value. row_observable: n_row. */
struct objective_criteria objective_criteria_of(const struct fit_objective *objective, const struct fit_answer *answer,
                                                const uint32_t *row_observable, uint32_t n_observable);
/* The factor of all sigmas that makes chi_square equal to its expectation for `count` rows: the residual standard error, or
 * Laplace's scale. */
double objective_scale_of(const struct objective_criteria *criteria, double count);

#endif
