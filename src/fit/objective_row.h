/* The share of one measurement in the objective, for both the rows and the statistics. Internal to the objective's files.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_OBJECTIVE_ROW_H
#define FIT_OBJECTIVE_ROW_H

#include "fit/objective.h"

/* f and, with the derivatives m' and s' of prediction and noise, the rows
 *   weight m' + cross s' | residual      noise_weight s' | noise_residual
 * whose products with their right-hand sides sum to f'. cross, noise_weight and noise_residual are 0 without a modelled
 * standard deviation. */
struct objective_row {
    double f, weight, residual, cross, noise_weight, noise_residual;
};

/* The standard deviation of row i: its own, the model's, or 1. */
double objective_row_sigma(const struct fit_objective *objective, const struct fit_answer *answer, size_t i);
/* The plain residual r of an uncensored row, 1/s, and its value (log-normal: the logarithm of it). False: the row is
 * censored. */
bool objective_row_plain(const struct fit_objective *objective, const struct fit_answer *answer, size_t i, double *r,
                         double *weight, double *value);
/* The factors are square roots of the requested curvature. */
struct objective_row objective_row_at(const struct fit_objective *objective, const struct fit_answer *answer, size_t i,
                                      enum fit_curvature curvature);

#endif
