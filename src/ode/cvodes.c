/* CVODES as an integrator: the memory of an evaluation, its steps, and the passes of one with an
 * adjoint.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/cvodes.h"

#include "ode/blocks.h"
#include "ode/drive.h"
#include "ode/forcing.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CVODES takes 13 vectors for BDF (7 of its own and the history of orders 0 to 5) and one more
 * while it makes the nonlinear solver that ours replaces; we take one. The rest is spare for
 * later versions. */
enum { N_VECTOR = 20 };

/* A step grows if it can grow by this factor. CVODES waits for 1.5, because a new step size
 * costs a factorisation, which every step has here anyway. 1.2 gives 0.90 of the steps for 1.2
 * to 1.4 times the error; the same saving by looser tolerances would cost 1.9 times the error. */
#define STEP_GROWTH 1.2

/* After this many consecutive steps lost in rounding, the integrator makes no progress. */
enum { MAX_STUCK = 50 };
/* Bytes; a block of this size comes from the heap, not from a mapping of its own. */
enum { SUNDIALS_TAKES = 100000 };
/* CVODES refuses to start if the end is within rounding of the beginning. */
#define CLOSEST (8 * DBL_EPSILON)

#if SUNDIALS_VERSION_MAJOR >= 7
/* Replaces the function of this name in CVODES, through which it reports every failed step: CVODES'
 * own writes the message into memory without asking whether there is any, so a model that took all
 * memory would end in a crash instead of its own row. Evaluations report codes, not messages. */
__attribute__((visibility("default"))) void cvProcessError(void *cvode_memory, int code, int line,
                                                           const char *function, const char *file,
                                                           const char *format, ...);

void cvProcessError(void *cvode_memory, int code, int line, const char *function, const char *file,
                    const char *format, ...)
{
    (void)cvode_memory, (void)code, (void)line, (void)function, (void)file, (void)format;
}
#endif

static int weigh(N_Vector y, N_Vector weight, void *workspace)
{
    tolerance_weigh(&((struct workspace *)workspace)->sim, vector_data(y), vector_data(weight));
    return 0;
}

/* SUNDIALS does not survive a failed allocation of its own: SUNContext_Create calls error handlers
 * that it has not set yet (7.0 to 7.5), N_VClone's NULL is used. What it takes below is some 30 KB
 * and small blocks: it begins only where there is more than that. */
static bool has_memory(void)
{
    void *reserve = malloc(SUNDIALS_TAKES);
    free(reserve);
    return reserve != NULL;
}

static bool make_integrator(struct workspace *ws)
{
    if (!has_memory())
        return false;
    size_t n_sensitivity = blocks_most(ws->sim.abi, &ws->sim.options),
           n_block = 1 + (n_sensitivity ? n_sensitivity : 1);
    ws->context = sundials_context_new();
    if (!ws->context)
        return false;
    ws->bank = vector_bank_new(ws->context, ws->sim.n_state, n_block, N_VECTOR);
    if (!ws->bank)
        return false;
    vector_bank_set_blocks(ws->bank, 1);
    ws->y = vector_new(ws->bank);
    ws->sim.y = vector_data(ws->y);
    N_VConst(0, ws->y);
    if (ws->sim.abi->n_switching + ws->sim.abi->n_event > 0)
        ws->y_at = vector_new(ws->bank);
    ws->cvode = CVodeCreate(CV_BDF, ws->context);
    ws->solver = newton_new(ws);
    if (!ws->cvode || !ws->solver || sundials_silence(ws->cvode) != 0)
        return false;
    /* Our own count of steps is the budget, which also ends an integration whose steps no longer
     * move t. */
    return CVodeInit(ws->cvode, newton_rhs, 0, ws->y) == CV_SUCCESS &&
           CVodeSetUserData(ws->cvode, ws) == CV_SUCCESS &&
           CVodeWFtolerances(ws->cvode, weigh) == CV_SUCCESS &&
           CVodeSetMaxNumSteps(ws->cvode, LONG_MAX) == CV_SUCCESS &&
           CVodeSetMaxHnilWarns(ws->cvode, -1) == CV_SUCCESS &&
           CVodeSetEtaFixedStepBounds(ws->cvode, 0, STEP_GROWTH) == CV_SUCCESS &&
           (!(ws->sim.max_step < INFINITY) ||
            CVodeSetMaxStep(ws->cvode, ws->sim.max_step) == CV_SUCCESS) &&
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
    bool complete = simulation_init(&ws->sim, abi, options) && ws->y_now && ws->f_predicted &&
                    ws->delta && ws->probe_factor && ws->probe_column && ws->rhs_parameter &&
                    ws->linear;
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
    simulation_fini(&ws->sim);
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
    ws->sim.blocks.n = n_block;
    if (ws->bank) {
        vector_bank_set_blocks(ws->bank, 1 + n_block);
        vector_bank_trace(ws->bank, false);
    }
}

