/* The memory of an evaluation by CVODES, and the calls of CVODES for one evaluation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/workspace.h"

#include "ode/blocks.h"
#include "ode/forcing.h"
#include "ode/stops.h"
#include "ode/outcome.h"
#include "ode/tolerance.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CVODES takes 13 vectors for BDF (7 of its own and the history of orders 0 to 5) and one more while it makes the nonlinear
 * solver that ours replaces; we take one. The rest is spare for later versions. */
enum { N_VECTOR = 20 };

/* A step grows if it can grow by this factor. CVODES waits for 1.5, because a new step size costs a factorisation, which every
 * step has here anyway. 1.2 gives 0.90 of the steps for 1.2 to 1.4 times the error; the same saving by looser tolerances would
 * cost 1.9 times the error. */
#define STEP_GROWTH 1.2

/* After this many consecutive steps lost in rounding, the integrator makes no progress. */
enum { MAX_STUCK = 50 };
/* CVODES refuses to start if the end is within rounding of the beginning. */
#define CLOSEST (8 * DBL_EPSILON)

static int weigh(N_Vector y, N_Vector weight, void *workspace)
{
    tolerance_weigh(&((struct workspace *)workspace)->o, vector_data(y), vector_data(weight));
    return 0;
}

static bool make_integrator(struct workspace *ws)
{
    size_t n_sensitivity = blocks_most(ws->o.abi, &ws->o.options), n_block = 1 + (n_sensitivity ? n_sensitivity : 1);
    ws->context = sundials_context_new();
    if (!ws->context)
        return false;
    ws->bank = vector_bank_new(ws->context, ws->o.n_state, n_block, N_VECTOR);
    if (!ws->bank)
        return false;
    vector_bank_set_blocks(ws->bank, 1);
    ws->y = vector_new(ws->bank);
    ws->o.y = vector_data(ws->y);
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
           CVodeWFtolerances(ws->cvode, weigh) == CV_SUCCESS &&
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
    bool complete = simulation_init(&ws->o, abi, options) && ws->y_now && ws->f_predicted && ws->delta && ws->probe_factor &&
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
    vector_bank_free(ws->bank);
    if (ws->context)
        SUNContext_Free(&ws->context);
    linear_free(ws->linear);
    simulation_fini(&ws->o);
    free(ws->y_now);
    free(ws->f_predicted);
    free(ws->delta);
    free(ws->probe_factor);
    free(ws->probe_column);
    free(ws->rhs_parameter);
    free(ws);
}

static void set_blocks(struct workspace *ws, size_t n_block)
{
    ws->o.blocks.n = n_block;
    if (ws->bank) {
        vector_bank_set_blocks(ws->bank, 1 + n_block);
        vector_bank_trace(ws->bank, false);
    }
}

void workspace_prepare(struct workspace *ws)
{
    const struct evaluation *evaluation = ws->o.evaluation;
    ws->trouble = TROUBLE_NONE;
    ws->model_trouble_step = -1;
    ws->n_stuck = 0;
    ws->pass = PASS_FORWARD;
    ws->tape = NULL;
    blocks_choose(&ws->o);
    ws->probe = evaluation->adjoint && probe_begin(ws);
    ws->o.blocks.is_pace = ws->o.blocks.n == 0 && ws->o.n_state > 0;
    if (ws->o.blocks.is_pace)
        pace_begin(ws);
    set_blocks(ws, ws->o.blocks.n);
}

int workspace_initial(struct workspace *ws)
{
    size_t n = ws->o.n_state;
    double *y = ws->o.y;
    if (!ws->o.blocks.is_pace && !ws->probe)
        return blocks_initial(&ws->o, y);
    int code = derivatives_initial(&ws->o.model, y);
    if (ws->o.blocks.is_pace)
        memset(y + n, 0, n * sizeof(double));
    if (code != STIFFIT_OK || ws->o.blocks.is_pace)
        return code;
    code = derivatives_initial_parameter(&ws->o.model, ws->o.columns);
    if (code == STIFFIT_OK)
        probe_combine(ws, ws->o.columns, STIFFIT_USE_INITIAL, y + n);
    return code;
}

