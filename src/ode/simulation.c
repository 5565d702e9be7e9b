/* An evaluation from its first to its last measurement, one integrator step at a time: it can be set aside between any two
 * steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/observation.h"
#include "ode/steady.h"
#include "ode/tolerance.h"
#include "ode/workspace.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* After this many consecutive steps lost in rounding, the integrator makes no progress. */
enum { MAX_STUCK = 50 };

static bool finish_integrator_failed(struct workspace *ws, int flag)
{
    struct evaluation *evaluation = ws->o.evaluation;
    const char *what = "the integrator failed";
    char why[100];
    if (ws->trouble == TROUBLE_NO_MEMORY) {
        snprintf(evaluation->reason, sizeof evaluation->reason, "no memory for the linear solver");
        return observer_finish(&ws->o, EVALUATION_NO_MEMORY);
    }
    bool model = flag == CV_RHSFUNC_FAIL || flag == CV_FIRST_RHSFUNC_ERR || flag == CV_REPTD_RHSFUNC_ERR ||
                 flag == CV_UNREC_RHSFUNC_ERR || ws->trouble == TROUBLE_MODEL;
    if (model && flag != CV_ERR_FAILURE)
        return observer_fail(&ws->o);
    if (flag == CV_ERR_FAILURE)
        what = "the error tests failed repeatedly";
    else if (flag == CV_CONV_FAILURE)
        what = ws->trouble == TROUBLE_SINGULAR ? "the iteration matrix is singular"
                                               : "Newton's iteration did not converge with the smallest steps";
    else if (flag == CV_TOO_MUCH_ACC)
        what = "rtol and atol demand more than double precision provides";
    snprintf(why, sizeof why, "%s (CVODES %d)", what, flag);
    return observer_stop_integrator(&ws->o, why);
}

static bool finish_stuck(struct workspace *ws)
{
    struct evaluation *evaluation = ws->o.evaluation;
    if (ws->model_trouble_step >= 0 && evaluation->n_step - ws->model_trouble_step <= 2 * MAX_STUCK)
        return observer_fail(&ws->o);
    return observer_stop_integrator(&ws->o, "the step size fell to rounding level");
}

static void set_blocks(struct workspace *ws, size_t n_block)
{
    ws->o.n_block = n_block;
    if (ws->bank) {
        vector_bank_set_blocks(ws->bank, 1 + n_block);
        vector_bank_trace(ws->bank, false);
    }
}

/* Chooses the parameters that get a block of sensitivities. */
static void choose_blocks(struct workspace *ws)
{
    const struct evaluation *evaluation = ws->o.evaluation;
    observer_choose_blocks(&ws->o);
    ws->probe = evaluation->adjoint && probe_begin(ws);
    ws->o.pace = ws->o.n_block == 0 && ws->o.n_state > 0;
    if (ws->o.pace)
        pace_begin(ws);
    set_blocks(ws, ws->o.n_block);
}

bool simulation_fail_memory(struct workspace *ws)
{
    observer_stop(&ws->o, EVALUATION_NO_MEMORY, "no memory to keep the integrator's steps for the backward pass");
    return false;
}

static bool set_model_state(struct workspace *ws)
{
    size_t n = ws->o.n_state;
    double *y = vector_data(ws->y);
    if (!ws->o.pace && !ws->probe)
        return observer_initial(&ws->o, y) == STIFFIT_OK;
    if (derivatives_initial(&ws->o.model, y) != STIFFIT_OK)
        return false;
    if (ws->o.pace) {
        memset(y + n, 0, n * sizeof(double));
        return true;
    }
    if (derivatives_initial_parameter(&ws->o.model, ws->o.columns) != STIFFIT_OK)
        return false;
    probe_combine(ws, ws->o.columns, STIFFIT_USE_INITIAL, y + n);
    return true;
}

static bool set_initial_state(struct workspace *ws)
{
    if (!set_model_state(ws))
        return false;
    observer_begin_given(&ws->o, vector_data(ws->y));
    return true;
}

/* Answers the rows of all times until t_now: from the initial state in ws->y or, after a step, by interpolation. False: it is
 * finished. If begins_anew is set, the rest is not answered. */
