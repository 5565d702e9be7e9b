/* What a fit is given and what it gives back: the types that all of fit/ shares.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_TYPES_H
#define FIT_TYPES_H

#include "base/arena.h"
#include "base/method.h"
#include "base/outcome.h"
#include "fit/loss.h"
#include "model/plugin.h"
#include "ode/evaluation.h"

struct fit_statistics;

enum parameter_scale { SCALE_LIN, SCALE_LOG, SCALE_LOG10 };

/* What is fitted. Everything is const and owned by the caller. Arrays of n_parameter are in the problem file's order,
 * natural scale; to_model[i] is the model's index of the file's parameter i (a permutation). */
struct fit_problem {
    const struct model *model;
    const struct ode_task *task;
    const double *value;        /* n_row, finite (missing ones are no rows) */
    const double *sigma;        /* n_row, > 0, or NaN: the model's noise, or 1 where it has none */
    const struct fit_loss *loss; /* one for each observable of the model; of a log-normal one all values are > 0 */
    bool mixes;                 /* base/error_kind.h; then every row has a sigma or a noise */
    const int8_t *censored;     /* n_row, as in struct fit_objective; NULL: none of the run is. If one is, every
                                 * row of its dataset has a sigma or a noise */
    size_t n_parameter;
    const uint32_t *to_model;
    const double *start, *lower, *upper;
    const enum parameter_scale *scale;
    const uint8_t *fixed;       /* non-zero: held at its start */
    const struct fit_prior *prior; /* NULL: none. With one every row has a sigma or a noise */
    double rtol;                /* the integrator's relative tolerance to begin with; 0: the options' */
    double unit;                /* of Laplace's errors without any sigma: that of the kink; 0: to be found (fit/unit.h) */
    uint64_t seed, dataset;     /* with start_number: what a random start depends on */
    uint32_t start_number;      /* 0: the given start; k: row k-1 of this dataset's Latin hypercube */
    uint32_t n_start;
    uint32_t notes;             /* bits of enum note known beforehand */
};

struct fit_options {
    enum optimizer optimizer;   /* none: chosen by the sizes */
    enum gradient_method gradient; /* likewise; trf has no adjoint ones */
    /* Converged: the decrease that the Gauss-Newton model still promises within the bounds, or the decrease over the
     * last few iterations, is below f_tolerance * |f| (likelihood: max(1, |f|)); or the projected gradient's largest
     * entry (optimiser's scale) is below g_tolerance * max(1, |f|), for small data less, and 1000 times the first test
     * holds. Or what is promised cannot be told from the integrator's noise. */
    double f_tolerance, g_tolerance;
    int certify;                /* look at the optimum again with tighter integrator tolerances */
    int64_t max_evaluations;    /* per fit */
    int64_t max_steps;          /* integrator steps per evaluation */
    int64_t max_total_steps;    /* integrator steps per fit */
    double max_seconds;         /* of computing per fit; infinity = none */
    double accuracy;            /* relative, of the predictions: the integrator's rtol */
    bool is_near;               /* the start lies near an optimum: the first steps have the full accuracy, too */
};

#define FIT_OPTIONS_DEFAULT {.f_tolerance = 1e-9, .g_tolerance = 1e-6, .certify = true, \
                             .max_evaluations = 1000, .max_steps = 100000, .max_total_steps = 10000000, \
                             .max_seconds = 1.0 / 0.0, .accuracy = ODE_RTOL}

/* The caller provides the arrays (n_parameter each, the file's order). */
struct fit_result {
    enum outcome outcome;
    uint32_t notes;             /* bits of enum note */
    double objective;           /* half the weighted sum of squares or the negative log-likelihood; NaN if none */
    double gradient_norm;       /* largest entry of the projected gradient, optimiser's scale; NaN if none */
    double tight_change, tight_decrease; /* fit/certificate.h; NaN if none was made */
    double rtol;                /* the integrator's relative tolerance at the best point; NaN if there is none */
    int64_t n_iteration, n_evaluation, n_step;
    enum stop_test stop;
    enum optimizer optimizer;
    enum gradient_method gradient;
    double *parameter;          /* natural scale; NaN if there is no best point */
    int8_t *at_bound;           /* -1 at lower, +1 at upper, 0 */
    struct fit_statistics *statistics; /* in: NULL or what is to be filled at the best point (fit/statistics.h) */
    char reason[160];           /* "" or why it is no success */
};

/* Carries out evaluations. `ask` returns when all n are finished; false: the fit is cancelled and must return as soon
 * as it can (what it writes is ignored). It may return on another thread than it was called on. */
struct fit_host {
    bool (*ask)(void *context, struct evaluation *const *evaluations, size_t n);
    int64_t (*elapsed_ns)(void *context); /* time of computing spent on this fit */
    /* NULL, or told what is made of the latest evaluation: the objective, and then the largest entry of the projected
     * gradient, which difference quotients need further evaluations for. The other one of the two is NaN. For traces. */
    void (*judged)(void *context, double objective, double gradient_norm);
    void *context;
};

#endif
