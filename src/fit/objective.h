/* From predictions to the number that is minimised: half the weighted sum of squares, or, where the model has a noise
 * function, the negative log-likelihood of normal errors (constants included).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_OBJECTIVE_H
#define FIT_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

struct fit_objective {
    size_t n_row;
    const double *value;   /* n_row */
    const double *sigma;   /* n_row; NaN: the model's noise (likelihood), or 1 */
    bool likelihood;       /* whether the model has a noise function */
};

/* The answer of one evaluation. d_* are n_row x n, column-major, derivatives by natural parameters; the noise arrays
 * may be NULL unless `likelihood`. chain[j] = d p_j / d theta_j. */
struct fit_answer {
    size_t n;
    const double *prediction, *d_prediction, *noise, *d_noise, *chain;
    double *weight, *residual; /* n_row each: 1/s and (prediction - value)/s, written by fit_objective_value */
};

/* sum over rows of (r/s)^2 / 2, with r = prediction - value; for a likelihood + log(s) + log(2 pi)/2. May overflow to
 * something not finite: the caller checks. */
double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer);
/* After fit_objective_value: gradient[j] = d objective / d theta_j, n of them. */
void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer, double *gradient);
/* After fit_objective_value: the Gauss-Newton matrix in theta, n x n, both triangles; for a likelihood Fisher's
 * information of normal errors, sum of (m' m'^T + 2 s' s'^T) / s^2. Positive semidefinite. Without d_prediction nothing
 * is done (n = 0). */
void fit_objective_curvature(const struct fit_objective *objective, const struct fit_answer *answer, double *matrix);
/* Half the sum of 1/s^2 (s of rows without a sigma of their own: 1): the objective were every residual 1. */
double fit_objective_unit(const struct fit_objective *objective);
/* Size of the objective were every prediction zero (without the logarithms): tells what a rounding error amounts to. */
double fit_objective_scale(const struct fit_objective *objective);

#endif
