/* Allocates and frees workspaces, the memory of an evaluation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/period.h"
#include "ode/tolerance.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* CVODES takes 13 vectors for BDF (7 of its own and the history of orders 0 to 5) and one more while it makes the nonlinear
 * solver that ours replaces; we take one. The rest is spare for later versions. */
enum { N_VECTOR = 20 };

/* A step grows if it can grow by this factor. CVODES waits for 1.5, because a new step size costs a factorisation, which every
 * step has here anyway. 1.2 gives 0.90 of the steps for 1.2 to 1.4 times the error; the same saving by looser tolerances would
 * cost 1.9 times the error. */
#define STEP_GROWTH 1.2

static bool make_integrator(struct workspace *ws)
{
    size_t n_sensitivity = observer_most_blocks(ws->o.abi, &ws->o.options), n_block = 1 + (n_sensitivity ? n_sensitivity : 1);
    ws->context = sundials_context_new();
    if (!ws->context)
        return false;
    ws->bank = vector_bank_new(ws->context, ws->o.n_state, n_block, N_VECTOR);
    if (!ws->bank)
        return false;
    vector_bank_set_blocks(ws->bank, 1);
    ws->y = vector_new(ws->bank);
    N_VConst(0, ws->y);
    if (ws->o.abi->n_switching + ws->o.abi->n_event > 0)
        ws->y_at = vector_new(ws->bank);
    ws->cvode = CVodeCreate(CV_BDF, ws->context);
    ws->solver = newton_new(ws);
    if (!ws->cvode || !ws->solver || sundials_silence(ws->cvode) != 0)
        return false;
    /* Our own count of steps is the budget, which also ends an integration whose steps no longer move t. */
    return CVodeInit(ws->cvode, newton_rhs, 0, ws->y) == CV_SUCCESS &&
           CVodeSetUserData(ws->cvode, ws) == CV_SUCCESS &&
           CVodeWFtolerances(ws->cvode, tolerance_weights) == CV_SUCCESS &&
           CVodeSetMaxNumSteps(ws->cvode, LONG_MAX) == CV_SUCCESS &&
           CVodeSetMaxHnilWarns(ws->cvode, -1) == CV_SUCCESS &&
           CVodeSetEtaFixedStepBounds(ws->cvode, 0, STEP_GROWTH) == CV_SUCCESS &&
           (!(ws->o.max_step < INFINITY) || CVodeSetMaxStep(ws->cvode, ws->o.max_step) == CV_SUCCESS) &&
           CVodeSetNonlinearSolver(ws->cvode, ws->solver) == CV_SUCCESS;
}

static double *new_array(size_t m, size_t n) { return calloc(m * n + 1, sizeof(double)); }

struct workspace *workspace_new(const struct stiffit_model *abi, const struct ode_options *options,
                                const struct linear_plan *plan)
{
    struct workspace *ws = calloc(1, sizeof *ws);
    if (!ws)
        return NULL;
    size_t n = abi->n_state, n_parameter = abi->n_parameter;
    ws->sparse = linear_plan_is_sparse(plan);
    ws->y_now = new_array(n, 1);
    ws->f_predicted = new_array(n, 1);
    ws->delta = new_array(n, 1);
    ws->probe_factor = new_array(n_parameter, 1);
    ws->probe_column = new_array(n, 1);
    ws->rhs_parameter = new_array(n, n_parameter);
    ws->linear = linear_new(plan);
    bool complete = observer_init(&ws->o, abi, options) && ws->y_now && ws->f_predicted && ws->delta && ws->probe_factor &&
                    ws->probe_column && ws->rhs_parameter && ws->linear;
    if (complete && (n == 0 || make_integrator(ws)))
        return ws;
    workspace_free(ws);
    return NULL;
}

void workspace_free(struct workspace *ws)
{
    if (!ws)
        return;
    if (ws->cvode)
        CVodeFree(&ws->cvode);
    if (ws->solver)
        SUNNonlinSolFree(ws->solver);
    if (ws->y)
        N_VDestroy(ws->y);
    if (ws->y_at)
        N_VDestroy(ws->y_at);
    adjoint_free(ws->adjoint);
    period_free(ws->period);
    vector_bank_free(ws->bank);
    if (ws->context)
        SUNContext_Free(&ws->context);
    linear_free(ws->linear);
    observer_fini(&ws->o);
    free(ws->y_now);
    free(ws->f_predicted);
    free(ws->delta);
    free(ws->probe_factor);
    free(ws->probe_column);
    free(ws->rhs_parameter);
    free(ws);
}