static void change_blocks(struct workspace *ws)
{
    const struct evaluation *evaluation = ws->sim.evaluation;
    ws->trouble = TROUBLE_NONE;
    ws->model_trouble_step = -1;
    ws->n_stuck = 0;
    ws->pass = PASS_FORWARD;
    ws->tape = NULL;
    ws->probe = evaluation->adjoint && probe_begin(ws);
    ws->sim.blocks.is_pace = ws->sim.blocks.n == 0 && ws->sim.n_state > 0;
    if (ws->sim.blocks.is_pace)
        pace_begin(ws);
    set_blocks(ws, ws->sim.blocks.n);
}

static int set_initial(struct workspace *ws)
{
    size_t n = ws->sim.n_state;
    double *y = ws->sim.y;
    if (!ws->sim.blocks.is_pace && !ws->probe)
        return blocks_initial(&ws->sim, y);
    int code = derivatives_initial(&ws->sim.model, y);
    if (ws->sim.blocks.is_pace)
        memset(y + n, 0, n * sizeof(double));
    if (code == STIFFIT_OK && !ws->sim.blocks.is_pace)
        code = derivatives_initial_parameter(&ws->sim.model, ws->sim.columns);
    if (code != STIFFIT_OK)
        return code;
    if (!ws->sim.blocks.is_pace)
        probe_combine(ws, ws->sim.columns, STIFFIT_USE_INITIAL, y + n);
    blocks_begin_given(&ws->sim, y);
    return code;
}

static bool finish_failed(struct workspace *ws, int flag)
{
    struct evaluation *evaluation = ws->sim.evaluation;
    const char *what = "the integrator failed";
    char why[100];
    if (ws->trouble == TROUBLE_NO_MEMORY) {
        snprintf(evaluation->reason, sizeof evaluation->reason, "no memory for the linear solver");
        return outcome_set(&ws->sim, EVALUATION_NO_MEMORY);
    }
    bool model = flag == CV_RHSFUNC_FAIL || flag == CV_FIRST_RHSFUNC_ERR ||
                 flag == CV_REPTD_RHSFUNC_ERR || flag == CV_UNREC_RHSFUNC_ERR ||
                 ws->trouble == TROUBLE_MODEL;
    if (model && flag != CV_ERR_FAILURE)
        return outcome_model_failed(&ws->sim);
    if (flag == CV_ERR_FAILURE)
        what = "the error tests failed repeatedly";
    else if (flag == CV_CONV_FAILURE)
        what = ws->trouble == TROUBLE_SINGULAR ? "the iteration matrix is singular"
                                               : "Newton's iteration did not converge with the "
                                                 "smallest steps";
    else if (flag == CV_TOO_MUCH_ACC)
        what = "rtol and atol demand more than double precision provides";
    snprintf(why, sizeof why, "%s (CVODES %d)", what, flag);
    return outcome_integrator_failed(&ws->sim, why);
}

static bool finish_stuck(struct workspace *ws)
{
    struct evaluation *evaluation = ws->sim.evaluation;
    if (ws->model_trouble_step >= 0 && evaluation->n_step - ws->model_trouble_step <= 2 * MAX_STUCK)
        return outcome_model_failed(&ws->sim);
    return outcome_integrator_failed(&ws->sim, "the step size fell to rounding level");
}

