/* The engine of lanes: eight evaluations of one model side by side in the registers of a core. Each has its own time, step size
 * and error test; all make an attempt at a step together, and a lane whose evaluation is finished takes the next one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/clock.h"
#include "base/floating.h"
#include "ode/engine.h"
#include "ode/engine_slots.h"
#include "ode/lanes/guest.h"
#include "ode/observation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attempts between two checks of the clock and the turn. */
enum { ATTEMPTS_PER_LOOK = 16 };

struct lanes_pool {
    struct engine_pool base;
    const struct stiffit_model *abi;
    struct lanes_plan *plan;
    struct linear_plan *linear_plan;
    size_t n_id;               /* of columns: parameters, and others */
    const struct lanes_kernel *kernel;
    bool follows_sizes;
    struct engine_slots slots; /* of guests */
};

struct lanes_engine {
    struct engine base;
    struct lanes_pool *pool;
    struct lanes_room room;
    struct guest *guest[N_LANE];
    size_t preferred[N_LANE];   /* the slot used last */
    unsigned live, finished;    /* lanes: with an evaluation that goes on; with one that the caller has not got back yet */
    unsigned filled;            /* lanes that hold numbers of any evaluation */
    unsigned attended;          /* live lanes with stops or forcing */
    unsigned rooted;            /* those whose latest step has a root inside, at room.t */
    uint32_t *parameter;        /* n_id: of each column */
    int32_t *column;            /* n_id: of each id, or -1 */
    bool *wanted;               /* n_id: some evaluation in a lane has this id */
    lanes *inside;
    struct lanes_view view;
    struct linear *linear;      /* for steady states */
};

static void pool_free(struct engine_pool *base)
{
    struct lanes_pool *pool = (struct lanes_pool *)base;
    for (size_t i = 0; pool->slots.slot && i < pool->slots.n; i++)
        guest_free(pool->slots.slot[i].content);
    engine_slots_fini(&pool->slots);
    lanes_plan_free(pool->plan);
    linear_plan_free(pool->linear_plan);
    free(pool);
}

static const char *refusal(const struct stiffit_model *abi)
{
    return !abi->lanes ? "has no functions of lanes"
           : !lanes_kernel_is_fast() ? "cannot run in lanes on a CPU without fused multiply-add"
           : abi->n_state == 0 ? "has no states" : NULL;
}

static struct engine_pool *pool_new(const struct model *model, const struct ode_options *options, size_t n_workspace,
                                    size_t n_worker, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    size_t n_seat = N_LANE * n_worker, n = n_workspace > n_seat ? n_workspace : n_seat;
    const char *why = refusal(abi);
    if (why) {
        error_set(error, STATUS_BAD_MODEL, "lanes: the model %s %s", abi->name, why);
        return NULL;
    }
    const struct lanes_kernel *kernel = lanes_kernel_choose(getenv("STIFFIT_LANES_KERNEL"), error);
    if (!kernel)
        return NULL;
    bool is_wrong = false;
    struct lanes_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        goto failed;
    pool->abi = abi;
    pool->kernel = kernel;
    pool->follows_sizes = options->atol == 0;
    pool->n_id = abi->n_parameter + options->n_none;
    pool->plan = lanes_plan_new(abi, &is_wrong);
    pool->linear_plan = linear_plan_new(abi, LINEAR_DENSE, error);
    if (!pool->plan || !pool->linear_plan || !engine_slots_init(&pool->slots, n, n - n_seat, n_worker))
        goto failed;
    for (size_t i = 0; i < n; i++) {
        struct guest *guest = pool->slots.slot[i].content = guest_new(abi, options);
        if (!guest)
            goto failed;
        guest->slot = i;
    }
    return &pool->base;
failed:
    if (pool)
        pool_free(&pool->base);
    if (is_wrong)
        error_set(error, STATUS_BAD_MODEL, "the patterns of the model %s for lanes are wrong", abi->name);
    else
        error_set(error, STATUS_NO_MEMORY, "no memory for the lanes of %zu workers (%u states, %u parameters)", n_worker,
                  (unsigned)abi->n_state, (unsigned)abi->n_parameter);
    return NULL;
}

