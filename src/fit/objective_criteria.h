/* What a fit amounts to as a whole: the numbers behind chi-square, AIC and R squared, for every loss.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_OBJECTIVE_CRITERIA_H
#define FIT_OBJECTIVE_CRITERIA_H

#include "fit/objective.h"

struct objective_criteria {
    /* Sum of rho'(r) r over the rows that are not censored: r squared for normal and log-normal errors, |r| for Laplace's
     * (whose share is `distances`), and with less weight for outliers for Huber's and Student's. Expected to be the number of
     * rows for all of them, where sigma is right. */
    double chi_square, distances;
    /* -2 log likelihood of the data under the loss's own distribution (for log-normal errors of the values, not of their
     * logarithms, so that it compares with the others), priors left out. The second: maximised over a common factor of all
     * sigmas, which is what an unknown sigma is; there is a closed form where all errors are normal or log-normal, or all
     * are Laplace's. */
    double deviance, deviance_scaled;
    /* Sums of squares of plain residuals, and of the data about the weighted mean of each observable (log-normal: of
     * logarithms), censored rows left out. */
    double squares, total_squares;
};

/* After fit_objective_value. row_observable: n_row. */
struct objective_criteria objective_criteria_of(const struct fit_objective *objective, const struct fit_answer *answer,
                                                const uint32_t *row_observable, uint32_t n_observable);
/* The factor of all sigmas that makes chi_square what `count` rows are expected to give: the residual standard error, or
 * Laplace's scale. */
double objective_scale_of(const struct objective_criteria *criteria, double count);

#endif