static bool answer_until(struct workspace *ws, double t_now, bool initial)
{
    const struct ode_task *task = ws->o.evaluation->task;
    while (ws->o.i_time < task->n_time && !ws->o.begins_anew) {
        double t = task->time[ws->o.i_time];
        if (t > t_now)
            break;
        if (ws->o.has_stops && ws->o.n_state == 0 &&
            !stops_set_inputs(&ws->o, t, task->time_side ? task->time_side[ws->o.i_time] : 0))
            return false;
        if (!initial) {
            int flag = CVodeGetDky(ws->cvode, t, 0, ws->y);
            if (flag != CV_SUCCESS)
                return finish_integrator_failed(ws, flag);
        }
        if (ws->o.evaluation->adjoint && !adjoint_keep(ws, ws->o.i_time, initial))
            return simulation_fail_memory(ws);
        if (ws->pass == PASS_FORWARD && !observer_answer(&ws->o, ws->o.n_state ? vector_data(ws->y) : NULL, initial))
            return observer_fail(&ws->o);
        ws->o.i_time += !ws->o.begins_anew;
        if (!initial && ws->o.grows)
            tolerance_look(&ws->o, vector_data(ws->y));
    }
    if (ws->o.begins_anew || ws->pass == PASS_REPLAY || ws->o.i_time < task->n_time)
        return true;
    return ws->o.evaluation->adjoint ? adjoint_turn(ws) : observer_finish(&ws->o, EVALUATION_OK);
}

/* Starts the integrator on a segment, from the state in ws->y. */
static bool begin_segment(struct workspace *ws, struct segment segment)
{
    const struct ode_task *task = ws->o.evaluation->task;
    ws->segment = segment;
    double t = segment.t_begin, last = ode_task_last(task);
    /* CVODES refuses to start if the end is within rounding of the beginning. */
    double closest = 8 * DBL_EPSILON * fmax(fabs(t), fabs(last));
    ws->o.t_far = last - t > closest ? last : t + fmax(closest, DBL_MIN);
    if (task->time[segment.end_time - 1] == INFINITY)
        ws->o.t_far = fmax(last, t + fmax(1, t - task->t0)); /* gives the first step its scale; no end */
    if (ws->tape && !adjoint_open(ws, t))
        return simulation_fail_memory(ws);
    ws->o.t = t;
    steady_begin(&ws->o);
    int flag = CVodeReInit(ws->cvode, t, ws->y);
    if (ws->o.forcing)
        forcing_begin(&ws->o);
    if (ws->may_have_stop) /* a stop left by an earlier evaluation would end this one's steps */
        CVodeSetStopTime(ws->cvode, DBL_MAX);
    return flag == CV_SUCCESS || finish_integrator_failed(ws, flag);
}

/* Between two chunks of a recorded integration, and at stops: the second must not depend on the first one's factors. */
static bool begin_chunk(struct workspace *ws, double t)
{
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    return begin_segment(ws, (struct segment){.t_begin = t, .end_time = ws->o.evaluation->task->n_time});
}

/* The state at ws->o.t, inside of the latest step. */
static bool move_back(struct workspace *ws)
{
    int flag = CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
    return flag == CV_SUCCESS || finish_integrator_failed(ws, flag);
}

static bool happen(struct workspace *ws)
{
    struct observer *ob = &ws->o;
    if (!answer_until(ws, nextafter(ob->t, -INFINITY), false) || !move_back(ws) ||
        !stops_happen(ob, vector_data(ws->y), false))
        return false;
    if (ob->begins_anew || !ob->stops->restarts)
        return true;
    ws->n_stuck = 0;
    return begin_chunk(ws, ob->t);
}

