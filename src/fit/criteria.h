/* Summary numbers of a fit, from which chi-square, AIC and R squared are computed, for every loss; in objective.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective.h"

/* Summary numbers of a fit, from which chi-square, AIC and R squared are computed, for every loss. */
struct fit_criteria {
    /* The sum of rho'(r) r over uncensored rows: r squared for normal and log-normal errors, |r| for Laplace's (whose share
     * is `distances`), and with less weight for outliers for Huber's and Student's. If sigma is right, its expectation is
     * the number of rows for all losses. */
    double chi_square, distances;
    /* -2 log likelihood of the data under the loss's own distribution, kinks not rounded, without priors (for log-normal
     * errors that of the values, not of their logarithms, so that it compares with the others); and the part of it that depends
     * on sigmas and values alone, without censored rows. */
    double deviance, constants;
    /* The most likely common factor of all sigmas makes the deviance this times n (log(chi_square / n) + 1) plus constants: 1
     * if all errors are normal or log-normal, 2 if all are Laplace's; 0: there is no such closed form. */
    double scaling;
    /* Sums of squares of plain residuals, and of the data about the weighted mean of each observable (log-normal: of
     * logarithms), without censored rows. */
    double squares, total_squares;
};

/* After fit_objective_value. */
struct fit_criteria fit_objective_criteria(const struct fit_objective *objective, const struct fit_answer *answer,
                                           uint32_t n_observable);
/* The deviance if a common factor of all sigmas is unknown, at its most likely value, where that has a closed form. */
double fit_objective_deviance(const struct fit_criteria *criteria, double n_row, const struct fit_criteria *all, double n_all);
/* The factor of all sigmas that makes chi_square equal to its expectation for `count` rows: the residual standard error, or
 * Laplace's scale. */
double fit_objective_common_scale(const struct fit_criteria *criteria, double count);