static const char *linear_solver(const struct engine_pool *pool)
{
    (void)pool;
    return "lanes";
}

static void leave(struct lanes_engine *engine, int k)
{
    struct guest *guest = engine->guest[k];
    guest->o.evaluation->state = NULL;
    engine_slots_give(&engine->pool->slots, guest->slot);
    engine->guest[k] = NULL;
}

static void engine_end(struct engine *base)
{
    struct lanes_engine *engine = (struct lanes_engine *)base;
    for (int k = 0; k < N_LANE; k++)
        if (engine->guest[k])
            leave(engine, k);
    lanes_room_fini(&engine->room);
    engine_slots_leave(&engine->pool->slots);
    free(engine->parameter);
    free(engine->column);
    free(engine->wanted);
    free(engine->inside);
    free(engine->view.values);
    free(engine->view.out);
    free(engine->view.is_wanted);
    linear_free(engine->linear);
    free(engine);
}

static struct engine *engine_make(struct engine_pool *base, struct error *error)
{
    struct lanes_pool *pool = (struct lanes_pool *)base;
    size_t n_id = pool->n_id, n_inside = pool->plan->n * (1 + n_id);
    struct lanes_engine *engine = aligned_alloc(64, (sizeof *engine + 63) / 64 * 64);
    if (!engine) {
        error_set(error, STATUS_NO_MEMORY, "no memory for a worker's engine");
        return NULL;
    }
    memset(engine, 0, sizeof *engine);
    engine->pool = pool;
    size_t number;
    if (!engine_slots_join(&pool->slots, &number, error)) {
        free(engine);
        return NULL;
    }
    for (size_t k = 0; k < N_LANE; k++)
        engine->preferred[k] = number * N_LANE + k;
    engine->parameter = calloc(n_id, sizeof *engine->parameter);
    engine->column = calloc(n_id, sizeof *engine->column);
    engine->wanted = calloc(n_id, sizeof *engine->wanted);
    engine->inside = aligned_alloc(64, n_inside * sizeof *engine->inside);
    size_t n_observable = pool->plan->n_observe ? pool->abi->n_observable : 0;
    engine->view.values = aligned_alloc(64, (pool->plan->n_observe + 1) * sizeof(lanes));
    engine->view.out = aligned_alloc(64, (n_observable * (1 + n_id) + 1) * sizeof(lanes));
    engine->view.is_wanted = calloc(n_observable + 1, sizeof(bool));
    engine->linear = linear_new(pool->linear_plan);
    if (lanes_room_init(&engine->room, pool->plan, pool->n_id - pool->abi->n_parameter) && engine->parameter &&
        engine->column && engine->wanted && engine->inside && engine->view.values && engine->view.out &&
        engine->view.is_wanted && engine->linear) {
        engine->room.follows_sizes = pool->follows_sizes;
        return &engine->base;
    }
    engine_end(&engine->base);
    error_set(error, STATUS_NO_MEMORY, "no memory for a worker's lanes");
    return NULL;
}

/* Whether an evaluation in a lane, or the new one, wants the sensitivities of id j. */
static void mark_wanted(struct lanes_engine *engine, const struct guest *new)
{
    memset(engine->wanted, 0, engine->pool->n_id * sizeof *engine->wanted);
    for (int k = 0; k <= N_LANE; k++) {
        const struct guest *guest = k == N_LANE ? new : (engine->live >> k & 1) ? engine->guest[k] : NULL;
        for (size_t b = 0; guest && b < guest->o.n_block; b++)
            engine->wanted[guest->id[b]] = true;
    }
}

