/* An evaluation from its first to its last measurement, one integrator step at a time: it can be set aside between any two
 * steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"
#include "ode/tolerance.h"
#include "ode/workspace.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* After this many consecutive steps lost in rounding, the integrator makes no progress. */
enum { MAX_STUCK = 50 };

bool simulation_finish(struct workspace *ws, enum evaluation_outcome outcome)
{
    struct evaluation *evaluation = ws->evaluation;
    evaluation->outcome = outcome;
    evaluation->n_rhs = ws->model.n_rhs;
    evaluation->n_jacobian = ws->model.n_jacobian;
    evaluation->n_factor = ws->n_factor;
    if (outcome == EVALUATION_OK)
        evaluation->reason[0] = '\0';
    return false;
}

bool simulation_fail_model(struct workspace *ws)
{
    const struct model_failure *failure = &ws->model.failure;
    const char *what = failure->fatal ? "gave up" : failure->not_finite ? "gave numbers that are not finite" : "failed";
    snprintf(ws->evaluation->reason, sizeof ws->evaluation->reason, "the model's %s %s at t = %.6g",
             failure->where ? failure->where : "function", what, failure->t);
    return simulation_finish(ws, EVALUATION_MODEL_FAILED);
}

static bool finish_integrator_failed(struct workspace *ws, int flag)
{
    struct evaluation *evaluation = ws->evaluation;
    const char *what = "the integrator failed";
    if (ws->trouble == TROUBLE_NO_MEMORY) {
        snprintf(evaluation->reason, sizeof evaluation->reason, "no memory for the linear solver");
        return simulation_finish(ws, EVALUATION_NO_MEMORY);
    }
    bool model = flag == CV_RHSFUNC_FAIL || flag == CV_FIRST_RHSFUNC_ERR || flag == CV_REPTD_RHSFUNC_ERR ||
                 flag == CV_UNREC_RHSFUNC_ERR || ws->trouble == TROUBLE_MODEL;
    if (model && flag != CV_ERR_FAILURE)
        return simulation_fail_model(ws);
    if (flag == CV_ERR_FAILURE)
        what = "the error tests failed repeatedly";
    else if (flag == CV_CONV_FAILURE)
        what = ws->trouble == TROUBLE_SINGULAR ? "the iteration matrix is singular"
                                               : "Newton's iteration did not converge with the smallest steps";
    else if (flag == CV_TOO_MUCH_ACC)
        what = "rtol and atol demand more than double precision provides";
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g (CVODES %d)", what, evaluation->t_reached,
             flag);
    return simulation_finish(ws, EVALUATION_ODE_FAILED);
}

static bool finish_stuck(struct workspace *ws)
{
    struct evaluation *evaluation = ws->evaluation;
    if (ws->model_trouble_step >= 0 && evaluation->n_step - ws->model_trouble_step <= 2 * MAX_STUCK)
        return simulation_fail_model(ws);
    snprintf(evaluation->reason, sizeof evaluation->reason, "the step size fell to rounding level at t = %.6g",
             evaluation->t_reached);
    return simulation_finish(ws, EVALUATION_ODE_FAILED);
}

static bool finish_fallen(struct workspace *ws, size_t state)
{
    struct evaluation *evaluation = ws->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s crosses zero downwards at t = %.6g, where its slope is not "
                                                            "negative: a pole there is too close to zero for rtol and atol",
             ws->abi->state_name[state], evaluation->t_reached);
    return simulation_finish(ws, EVALUATION_ODE_FAILED);
}

static void set_blocks(struct workspace *ws, size_t n_block)
{
    ws->n_block = n_block;
    if (ws->bank) {
        vector_bank_set_blocks(ws->bank, 1 + n_block);
        vector_bank_trace(ws->bank, false);
    }
}

/* Chooses the parameters that get a block of sensitivities. */
static void choose_blocks(struct workspace *ws)
{
    const struct evaluation *evaluation = ws->evaluation;
    size_t n_block = 0;
    for (size_t k = 0; k < evaluation->n_sens && !evaluation->adjoint; k++) {
        uint32_t j = evaluation->sens[k];
        unsigned use = derivatives_use(ws->abi, j);
        ws->sens_block[k] = -1;
        if (ws->n_state == 0 || !(use & (STIFFIT_USE_RHS | STIFFIT_USE_INITIAL)))
            continue;
        double p = fabs(evaluation->p[j]);
        ws->sens_block[k] = (int32_t)n_block;
        ws->block_parameter[n_block] = j;
        ws->block_rhs[n_block] = (use & STIFFIT_USE_RHS) != 0;
        ws->block_unit[n_block] = p > 0 ? fmin(1 / p, DBL_MAX * DBL_EPSILON) : 1; /* finite for any p */
        n_block++;
    }
    ws->n_block = n_block;
    ws->probe = evaluation->adjoint && probe_begin(ws);
    ws->pace = ws->n_block == 0 && ws->n_state > 0;
    if (ws->pace)
        pace_begin(ws);
    set_blocks(ws, ws->n_block);
}

