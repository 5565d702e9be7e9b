/* The metric of a descent by adjoint gradients: the Gauss-Newton matrix at one point, from one
 * evaluation with forward sensitivities. From gradients alone L-BFGS needs hundreds of
 * evaluations to learn how strongly each parameter acts; the metric costs as much as a few of
 * them. It only affects the shape of the steps: all values and gradients that are compared come
 * from adjoint evaluations.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/point.h"

struct fit_metric {
    double *matrix, *factor;   /* n x n */
    double *step;              /* n */
    double unit;               /* the enlargement of the latest factor */
};

/* For n parameters. False: out of memory. */
bool fit_metric_init(struct fit_metric *metric, size_t n, struct arena *arena);
/* The matrix has been set at theta: adds the damping. False: it cannot be used. */
bool fit_metric_damp(struct fit_metric *metric, const struct fit_map *map, const double *theta);
/* The Cholesky factor (lower triangle, n_loose x n_loose) of the matrix's loose rows and
 * columns. `slope`: the gradient of the loose parameters. If the resulting step would be longer
 * than a few natural units, the factor is enlarged, and more so to shorten the step to `shrink`
 * (0 to 1) times that length. False: the matrix is not definite enough. */
bool fit_metric_factor(struct fit_metric *metric, const struct fit_map *map, const double *theta,
                       size_t n_loose, const uint32_t *loose, const double *slope, double shrink);
/* The decrease predicted by the quadratic model of the latest factor for this gradient (n_free). */
double fit_metric_promise(struct fit_metric *metric, size_t n_loose, const uint32_t *loose,
                          const double *gradient);