/* Gives a column to each parameter that is wanted. False: out of memory. */
static bool arrange(struct lanes_engine *engine, const struct guest *new)
{
    size_t n_id = engine->pool->n_id, n_column = 0;
    bool same = true;
    mark_wanted(engine, new);
    for (uint32_t j = 0; j < n_id; j++)
        if (engine->wanted[j]) {
            same = same && n_column < engine->room.n_column && engine->parameter[n_column] == j;
            n_column++;
        }
    if (same && n_column == engine->room.n_column)
        return true;
    for (int k = 0; k < N_LANE; k++)
        if (engine->live >> k & 1)
            guest_store(engine->guest[k], &engine->room, k, engine->column);
    n_column = 0;
    for (uint32_t j = 0; j < n_id; j++) {
        engine->column[j] = engine->wanted[j] ? (int32_t)n_column : -1;
        if (engine->wanted[j])
            engine->parameter[n_column++] = j;
    }
    bool good = lanes_room_set_columns(&engine->room, n_column, engine->parameter);
    for (int k = 0; good && k < N_LANE; k++)
        if (engine->live >> k & 1)
            guest_load(engine->guest[k], &engine->room, k, engine->column, true);
    return good;
}

static void stop_moving(struct lanes_engine *engine, int k)
{
    engine->live &= ~(1u << k);
    engine->attended &= ~(1u << k);
    engine->room.live[k] = 0;
    engine->room.infused &= ~(1u << k);
}

static void end_lane(struct lanes_engine *engine, int k)
{
    stop_moving(engine, k);
    engine->finished |= 1u << k;
}

/* Puts guest[k], which is in no lane, into lane k. */
static void enter(struct lanes_engine *engine, int k)
{
    struct guest *guest = engine->guest[k];
    if (!arrange(engine, guest)) {
        for (int other = 0; other < N_LANE; other++)
            if (engine->guest[other] && !(engine->finished >> other & 1)) {
                observer_stop(&engine->guest[other]->o, EVALUATION_NO_MEMORY, "no memory for sensitivities");
                end_lane(engine, other);
            }
        return;
    }
    /* Lanes that hold nothing yet hold the same, so that they compute nothing unusual. */
    for (int other = 0; other < N_LANE; other++)
        if (!(engine->filled >> other & 1))
            guest_load(guest, &engine->room, other, engine->column, false);
    guest_load(guest, &engine->room, k, engine->column, true);
    engine->filled = (1u << N_LANE) - 1;
    engine->live |= 1u << k;
    engine->attended |= (unsigned)(guest->o.has_stops || guest->o.forcing) << k;
}

static void begin(struct lanes_engine *engine, int k, bool is_relative)
{
    if (guest_begin(engine->guest[k], is_relative))
        enter(engine, k);
    else
        end_lane(engine, k);
}

static void submit(struct engine *base, struct evaluation *evaluation)
{
    struct lanes_engine *engine = (struct lanes_engine *)base;
    struct engine_slots *slots = &engine->pool->slots;
    int k = 0;
    while (engine->guest[k])
        k++;
    if (evaluation->state) {
        engine_slots_resume(slots);
        engine->guest[k] = evaluation->state;
        enter(engine, k);
        return;
    }
    engine->preferred[k] = engine_slots_take(slots, engine->preferred[k]);
    struct guest *guest = engine->guest[k] = slots->slot[engine->preferred[k]].content;
    evaluation->state = guest;
    evaluation->reason[0] = '\0';
    evaluation->n_step = evaluation->n_rhs = evaluation->n_jacobian = evaluation->n_factor = 0;
    guest->o.evaluation = evaluation;
    guest->o.n_factor = 0;
    begin(engine, k, false);
}

/* After a call for lane k: goes_on is its result. */
static void settle(struct lanes_engine *engine, int k, bool goes_on)
{
    if (!goes_on)
        end_lane(engine, k);
    else if (engine->guest[k]->o.begins_anew)
        engine->live &= ~(1u << k);
}

/* The states and sensitivities of some lanes at their `t`, a time in their latest steps. */
static void look_inside(struct lanes_engine *engine, unsigned which, const lanes *t)
{
    struct lanes_room *room = &engine->room;
    lanes s;
    for (int k = 0; k < N_LANE; k++) {
        bool is_end = !(which >> k & 1) || ((*t)[k] == room->t[k] && !(engine->rooted >> k & 1));
        s[k] = is_end ? 1 : ((*t)[k] - room->t_before[k]) / room->h_used[k];
    }
    engine->pool->kernel->inside(room, &s, engine->inside);
}

