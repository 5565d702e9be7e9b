/* Computes the objective from predictions: a loss for every measurement (fit/objective/loss.h), the
 * probability of what is known for censored ones, and priors. Everything else uses its value,
 * gradient and rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/measurements.h"
#include "fit/objective/goodness.h"
#include "fit/objective/loss.h"
#include "fit/objective/prior.h"

/* The prior of a free parameter, with its indices. */
struct fit_prior_term {
    struct fit_prior prior;
    size_t j, i;            /* index in theta and in p */
};

struct fit_objective {
    size_t n_row;
    /* n_row; sigma, observable (the first one), censored and limit (none) may be NULL */
    struct measurements measured;
    bool has_noise;         /* the model has a noise function */
    bool is_plain;          /* fit_objective_is_plain; false is always right, and slower */
    /* -log likelihood with its constants: always with noise, censored rows or losses that mix */
    bool likelihood;
    /* units change it by a constant: a likelihood, or priors with such a term */
    bool has_offset;
    const struct fit_loss *loss; /* one for each observable */
    size_t n_prior;
    const struct fit_prior_term *prior;
};

/* The answer of one evaluation. d_* are n_row x n, column-major, derivatives by natural
 * parameters; the noise arrays may be NULL unless `has_noise`. chain[j] = d p_j / d theta_j. */
struct fit_answer {
    size_t n;
    const double *prediction, *d_prediction, *noise, *d_noise, *chain;
    /* n_row each, written by fit_objective_value: the factor of the derivatives and the
     * right-hand side of the prediction's row; for normal errors 1/s and r */
    double *weight, *residual;
    const double *theta, *p;   /* n; all of the fit's, natural. Used only with priors */
};

static inline const struct fit_loss *fit_objective_loss(const struct fit_objective *objective,
                                                        size_t i)
{
    return &objective->loss[objective->measured.observable ? objective->measured.observable[i] : 0];
}

/* The kind of the objective, as in /fits/objective@kind: "half_sum_of_squares",
 * "negative_log_likelihood", "laplace_loss", ... Distributions that mix (base/error_kind.h) must
 * be a likelihood. */
const char *fit_objective_kind(enum error_kind error, bool likelihood);

/* Half a sum of squares: normal errors, nothing censored or modelled. With kinks, slopes say
 * little of values between them. */
bool fit_objective_is_plain(const struct fit_objective *objective);
bool fit_objective_has_kinks(const struct fit_objective *objective);

/* The sum over rows of rho(r), where r = (prediction - value)/s, or log(prediction/value)/s for
 * log-normal errors; for a likelihood + log(s) + the loss's constant (log-normal: + log(value)).
 * A censored row adds -log of the probability of its known side, which ends at the row's limit
 * if it has one. The priors are added. Not
 * finite after an overflow, or if a log-normal prediction is not positive: the caller checks. */
double fit_objective_value(const struct fit_objective *objective, const struct fit_answer *answer);
/* After fit_objective_value: gradient[j] = d objective / d theta_j, n of them. */
void fit_objective_gradient(const struct fit_objective *objective, const struct fit_answer *answer,
                            double *gradient);
/* The gradient in two parts, where it is computed without d_prediction (adjoints): the derivatives
 * by the predictions and, if the model has a noise function, by the noise, n_row each; then the
 * priors' contribution to gradient[n]. */
void fit_objective_slopes(const struct fit_objective *objective, const struct fit_answer *answer,
                          double *by_prediction, double *by_noise);
void fit_objective_add_priors(const struct fit_objective *objective,
                              const struct fit_answer *answer, double *gradient);

/* The objective as a sum of squares around this point: rows of derivatives A
 * (fit_objective_n_row x n, column-major) by theta and right-hand sides b, so that A'b is the
 * gradient. A'A is a curvature, never negative: Fisher's information for normal errors,
 * iteratively reweighted squares for the other losses (rows sqrt(rho'/r) m'/s), the observed
 * information of censored rows. A modelled standard deviation adds a row with its expected
 * information (censored rows: what their one row cannot hold); these rows come first, the
 * priors' rows last. Call this after fit_objective_value. The above is CURVATURE_ABOVE. With
 * CURVATURE_KINKS Laplace's second derivative is large at its kinks and almost zero elsewhere,
 * and Huber's nearly so.
 * With CURVATURE_EXPECTED A'A is the information for standard errors, expected under the loss's
 * own distribution; b is meaningless. */
size_t fit_objective_n_row(const struct fit_objective *objective);
void fit_objective_rows(const struct fit_objective *objective, const struct fit_answer *answer,
                        enum fit_curvature curvature, double *a, double *b);
/* Number and rows of measurements [first, last); the priors' rows follow those of the last
 * measurement. */
size_t fit_objective_n_row_of(const struct fit_objective *objective, size_t first, size_t last);
void fit_objective_rows_of(const struct fit_objective *objective, const struct fit_answer *answer,
                           enum fit_curvature curvature, size_t first, size_t last, double *a,
                           double *b);
/* The observed information (second derivatives of the objective by theta for these data) minus
 * the expected one: n x n, symmetric, possibly indefinite. Second derivatives of predictions and
 * noise are omitted, because a good fit multiplies them by residuals that nearly cancel (Gauss
 * and Newton); for log-normal errors `prediction` is the logarithm. There is no excess for
 * normal and log-normal errors of known sigma, nor for Laplace's, which have no second
 * derivative. */
bool fit_objective_has_excess(const struct fit_objective *objective);
void fit_objective_excess(const struct fit_objective *objective, const struct fit_answer *answer,
                          double *excess);
/* Column j of A's rows of predictions times x (n_row, one for each measurement). */
double fit_objective_row_product(const struct fit_objective *objective,
                                 const struct fit_answer *answer, size_t j, const double *x);
/* Half the sum of squares of the changes of r per relative change of the predictions: the scale
 * of rounding and integration errors. For normal errors, the objective if all predictions were
 * zero, but for modelled deviations. */
double fit_objective_scale(const struct fit_objective *objective, const struct fit_answer *answer);

/* The standard deviation of row i: its own, the model's, or 1. */
double fit_objective_sigma(const struct fit_objective *objective, const struct fit_answer *answer,
                           size_t i);
/* The plain residual r of an uncensored row, 1/s, and its value (log-normal: the logarithm of
 * it). False: the row is censored. */
bool fit_objective_plain(const struct fit_objective *objective, const struct fit_answer *answer,
                         size_t i, double *r, double *weight, double *value);

/* What the rounding of kinks adds to the objective's likelihood, but for the priors'. After
 * fit_objective_value. */
double fit_objective_rounding(const struct fit_objective *objective,
                              const struct fit_answer *answer);

/* The loss of censored row i at its plain residual r. */
struct censored_terms fit_objective_censored(const struct fit_objective *objective,
                                             const struct fit_answer *answer, size_t i, double r);

/* After fit_objective_value. */
struct fit_criteria fit_objective_criteria(const struct fit_objective *objective,
                                           const struct fit_answer *answer, uint32_t n_observable);
/* The deviance of n_row measurements if a common factor of the sigmas of all n_all measurements
 * of their fit is unknown: at its most likely value, where that has a closed form. */
double fit_objective_deviance(const struct fit_criteria *criteria, double n_row,
                              const struct fit_criteria *all, double n_all);
/* The factor of all sigmas that makes chi_square equal to its expectation for `count` rows:
 * residual error, Laplace's scale. */
double fit_objective_common_scale(const struct fit_criteria *criteria, double count);
