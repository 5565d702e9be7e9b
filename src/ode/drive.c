/* The driver: evaluations come into the seats of a worker's batch; between two steps follows
 * what the latest one has met; those that have ended are given back. The same for one evaluation
 * at a time and for many side by side: what concerns a seat alone does not depend on the others.
 * Simulations are taken from a pool and given back without locks. One that is set aside keeps
 * its memory, and so few are set aside that a worker's engine always finds a free one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/drive.h"

#include "base/clock.h"
#include "base/floating.h"
#include "ode/blocks.h"
#include "ode/forcing.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/period.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps between two checks of the clock and the turn. */
enum { STEPS_PER_LOOK = 16 };

static unsigned bit(int k) { return 1u << k; }

static void count(struct batch *b, int k)
{
    if (b->integrator->seats)
        b->integrator->seats->count(b, k);
}

static void halt(struct batch *b, int k)
{
    b->live &= ~bit(k);
    b->attended &= ~bit(k);
}

/* Ends the evaluation of a seat. */
static void stop(struct batch *b, int k, enum evaluation_outcome outcome, const char *why)
{
    struct simulation *sim = b->seat[k];
    if (b->live & bit(k))
        count(b, k);
    sim->evaluation = sim->request; /* not that of a period */
    outcome_fail(sim, outcome, why);
    halt(b, k);
    b->finished |= bit(k);
}

/* After a call that was to let a seat's evaluation go on; goes_on: its result. */
static void enter(struct batch *b, int k, bool goes_on)
{
    const struct simulation *sim = b->seat[k];
    if (!goes_on) {
        b->finished |= bit(k);
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
                        stops_await_steady_state(sim) ? "no steady state within the budget of "
                                                        "integrator steps"
                                                      : "the budget of integrator steps is used "
                                                        "up");
}

void drive_set_out(struct simulation *sim, double closest)
{
    const struct ode_task *task = sim->evaluation->task;
    double t = sim->t, last = ode_task_last(task);
    closest *= fmax(fabs(t), fabs(last));
    sim->t_far = last - t > closest ? last : t + fmax(closest, DBL_MIN);
    if (task->time[task->n_time - 1] == INFINITY)
        /* Gives the first step its scale; no end. */
        sim->t_far = fmax(last, t + fmax(1, t - task->experiment.t0));
    sim->steady = (struct steady){.since = t, .next = t};
    if (sim->forcing)
        forcing_begin(sim);
}

static bool start(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    if (sim->evaluation->n_step >= sim->evaluation->max_steps)
        return fail_exhausted(sim);
    drive_set_out(sim, b->integrator->closest);
    return b->integrator->start(b, k);
}

/* What each evaluation begins with. */
static void set_up(struct simulation *sim, bool is_relative)
{
    struct evaluation *evaluation = sim->evaluation;
    sim->begins_anew = false;
    sim->rows.i_time = sim->rows.i_row = 0;
    memset(sim->rows.h_largest, 0, sim->abi->n_observable * sizeof(double));
    sim->t = evaluation->t_reached = evaluation->task->experiment.t0;
    evaluation->crosses = evaluation->meets = false;
    sim->blocks.sens = evaluation->sens;
    sim->blocks.variant = EXPERIMENT_NONE;
    sim->has_stops = ode_has_stops(sim->abi, evaluation->task) &&
                    (!evaluation->adjoint || !ode_takes_adjoint(sim->abi, evaluation->task));
    tolerance_set(sim, is_relative);
}

