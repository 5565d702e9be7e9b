/* Input and output of a fit: the types common to all of fit/.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/measurements.h"
#include "fit/objective/loss.h"
#include "fit/objective/prior.h"
#include "io/file/fit_record.h"
#include "model/plugin.h"
#include "ode/evaluation.h"

#include <math.h>

#define FIT_NO_MODEL UINT32_MAX

enum parameter_scale { SCALE_LIN, SCALE_LOG, SCALE_LOG10 };

/* The problem. Everything is const and owned by the caller. Arrays of n_parameter are in the
 * problem file's order, natural scale. to_model[i] is the model's index of the file's parameter
 * i, FIT_NO_MODEL if the model has none of that name. A parameter of the model that the file
 * does not have is a number: the model's start. In single experiments substitutes replace
 * either. */
struct fit_problem {
    const struct model *model;
    size_t n_experiment;
    const struct ode_task *task;  /* n_experiment, each with rows; `steady` as in the dataset */
    const uint32_t *preequilibration; /* n_experiment: the one at whose steady state (its last
                                       * time) it begins, which itself begins as the model does;
                                       * or EXPERIMENT_NONE. NULL: all are that */
    /* rows of the first experiment's task, then the second's ...; values are finite (rows
     * without a value are omitted). censored NULL: no row of the run is censored; if one is,
     * every row of its dataset has a sigma or a noise */
    struct measurements measured;
    /* one for each observable of the model; with a log-normal one all values are > 0 */
    const struct fit_loss *loss;
    bool mixes;                 /* as in base/error_kind.h; then every row has a sigma or a noise */
    size_t n_parameter;
    const char *const *parameter_name; /* n_parameter, for messages; NULL: the model's */
    const uint32_t *to_model;
    const double *start, *lower, *upper;
    const enum parameter_scale *scale;
    const uint8_t *fixed;       /* non-zero: held at its start */
    const struct fit_prior *prior; /* NULL: none. With a prior every row has a sigma or a noise */
    /* the integrator's first relative tolerance; 0: that of the options */
    double rtol;
    /* of refits: parameters that affect only the noise, at the best fit */
    size_t n_noise;
    /* for Laplace's errors without any sigma: unit of the kink (fit/objective/unit.h); 0: not
     * known */
    double unit;
    uint64_t seed, dataset;     /* determine a random start, together with start_number */
    /* 0: the given start; k: row k-1 of this dataset's Latin hypercube */
    uint32_t start_number;
    uint32_t n_start;
    bool seeks_pulses;          /* NOTE_hidden_pulses is to be found out */
    /* parameters differ between the experiments: fit_point.by_experiment */
    bool varies;
    bool takes_sides;           /* the derivatives of one side will do where what a parameter
                                 * moves meets a measurement */
    uint32_t notes;             /* bits of enum note known beforehand */
};

/* Rows of all experiments. */
static inline size_t fit_problem_n_row(const struct fit_problem *problem)
{
    size_t n_row = 0;
    for (size_t e = 0; e < problem->n_experiment; e++)
        n_row += problem->task[e].n_row;
    return n_row;
}

/* The budgets of a fit: type, field, standard value, name and kind of the option of `run`, and the
 * option's other members. A new one needs a row here, and a line in fit/objective/point.c where
 * check_budgets ends the fit; its effect is RUN_FITS_LATER. */
#define FIT_BUDGET_LIST(X) \
    /* of the objective, per fit; each evaluates all experiments. 0: auto, not chosen yet */ \
    X(int64_t, max_evaluations, 0, "max-evaluations", INTEGER, .effect = RUN_FITS, \
      .metavar = "N|auto", .min = 1, .max = INFINITY, .zero = "auto", .default_text = "auto", \
      .help = "evaluations of the objective per fit, each of which simulates all experiments; " \
              "difference quotients take two for each parameter; 1 + P/3 trials without " \
              "derivatives, with P free parameters, count as one; with random parameters, the " \
              "steps of each of several searches for their distribution; auto: 1000 plus 100 " \
              "for each parameter") \
    X(int64_t, max_steps, 100000, "max-steps", INTEGER, .effect = RUN_FITS, .min = 1, \
      .max = INFINITY, .default_text = "100000", \
      .help = "integrator steps per simulation of an experiment, over all its output times") \
    X(int64_t, max_total_steps, 10000000, "max-total-steps", INTEGER, .effect = RUN_FITS, \
      .min = 1, .max = INFINITY, .default_text = "10000000", \
      .help = "integrator steps per fit, for each of its experiments") \
    X(double, max_seconds, INFINITY, "max-seconds", NUMBER, .effect = RUN_FITS, .metavar = "S", \
      .min = 0, .max = INFINITY, .above_min = true, .default_text = "no limit", \
      .help = "computing time per fit; the result of a fit that it ends depends on the machine's " \
              "speed")
