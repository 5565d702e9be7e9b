/* Bootstrap replicates: data as they might have been measured if the best fit were true. Those
 * of one dataset are drawn measurements (used by runs and by `simulate`), those of a fit of many
 * are drawn datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/refits/subject.h"

/* auto: parametric if every measurement has a sigma or the model has a noise function, otherwise
 * residual. */
enum bootstrap_kind { BOOTSTRAP_AUTO, BOOTSTRAP_RESIDUAL, BOOTSTRAP_PARAMETRIC };

/* Let r_i = (value_i - prediction_i) / s_i, where s_i is sigma, otherwise the model's noise,
 * otherwise 1 (for log-normal errors with the logarithms of value and prediction), n the
 * measurements, and p the parameters that are neither fixed nor on a bound, without those that
 * affect only the noise, as for intervals and profiles:
 * residual    value_i = prediction_i + s_i c r_k, with r centred within each group and k drawn
 *             from the same group: the measurements of one observable in one experiment
 *             (Freedman 1981); c gives them the variance sum r^2 / (n - p), because residuals
 *             are smaller than the errors.
 * parametric  value_i = prediction_i + s_i u z, with z from the fitted distribution; u = 1 if
 *             every s_i is known. If some are not, u^2 = sum r^2 / (n - p), or for Laplace's
 *             errors u = sum |r| / (n - p). If parameters of the noise are fitted,
 *             u^2 = n / (n - p) where s_i is the model's noise: the likelihood's sigma is too
 *             small by this factor.
 * A parameter held by a bound takes no degree of freedom: the fit is the one without it (Meyer &
 * Woodroofe 2000; the same applies to standard errors). If n <= p, the errors cannot be
 * estimated, and only parametric replicates with known s_i exist. */
struct fit_bootstrap {
    /* set by the caller */
    size_t n_row, n_group, n_loose;      /* n_loose: p */
    size_t n_noise;                      /* fitted parameters that affect only the noise */
    const uint32_t *group;               /* n_row, below n_group */
    struct measurements measured;        /* n_row; a missing value stays missing */
    const double *prediction, *scale;    /* n_row; scale: s_i */
    const struct fit_loss *loss;         /* one for each observable */
    enum bootstrap_kind kind;
    /* every s_i of a value is a sigma or the model's noise, perhaps a fitted one */
    bool is_sigma_given;
    double *residual;                    /* room for n_row: centred and rescaled, group by group */
    /* room for n_group + 2: where each group's residuals begin */
    size_t *first;
    /* set by fit_bootstrap_begin */
    bool is_parametric;
    double inflation;                    /* u */
};

/* The number p of the best fit's parameters, n_noise of which affect only the noise. lower,
 * upper and fixed as in struct fit_problem. */
size_t fit_bootstrap_count_loose(size_t n_parameter, const double *best, const double *lower,
                                 const double *upper, const uint8_t *fixed, size_t n_noise);
/* False: there is no replicate, and `reason` (160 characters) says why. */
bool fit_bootstrap_begin(struct fit_bootstrap *bootstrap, char *reason);
/* A replicate's values (n_row), a pure function of the bootstrap, seed and stream. False: a
 * value is not finite. */
bool fit_bootstrap_draw(const struct fit_bootstrap *bootstrap, uint64_t seed, uint64_t stream,
                        double *value);

/* The replicate's values (n_row) of a problem whose start is the best fit. One evaluation,
 * counted in the record like its steps. OUTCOME_converged means success; otherwise the record's
 * reason says why; OUTCOME_not_run: cancelled. A pure function of the problem with its seed and
 * dataset, and the replicate's number. */
enum outcome fit_bootstrap_values(const struct fit_problem *problem,
                                  const struct fit_options *options, const struct fit_host *host,
                                  struct arena *arena, enum bootstrap_kind kind, uint32_t replicate,
                                  double *value, struct fit_record *record);
/* Draws n of the n datasets that took part in a fit, with replacement: adds to
 * weight[dataset[k]] how often dataset k is drawn. A pure function of seed and replicate. */
void fit_bootstrap_datasets(uint64_t seed, uint32_t replicate, size_t n, const uint32_t *dataset,
                            uint32_t *weight);

/* Draws a replicate of the subject's data and fits it from the best fit, into a record with
 * arrays but for the covariance. */
void fit_bootstrap_run(const struct fit_subject *subject, const struct fit_options *options,
                       uint32_t replicate, struct fit_record *record);
