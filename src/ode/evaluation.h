/* One evaluation: the simulation of one dataset at one parameter vector. Returns predictions at
 * its measurements and, on request, their derivatives. A pure function of the request: the same
 * bits on any thread, in any order.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/experiment.h"


enum evaluation_outcome {
    EVALUATION_OK,
    /* the integrator failed (step size, error tests, Newton's iteration) */
    EVALUATION_ODE_FAILED,
    /* the model returned an error or non-finite numbers, at any step size */
    EVALUATION_MODEL_FAILED,
    EVALUATION_BUDGET,        /* max_steps used up */
    EVALUATION_TIMEOUT,       /* deadline passed */
    EVALUATION_NO_MEMORY
};

/* What carries an evaluation out. Their answers agree within the tolerances, not in their bits:
 * never mix two in a search. The reference takes every evaluation of every model, also those
 * that the others do not take or cannot finish. X(identifier, word of --engine, its struct
 * engine_table) */
#define ENGINE_LIST(X) \
    X(CVODES, "cvodes", engine_cvodes) X(LANES, "lanes", engine_lanes) X(GPU, "gpu", engine_gpu)
#define ENGINE_KIND(id, word, table) ENGINE_##id,
enum engine_kind { ENGINE_LIST(ENGINE_KIND) N_ENGINE, ENGINE_REFERENCE = ENGINE_CVODES };
extern const char *const engine_word[N_ENGINE];

struct evaluation;

/* What an evaluation has found that helps the next one of the same data; all zero: nothing. */
struct evaluation_course {
    bool is_stiff;
    double stiff_from; /* the time; -INFINITY: from the beginning */
};

/* The gradient of one number F that depends on predictions and noise, instead of the derivatives
 * of each prediction. It costs about as much as the sensitivities of two parameters, for any
 * number of parameters (see adjoint_is_cheaper). The bits of the predictions differ from those
 * with forward sensitivities and from those without derivatives. */
struct evaluation_adjoint {
    /* Called once, on the worker's thread, when all predictions (and noise) are known: fills
     * by_prediction[i] = dF/d prediction_i and, if the model has a noise function, by_noise[i].
     * Pure. False: the objective is not finite here, and the evaluation fails as
     * EVALUATION_MODEL_FAILED. */
    bool (*weigh)(void *context, const struct evaluation *evaluation);
    void *context;
    /* n_row each, the caller's; by_noise only if evaluation.noise is given */
    double *by_prediction, *by_noise;
    /* n_sens: dF/d p[sens_j], written only when the outcome is EVALUATION_OK */
    double *gradient;
};

/* The caller owns everything pointed to. */
struct evaluation {
    /* request */
    /* a pool without it takes the reference, as do evaluations that it does not take */
    enum engine_kind engine;
    const struct ode_task *task;
    /* n_parameter of the model, natural scale, finite; the same for each phase of the task */
    const double *p;
    /* 0: predictions only; their bits differ from those with derivatives: never mix both in a
     * search */
    size_t n_sens;
    /* n_sens indices of model parameters; the same for each phase. ODE_NONE: a column of what
     * has no parameter in this phase, or (with `begin`) of what only the state at t0 depends on.
     * In the first phase they increase; all ODE_NONE come last */
    const uint32_t *sens;
    /* of each task.variant_parameter: its value, and the index in sens of its column in the
     * rows of its variant; ODE_NONE: it has none */
    const double *own;
    const uint32_t *own_sens;
    /* NULL: the model's initial state. Otherwise the state at t0 and its derivatives: n_state x
     * (1 + n_sens) */
    const double *begin;
    /* For one experiment of several whose answers share matrices: */
    size_t stride;             /* rows of the matrices d_prediction and d_noise; 0: n_row */
    /* n_sens: the column of each wanted parameter; those of the same column are added up. NULL:
     * its position in sens */
    const uint32_t *column;
    /* integrator steps, in total; with adjoint set, backward ones count too */
    int64_t max_steps;
    /* divisor of the integrator's rtol and atol; 0: none. With atol 0, the floor of a state's
     * tolerance relative to rtol is divided by its square */
    double tighter;
    int64_t deadline_ns;       /* CLOCK_MONOTONIC; INT64_MAX = none */
    struct evaluation_course course; /* of the last evaluation; and the answer: of this one */
    /* predictions only: a row that the model cannot compute is NaN, one that is infinite stays
     * so, and the evaluation does not fail */
    bool lenient;
    /* NULL: forward sensitivities; otherwise no d_prediction, d_noise */
    const struct evaluation_adjoint *adjoint;