static bool begin(struct workspace *ws, bool is_relative)
{
    struct evaluation *evaluation = ws->o.evaluation;
    const struct ode_task *task = evaluation->task;
    observer_begin(&ws->o, is_relative);
    if (evaluation->adjoint && (ws->o.has_stops || task->n_variant)) {
        snprintf(evaluation->reason, sizeof evaluation->reason,
                 "the adjoint method does not go through doses, inputs and events, nor parameters of periods and rows");
        return observer_finish(&ws->o, EVALUATION_ODE_FAILED);
    }
    ws->trouble = TROUBLE_NONE;
    ws->model_trouble_step = -1;
    ws->n_stuck = 0;
    ws->pass = PASS_FORWARD;
    ws->tape = NULL;
    choose_blocks(ws);
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    if (evaluation->adjoint && !adjoint_begin(ws))
        return simulation_fail_memory(ws);
    if (derivatives_begin(&ws->o.model, evaluation->p, task->covariate, task->t0, evaluation->n_sens,
                          evaluation->sens) != STIFFIT_OK)
        return observer_fail(&ws->o);
    if (ws->o.has_stops && !stops_begin(&ws->o))
        return false;
    if (ws->o.n_state == 0)
        return answer_until(ws, INFINITY, true);
    if (!set_initial_state(ws))
        return observer_fail(&ws->o);
    double *y = vector_data(ws->y);
    tolerance_begin(&ws->o, y);
    positive_begin(&ws->o, y);
    if (evaluation->adjoint && ws->y_at)
        root_look_begin(&ws->o, y);
    if (ws->o.has_stops) {
        if (!stops_begin_state(&ws->o, y) || !stops_happen(&ws->o, y, true))
            return false;
    } else if (!answer_until(ws, task->t0, true)) {
        return false;
    }
    if (ws->pass == PASS_BACKWARD)
        return true;
    return begin_segment(ws, (struct segment){.t_begin = task->t0, .end_time = task->n_time});
}

bool simulation_begin(struct workspace *ws, struct evaluation *evaluation)
{
    ws->o.evaluation = evaluation;
    ws->o.n_factor = 0;
    evaluation->n_step = evaluation->n_rhs = evaluation->n_jacobian = evaluation->n_factor = 0;
    return begin(ws, false);
}

/* Continues without the companion, which may have caused the failure: the model's Jacobian may be wrong or not computable. */
static bool drop_pace(struct workspace *ws)
{
    ws->o.pace = false;
    set_blocks(ws, 0);
    return begin_chunk(ws, ws->o.t);
}