bool simulation_fail_memory(struct workspace *ws)
{
    simulation_stop(ws, EVALUATION_NO_MEMORY, "no memory to keep the integrator's steps for the backward pass");
    return false;
}

static bool set_initial_state(struct workspace *ws)
{
    size_t n = ws->n_state;
    double *y = vector_data(ws->y);
    if (derivatives_initial(&ws->model, y) != STIFFIT_OK)
        return false;
    if (ws->n_block == 0)
        return true;
    if (ws->pace) {
        memset(y + n, 0, n * sizeof(double));
        return true;
    }
    if (derivatives_initial_parameter(&ws->model, ws->columns) != STIFFIT_OK)
        return false;
    if (ws->probe) {
        probe_combine(ws, ws->columns, STIFFIT_USE_INITIAL, y + n);
        return true;
    }
    for (size_t k = 0; k < ws->n_block; k++) {
        uint32_t j = ws->block_parameter[k];
        if (derivatives_use(ws->abi, j) & STIFFIT_USE_INITIAL)
            memcpy(y + (k + 1) * n, ws->columns + (size_t)j * n, n * sizeof(double));
        else
            memset(y + (k + 1) * n, 0, n * sizeof(double));
    }
    return true;
}

void simulation_stop(struct workspace *ws, enum evaluation_outcome outcome, const char *why)
{
    struct evaluation *evaluation = ws->evaluation;
    snprintf(evaluation->reason, sizeof evaluation->reason, "%s at t = %.6g", why, evaluation->t_reached);
    simulation_finish(ws, outcome);
}

/* Answers the rows of task time i_time. False: they cannot be computed. */
static bool answer(struct workspace *ws, bool initial)
{
    bool good = observation_fill(ws, ws->i_time, ws->n_state ? vector_data(ws->y) : NULL);
    bool relative = initial || ws->atol > 0 || ws->is_relative;
    ws->begins_anew = !relative && (!good || observation_asks_relative(ws, ws->i_time, vector_data(ws->y)));
    return good || ws->begins_anew;
}

/* Answers the rows of all times up to t_now, from the state in ws->y or by interpolation. False: finished. */
static bool answer_until(struct workspace *ws, double t_now, bool initial)
{
    const struct ode_task *task = ws->evaluation->task;
    if (ws->crossing && !initial && ws->pass == PASS_FORWARD)
        crossing_look(ws);
    while (ws->i_time < task->n_time && task->time[ws->i_time] <= t_now) {
        if (!initial) {
            int flag = CVodeGetDky(ws->cvode, task->time[ws->i_time], 0, ws->y);
            if (flag != CV_SUCCESS)
                return finish_integrator_failed(ws, flag);
        }
        if (ws->evaluation->adjoint && !adjoint_keep(ws, ws->i_time, initial))
            return simulation_fail_memory(ws);
        if (ws->pass == PASS_FORWARD && !answer(ws, initial))
            return simulation_fail_model(ws);
        if (ws->begins_anew)
            return true;
        ws->i_time++;
    }
    if (ws->pass == PASS_REPLAY || ws->i_time < task->n_time)
        return true;
    return ws->evaluation->adjoint ? adjoint_turn(ws) : simulation_finish(ws, EVALUATION_OK);
}

/* Starts the integrator on a segment, from the state in ws->y. */
static bool begin_segment(struct workspace *ws, struct segment segment)
{
    const struct ode_task *task = ws->evaluation->task;
    ws->segment = segment;
    double t = segment.t_begin, last = task->time[segment.end_time - 1];
    /* CVODES refuses to start if the end is within rounding of the beginning. */
    double closest = 8 * DBL_EPSILON * fmax(fabs(t), fabs(last));
    ws->t_far = last - t > closest ? last : t + fmax(closest, DBL_MIN);
    if (ws->tape && !adjoint_open(ws, t))
        return simulation_fail_memory(ws);
    ws->t = t;
    int flag = CVodeReInit(ws->cvode, t, ws->y);
    if (ws->forcing)
        forcing_begin(ws);
    return flag == CV_SUCCESS || finish_integrator_failed(ws, flag);
}