    /* answer; the arrays are valid only if the outcome is EVALUATION_OK, and are then finite
     * (but see lenient). Observables and noise that no row needs are not evaluated */
    double *prediction;        /* n_row */
    /* n_row x n_sens, column-major: d prediction_i / d p[sens_j] at i + column[j]*stride; other
     * columns are left alone; or NULL */
    double *d_prediction;
    /* n_row: the row's sigma, or the model's (> 0); NULL if the model has no noise */
    double *noise;
    double *d_noise;           /* the noise's, as d_prediction; or NULL */
    /* NULL, or others may repeat the request, whose course is all zero (memo.h): n_row, the
     * errors of predictions that are due to absolute tolerances */
    double *excess;
    /* NULL, or the state at the last time and its derivatives: n_state x (1 + n_sens) */
    double *end;
    enum evaluation_outcome outcome;
    char reason[160];          /* "" if OK; otherwise what failed, and at which time */
    /* derivatives do not exist or are not right: the trajectory grazes the threshold of a switch
     * or an event, slides along a switch, or passes two at once; two things happen at once that
     * move differently; or with an adjoint, a switch */
    bool crosses;
    bool meets;                /* what a parameter moves meets a measurement: derivatives are those
                                * of one side */
    double t_reached;
    int64_t n_step, n_rhs, n_jacobian, n_factor;

    /* NULL, or a part of a fit's own algebra, which the scheduler lets a worker carry out like
     * an evaluation; then nothing else of this struct counts but what is the scheduler's */
    void (*chore)(void *part);
    void *part;
    /* the caller's: what messages about this evaluation show instead of p; or NULL */
    const double *named;
    void *state;             /* the engine's: NULL unless begun and not finished */
    /* the scheduler's, like is_finished; and of those that an engine returns together */
    struct evaluation *next;
    bool is_finished;
};

#define ODE_NONE UINT32_MAX

struct ode_options {
    /* for states; atol 0: from the states' sizes. Sensitivities use rtol and atol / |p| (1 if p
     * is 0) */
    double rtol, atol;
    int linear_solver;      /* enum linear_solver_kind */
    enum engine_kind engine; /* evaluations may be for this one or the reference */
    /* of the engine on a GPU (ode/gpu/device.h): its devices, NULL: all GPUs; and how much of the
     * memory of each it may use, in MiB, 0: most of it */
    const char *devices;
    double device_memory;
    double max_step;        /* of steps, by time; 0: none but the model's. The smaller one holds */
    /* the largest number of ODE_NONE in an evaluation, at least 1 if any has `begin` */
    size_t n_none;
};

/* X(identifier, word of --linear-solver, row of functions in ode/linear_solver.h). The first one
 * takes every model; later ones are tried earlier. */
#define LINEAR_SOLVER_LIST(X) X(DENSE, "dense", dense_solver) X(LAPACK, "lapack", \
    lapack_solver) X(KLU, "klu", klu_solver)
#define LINEAR_SOLVER_KIND(id, word, row) LINEAR_##id,
enum linear_solver_kind { LINEAR_AUTO, LINEAR_SOLVER_LIST(LINEAR_SOLVER_KIND) N_LINEAR_SOLVER };
extern const char *const linear_solver_word[N_LINEAR_SOLVER + 1]; /* "auto", "dense" ..., NULL */

#define ODE_RTOL 1e-7
#define ODE_OPTIONS_DEFAULT {.rtol = ODE_RTOL, .atol = 0, .linear_solver = LINEAR_AUTO}