static bool begin(struct batch *b, int k, bool is_relative)
{
    const struct integrator *integrator = b->integrator;
    struct simulation *sim = b->seat[k];
    struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    set_up(sim, is_relative);
    if (evaluation->adjoint && (sim->has_stops || task->n_variant)) {
        snprintf(evaluation->reason, sizeof evaluation->reason,
                 "the adjoint method does not go through doses, inputs and events, nor parameters "
                 "of periods and rows");
        return outcome_set(sim, EVALUATION_ODE_FAILED);
    }
    if (derivatives_begin(&sim->model, evaluation->p, task->experiment.covariate,
                          task->experiment.t0, evaluation->n_sens, evaluation->sens) != STIFFIT_OK)
        return outcome_model_failed(sim);
    blocks_choose(sim);
    if (integrator->prepare && !integrator->prepare(sim))
        return false;
    if (sim->has_stops && !stops_begin(sim))
        return false;
    if (sim->n_state > 0 && (integrator->initial ? integrator->initial(sim)
                                                 : blocks_initial(sim, sim->y)) != STIFFIT_OK)
        return outcome_model_failed(sim);
    if (sim->n_state > 0 && task->n_time > 0) {
        tolerance_begin(sim, sim->y);
        positive_begin(sim, sim->y);
    }
    if (task->n_time == 0 && !evaluation->adjoint)
        return outcome_set(sim, EVALUATION_OK);
    if (evaluation->adjoint)
        return integrator->begin_adjoint(sim);
    if (sim->n_state == 0)
        return answer_without_states(sim);
    if (sim->has_stops && !stops_begin_state(sim, sim->y))
        return false;
    bool goes_on = sim->has_stops ? stops_happen(sim, sim->y, true)
                                  : observation_answer_until(sim, sim->t, 1, sim->y, true);
    return goes_on && start(b, k);
}