/* The observables of what was found inside, where the model's functions of lanes give them. */
static void observe(struct lanes_engine *engine, unsigned which)
{
    struct lanes_room *room = &engine->room;
    struct lanes_view *view = &engine->view;
    if (!room->plan->n_observe)
        return;
    memset(view->is_wanted, 0, room->plan->abi->n_observable * sizeof *view->is_wanted);
    for (int k = 0; k < N_LANE; k++)
        if (which >> k & 1)
            observation_mark(&engine->guest[k]->o, view->is_wanted);
    engine->pool->kernel->observe(room, &room->t_next, engine->inside, view->is_wanted, view->values, view->out);
}

/* Answers the measurements in the latest step of these lanes; of those that have met a stop, the ones before it. */
static void answer(struct lanes_engine *engine, unsigned waiting, unsigned stopped)
{
    struct lanes_room *room = &engine->room;
    for (;;) {
        for (int k = 0; k < N_LANE; k++)
            if (room->t_next[k] > room->t[k] || (stopped >> k & 1 && room->t_next[k] == room->t[k]))
                waiting &= ~(1u << k);
        waiting &= engine->live;
        if (!waiting)
            return;
        look_inside(engine, waiting, &room->t_next);
        if (room->follows_sizes)
            engine->pool->kernel->drop_vanished(room, engine->inside);
        observe(engine, waiting);
        for (int k = 0; k < N_LANE; k++)
            if (waiting >> k & 1)
                settle(engine, k,
                       guest_answer(engine->guest[k], room, k, engine->column, engine->inside, &engine->view));
    }
}

/* Lanes whose latest step has met a stop. */
static unsigned find_stops(struct lanes_engine *engine, unsigned which)
{
    unsigned stopped = 0;
    engine->rooted = 0;
    for (int k = 0; which && k < N_LANE; k++) {
        bool is_root = false;
        if (which >> k & 1 && guest_meets_stop(engine->guest[k], &engine->room, k, &is_root))
            stopped |= 1u << k;
        engine->rooted |= (unsigned)is_root << k;
    }
    return stopped;
}

/* What happens at the stops of these lanes. */
static void pass_stops(struct lanes_engine *engine, unsigned stopped)
{
    struct lanes_room *room = &engine->room;
    if (stopped & engine->rooted)
        look_inside(engine, stopped & engine->rooted, &room->t);
    for (int k = 0; k < N_LANE; k++) {
        if (!(stopped >> k & 1))
            continue;
        struct guest *guest = engine->guest[k];
        guest_store(guest, room, k, engine->column);
        if (engine->rooted >> k & 1)
            guest_take_inside(guest, engine->column, engine->inside, k);
        settle(engine, k, guest_pass_stop(guest, room, k));
        if (engine->live >> k & 1)
            guest_load(guest, room, k, engine->column, true);
    }
}

static void step(struct lanes_engine *engine)
{
    struct lanes_room *room = &engine->room;
    engine->base.n_attempt++;
    engine->base.n_held += (uint64_t)__builtin_popcount(engine->live);
    struct lanes_events events = engine->pool->kernel->attempt(room);
    for (int k = 0; events.fell && k < N_LANE; k++)
        if (events.fell >> k & 1 && guest_takes_back(engine->guest[k], room, k)) {
            events.fell &= ~(1u << k);
            events.moved &= ~(1u << k);
            events.measured &= ~(1u << k);
        }
    unsigned attended = events.moved & engine->attended, stopped = find_stops(engine, attended), began = engine->live;
    for (int k = 0; events.fell && k < N_LANE; k++)
        if (events.fell >> k & 1 && !(engine->rooted >> k & 1) && !guest_look_for_fall(engine->guest[k], room, k))
            end_lane(engine, k);
    if (events.measured & engine->live)
        answer(engine, events.measured & engine->live, stopped);
    pass_stops(engine, stopped & engine->live);
    attended &= engine->live & ~stopped;
    for (int k = 0; attended && k < N_LANE; k++)
        if (attended >> k & 1)
            settle(engine, k,
                   guest_attend(engine->guest[k], room, k, engine->column, engine->linear, (double *)engine->inside));
    for (int k = 0; (events.underflow | events.spent) & engine->live & ~stopped && k < N_LANE; k++) {
        unsigned bit = 1u << k & engine->live & ~stopped;
        if (events.underflow & bit && guest_rescue(engine->guest[k], room, k, engine->column)) {
            guest_load(engine->guest[k], room, k, engine->column, true);
        } else if (events.underflow & bit) {
            guest_fail_underflow(engine->guest[k], room, k);
            end_lane(engine, k);
        } else if (events.spent & bit) {
            guest_count(engine->guest[k], room, k);
            observer_spent(&engine->guest[k]->o);
            end_lane(engine, k);
        }
    }
    began &= ~engine->live & ~engine->finished;
    for (int k = 0; began && k < N_LANE; k++)
        if (began >> k & 1) {
            guest_count(engine->guest[k], room, k);
            begin(engine, k, true);
        }
}

