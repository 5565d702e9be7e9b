/* The order of things between two steps. The same for one evaluation at a time and for many side by side: what concerns a seat
 * alone does not depend on the others.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/drive.h"

#include "ode/blocks.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/period.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static unsigned bit(int k) { return 1u << k; }

/* The seats of a mask, the lowest first; a loop's `break` would not end it. */
#define EACH_SEAT(k, seats) \
    for (unsigned k##_left = (seats), k##_first = 1; k##_left; k##_left &= k##_left - 1, k##_first = 1) \
        for (int k = __builtin_ctz(k##_left); k##_first; k##_first = 0)

static void count(struct batch *b, int k)
{
    if (b->integrator->seats)
        b->integrator->seats->count(b, k);
}

static void halt(struct batch *b, int k)
{
    b->live &= ~bit(k);
    b->attended &= ~bit(k);
    if (b->integrator->seats)
        b->integrator->seats->halt(b, k);
}

void drive_stop(struct batch *b, int k, enum evaluation_outcome outcome, const char *why)
{
    struct simulation *sim = b->seat[k];
    if (b->live & bit(k))
        count(b, k);
    sim->evaluation = sim->request; /* not that of a period */
    outcome_fail(sim, outcome, why);
    halt(b, k);
    b->finished |= bit(k);
}

static void enter(struct batch *b, int k)
{
    const struct simulation *sim = b->seat[k];
    if (b->integrator->seats && !b->integrator->seats->enter(b, k)) {
        for (int other = 0; other < b->integrator->width; other++)
            if (b->seat[other] && !((b->finished | b->ended) & bit(other)))
                drive_stop(b, other, EVALUATION_NO_MEMORY, "no memory for sensitivities");
        return;
    }
    b->live |= bit(k);
    b->attended |= (unsigned)(sim->has_stops || sim->forcing) << k;
}

/* Answers all rows of a model without states. */
static bool answer_without_states(struct simulation *sim)
{
    const struct ode_task *task = sim->evaluation->task;
    for (; sim->rows.i_time < task->n_time; sim->rows.i_time++) {
        int side = task->time_side ? task->time_side[sim->rows.i_time] : 0;
        if (sim->has_stops && !stops_set_inputs(sim, task->time[sim->rows.i_time], side))
            return false;
        if (!observation_answer(sim, NULL, true))
            return outcome_model_failed(sim);
    }
    return outcome_set(sim, EVALUATION_OK);
}

/* The budget of steps is used up. */
static bool fail_exhausted(struct simulation *sim)
{
    return outcome_fail(sim, EVALUATION_BUDGET,
                        stops_await_steady_state(sim) ? "no steady state within the budget of integrator steps"
                                                      : "the budget of integrator steps is used up");
}

static bool start(const struct integrator *integrator, struct simulation *sim)
{
    if (sim->evaluation->n_step >= sim->evaluation->max_steps)
        return fail_exhausted(sim);
    return integrator->start(sim);
}

static bool compute_initial_state(const struct integrator *integrator, struct simulation *sim)
{
    if ((integrator->initial ? integrator->initial(sim) : blocks_initial(sim, sim->y)) != STIFFIT_OK)
        return outcome_model_failed(sim);
    if (sim->evaluation->task->n_time > 0) {
        blocks_begin_given(sim, sim->y);
        tolerance_begin(sim, sim->y);
        positive_begin(sim, sim->y);
    }
    return true;
}

static bool begin(const struct integrator *integrator, struct simulation *sim, bool is_relative)
{
    struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    simulation_begin(sim, is_relative);
    if (evaluation->adjoint && (sim->has_stops || task->n_variant)) {
        snprintf(evaluation->reason, sizeof evaluation->reason,
                 "the adjoint method does not go through doses, inputs and events, nor parameters of periods and rows");
        return outcome_set(sim, EVALUATION_ODE_FAILED);
    }
    if (!integrator->prepare)
        blocks_choose(sim);
    else if (!integrator->prepare(sim))
        return false;
    if (derivatives_begin(&sim->model, evaluation->p, task->covariate, task->t0, evaluation->n_sens, evaluation->sens) !=
        STIFFIT_OK)
        return outcome_model_failed(sim);
    if (sim->has_stops && !stops_begin(sim))
        return false;
    if (sim->n_state > 0 && !compute_initial_state(integrator, sim))
        return false;
    if (task->n_time == 0 && !evaluation->adjoint)
        return outcome_set(sim, EVALUATION_OK);
    if (evaluation->adjoint)
        return integrator->begin_adjoint(sim);
    if (sim->n_state == 0)
        return answer_without_states(sim);
    if (sim->has_stops && !stops_begin_state(sim, sim->y))
        return false;
    bool goes_on = sim->has_stops ? stops_happen(sim, sim->y, true) : observation_answer_until(sim, sim->t, 1, sim->y, true);
    return goes_on && start(integrator, sim);
}

/* Begins an evaluation in a seat, or what follows it where it ends at once. */
static void open(struct batch *b, int k, bool is_relative)
{
    struct simulation *sim = b->seat[k];
    bool goes_on = begin(b->integrator, sim, is_relative);
    while (!goes_on && sim->evaluation != sim->request && period_next(sim))
        goes_on = begin(b->integrator, sim, false);
    if (goes_on)
        enter(b, k);
    else
        b->finished |= bit(k);
}

/* The evaluation in a seat has ended; what follows it begins after the step. */
static void finish(struct batch *b, int k)
{
    halt(b, k);
    b->ended |= bit(k);
}

/* After a call for a seat: goes_on is its result. */
static void conclude(struct batch *b, int k, bool goes_on)
{
    if (!goes_on)
        finish(b, k);
    else if (b->seat[k]->begins_anew)
        b->live &= ~bit(k);
}

void drive_begin(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    struct evaluation *evaluation = sim->evaluation = sim->request;
    evaluation->reason[0] = '\0';
    evaluation->n_step = evaluation->n_rhs = evaluation->n_jacobian = evaluation->n_factor = 0;
    sim->n_factor = 0;
    if (!ode_has_periods(evaluation->task) || period_begin(sim))
        open(b, k, false);
    else
        b->finished |= bit(k);
}

void drive_resume(struct batch *b, int k) { enter(b, k); }

void drive_leave(struct batch *b, int k)
{
    if (b->integrator->seats)
        b->integrator->seats->leave(b, k);
    halt(b, k);
    b->seat[k] = NULL;
}

static void reload(struct batch *b, int k)
{
    if (b->integrator->seats)
        b->integrator->seats->reload(b, k);
}

/* Starts the integrator again in a seat, from the state at simulation.t. */
static void start_again(struct batch *b, int k)
{
    if (!start(b->integrator, b->seat[k]))
        finish(b, k);
    else
        reload(b, k);
}

/* The time of the next measurement; INFINITY also if there is none. */
static double next_measurement(const struct simulation *sim)
{
    const struct ode_task *task = sim->evaluation->task;
    return sim->rows.i_time < task->n_time ? task->time[sim->rows.i_time] : INFINITY;
}

/* Answers the measurement at which `observe` has been. */
static bool answer_one(struct batch *b, int k)
{
    const struct integrator_seats *seats = b->integrator->seats;
    struct simulation *sim = b->seat[k];
    if (!seats && !b->integrator->state_at(sim, next_measurement(sim)))
        return false;
    if (!seats || !seats->answer(b, k)) {
        if (seats)
            seats->fetch(b, k);
        if (!observation_answer(sim, sim->y, false)) {
            count(b, k);
            return outcome_model_failed(sim);
        }
    }
    sim->rows.i_time += !sim->begins_anew;
    if (sim->rows.i_time == sim->evaluation->task->n_time) {
        count(b, k);
        return outcome_set(sim, EVALUATION_OK);
    }
    if (seats)
        seats->answered(b, k);
    else if (sim->tolerance.grows)
        tolerance_look(sim, sim->y);
    return true;
}

/* Answers the measurements in the latest steps of these seats; of those that have met a stop, the ones before it. */
static void answer(struct batch *b, unsigned waiting, unsigned stopped)
{
    for (;;) {
        EACH_SEAT(k, waiting) {
            double t = b->seat[k]->t, next = next_measurement(b->seat[k]);
            if (next > t || (stopped & bit(k) && next == t))
                waiting &= ~bit(k);
        }
        waiting &= b->live;
        if (!waiting)
            return;
        if (b->integrator->seats)
            b->integrator->seats->observe(b, waiting);
        EACH_SEAT(k, waiting)
            conclude(b, k, answer_one(b, k));
    }
}

/* The state at the end of the latest step, or where it was moved back to. */
static const double *at_end(struct batch *b, int k, bool is_moved)
{
    struct simulation *sim = b->seat[k];
    if (b->integrator->seats)
        return b->integrator->seats->at_end(b, k);
    if (is_moved)
        (void)b->integrator->state_at(sim, sim->t);
    return sim->y;
}

/* The state, without sensitivities, at the beginning of the latest step; NULL: it cannot be computed. */
static const double *at_beginning(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    if (b->integrator->seats)
        return b->integrator->seats->at_beginning(b, k);
    bool is_known = b->integrator->state_at(sim, sim->t_before);
    if (is_known)
        memcpy(sim->y_before, sim->y, sim->n_state * sizeof *sim->y);
    (void)b->integrator->state_at(sim, sim->t);
    return is_known ? sim->y_before : NULL;
}

/* Moves the end of a step to where no state is below zero, by going a part of the way. False: it would be too short. */
static bool shorten(struct batch *b, struct simulation *sim, double part)
{
    double t = sim->t, before = sim->t_before;
    if (!(part < 1 && part * (t - before) > 4 * DBL_EPSILON * fabs(t)))
        return false;
    sim->t = before + part * (t - before);
    (void)b->integrator->state_at(sim, sim->t);
    if (positive_crosses(sim, sim->y))
        sim->t = before;
    return true;
}

/* Looks at a step in which a state went below zero. True: it is taken back, because the state went past a pole. */
static bool take_back(struct batch *b, int k, const double *y)
{
    struct simulation *sim = b->seat[k];
    const double *before = at_beginning(b, k);
    double part = before ? positive_part(sim, sim->t_before, before, y) : 1;
    if (b->integrator->seats)
        return b->integrator->seats->take_back(b, k, part);
    if (!shorten(b, sim, part))
        return false;
    answer(b, bit(k), 0);
    if (b->live & bit(k) && !b->integrator->state_at(sim, sim->t))
        finish(b, k);
    else if (b->live & bit(k))
        start_again(b, k);
    return true;
}

/* Ends evaluations in which a state is impossibly far below zero. crossed: seats with a state that has just gone below it. */
static void look_for_falls(struct batch *b, unsigned seats, unsigned crossed, unsigned rooted)
{
    EACH_SEAT(k, seats) {
        struct simulation *sim = b->seat[k];
        const double *y = at_end(b, k, rooted & bit(k));
        const double *before = crossed & bit(k) && positive_crosses(sim, y) ? at_beginning(b, k) : NULL;
        if (before)
            positive_fall(sim, sim->t_before, before, y);
        size_t fallen = positive_look(sim, y);
        if (b->integrator->seats)
            b->integrator->seats->saw_step(b, k);
        if (fallen == sim->n_state)
            continue;
        count(b, k);
        outcome_fell(sim, fallen);
        finish(b, k);
    }
}

struct seat_step {
    struct batch *batch;
    int k;
};

static const double *inside(void *context, double t)
{
    const struct seat_step *step = context;
    return step->batch->integrator->inside(step->batch, step->k, t);
}

/* Seats whose latest step has met a stop; `rooted`: inside of the step, at a root. */
static unsigned find_stops(struct batch *b, unsigned seats, unsigned *rooted)
{
    unsigned stopped = 0;
    EACH_SEAT(k, seats) {
        struct simulation *sim = b->seat[k];
        struct seat_step seat = {b, k};
        const struct latest_step step = {.state_at = inside, .context = &seat};
        if (!sim->has_stops)
            continue;
        bool is_root = root_find(sim, &step, sim->t_before);
        *rooted |= (unsigned)is_root << k;
        stopped |= (unsigned)(is_root || sim->t >= sim->stops->next) << k;
    }
    return stopped;
}

/* What happens at the stops of these seats. */
static void pass_stops(struct batch *b, unsigned stopped, unsigned rooted)
{
    if (stopped && b->integrator->seats)
        b->integrator->seats->go_to(b, stopped, rooted & stopped);
    EACH_SEAT(k, stopped) {
        struct simulation *sim = b->seat[k];
        bool is_there = b->integrator->seats || b->integrator->state_at(sim, sim->t);
        conclude(b, k, is_there && stops_happen(sim, sim->y, false));
        if (!(b->live & bit(k)))
            continue;
        if (sim->stops->restarts) {
            start_again(b, k);
        } else if (sim->evaluation->n_step >= sim->evaluation->max_steps) {
            fail_exhausted(sim);
            finish(b, k);
        } else {
            reload(b, k);
        }
    }
}

/* After a step without a stop, of an evaluation that has stops or forcing. */
static bool attend(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    if (b->integrator->seats)
        b->integrator->seats->attend(b, k);
    if (!stops_await_steady_state(sim))
        return true;
    if (steady_is_lost(sim)) {
        count(b, k);
        return false;
    }
    if (!b->integrator->look_for_steady_state || !steady_is_due(sim) || !b->integrator->look_for_steady_state(b, k))
        return true;
    count(b, k);
    return observation_answer_until(sim, INFINITY, 1, sim->y, false);
}

/* No further step is possible: begins again with other sizes of states, if these may be the reason. */
static void recover(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    bool may_be_sizes = b->integrator->may_be_sizes && b->integrator->may_be_sizes(b, k);
    bool is_rescued = may_be_sizes && tolerance_rescue(sim, sim->y);
    if (is_rescued)
        count(b, k);
    if (is_rescued || b->integrator->fail(b, k))
        start_again(b, k);
    else
        finish(b, k);
}

/* What follows an attempt in the seats of which it is more than a step. */
static void follow_up(struct batch *b, struct integrator_events events, unsigned attended, unsigned stopped, unsigned rooted)
{
    if (events.measured & b->live)
        answer(b, events.measured & b->live, stopped);
    pass_stops(b, stopped & b->live, rooted);
    EACH_SEAT(k, attended & b->live & ~stopped)
        conclude(b, k, attend(b, k));
    EACH_SEAT(k, events.failed & b->live & ~stopped)
        recover(b, k);
    EACH_SEAT(k, events.exhausted & ~events.failed & b->live & ~stopped) {
        count(b, k);
        fail_exhausted(b->seat[k]);
        finish(b, k);
    }
}

/* Begins again where tolerances must be relative, and begins what follows an evaluation that has ended. */
static void follow_evaluations(struct batch *b, unsigned began)
{
    EACH_SEAT(k, began & ~b->live & ~b->finished & ~b->ended) {
        count(b, k);
        halt(b, k);
        open(b, k, true);
    }
    while (b->ended) {
        int k = __builtin_ctz(b->ended);
        b->ended &= ~bit(k);
        if (b->seat[k]->evaluation != b->seat[k]->request && period_next(b->seat[k]))
            open(b, k, false);
        else
            b->finished |= bit(k);
    }
}

/* Looks at the steps in which something happens. */
static void follow_steps(struct batch *b, struct integrator_events events)
{
    const struct integrator_seats *seats = b->integrator->seats;
    unsigned taken = 0, crossed = 0, stopped = 0, rooted = 0;
    EACH_SEAT(k, events.finished)
        finish(b, k);
    EACH_SEAT(k, events.fell) {
        const double *y = at_end(b, k, false);
        if (positive_crosses(b->seat[k], y)) {
            crossed |= bit(k);
            taken |= take_back(b, k, y) ? bit(k) : 0;
        }
    }
    events.moved &= ~taken;
    events.fell &= ~taken;
    events.measured &= ~taken;
    unsigned attended = events.moved & b->attended;
    if (attended)
        stopped = find_stops(b, attended, &rooted);
    if (!seats)
        EACH_SEAT(k, events.fell)
            b->seat[k]->evaluation->t_reached = b->seat[k]->t;
    /* side by side, a step with a root is looked at in the next one */
    look_for_falls(b, seats ? events.fell & ~rooted : events.fell, crossed | rooted, rooted);
    follow_up(b, events, attended, stopped, rooted);
}

void drive_step(struct batch *b)
{
    unsigned began = b->live;
    struct integrator_events events = b->integrator->attempt(b);
    if (events.measured | events.fell | events.failed | events.exhausted | events.finished | (events.moved & b->attended))
        follow_steps(b, events);
    if (b->live != began)
        follow_evaluations(b, began);
}