/* Begins an evaluation in a seat, or what follows it where it ends at once. */
static void open(struct batch *b, int k, bool is_relative)
{
    struct simulation *sim = b->seat[k];
    bool goes_on = begin(b, k, is_relative);
    while (!goes_on && sim->evaluation != sim->request && period_next(sim))
        goes_on = begin(b, k, false);
    enter(b, k, goes_on);
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

/* Begins seat[k]->request. */
static void begin_request(struct batch *b, int k)
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

bool drive_begin(struct batch *b)
{
    b->live = b->ended = b->finished = b->attended = 0;
    begin_request(b, 0);
    return b->live;
}

static void reload(struct batch *b, int k)
{
    if (b->integrator->seats)
        b->integrator->seats->reload(b, k);
}

/* Starts the integrator again in a seat, from the state at simulation.t. */
static void start_again(struct batch *b, int k)
{
    if (!start(b, k))
        finish(b, k);
}

/* The time of the next measurement; INFINITY also if there is none. */
static double next_measurement(const struct simulation *sim)
{
    const struct ode_task *task = sim->evaluation->task;
    return sim->rows.i_time < task->n_time ? task->time[sim->rows.i_time] : INFINITY;
}

/* Answers the next measurement of the only seat. False: the evaluation is finished. */
static bool answer_one(const struct integrator *integrator, struct simulation *sim)
{
    if (!integrator->state_at(sim, next_measurement(sim)))
        return false;
    if (!observation_answer(sim, sim->y, false))
        return outcome_model_failed(sim);
    sim->rows.i_time += !sim->begins_anew;
    if (sim->rows.i_time == sim->evaluation->task->n_time)
        return outcome_set(sim, EVALUATION_OK);
    if (sim->tolerance.grows)
        tolerance_look(sim, sim->y);
    return true;
}

/* Those of the seats whose next measurement is in their latest step; of seats that have met a
 * stop, before it. Which they are is nearly random: without a branch. */
static unsigned find_waiting(const struct batch *b, unsigned seats, unsigned stopped)
{
    unsigned waiting = 0;
    EACH_SEAT(k, seats) {
        double t = b->seat[k]->t, next = next_measurement(b->seat[k]);
        waiting |= ((unsigned)(next < t) | ((unsigned)(next == t) & ~(stopped >> k) & 1u)) << k;
    }
    return waiting;
}

/* Answers the measurements in the latest steps of these seats; of those that have met a stop,
 * the ones before it. */
static void answer(struct batch *b, unsigned waiting, unsigned stopped)
{
    for (;;) {
        waiting = find_waiting(b, waiting, stopped) & b->live;
        if (!waiting)
            return;
        unsigned finished = b->integrator->seats ? b->integrator->seats->answer(b, waiting)
                                                 : !answer_one(b->integrator, b->seat[0]);
        EACH_SEAT(k, waiting)
            conclude(b, k, !(finished & bit(k)));
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

/* The state, without sensitivities, at the beginning of the latest step; NULL: it cannot be
 * computed. */
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

/* Moves the end of a step to where no state is below zero, by going a part of the way. False: it
 * would be too short. */
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

/* Looks at a step in which a state went below zero. True: it is taken back, because the state
 * went past a pole. */
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
    if (b->live & bit(k) && !b->integrator->state_at(sim, sim->t)) {
        finish(b, k);
    } else if (b->live & bit(k)) {
        positive_lift(sim, sim->y);
        start_again(b, k);
    }
    return true;
}

/* Ends evaluations in which a state is impossibly far below zero. crossed: seats with a state
 * that has just gone below it. */
static void look_for_falls(struct batch *b, unsigned seats, unsigned crossed, unsigned rooted)
{
    EACH_SEAT(k, seats) {
        struct simulation *sim = b->seat[k];
        const double *y = at_end(b, k, rooted & bit(k));
        const double *before =
            crossed & bit(k) && positive_crosses(sim, y) ? at_beginning(b, k) : NULL;
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
    if (!b->integrator->look_for_steady_state || !steady_is_due(sim) ||
        !b->integrator->look_for_steady_state(b, k))
        return true;
    count(b, k);
    return observation_answer_until(sim, INFINITY, 1, sim->y, false);
}

/* No further step is possible: begins again with other sizes of states, or without those below
 * zero, if these may be the reason. */
static void recover(struct batch *b, int k)
{
    struct simulation *sim = b->seat[k];
    bool may_be_sizes = b->integrator->may_be_sizes && b->integrator->may_be_sizes(b, k);
    bool is_rescued =
        (may_be_sizes && tolerance_rescue(sim, sim->y)) || positive_rescue(sim, sim->y);
    if (is_rescued)
        count(b, k);
    if (is_rescued || b->integrator->fail(b, k))
        start_again(b, k);
    else
        finish(b, k);
}

/* What follows an attempt in the seats of which it is more than a step. */
static void follow_up(struct batch *b, struct integrator_events events, unsigned attended,
                      unsigned stopped, unsigned rooted)
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

/* Begins again where tolerances must be relative, and begins what follows an evaluation that has
 * ended. */
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

/* One attempt at a step in all live seats, and all that follows from it. */
static void step(struct batch *b)
{
    unsigned began = b->live;
    struct integrator_events events = b->integrator->attempt(b);
    if (events.measured | events.fell | events.failed | events.exhausted | events.finished |
        (events.moved & b->attended))
        follow_steps(b, events);
    if (b->live != began)
        follow_evaluations(b, began);
}

bool drive_pass_stop(struct batch *b)
{
    b->live = bit(0);
    b->ended = b->finished = b->attended = 0;
    pass_stops(b, bit(0), 0);
    return b->live;
}

struct slot {
    /* A cache line each: workers acquire and release all the time. */
    _Alignas(64) atomic_bool taken;
    struct simulation *simulation;
};

struct drive_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    const struct integrator *integrator;
    void *plan;
    size_t n_slot, n_spare, n_worker; /* at most n_spare are set aside */
    struct slot *slot;
    atomic_size_t n_aside, n_engine;
};

struct drive_engine {
    struct engine base;
    struct drive_pool *pool;
    struct batch *batch;
    size_t preferred[BATCH_WIDEST]; /* by seat: the slot used last, whose memory is in the cache */
};

void drive_pool_free(struct engine_pool *base)
{
    struct drive_pool *pool = (struct drive_pool *)base;
    for (size_t i = 0; pool->slot && i < pool->n_slot; i++)
        if (pool->slot[i].simulation)
            pool->integrator->simulation_free(pool->slot[i].simulation);
    free(pool->slot);
    if (pool->plan)
        pool->integrator->plan_free(pool->plan);
    free(pool);
}

static bool make_slots(struct drive_pool *pool, size_t n)
{
    pool->slot = aligned_alloc(64, n * sizeof *pool->slot);
    pool->n_slot = n;
    for (size_t i = 0; pool->slot && i < n; i++) {
        atomic_init(&pool->slot[i].taken, false);
        pool->slot[i].simulation = NULL;
    }
    return pool->slot;
}

static bool fill_slots(struct drive_pool *pool, const struct ode_options *options)
{
    for (size_t i = 0; i < pool->n_slot; i++) {
        struct simulation *simulation = pool->integrator->simulation_new(pool->plan, pool->abi,
                                                                         options);
        if (!simulation)
            return false;
        simulation->slot = i;
        pool->slot[i].simulation = simulation;
    }
    return true;
}

struct engine_pool *drive_pool_new(const struct engine_table *table, const struct model *model,
                                   const struct ode_options *options, size_t n_workspace,
                                   size_t n_worker, struct error *error)
{
    const struct integrator *integrator = table->integrator;
    const struct stiffit_model *abi = &model->abi;
    const char *why = table->refusal ? table->refusal(abi) : NULL;
    if (why) {
        error_set(error, STATUS_BAD_MODEL, "%s: the model %s %s", integrator->name, abi->name, why);
        return NULL;
    }
    size_t n_seat = (size_t)integrator->width * n_worker,
           n = n_workspace > n_seat ? n_workspace : n_seat;
    struct drive_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        *pool = (struct drive_pool){.abi = abi, .integrator = integrator,
                                    .n_spare = n - n_seat, .n_worker = n_worker};
        if (error)
            error->status = STATUS_OK;
        pool->plan = make_slots(pool, n) ? integrator->plan_new(abi, options, error) : NULL;
        if (pool->plan && fill_slots(pool, options))
            return &pool->base;
        drive_pool_free(&pool->base);
    }
    if (!pool || !error || error->status == STATUS_OK)
        error_set(error, STATUS_NO_MEMORY,
                  "no memory for the integrators of %zu workers (%u states, %u parameters)",
                  n_worker, (unsigned)abi->n_state, (unsigned)abi->n_parameter);
    return NULL;
}

const char *drive_linear_solver(const struct engine_pool *base)
{
    const struct drive_pool *pool = (const struct drive_pool *)base;
    return pool->integrator->linear_solver(pool->plan);
}

uint32_t drive_cost(const struct engine_pool *base, size_t n)
{
    const struct drive_pool *pool = (const struct drive_pool *)base;
    const struct integrator_seats *seats = pool->integrator->seats;
    return seats ? seats->cost(pool->plan, n) : 0;
}

/* A simulation is always free, but another worker may take the one tried here; hence the loop. */
static size_t take_slot(struct drive_pool *pool, size_t preferred)
{
    for (size_t i = preferred;; i = (i + 1) % pool->n_slot) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&pool->slot[i].taken, &expected, true))
            return i;
    }
}

