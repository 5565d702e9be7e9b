/* Replicates of a dataset for the bootstrap: data as they might have been measured, were the best fit the truth. The only
 * place that knows how: runs and `simulate` draw here.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_BOOTSTRAP_H
#define FIT_BOOTSTRAP_H

#include "fit/types.h"

/* auto: parametric where every measurement has a sigma or the model has a noise function, else residual. */
enum bootstrap_kind { BOOTSTRAP_AUTO, BOOTSTRAP_RESIDUAL, BOOTSTRAP_PARAMETRIC };

/* With r_i = (value_i - prediction_i) / s_i, s_i the sigma, else the model's noise, else 1 (of log-normal errors the
 * logarithms of value and prediction), n measurements and p parameters that are neither fixed nor on a bound:
 * residual    value_i = prediction_i + s_i c r_k, r centred within each observable and k drawn from the same one (Freedman
 *             1981); c gives them the variance sum r^2 / (n - p), as residuals are smaller than the errors.
 * parametric  value_i = prediction_i + s_i u z, z from the distribution that was fitted; u = 1 where every s_i is known, else
 *             u^2 = sum r^2 / (n - p), for Laplace's errors u = sum |r| / (n - p).
 * A parameter that a bound holds takes no degree of freedom: the fit is the one without it (Meyer & Woodroofe 2000; the
 * same holds for the standard errors). With n <= p nothing is known of the errors, and there is no replicate unless s_i is
 * known and the form parametric. */
struct fit_bootstrap {
    /* the caller's */
    size_t n_row, n_observable, n_loose; /* n_loose: p */
    struct measurements measured;        /* n_row; a missing value stays so */
    const double *prediction, *scale;    /* n_row; scale: s_i */
    const struct fit_loss *loss;         /* n_observable */
    enum bootstrap_kind kind;
    bool is_sigma_known;                 /* every s_i of a value is a sigma or the model's noise */
    double *residual;                    /* room for n_row: centred and rescaled, observable by observable */
    size_t *first;                       /* room for n_observable + 1: where each observable's residuals begin */
    /* fit_bootstrap_begin's */
    bool is_parametric;
    double inflation;                    /* u */
};

/* Of n_parameter: p. lower, upper and fixed as in struct fit_problem. */
size_t fit_bootstrap_count_loose(size_t n_parameter, const double *best, const double *lower, const double *upper,
                                 const uint8_t *fixed);
/* False: there is no replicate, and `reason` (160 characters) says why. */
bool fit_bootstrap_begin(struct fit_bootstrap *bootstrap, char *reason);
/* A replicate's values (n_row), a pure function of the bootstrap, seed and stream. False: one is not finite. */
bool fit_bootstrap_draw(const struct fit_bootstrap *bootstrap, uint64_t seed, uint64_t stream, double *value);

/* The replicate's values (n_row) of a problem whose start is the best fit. One evaluation, counted in *n_evaluation and
 * *n_step. OUTCOME_converged stands for success; otherwise `reason` (160 characters) says why; OUTCOME_not_run: cancelled.
 * A pure function of the problem, (seed, dataset) of it, and the replicate's number. */
enum outcome fit_bootstrap_replicate(const struct fit_problem *problem, const struct fit_options *options,
                                     const struct fit_host *host, struct arena *arena, enum bootstrap_kind kind,
                                     uint32_t replicate, double *value, int64_t *n_evaluation, int64_t *n_step,
                                     char *reason);

#endif