/* Ends all evaluations if the model's functions have changed how numbers are rounded. */
static void check_rounding(struct lanes_engine *engine)
{
    char why[130];
    if (floating_is_default())
        return;
    floating_reset();
    snprintf(why, sizeof why, "the model %.40s changes the floating-point environment (rounding mode, traps)",
             engine->pool->abi->name);
    for (int k = 0; k < N_LANE; k++)
        if (engine->guest[k]) {
            if (engine->live >> k & 1)
                guest_count(engine->guest[k], &engine->room, k);
            observer_stop(&engine->guest[k]->o, EVALUATION_MODEL_FAILED, why);
            end_lane(engine, k);
        }
}

static void check_deadlines(struct lanes_engine *engine)
{
    int64_t now = INT64_MIN;
    for (int k = 0; k < N_LANE; k++) {
        if (!(engine->live >> k & 1) || engine->guest[k]->o.evaluation->deadline_ns == INT64_MAX)
            continue;
        now = now == INT64_MIN ? clock_now_ns() : now;
        if (now < engine->guest[k]->o.evaluation->deadline_ns)
            continue;
        guest_count(engine->guest[k], &engine->room, k);
        observer_stop(&engine->guest[k]->o, EVALUATION_TIMEOUT, "the time is used up");
        end_lane(engine, k);
    }
}

static struct evaluation *work(struct engine *base, const struct engine_turn *turn)
{
    struct lanes_engine *engine = (struct lanes_engine *)base;
    check_rounding(engine);
    while (!engine->finished && engine->live) {
        for (int i = 0; i < ATTEMPTS_PER_LOOK && engine->live && !engine->finished; i++) {
            step(engine);
            if (turn && turn->heartbeat)
                counter_set(turn->heartbeat, counter_get(turn->heartbeat) + 1);
        }
        check_rounding(engine);
        if (!engine->finished)
            check_deadlines(engine);
        if (!engine->finished && turn && turn->over(turn->context))
            return NULL;
    }
    for (int k = 0; k < N_LANE; k++)
        if (engine->finished >> k & 1) {
            struct evaluation *evaluation = engine->guest[k]->o.evaluation;
            leave(engine, k);
            engine->finished &= ~(1u << k);
            return evaluation;
        }
    return NULL;
}

static bool withdraw(struct engine *base, struct evaluation *evaluation)
{
    struct lanes_engine *engine = (struct lanes_engine *)base;
    for (int k = 0; k < N_LANE; k++)
        if (engine->live >> k & 1 && engine->guest[k]->o.evaluation == evaluation) {
            if (!engine_slots_set_aside(&engine->pool->slots))
                return false;
            guest_store(engine->guest[k], &engine->room, k, engine->column);
            stop_moving(engine, k);
            engine->guest[k] = NULL;
            return true;
        }
    return false;
}

static void discard(struct engine_pool *base, struct evaluation *evaluation)
{
    struct lanes_pool *pool = (struct lanes_pool *)base;
    engine_slots_give(&pool->slots, ((struct guest *)evaluation->state)->slot);
    engine_slots_resume(&pool->slots);
    evaluation->state = NULL;
}

const struct engine_table engine_lanes = {
    .name = "lanes", .capacity = N_LANE, .refusal = refusal, .pool_new = pool_new, .pool_free = pool_free,
    .linear_solver = linear_solver, .engine_new = engine_make, .engine_free = engine_end, .submit = submit, .work = work,
    .withdraw = withdraw, .discard = discard};