static bool begin(struct workspace *ws, bool is_relative)
{
    struct evaluation *evaluation = ws->evaluation;
    const struct ode_task *task = evaluation->task;
    ws->begins_anew = false;
    ws->i_time = ws->i_row = 0;
    memset(ws->h_largest, 0, ws->abi->n_observable * sizeof(double));
    ws->trouble = TROUBLE_NONE;
    ws->model_trouble_step = -1;
    ws->n_stuck = 0;
    ws->pass = PASS_FORWARD;
    ws->tape = NULL;
    ws->t = evaluation->t_reached = task->t0;
    evaluation->crosses = false;
    tolerance_set(ws, is_relative);
    choose_blocks(ws);
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    if (evaluation->adjoint && !adjoint_begin(ws))
        return simulation_fail_memory(ws);
    if (derivatives_begin(&ws->model, evaluation->p, task->covariate, task->t0, evaluation->n_sens,
                          evaluation->sens) != STIFFIT_OK)
        return simulation_fail_model(ws);
    if (ws->n_state == 0)
        return answer_until(ws, INFINITY, true);
    if (!set_initial_state(ws))
        return simulation_fail_model(ws);
    tolerance_begin(ws);
    positive_begin(ws, vector_data(ws->y));
    if (ws->crossing)
        crossing_begin(ws, vector_data(ws->y));
    if (!answer_until(ws, task->t0, true))
        return false;
    if (ws->pass == PASS_BACKWARD)
        return true;
    return begin_segment(ws, (struct segment){.t_begin = task->t0, .end_time = task->n_time});
}

bool simulation_begin(struct workspace *ws, struct evaluation *evaluation)
{
    ws->evaluation = evaluation;
    ws->n_factor = 0;
    evaluation->n_step = evaluation->n_rhs = evaluation->n_jacobian = evaluation->n_factor = 0;
    return begin(ws, false);
}

/* Between two chunks of a recorded integration: the second must not depend on the first one's factors. */
static bool begin_chunk(struct workspace *ws, double t)
{
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    return begin_segment(ws, (struct segment){.t_begin = t, .end_time = ws->segment.end_time});
}

/* Continues without the companion, which may have caused the failure: the model's Jacobian may be wrong or not computable. */
static bool drop_pace(struct workspace *ws)
{
    ws->pace = false;
    set_blocks(ws, 0);
    return begin_chunk(ws, ws->t);
}

static bool end_chunk(struct workspace *ws)
{
    int flag = CVodeGetDky(ws->cvode, ws->t, 0, ws->y);
    if (flag != CV_SUCCESS)
        return finish_integrator_failed(ws, flag);
    if (!adjoint_close(ws))
        return false;
    if (ws->pass == PASS_FORWARD)
        return begin_chunk(ws, ws->t);
    ws->pass = PASS_BACKWARD;
    return true;
}

static bool step_backward(struct workspace *ws)
{
    double t;
    if (!adjoint_step(ws, &t))
        return false;
    return ws->pass == PASS_BACKWARD || begin_chunk(ws, t);
}

/* Completes a recorded step. */
static bool record(struct workspace *ws)
{
    if (!adjoint_record(ws))
        return false;
    if (!answer_until(ws, ws->t, false))
        return false;
    if (ws->pass == PASS_BACKWARD)
        return true;
    if (adjoint_is_full(ws))
        return end_chunk(ws);
    tape_next(ws->tape);
    return true;
}

bool simulation_step(struct workspace *ws)
{
    struct evaluation *evaluation = ws->evaluation;
    if (ws->begins_anew)
        return begin(ws, true);
    if (ws->pass == PASS_BACKWARD)
        return step_backward(ws);
    if (evaluation->n_step >= evaluation->max_steps) {
        simulation_stop(ws, EVALUATION_BUDGET, "the budget of integrator steps is used up");
        return false;
    }
    double before = ws->t;
    if (ws->forcing)
        forcing_bound(ws);
    int flag = CVode(ws->cvode, ws->t_far, ws->y, &ws->t, CV_ONE_STEP);
    if (flag < 0) /* ws->y is then the state at ws->t, the end of the last good step */
        return ws->pace ? drop_pace(ws) : finish_integrator_failed(ws, flag);
    evaluation->n_step++;
    /* Near a pole, or where the model cannot be computed, steps shrink until t no longer moves. */
    ws->n_stuck = fabs(ws->t - before) <= 2 * DBL_EPSILON * fabs(ws->t) ? ws->n_stuck + 1 : 0;
    if (ws->n_stuck >= MAX_STUCK)
        return finish_stuck(ws);
    if (ws->pass == PASS_FORWARD) {
        evaluation->t_reached = ws->t;
        size_t fallen = positive_look(ws);
        if (fallen < ws->n_state)
            return finish_fallen(ws, fallen);
    }
    return ws->tape ? record(ws) : answer_until(ws, ws->t, false);
}
