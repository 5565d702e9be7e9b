/* A workspace: everything that one evaluation at a time needs (integrator memory, vectors, matrices, scratch),
 * made once and reused. The files newton.c, simulation.c and observation.c work on it; engine.c hands it out.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_WORKSPACE_H
#define ODE_WORKSPACE_H

#include "ode/derivatives.h"
#include "ode/evaluation.h"
#include "ode/linear.h"
#include "ode/vector.h"

/* Why the last call of the nonlinear solver or of the right-hand side failed. */
enum solve_trouble { TROUBLE_NONE, TROUBLE_MODEL, TROUBLE_DIVERGED, TROUBLE_SINGULAR, TROUBLE_NO_MEMORY };

/* A piece of the time axis over which the integrator runs through. One today; doses and events will begin new
 * ones, with a map of the state (and of its sensitivities) applied where they join. */
struct segment {
    double t_begin;
    size_t end_time; /* task times before this index belong to it */
};

struct workspace {
    const struct stiffit_model *abi;
    double rtol, atol;
    size_t slot;                /* the pool's: where it belongs */

    SUNContext context;
    struct vector_bank *bank;
    void *cvode;
    SUNNonlinearSolver solver;
    N_Vector y;                 /* the integrator's output vector, and the initial one */
    struct linear *linear;
    bool sparse;                /* the linear solver takes the Jacobian in the model's sparse form */
    struct derivatives model;

    /* blocks: the state, and one for each wanted parameter that enters the right-hand side or the initial state */
    size_t n_state, n_block;    /* n_block counts the sensitivities alone */
    uint32_t *block_parameter;  /* n_parameter places */
    bool *block_rhs;            /* whether it enters the right-hand side */
    double *block_floor;        /* atol / |p| of that parameter */
    int32_t *sens_block;        /* of each wanted parameter: its block, or -1 */

    /* scratch of the nonlinear solver */
    double *y_now, *f, *f_predicted, *delta; /* n_state each */
    bool keeps_factors;         /* Newton's iteration may use those of an earlier step */
    double factor_gamma;        /* gamma of the factors at hand; 0: there are none of this evaluation */
    int factor_age;             /* steps since they were made */
    double *rhs_parameter;      /* n_state x n_parameter */
    double *columns;            /* n_state x n_parameter */
    enum solve_trouble trouble;

    /* scratch of the observables */
    double *h, *h_state, *h_parameter; /* n_observable x 1, n_state, n_parameter */
    double *h_row;                     /* n_observable x n_parameter: total derivatives */

    /* the evaluation under way */
    struct evaluation *evaluation;
    struct segment segment;
    double t_far;               /* the last time: tells the integrator direction and scale, never where to stop */
    size_t i_time, i_row;       /* next to be answered */
    int64_t n_factor;
    int64_t model_trouble_step; /* the last step that the model disturbed, or -1 */
    int n_stuck;                /* steps in a row that did not move t */
};

/* NULL: out of memory (or the integrator's memory could not be made); options and model have been checked. */
struct workspace *workspace_new(const struct stiffit_model *abi, const struct ode_options *options,
                                const struct linear_plan *plan);
void workspace_free(struct workspace *workspace);

/* simulation.c: an evaluation in pieces. False: it is finished, its outcome filled in. */
bool simulation_begin(struct workspace *workspace, struct evaluation *evaluation);
bool simulation_step(struct workspace *workspace);
/* Ends it from outside, between two steps. */
void simulation_stop(struct workspace *workspace, enum evaluation_outcome outcome, const char *why);

/* observation.c: predictions, noise and their derivatives for all rows of task time `i_time`, from the state and its
 * sensitivities at that time (blocks one behind the other). False: the model failed. */
bool observation_fill(struct workspace *workspace, size_t i_time, const double *y);

/* newton.c: the corrector, the right-hand side of state and sensitivities, and the error weights. */
SUNNonlinearSolver newton_new(struct workspace *workspace);
int newton_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *workspace);
int newton_weights(N_Vector y, N_Vector weights, void *workspace);

#endif