#define FIT_BUDGET_FIELD(type, field, ...) type field;
#define FIT_BUDGET_STANDARD(type, field, standard, ...) .field = standard,

struct fit_options {
    bool evaluates;             /* only the start, even outside its bounds; nothing is searched */
    enum optimizer optimizer;   /* none: chosen by the sizes */
    enum gradient_method gradient; /* none: chosen by the sizes; trf has no adjoint gradients */
    enum engine_kind engine;    /* the first one; adjoint gradients are for CVODES */
    /* Converged: the decrease that the Gauss-Newton model predicts within the bounds, or the
     * decrease over the last few iterations, is below f_tolerance times fit_point_misfit; or the
     * cosine of the angle between the weighted residuals and the derivatives by each parameter
     * is below g_tolerance, and the decrease predicted without a trust region is below 1000
     * times the first limit. Or the predicted decrease cannot be distinguished from the
     * integrator's noise. */
    double f_tolerance, g_tolerance;
    int certify;                /* evaluate the optimum again with tighter integrator tolerances */
    bool statistics;            /* fill what fit/statistics computes at the best point */
    double confidence;          /* of its intervals and of profiles */
    FIT_BUDGET_LIST(FIT_BUDGET_FIELD)
    double accuracy;            /* relative, of the predictions: the integrator's rtol */
    /* the start is near an optimum: the first steps have the full accuracy, too */
    bool is_near;
    int likelihood;             /* of fits with random parameters: enum likelihood */
    double likelihood_error;    /* what -2 log L may be off by then; 0: the default */
};

#define FIT_OPTIONS_DEFAULT \
    {.f_tolerance = 1e-9, .g_tolerance = 1e-6, .certify = true, .statistics = true, \
     .confidence = 0.95, FIT_BUDGET_LIST(FIT_BUDGET_STANDARD) .accuracy = ODE_RTOL}

enum { FIT_SHARES = 16 };

/* What an earlier process has left of a task's fits, which are made one after another, and what
 * this process leaves for the next one. */
struct fit_keeper {
    /* The next fit begins. True: it has ended before, and the record has what it gave. Otherwise
     * *state is what was last kept of it, *n bytes that live as long as the task, or NULL. */
    bool (*begin)(void *context, size_t n_parameter, struct fit_record *record,
                  const unsigned char **state, size_t *n);
    /* Between two steps: whether the fit's state is to be kept; then that state, n bytes, which
     * the keeper frees. NULL: out of memory. */
    bool (*is_due)(void *context);
    void (*keep)(void *context, unsigned char *state, size_t n);
    /* The fit has ended, with this record. */
    void (*end)(void *context, size_t n_parameter, const struct fit_record *record);
    void *context;
};

/* Computes evaluations. `ask` returns when all n are finished, possibly on another thread.
 * False: the fit is cancelled and must return as soon as possible; its results are ignored. */
struct fit_host {
    bool (*ask)(void *context, struct evaluation *const *evaluations, size_t n);
    /* Calls `work` for each of n <= FIT_SHARES parts of `size` bytes, on any threads, and
     * returns when all are done. False: the fit is cancelled, and they may not be. NULL: the fit
     * does that itself. */
    bool (*share)(void *context, void (*work)(void *part), void *parts, size_t size, size_t n);
    int64_t (*elapsed_ns)(void *context); /* time of computing spent on this fit */
    /* NULL, or called with the judgement of the latest evaluation: the objective, and then the
     * largest entry of the projected gradient, for which difference quotients need more
     * evaluations. The other argument is NaN. For traces. */
    void (*judged)(void *context, double objective, double gradient_norm);
    void *context;
    const struct fit_keeper *keeper; /* NULL: nothing is kept */
};
