/* Replicates of a dataset for the bootstrap: data as they might have been measured, were the best fit the truth.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_BOOTSTRAP_H
#define FIT_BOOTSTRAP_H

#include "fit/fit.h"

/* auto: parametric where every measurement has a sigma or the model has a noise function, else residual. */
enum bootstrap_kind { BOOTSTRAP_AUTO, BOOTSTRAP_RESIDUAL, BOOTSTRAP_PARAMETRIC };

/* With r_i = (value_i - prediction_i) / s_i, s_i the sigma, else the model's noise, else 1 (of log-normal errors the
 * logarithms of value and prediction), n measurements and p parameters that are neither fixed nor on a bound:
 * residual    value_i = prediction_i + s_i c r_k, r centred within each observable and k drawn from the same one (Freedman
 *             1981); c gives them the variance sum r^2 / (n - p), as residuals are smaller than the errors.
 * parametric  value_i = prediction_i + s_i u z, z standard normal; u^2 = sum r^2 / (n - p) where some s_i is not known.
 * problem->start is the best fit. One evaluation, counted in *n_evaluation and *n_step. `value` (n_row) is filled.
 * OUTCOME_converged stands for success; otherwise `reason` (160 characters) says why; OUTCOME_not_run: cancelled.
 * A pure function of the problem, (seed, dataset) of it, and the replicate's number. */
enum outcome fit_bootstrap_draw(const struct fit_problem *problem, const struct fit_options *options,
                                const struct fit_host *host, struct arena *arena, enum bootstrap_kind kind,
                                uint32_t replicate, double *value, int64_t *n_evaluation, int64_t *n_step, char *reason);

#endif
