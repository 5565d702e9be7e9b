/* A workspace: the memory for one evaluation at a time (integrator, vectors, matrices, scratch),
 * made once and reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/adjoint.h"
#include "ode/adjoint_tape.h"
#include "ode/linear.h"
#include "ode/simulation.h"
#include "ode/vector.h"

/* Why the last call of the nonlinear solver or of the right-hand side failed. */
enum solve_trouble {
    TROUBLE_NONE,
    TROUBLE_MODEL,
    TROUBLE_DIVERGED,
    TROUBLE_SINGULAR,
    TROUBLE_NO_MEMORY
};

/* The kind of step; a chunk is replayed if the backward pass needs it again (adjoint.h). */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_REPLAY };

/* Steps no longer move t. */
enum { FAILURE_STUCK = 1 };

struct workspace {
    struct simulation sim;         /* the first member */

    SUNContext context;
    struct vector_bank *bank;
    void *cvode;
    SUNNonlinearSolver solver;
    N_Vector y;                 /* the integrator's output vector, and the initial one */
    /* scratch of root.c; NULL if it watches no functions of the model */
    N_Vector y_at;
    bool may_have_stop;         /* the integrator has been given stop times */
    struct linear *linear;
    /* the linear solver takes the Jacobian in the model's sparse form */
    bool sparse;

    bool probe;                 /* the one block is a combination of all sensitivities (probe.c) */
    /* n_parameter places: the factors of the wanted parameters in the probe */
    double *probe_factor;
    double *probe_column;       /* n_state */

    /* scratch of the nonlinear solver */
    double *y_now, *f_predicted, *delta; /* n_state each */
    /* of the current factors, made factor_age steps ago; 0: there are none */
    double factor_gamma;
    int factor_age;
    double *rhs_parameter;      /* n_state x n_parameter */
    enum solve_trouble trouble;
    /* the current evaluation */
    enum pass pass;
    int failure;                /* of the latest step: CVODES's flag, or FAILURE_STUCK */
    int64_t model_trouble_step; /* the last step with a failure of the model, or -1 */
    int n_stuck;                /* consecutive steps that did not move t */
    struct adjoint *adjoint;    /* made by the first evaluation that needs it */
    struct tape *tape;          /* the adjoint's, while steps are recorded; otherwise NULL */
};

/* NULL: out of memory; options and model have been checked. */
struct workspace *workspace_new(const struct stiffit_model *abi, const struct ode_options *options,
                                const struct linear_plan *plan);
void workspace_free(struct workspace *workspace);

/* probe.c. probe_begin makes the probe the one block; false: no state depends on a wanted
 * parameter. pace_begin makes the pace the one block. probe_combine combines the columns of a
 * matrix by parameter, for parameters that have a bit of `use`. */
bool probe_begin(struct workspace *workspace);
void pace_begin(struct workspace *workspace);
void probe_combine(const struct workspace *workspace, const double *by_parameter, unsigned use,
                   double *column);

/* newton.c: the corrector, and the right-hand side of state and sensitivities */
SUNNonlinearSolver newton_new(struct workspace *workspace);
/* Computes J at (t, y) into the linear solver; f and rough as in derivatives_jacobian. */
int newton_jacobian(struct workspace *workspace, double t, const double *y, const double *f,
                    bool rough);
int newton_rhs(sunrealtype t, N_Vector y, N_Vector ydot, void *workspace);