static bool end_chunk(struct workspace *ws)
{
    int flag = CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
    if (flag != CV_SUCCESS)
        return finish_integrator_failed(ws, flag);
    if (!adjoint_close(ws))
        return false;
    if (ws->pass == PASS_FORWARD)
        return begin_chunk(ws, ws->o.t);
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
    if (!answer_until(ws, ws->o.t, false))
        return false;
    if (ws->pass == PASS_BACKWARD)
        return true;
    if (adjoint_is_full(ws))
        return end_chunk(ws);
    tape_next(ws->tape);
    return true;
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

static size_t look_for_fall(struct workspace *ws, double before)
{
    const double *y = vector_data(ws->y);
    if (!positive_crosses(&ws->o, y))
        return positive_look(&ws->o, y);
    if (CVodeGetDky(ws->cvode, before, 0, ws->y) == CV_SUCCESS) {
        memcpy(ws->delta, y, ws->o.n_state * sizeof(double));
        CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
        positive_fall(&ws->o, before, ws->delta, y);
    }
    CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
    return positive_look(&ws->o, y);
}

/* Goes back to a time of the latest step at which no state is below zero, where the step took one past a pole. */
static bool takes_back(struct workspace *ws, double before)
{
    const double *y = vector_data(ws->y);
    double t = ws->o.t, part = 1;
    if (!positive_crosses(&ws->o, y))
        return false;
    memcpy(ws->delta, y, ws->o.n_state * sizeof(double));
    if (CVodeGetDky(ws->cvode, before, 0, ws->y) == CV_SUCCESS)
        part = positive_part(&ws->o, before, y, ws->delta);
    bool is_back = part < 1 && part * (t - before) > 4 * DBL_EPSILON * fabs(t);
    ws->o.t = is_back ? before + part * (t - before) : t;
    CVodeGetDky(ws->cvode, ws->o.t, 0, ws->y);
    if (is_back && positive_crosses(&ws->o, y)) {
        ws->o.t = before;
        CVodeGetDky(ws->cvode, before, 0, ws->y);
    }
    return is_back;
}

/* The state, without sensitivities, at a time of the latest step. */
static const double *state_at(void *context, double t)
{
    struct workspace *ws = context;
    if (!ws->tape)
        vector_bank_set_blocks(ws->bank, 1);
    int flag = CVodeGetDky(ws->cvode, t, 0, ws->y_at);
    vector_bank_set_blocks(ws->bank, 1 + ws->o.n_block);
    return flag == CV_SUCCESS ? vector_data(ws->y_at) : NULL;
}

struct look {
    struct workspace *ws;
    N_Vector f, ahead, weights;
};

static bool rhs(void *context, double *ydot)
{
    struct look *look = context;
    size_t n_number = look->ws->o.n_state * (1 + look->ws->o.n_block);
    look->ws->factor_gamma = 0; /* the corrector's factors are gone */
    bool good = newton_rhs(look->ws->o.t, look->ws->y, look->f, look->ws) == 0;
    memcpy(ydot, vector_data(look->f), n_number * sizeof *ydot);
    return good;
}

static bool look_for_steady_state(struct workspace *ws)
{
    if (!steady_is_due(&ws->o))
        return false;
    struct look look = {.ws = ws, .f = vector_new(ws->bank), .ahead = vector_new(ws->bank), .weights = vector_new(ws->bank)};
    const struct steady_solver solver = {.linear = ws->linear, .rhs = rhs, .context = &look, .is_sparse = ws->sparse,
                                         .change = vector_data(look.ahead), .weight = vector_data(look.weights)};
    bool arrived = steady_look(&ws->o, vector_data(ws->y), &solver);
    N_VDestroy(look.f);
    N_VDestroy(look.ahead);
    N_VDestroy(look.weights);
    return arrived;
}

static bool may_be_sizes(int flag)
{
    return flag == CV_ERR_FAILURE || flag == CV_CONV_FAILURE || flag == CV_TOO_MUCH_ACC;
}

bool simulation_step(struct workspace *ws)
{
    struct evaluation *evaluation = ws->o.evaluation;
    if (ws->o.begins_anew)
        return begin(ws, true);
    if (ws->pass == PASS_BACKWARD)
        return step_backward(ws);
    if (evaluation->n_step >= evaluation->max_steps) {
        return observer_spent(&ws->o);
    }
    double before = ws->o.t, far = ws->o.t_far;
    if (ws->o.forcing || ws->o.has_stops)
        bound_step(ws);
    if (ws->o.has_stops) /* the first step, which is estimated from `far`, must not see beyond the stop */
        far = fmin(far, ws->o.stops->next);
    int flag = CVode(ws->cvode, far, ws->y, &ws->o.t, CV_ONE_STEP);
    if (flag < 0) /* ws->y is then the state at ws->o.t, the end of the last good step */
        return may_be_sizes(flag) && tolerance_rescue(&ws->o, vector_data(ws->y)) ? begin_chunk(ws, ws->o.t)
               : ws->o.pace ? drop_pace(ws) : finish_integrator_failed(ws, flag);
    evaluation->n_step++;
    /* Near a pole, or where the model cannot be computed, steps shrink until t no longer moves. */
    ws->n_stuck = fabs(ws->o.t - before) <= 2 * DBL_EPSILON * fabs(ws->o.t) ? ws->n_stuck + 1 : 0;
    if (ws->n_stuck >= MAX_STUCK) {
        ws->n_stuck = 0;
        return tolerance_rescue(&ws->o, vector_data(ws->y)) ? begin_chunk(ws, ws->o.t) : finish_stuck(ws);
    }
    const struct latest_step step = {.state_at = state_at, .context = ws};
    if (evaluation->adjoint && ws->y_at && ws->pass == PASS_FORWARD)
        root_look(&ws->o, &step, before);
    if (ws->pass == PASS_FORWARD && !evaluation->adjoint && takes_back(ws, before))
        return answer_until(ws, ws->o.t, false) && move_back(ws) && begin_chunk(ws, ws->o.t);
    bool is_root = ws->o.has_stops && root_find(&ws->o, &step, before);
    bool is_stop = is_root || (ws->o.has_stops && ws->o.t >= ws->o.stops->next);
    if (is_root && !move_back(ws))
        return false;
    if (ws->pass == PASS_FORWARD) {
        evaluation->t_reached = ws->o.t;
        size_t fallen = look_for_fall(ws, before);
        if (fallen < ws->o.n_state)
            return observer_fall(&ws->o, fallen);
    }
    if (is_stop)
        return happen(ws);
    if (ws->tape)
        return record(ws);
    if (!answer_until(ws, ws->o.t, false))
        return false;
    if (stops_await_steady_state(&ws->o) && steady_is_lost(&ws->o))
        return false;
    return !stops_await_steady_state(&ws->o) || ws->o.begins_anew || !look_for_steady_state(ws)
           || observer_answer_until(&ws->o, INFINITY, 1, vector_data(ws->y), false);
}
