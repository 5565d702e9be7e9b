/* Predictions of one model, one evaluation at a time, for commands that show or make data;
 * residuals, weights and losses of single measurements under the fitted objective.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error_kind.h"
#include "base/measurements.h"
#include "fit/objective/loss.h"
#include "ode/alone.h"

struct predictor {
    const struct model *model;
    struct ode_alone alone;
    struct arena arena; /* scratch of one call */
    int64_t max_steps;
    double rtol;
    bool keeps_infinite; /* predictions; otherwise they are NaN */
};

/* `model` must outlive the predictor. predictor_fini is legal after a failure and on a zeroed
 * struct. */
enum status predictor_init(struct predictor *predictor, const struct model *model,
                           const struct ode_options *options, int64_t max_steps,
                           struct error *error);
void predictor_fini(struct predictor *predictor);

/* The rows of an experiment to predict, in any order; equal times are allowed. */
struct predictor_rows {
    struct experiment experiment;
    const double *p, *own;      /* as in struct evaluation */
    /* 0, or n: the rows are those to which substitutes of single rows refer */
    size_t n_measured;
    size_t n;
    /* times finite, none before t0; values are ignored, and sigma may be NULL */
    struct measurements measured;
    /* that of the fit, if it is below the predictor's; otherwise it may be 0 or NaN */
    double rtol;
    const enum error_kind *error; /* with sigmas: of each observable */
    const struct predictor_rows *before; /* the experiment at whose steady state this one begins;
                                          * NULL: as the model does */
    bool goes_to_rest;          /* it is followed to its steady state */
    /* parameters whose sensitivities are integrated but not used, so that steps, and hence */
    size_t n_sens;
    /* bits, are as in a fit of these parameters; and which of the fit's parameters they */
    const uint32_t *sens;
    const uint32_t *column;     /* are, numbers below n_fitted. NULL: there is no `before` */
    const uint32_t *own_sens;
    size_t n_fitted;
    enum engine_kind engine;    /* as in a fit, for equal bits; if lanes fail, CVODES is asked */
};

/* prediction[i] of row i, and noise[i] unless NULL (NaN if the model has no noise); NaN if the
 * model cannot compute them. False: the simulation failed; `reason` (160 characters) says why. */
bool predictor_run(struct predictor *predictor, const struct predictor_rows *rows,
                   double *prediction, double *noise, char *reason);

struct residual_kind {
    struct fit_loss *loss; /* one for each observable of the model */
    bool likelihood;       /* as in struct fit_objective */
    double unit;           /* of Laplace's errors without any sigma (fit/objective/unit.h), or 0 */
};

/* sigma: the measurement's, else the model's noise, else 1. residual: value - prediction, for
 * log-normal errors of their logarithms; weighted: divided by sigma. weight: the residual's
 * weight relative to least squares (1 for normal errors). loss: its part of the objective. A
 * missing value has only sigma, a censored one only sigma and loss; the others are NaN. */
struct residual {
    double sigma, residual, weighted, weight, loss;
};
/* Of row i; noise: the model's, NaN where there is none. */
struct residual residual_of(const struct residual_kind *kind, const struct measurements *measured,
                            size_t i, double prediction, double noise);
