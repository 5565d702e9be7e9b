/* One evaluation: simulate one dataset at one parameter vector; predictions at its measurements and, if asked,
 * their derivatives. A pure function of the request: the same bits on any thread, in any order.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_EVALUATION_H
#define ODE_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is simulated: constant during a fit, owned by it. */
struct ode_task {
    double t0;
    const double *covariate;        /* n_covariate of the model */
    size_t n_time;
    const double *time;             /* n_time, strictly increasing, finite, the first >= t0 */
    size_t n_row;                   /* measurements, in order of time */
    const uint32_t *row_time;       /* n_row, index into time, non-decreasing */
    const uint32_t *row_observable; /* n_row, index of the model's observable */
    const double *row_sigma;        /* n_row: the row's own standard deviation, which makes the model's noise unneeded there;
                                     * NaN: none. NULL: these are no measurements */
    const bool *row_is_log;         /* n_row: sigma and noise are of the prediction's logarithm; NULL: of none */
};

enum evaluation_outcome {
    EVALUATION_OK,
    EVALUATION_ODE_FAILED,    /* the integrator gave up (step size, error tests, Newton's iteration) */
    EVALUATION_MODEL_FAILED,  /* the model returned an error or non-finite numbers, at whatever step size */
    EVALUATION_BUDGET,        /* max_steps used up */
    EVALUATION_TIMEOUT,       /* deadline passed */
    EVALUATION_NO_MEMORY
};

struct evaluation;

/* The gradient of one number F that depends on predictions and noise, instead of the derivatives of each of them: for
 * about twice the cost of a single parameter's sensitivities, however many parameters there are (adjoint.h says when
 * it pays). Its predictions differ in bits from those with forward sensitivities and from those without any. */
struct evaluation_adjoint {
    /* Called once, on the worker's thread, when all predictions (and noise) are there: fills by_prediction[i] =
     * dF/d prediction_i and, where the model has a noise function, by_noise[i]. Pure. False: the objective is not
     * finite here, the evaluation fails as EVALUATION_MODEL_FAILED. */
    bool (*weigh)(void *context, const struct evaluation *evaluation);
    void *context;
    double *by_prediction, *by_noise; /* n_row each, the caller's; by_noise only where evaluation.noise is given */
    double *gradient;                 /* n_sens: dF/d p[sens_j], written only when the outcome is EVALUATION_OK */
};

/* The caller owns everything pointed to. */
struct evaluation {
    /* request */
    const struct ode_task *task;
    const double *p;           /* n_parameter of the model, natural scale, finite */
    size_t n_sens;             /* 0: predictions alone. With and without differ in bits: never mix them in a search */
    const uint32_t *sens;      /* n_sens indices of model parameters, increasing */
    int64_t max_steps;         /* integrator steps, in total; with adjoint set backward ones count too */
    double tighter;            /* the integrator's rtol and atol are divided by it; 0: they are as they are. Without an
                                * atol what stands for it falls faster: relative to rtol by the square of it */
    int64_t deadline_ns;       /* CLOCK_MONOTONIC; INT64_MAX = none */
    bool lenient;              /* predictions alone: a row that the model cannot compute is NaN, instead of a failure */
    const struct evaluation_adjoint *adjoint; /* NULL: forward sensitivities; else no d_prediction, d_noise */

    /* answer; the arrays are written only as far as the outcome is EVALUATION_OK, and are then all finite (but see
     * lenient). Nothing is asked of observables and noise where no row needs them */
    double *prediction;        /* n_row */
    double *d_prediction;      /* n_row x n_sens, column-major: d prediction_i / d p[sens_j] at i + j*n_row; or NULL */
    double *noise;             /* n_row: the row's sigma, or the model's (> 0); NULL where the model has no noise */
    double *d_noise;           /* n_row x n_sens; or NULL */
    enum evaluation_outcome outcome;
    char reason[160];          /* "" when OK; else what failed and at which time */
    bool crosses;              /* wanted parameters move the time of a jump of the right-hand side, which derivatives lack */
    double t_reached;
    int64_t n_step, n_rhs, n_jacobian, n_factor;

    void *state;             /* the engine's: NULL unless begun and not finished */
    struct evaluation *next; /* the scheduler's, like is_finished */
    bool is_finished;
};

struct ode_options {
    double rtol, atol;      /* of states; 0: the states' own sizes. Sensitivities get rtol and atol / |p| (1 where p is 0) */
    int linear_solver;      /* enum linear_solver_kind */
};

enum linear_solver_kind { LINEAR_AUTO, LINEAR_DENSE, LINEAR_LAPACK, LINEAR_KLU };

#define ODE_RTOL 1e-7
#define ODE_OPTIONS_DEFAULT {.rtol = ODE_RTOL, .atol = 0, .linear_solver = LINEAR_AUTO}

#endif
