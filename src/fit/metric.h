/* The metric of a descent by adjoint gradients: Gauss-Newton's matrix at one point, from one evaluation with forward
 * sensitivities. A gradient alone tells L-BFGS nothing of how differently parameters weigh, and it takes hundreds of
 * evaluations to learn; for the price of a few of them it is told. Only the shape of the steps depends on it: values and
 * gradients that are compared all come from adjoint evaluations.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_METRIC_H
#define FIT_METRIC_H

#include "fit/point.h"

struct fit_metric {
    struct fit_point point;    /* with derivatives of all residuals */
    bool is_taken;             /* there is one, and what came of it: */
    enum asked taken;
    double *rows, *rhs;        /* as of fit_objective_rows */
    double *matrix, *step;     /* n x n; n */
    double unit;               /* what the latest factor was made larger by */
};

/* False: out of memory. */
bool fit_metric_init(struct fit_metric *metric, struct fit_asker *asker, struct arena *arena);
/* Asks for the derivatives of the residuals at theta. ASKED_FAILED: there are none, or they are too large to be used. */
enum asked fit_metric_ask(struct fit_metric *metric, struct fit_asker *asker, const double *theta);
/* Cholesky's factor (lower triangle, n_loose x n_loose) of the matrix's loose rows and columns. `slope`: the gradient of the
 * loose ones; where the step that it leads to were longer than a few natural units, the factor is made larger, and for a step
 * of `shrink` (0 to 1) times that length larger still. False: it is not definite enough. */
bool fit_metric_factor(struct fit_metric *metric, const struct fit_asker *asker, size_t n_loose, const uint32_t *loose,
                       const double *slope, double shrink, double *factor);

/* What the quadratic model of the latest factor promises where the objective has this gradient (n_free). */
double fit_metric_promise(struct fit_metric *metric, size_t n_loose, const uint32_t *loose, const double *gradient,
                          const double *factor);

#endif