static bool start_at(struct workspace *ws)
{
    linear_begin(ws->linear);
    ws->factor_gamma = 0;
    if (ws->tape && !adjoint_open(ws, ws->sim.t))
        return adjoint_fail_memory(ws);
    int flag = CVodeReInit(ws->cvode, ws->sim.t, ws->y);
    if (ws->may_have_stop) /* a stop left by an earlier evaluation would end this one's steps */
        CVodeSetStopTime(ws->cvode, DBL_MAX);
    return flag == CV_SUCCESS || finish_failed(ws, flag);
}

/* Starts CVODES where no driver has set out. */
static bool set_out(struct workspace *ws)
{
    drive_set_out(&ws->sim, CLOSEST);
    return start_at(ws);
}

/* Makes the next step end at the next stop, or where an input jumps or turns. */
static void bound_step(struct workspace *ws)
{
    double step = 0, stop = ws->sim.has_stops ? ws->sim.stops->next : INFINITY;
    CVodeGetCurrentStep(ws->cvode, &step);
    if (ws->sim.forcing)
        stop = fmin(stop, forcing_bound(&ws->sim, step));
    if (stop < INFINITY)
        CVodeSetStopTime(ws->cvode, stop);
    ws->may_have_stop = true;
}

static bool make_step(struct workspace *ws)
{
    struct simulation *sim = &ws->sim;
    double before = sim->t, far = sim->t_far;
    if (sim->forcing || sim->has_stops)
        bound_step(ws);
    /* The first step, which is estimated from `far`, must not see beyond the stop. */
    if (sim->has_stops)
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

static bool go_to(struct workspace *ws, double t)
{
    int flag = CVodeGetDky(ws->cvode, t, 0, ws->y);
    return flag == CV_SUCCESS || finish_failed(ws, flag);
}

static const double *inside_of(struct workspace *ws, double t)
{
    if (!ws->tape)
        vector_bank_set_blocks(ws->bank, 1);
    int flag = CVodeGetDky(ws->cvode, t, 0, ws->y_at);
    vector_bank_set_blocks(ws->bank, 1 + ws->sim.blocks.n);
    return flag == CV_SUCCESS ? vector_data(ws->y_at) : NULL;
}

static const double *state_before(struct workspace *ws)
{
    bool is_known = CVodeGetDky(ws->cvode, ws->sim.t_before, 0, ws->y) == CV_SUCCESS;
    if (is_known)
        memcpy(ws->delta, ws->sim.y, ws->sim.n_state * sizeof(double));
    CVodeGetDky(ws->cvode, ws->sim.t, 0, ws->y);
    return is_known ? ws->delta : NULL;
}

static bool is_by_sizes(const struct workspace *ws)
{
    return ws->failure == FAILURE_STUCK || ws->failure == CV_ERR_FAILURE ||
           ws->failure == CV_CONV_FAILURE || ws->failure == CV_TOO_MUCH_ACC;
}

/* Without the companion, which may have caused the failure: the model's Jacobian may be wrong or
 * not computable. */
static bool end_or_go_on(struct workspace *ws)
{
    if (ws->failure == FAILURE_STUCK)
        return finish_stuck(ws);
    if (!ws->sim.blocks.is_pace)
        return finish_failed(ws, ws->failure);
    ws->sim.blocks.is_pace = false;
    set_blocks(ws, 0);
    return true;
}

/* The passes of an evaluation with an adjoint, a step at a time: forward, with answers and a
 * record of the steps; backward; and forward again over a chunk whose record was dropped. It has
 * no stops. */

/* Answers the rows of all times until t_now: from the initial state in y or, after a step, by
 * interpolation. False: it is finished. If begins_anew is set, the rest is not answered. */
static bool answer_until(struct workspace *ws, double t_now, bool initial)
{
    struct simulation *sim = &ws->sim;
    const struct ode_task *task = sim->evaluation->task;
    while (sim->rows.i_time < task->n_time && !sim->begins_anew) {
        double t = task->time[sim->rows.i_time];
        if (t > t_now)
            break;
        if (!initial && !go_to(ws, t))
            return false;
        if (!adjoint_keep(ws, sim->rows.i_time, initial))
            return adjoint_fail_memory(ws);
        if (ws->pass == PASS_FORWARD &&
            !observation_answer(sim, sim->n_state ? sim->y : NULL, initial))
            return outcome_model_failed(sim);
        sim->rows.i_time += !sim->begins_anew;
        if (!initial && sim->tolerance.grows)
            tolerance_look(sim, sim->y);
    }
    return sim->begins_anew || ws->pass == PASS_REPLAY || sim->rows.i_time < task->n_time ||
           adjoint_turn(ws);
}

static bool begin_passes(struct workspace *ws)
{
    struct simulation *sim = &ws->sim;
    if (sim->n_state > 0 && ws->y_at)
        root_look_begin(sim, sim->y);
    if (!answer_until(ws, sim->n_state > 0 ? sim->t : INFINITY, true))
        return false;
    return ws->pass == PASS_BACKWARD || set_out(ws);
}

static bool end_chunk(struct workspace *ws)
{
    if (!go_to(ws, ws->sim.t) || !adjoint_close(ws))
        return false;
    if (ws->pass == PASS_FORWARD)
        return set_out(ws);
    ws->pass = PASS_BACKWARD;
    return true;
}

static bool step_backward(struct workspace *ws)
{
    if (!adjoint_step(ws, &ws->sim.t))
        return false;
    return ws->pass == PASS_BACKWARD || set_out(ws);
}

/* Completes a recorded step. */
static bool record(struct workspace *ws)
{
    if (!adjoint_record(ws) || !answer_until(ws, ws->sim.t, false))
        return false;
    if (ws->pass == PASS_BACKWARD)
        return true;
    if (adjoint_is_full(ws))
        return end_chunk(ws);
    tape_next(ws->tape);
    return true;
}

static const double *inside_of_pass(void *context, double t) { return inside_of(context, t); }

/* Whether the states allow the step to stand. */
static bool look_at_step(struct workspace *ws)
{
    struct simulation *sim = &ws->sim;
    const struct latest_step step = {.state_at = inside_of_pass, .context = ws};
    if (ws->y_at)
        root_look(sim, &step, sim->t_before);
    sim->evaluation->t_reached = sim->t;
    if (positive_crosses(sim, sim->y)) {
        const double *before = state_before(ws);
        if (before)
            positive_fall(sim, sim->t_before, before, sim->y);
    }
    size_t fallen = positive_look(sim, sim->y);
    return fallen == sim->n_state || outcome_fell(sim, fallen);
}

static bool pass_step(struct workspace *ws)
{
    struct simulation *sim = &ws->sim;
    if (ws->pass == PASS_BACKWARD)
        return step_backward(ws);
    if (sim->evaluation->n_step >= sim->evaluation->max_steps)
        return outcome_fail(sim, EVALUATION_BUDGET, "the budget of integrator steps is used up");
    if (!make_step(ws))
        return end_or_go_on(ws) && set_out(ws);
    if (ws->pass == PASS_FORWARD && !look_at_step(ws))
        return false;
    return ws->tape ? record(ws) : answer_until(ws, sim->t, false);
}

static struct workspace *workspace_of(struct batch *batch)
{
    return (struct workspace *)batch->seat[0];
}

static void *plan_new(const struct stiffit_model *abi, const struct ode_options *options,
                      struct error *error)
{
    return linear_plan_new(abi, options->linear_solver, error);
}

static void plan_free(void *plan) { linear_plan_free(plan); }

static const char *linear_solver(const void *plan)
{
    return linear_solver_word[linear_plan_kind(plan)];
}

static struct simulation *simulation_new(const void *plan, const struct stiffit_model *abi,
                                         const struct ode_options *options)
{
    struct workspace *workspace = workspace_new(abi, options, plan);
    return workspace ? &workspace->sim : NULL;
}

static void simulation_free(struct simulation *sim) { workspace_free((struct workspace *)sim); }

static bool prepare(struct simulation *sim)
{
    struct workspace *ws = (struct workspace *)sim;
    change_blocks(ws);
    return !sim->evaluation->adjoint || adjoint_begin(ws) || adjoint_fail_memory(ws);
}

static int initial(struct simulation *sim) { return set_initial((struct workspace *)sim); }

static bool begin_adjoint(struct simulation *sim) { return begin_passes((struct workspace *)sim); }

static bool start(struct batch *b, int k)
{
    (void)k;
    return start_at(workspace_of(b));
}

static struct integrator_events attempt(struct batch *b)
{
    struct workspace *ws = workspace_of(b);
    struct simulation *sim = &ws->sim;
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    if (evaluation->adjoint) {
        bool goes_on = pass_step(ws);
        b->live = goes_on && !sim->begins_anew;
        return (struct integrator_events){.finished = !goes_on};
    }
    if (!make_step(ws))
        return (struct integrator_events){.failed = 1};
    bool is_plain = !sim->has_stops && positive_is_plain(sim, sim->y);
    if (is_plain)
        sim->evaluation->t_reached = sim->t;
    return (struct integrator_events){.moved = 1,
                                      .fell = !is_plain,
                                      .exhausted = evaluation->n_step >= evaluation->max_steps,
                                      .measured = sim->rows.i_time < task->n_time &&
                                                  task->time[sim->rows.i_time] <= sim->t};
}

static const double *inside(struct batch *b, int k, double t)
{
    (void)k;
    return inside_of(workspace_of(b), t);
}

static bool state_at(struct simulation *sim, double t) { return go_to((struct workspace *)sim, t); }

struct look {
    struct workspace *ws;
    N_Vector f, ahead, weights;
};

static bool rhs(void *context, double *ydot)
{
    struct look *look = context;
    size_t n_number = look->ws->sim.n_state * (1 + look->ws->sim.blocks.n);
    look->ws->factor_gamma = 0; /* the corrector's factors are gone */
    bool good = newton_rhs(look->ws->sim.t, look->ws->y, look->f, look->ws) == 0;
    memcpy(ydot, vector_data(look->f), n_number * sizeof *ydot);
    return good;
}

static bool look_for_steady_state(struct batch *b, int k)
{
    struct workspace *ws = workspace_of(b);
    struct look look = {.ws = ws,
                        .f = vector_new(ws->bank), .ahead = vector_new(ws->bank),
                        .weights = vector_new(ws->bank)};
    const struct steady_solver solver = {.linear = ws->linear,
                                         .rhs = rhs, .context = &look, .is_sparse = ws->sparse,
                                         .change = vector_data(look.ahead),
                                         .weight = vector_data(look.weights)};
    bool has_arrived = steady_look(b->seat[k], ws->sim.y, &solver);
    N_VDestroy(look.f);
    N_VDestroy(look.ahead);
    N_VDestroy(look.weights);
    return has_arrived;
}

static bool may_be_sizes(struct batch *b, int k)
{
    (void)k;
    return is_by_sizes(workspace_of(b));
}

static bool fail(struct batch *b, int k)
{
    (void)k;
    return end_or_go_on(workspace_of(b));
}

static const struct integrator cvodes = {
    .name = "cvodes", .width = 1, .closest = CLOSEST, .plan_new = plan_new, .plan_free = plan_free,
    .linear_solver = linear_solver, .simulation_new = simulation_new,
    .simulation_free = simulation_free, .prepare = prepare,
    .initial = initial, .begin_adjoint = begin_adjoint, .start = start, .attempt = attempt,
    .state_at = state_at,
    .inside = inside, .look_for_steady_state = look_for_steady_state, .may_be_sizes = may_be_sizes,
    .fail = fail};
const struct engine_table engine_cvodes = ENGINE_OF_SEATS(&cvodes, 1, NULL, false, NULL);