static bool finish_failed(struct workspace *ws, int flag)
{
    struct evaluation *evaluation = ws->o.evaluation;
    const char *what = "the integrator failed";
    char why[100];
    if (ws->trouble == TROUBLE_NO_MEMORY) {
        snprintf(evaluation->reason, sizeof evaluation->reason, "no memory for the linear solver");
        return outcome_set(&ws->o, EVALUATION_NO_MEMORY);
    }
    bool model = flag == CV_RHSFUNC_FAIL || flag == CV_FIRST_RHSFUNC_ERR || flag == CV_REPTD_RHSFUNC_ERR ||
                 flag == CV_UNREC_RHSFUNC_ERR || ws->trouble == TROUBLE_MODEL;
    if (model && flag != CV_ERR_FAILURE)
        return outcome_model_failed(&ws->o);
    if (flag == CV_ERR_FAILURE)
        what = "the error tests failed repeatedly";
    else if (flag == CV_CONV_FAILURE)
        what = ws->trouble == TROUBLE_SINGULAR ? "the iteration matrix is singular"
                                               : "Newton's iteration did not converge with the smallest steps";
    else if (flag == CV_TOO_MUCH_ACC)
        what = "rtol and atol demand more than double precision provides";
    snprintf(why, sizeof why, "%s (CVODES %d)", what, flag);
    return outcome_integrator_failed(&ws->o, why);
}

static bool finish_stuck(struct workspace *ws)
{
    struct evaluation *evaluation = ws->o.evaluation;
    if (ws->model_trouble_step >= 0 && evaluation->n_step - ws->model_trouble_step <= 2 * MAX_STUCK)
        return outcome_model_failed(&ws->o);
    return outcome_integrator_failed(&ws->o, "the step size fell to rounding level");
}

bool workspace_start(struct workspace *ws)
{
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    if (ws->tape && !adjoint_open(ws, ws->o.t))
        return adjoint_fail_memory(ws);
    int flag = CVodeReInit(ws->cvode, ws->o.t, ws->y);
    simulation_set_out(&ws->o, CLOSEST);
    if (ws->may_have_stop) /* a stop left by an earlier evaluation would end this one's steps */
        CVodeSetStopTime(ws->cvode, DBL_MAX);
    return flag == CV_SUCCESS || finish_failed(ws, flag);
}

/* Makes the next step end at the next stop, or where an input jumps or turns. */
static void bound_step(struct workspace *ws)
{
    double step = 0, stop = ws->o.has_stops ? ws->o.stops->next : INFINITY;
    CVodeGetCurrentStep(ws->cvode, &step);
    if (ws->o.forcing)
        stop = fmin(stop, forcing_bound(&ws->o, step));
    if (stop < INFINITY)
        CVodeSetStopTime(ws->cvode, stop);
    ws->may_have_stop = true;
}

bool workspace_step(struct workspace *ws)
{
    struct simulation *sim = &ws->o;
    double before = sim->t, far = sim->t_far;
    if (sim->forcing || sim->has_stops)
        bound_step(ws);
    if (sim->has_stops) /* the first step, which is estimated from `far`, must not see beyond the stop */
        far = fmin(far, sim->stops->next);
    ws->failure = CVode(ws->cvode, far, ws->y, &sim->t, CV_ONE_STEP);
    if (ws->failure < 0)
        return false;
    sim->t_before = before;
    sim->evaluation->n_step++;
    /* Near a pole, or where the model cannot be computed, steps shrink until t no longer moves. */
    ws->n_stuck = fabs(sim->t - before) <= 2 * DBL_EPSILON * fabs(sim->t) ? ws->n_stuck + 1 : 0;
    if (ws->n_stuck < MAX_STUCK)
        return true;
    ws->n_stuck = 0;
    ws->failure = FAILURE_STUCK;
    return false;
}

bool workspace_go_to(struct workspace *ws, double t)
{
    int flag = CVodeGetDky(ws->cvode, t, 0, ws->y);
    return flag == CV_SUCCESS || finish_failed(ws, flag);
}

const double *workspace_inside(struct workspace *ws, double t)
{
    if (!ws->tape)
        vector_bank_set_blocks(ws->bank, 1);
    int flag = CVodeGetDky(ws->cvode, t, 0, ws->y_at);
    vector_bank_set_blocks(ws->bank, 1 + ws->o.blocks.n);
    return flag == CV_SUCCESS ? vector_data(ws->y_at) : NULL;
}

const double *workspace_before(struct workspace *ws)
{
    bool is_known = CVodeGetDky(ws->cvode, ws->o.t_before, 0, ws->y) == CV_SUCCESS;
    if (is_known)
        memcpy(ws->delta, ws->o.y, ws->o.n_state * sizeof(double));
    CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
    return is_known ? ws->delta : NULL;
}

bool workspace_may_be_sizes(const struct workspace *ws)
{
    return ws->failure == FAILURE_STUCK || ws->failure == CV_ERR_FAILURE || ws->failure == CV_CONV_FAILURE ||
           ws->failure == CV_TOO_MUCH_ACC;
}

/* Without the companion, which may have caused the failure: the model's Jacobian may be wrong or not computable. */
bool workspace_fail(struct workspace *ws)
{
    if (ws->failure == FAILURE_STUCK)
        return finish_stuck(ws);
    if (!ws->o.blocks.is_pace)
        return finish_failed(ws, ws->failure);
    ws->o.blocks.is_pace = false;
    set_blocks(ws, 0);
    return true;
}