static void give_back(struct drive_pool *pool, struct evaluation *evaluation)
{
    const struct simulation *simulation = evaluation->state;
    atomic_store(&pool->slot[simulation->slot].taken, false);
    evaluation->state = NULL;
}

/* Counts one more as set aside. False: as many as may be are. */
static bool count_aside(struct drive_pool *pool)
{
    size_t n_aside = atomic_load(&pool->n_aside);
    do {
        if (n_aside >= pool->n_spare)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->n_aside, &n_aside, n_aside + 1));
    return true;
}

struct engine *drive_new(struct engine_pool *base, struct error *error)
{
    struct drive_pool *pool = (struct drive_pool *)base;
    const struct integrator *integrator = pool->integrator;
    size_t number = atomic_fetch_add(&pool->n_engine, 1);
    if (number >= pool->n_worker) {
        atomic_fetch_sub(&pool->n_engine, 1);
        error_set(error, STATUS_INTERNAL,
                  "more engines than the %zu workers that the pool was made for", pool->n_worker);
        return NULL;
    }
    struct drive_engine *engine = calloc(1, sizeof *engine);
    struct batch *batch = NULL;
    if (engine)
        batch = integrator->seats ? integrator->seats->batch_new(pool->plan)
                                  : calloc(1, sizeof *batch);
    if (!batch) {
        free(engine);
        atomic_fetch_sub(&pool->n_engine, 1);
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    batch->integrator = integrator;
    *engine = (struct drive_engine){.pool = pool, .batch = batch};
    for (int k = 0; k < integrator->width; k++)
        engine->preferred[k] = number * (size_t)integrator->width + (size_t)k;
    return &engine->base;
}

void drive_free(struct engine *base)
{
    struct drive_engine *engine = (struct drive_engine *)base;
    struct drive_pool *pool = engine->pool;
    for (int k = 0; k < pool->integrator->width; k++)
        if (engine->batch->seat[k])
            give_back(pool, engine->batch->seat[k]->request);
    if (pool->integrator->seats)
        pool->integrator->seats->batch_free(engine->batch);
    else
        free(engine->batch);
    atomic_fetch_sub(&pool->n_engine, 1);
    free(engine);
}

void drive_submit(struct engine *base, struct evaluation *evaluation)
{
    struct drive_engine *engine = (struct drive_engine *)base;
    struct drive_pool *pool = engine->pool;
    int k = 0;
    while (engine->batch->seat[k])
        k++;
    if (evaluation->state) {
        atomic_fetch_sub(&pool->n_aside, 1);
        engine->batch->seat[k] = evaluation->state;
        enter(engine->batch, k,
              !pool->integrator->seats || pool->integrator->seats->enter(engine->batch, k));
        return;
    }
    engine->preferred[k] = take_slot(pool, engine->preferred[k]);
    struct simulation *simulation = pool->slot[engine->preferred[k]].simulation;
    engine->batch->seat[k] = evaluation->state = simulation;
    simulation->request = evaluation;
    begin_request(engine->batch, k);
}

/* Ends all evaluations if the model's functions have changed how numbers are rounded. Checked
 * between the same steps on every thread, so that an evaluation always fails at the same point. */
static void check_rounding(struct drive_engine *engine)
{
    char why[130];
    if (floating_is_default())
        return;
    floating_reset();
    snprintf(why, sizeof why,
             "the model %.40s changes the floating-point environment (rounding mode, traps)",
             engine->pool->abi->name);
    for (int k = 0; k < engine->pool->integrator->width; k++)
        if (engine->batch->seat[k])
            stop(engine->batch, k, EVALUATION_MODEL_FAILED, why);
}

static void check_deadlines(struct batch *batch)
{
    int64_t now = INT64_MIN;
    EACH_SEAT(k, batch->live) {
        int64_t deadline_ns = batch->seat[k]->request->deadline_ns;
        if (deadline_ns == INT64_MAX)
            continue;
        now = now == INT64_MIN ? clock_now_ns() : now;
        if (now >= deadline_ns)
            stop(batch, k, EVALUATION_TIMEOUT, "the time is used up");
    }
}

/* Takes those that have ended out of their seats. */
static struct evaluation *take_finished(struct drive_engine *engine)
{
    struct batch *batch = engine->batch;
    struct evaluation *first = NULL, **link = &first;
    EACH_SEAT(k, batch->finished) {
        *link = batch->seat[k]->request;
        batch->seat[k] = NULL;
        give_back(engine->pool, *link);
        link = &(*link)->next;
    }
    batch->finished = 0;
    *link = NULL;
    return first;
}

struct evaluation *drive_work(struct engine *base, const struct engine_turn *turn)
{
    struct drive_engine *engine = (struct drive_engine *)base;
    struct batch *batch = engine->batch;
    check_rounding(engine);
    while (!batch->finished && batch->live) {
        for (int i = 0; i < STEPS_PER_LOOK && batch->live && !batch->finished; i++) {
            step(batch);
            if (turn && turn->heartbeat)
                counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        }
        base->n_seat = batch->n_seat;
        base->n_held = batch->n_held;
        check_rounding(engine);
        if (!batch->finished)
            check_deadlines(batch);
        if (!batch->finished && turn && turn->over(turn->context))
            return NULL;
    }
    return take_finished(engine);
}

bool drive_withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct drive_engine *engine = (struct drive_engine *)base;
    struct batch *batch = engine->batch;
    EACH_SEAT(k, batch->live) {
        if (batch->seat[k]->request != evaluation)
            continue;
        if (!count_aside(engine->pool))
            return false;
        if (batch->integrator->seats)
            batch->integrator->seats->leave(batch, k);
        halt(batch, k);
        batch->seat[k] = NULL;
        return true;
    }
    return false;
}

void drive_discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct drive_pool *pool = (struct drive_pool *)base;
    give_back(pool, evaluation);
    atomic_fetch_sub(&pool->n_aside, 1);
}
