/* A workspace: the memory for one evaluation at a time (integrator, vectors, matrices, scratch), made once and reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_WORKSPACE_H
#define ODE_WORKSPACE_H

#include "ode/adjoint.h"
#include "ode/adjoint_tape.h"
#include "ode/crossing.h"
#include "ode/derivatives.h"
#include "ode/evaluation.h"
#include "ode/forcing.h"
#include "ode/linear.h"
#include "ode/positive.h"
#include "ode/vector.h"

/* Why the last call of the nonlinear solver or of the right-hand side failed. */
enum solve_trouble { TROUBLE_NONE, TROUBLE_MODEL, TROUBLE_DIVERGED, TROUBLE_SINGULAR, TROUBLE_NO_MEMORY };

/* A piece of the time axis that is integrated without a restart. */
struct segment {
    double t_begin;
    size_t end_time; /* task times before this index belong to it */
};

/* The kind of step; a chunk is replayed if the backward pass needs it again (adjoint.h). */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_REPLAY };

struct workspace {
    const struct stiffit_model *abi;
    struct ode_options options;
    double rtol, atol;          /* of the current evaluation; atol 0: from the states' sizes (tolerance.c) */
    double fraction;            /* the floor of the magnitude used for a state's tolerance, as a part of the state's size */
    bool is_relative;           /* each state's tolerance is rtol times its present value */
    size_t slot;                /* its slot in the pool */

    SUNContext context;
    struct vector_bank *bank;
    void *cvode;
    SUNNonlinearSolver solver;
    N_Vector y;                 /* the integrator's output vector, and the initial one */
    struct linear *linear;
    bool sparse;                /* the linear solver takes the Jacobian in the model's sparse form */
    struct derivatives model;

    /* blocks: the state, and one for each wanted parameter that enters the right-hand side or the initial state */
    size_t n_state, n_block;    /* n_block counts only the sensitivities */
    uint32_t *block_parameter;  /* n_parameter places; the block's parameter */
    bool *block_rhs;            /* whether it enters the right-hand side */
    double *block_unit;         /* 1 / |p| of that parameter: turns tolerances of states into those of its block */
    int32_t *sens_block;        /* block of each wanted parameter, or -1 */

    bool probe;                 /* the one block is a combination of all sensitivities (probe.c) */
    bool pace;                  /* the one block is the dependence of the states on the unit of time (probe.c) */
    double *probe_factor;       /* n_parameter places: the factors of the wanted parameters in the probe */
    double *probe_column;       /* n_state */

    /* for each state: the largest |y| so far; the guessed size of a young state, else 0; y after the last step; then its t */
    double *sizes;              /* 3 n_state + 1 */
    double at_rest;             /* tolerance of states at zero, in their guessed sizes, while an input jumps */
    double *tolerance_beyond;   /* n_state: tolerance minus rtol |y| */

    /* scratch of the nonlinear solver */
    double *y_now, *f, *f_predicted, *delta; /* n_state each */
    double factor_gamma;        /* of the current factors, made factor_age steps ago; 0: there are none */
    int factor_age;
    double *rhs_parameter;      /* n_state x n_parameter */
    double *columns;            /* n_state x n_parameter */
    enum solve_trouble trouble;
    /* scratch of the observables */
    double *h, *h_state, *h_parameter; /* n_observable x 1, n_state, n_parameter */
    double *h_row;                     /* n_observable x n_parameter: total derivatives */
    bool *is_wanted;                   /* n_observable */
    double *h_largest;                 /* n_observable: the largest absolute prediction so far (of all: the first entry) */

    /* the current evaluation */
    struct evaluation *evaluation;
    struct segment segment;
    enum pass pass;
    double t;                   /* the integrator's time */
    double t_far;               /* the last time: gives the integrator direction and scale, but no stop time */
    size_t i_time, i_row;       /* the next to be answered */
    int64_t n_factor;
    int64_t model_trouble_step; /* the last step with a failure of the model, or -1 */
    int n_stuck;                /* consecutive steps that did not move t */
    bool begins_anew;           /* restarts with relative tolerances, because an observable needs them */
    struct adjoint *adjoint;    /* made by the first evaluation that needs it */
    struct forcing *forcing;    /* NULL: the model has none */
    struct crossing *crossing;  /* likewise */
    struct positive *positive;
    struct tape *tape;          /* the adjoint's, while steps are recorded; otherwise NULL */
};

/* NULL: out of memory; options and model have been checked. */
struct workspace *workspace_new(const struct stiffit_model *abi, const struct ode_options *options,
                                const struct linear_plan *plan);
void workspace_free(struct workspace *workspace);

/* simulation.c: an evaluation in pieces. False: it is finished, its outcome filled in. */
bool simulation_begin(struct workspace *workspace, struct evaluation *evaluation);
bool simulation_step(struct workspace *workspace);
/* Ends the evaluation from outside, between two steps, with this reason, to which the time is appended. */
void simulation_stop(struct workspace *workspace, enum evaluation_outcome outcome, const char *why);
/* End an evaluation; all return false. simulation_fail_model reports the model's last failure. */
bool simulation_finish(struct workspace *workspace, enum evaluation_outcome outcome);
bool simulation_fail_model(struct workspace *workspace);
bool simulation_fail_memory(struct workspace *workspace); /* for the backward pass */

/* probe.c. probe_begin makes the probe the one block; false: no state depends on a wanted parameter. pace_begin makes the pace
 * the one block. probe_combine combines the columns of a matrix by parameter, for parameters that have a bit of `use`. */
bool probe_begin(struct workspace *workspace);
void pace_begin(struct workspace *workspace);
void probe_combine(const struct workspace *workspace, const double *by_parameter, unsigned use, double *column);

/* newton.c: the corrector, and the right-hand side of state and sensitivities */
SUNNonlinearSolver newton_new(struct workspace *workspace);
/* Computes J at (t, y) into the linear solver; f and rough as in derivatives_jacobian. */
int newton_jacobian(struct workspace *workspace, double t, const double *y, const double *f, bool rough);
int newton_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *workspace);

#endif
