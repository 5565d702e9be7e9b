/* Lanes as an integrator: eight evaluations of one model side by side in the registers of a core. Each has its own time, step
 * size and error test; all make an attempt at a step together, and a lane whose evaluation is finished takes the next one. A
 * worker has two rooms of lanes, one for each method. An evaluation changes rooms where its steps show that the other method
 * costs less; it waits while that room is full.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine_batch.h"

#include "ode/drive.h"
#include "ode/lanes/lane.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seats of a worker: as many as both rooms have lanes. */
enum { N_SEAT = N_METHOD * N_LANE };

/* Shared by all workers. */
struct plan {
    const struct stiffit_model *abi;
    struct lanes_plan *lanes;
    struct linear_plan *linear;
    size_t n_id;               /* of columns: parameters, and others */
    const struct lanes_kernel *kernel;
    bool follows_sizes;
};

/* The evaluations of one method. */
struct side {
    struct lanes_room room;
    int seat[N_LANE];           /* whose evaluation is in each lane, or -1 */
    unsigned n_live;            /* lanes with an evaluation */
    bool is_filled;             /* every lane holds the numbers of some evaluation */
    uint32_t *parameter;        /* n_id: of each column */
    int32_t *column;            /* n_id: of each id, or -1 */
    lanes *inside;
    struct lanes_view view;
    double used;                /* cost of its attempts, for each evaluation in them */
};

struct lanes_batch {
    struct batch base;
    const struct plan *plan;
    struct side side[N_METHOD];
    int lane[N_SEAT];           /* of each seat's evaluation, in the room of its method; -1: none */
    unsigned waiting, turned;   /* seats that wait for a lane; those in a lane that are to change their rooms */
    uint64_t number[N_SEAT], n_number; /* the order in which seats began to wait */
    bool *wanted;               /* n_id: some evaluation in a lane has this id */
    struct linear *linear;      /* for steady states */
};

/* What an attempt costs, beside one of the other method. */
static const double COST[N_METHOD] = {[METHOD_EXPLICIT] = 1, [METHOD_IMPLICIT] = 6};

static struct lanes_batch *lanes_of(struct batch *batch) { return (struct lanes_batch *)batch; }
static struct lane *lane_of(const struct lanes_batch *own, int k) { return (struct lane *)own->base.seat[k]; }
static struct side *side_of(struct lanes_batch *own, int k) { return &own->side[lane_of(own, k)->method]; }

static const char *refusal(const struct stiffit_model *abi)
{
    return !abi->lanes ? "has no functions of lanes"
           : !lanes_kernel_is_fast() ? "cannot run in lanes on a CPU without fused multiply-add"
           : abi->n_state == 0 ? "has no states" : NULL;
}

static bool takes(const struct ode_task *task) { return !ode_has_periods(task) && task->n_phase == 0; }

static bool suits(const struct engine_use *use)
{
    return !use->has_adjoint && !use->has_differences && !use->has_solver && !use->has_periods && !use->has_phases &&
           !use->has_calls;
}

static void plan_free(void *own)
{
    struct plan *plan = own;
    lanes_plan_free(plan->lanes);
    linear_plan_free(plan->linear);
    free(plan);
}

static void *plan_new(const struct stiffit_model *abi, const struct ode_options *options, struct error *error)
{
    const struct lanes_kernel *kernel = lanes_kernel_choose(getenv("STIFFIT_LANES_KERNEL"), error);
    struct plan *plan = kernel ? calloc(1, sizeof *plan) : NULL;
    bool is_wrong = false;
    if (!plan)
        return NULL;
    *plan = (struct plan){.abi = abi, .n_id = abi->n_parameter + options->n_none, .follows_sizes = options->atol == 0,
                          .kernel = kernel};
    plan->lanes = lanes_plan_new(abi, &is_wrong);
    plan->linear = linear_plan_new(abi, LINEAR_DENSE, error);
    if (plan->lanes && plan->linear)
        return plan;
    plan_free(plan);
    if (is_wrong)
        error_set(error, STATUS_BAD_MODEL, "the patterns of the model %s for lanes are wrong", abi->name);
    return NULL;
}

static const char *linear_solver(const void *plan)
{
    (void)plan;
    return "lanes";
}

static struct simulation *simulation_new(const void *plan, const struct stiffit_model *abi, const struct ode_options *options)
{
    struct lane *lane = lane_new(abi, options);
    (void)plan;
    return lane ? &lane->sim : NULL;
}

static void simulation_free(struct simulation *sim) { lane_free((struct lane *)sim); }

static void side_fini(struct side *side)
{
    lanes_room_fini(&side->room);
    free(side->parameter);
    free(side->column);
    free(side->inside);
    free(side->view.values);
    free(side->view.out);
    free(side->view.is_wanted);
}

static bool side_init(struct side *side, const struct plan *plan, const struct lanes_method *method)
{
    size_t n_id = plan->n_id, n_inside = plan->lanes->n * (1 + n_id);
    size_t n_observable = plan->lanes->n_observe ? plan->abi->n_observable : 0;
    side->parameter = calloc(n_id, sizeof *side->parameter);
    side->column = calloc(n_id, sizeof *side->column);
    side->inside = aligned_alloc(64, n_inside * sizeof *side->inside);
    side->view.values = aligned_alloc(64, (plan->lanes->n_observe + 1) * sizeof(lanes));
    side->view.out = aligned_alloc(64, (n_observable * (1 + n_id) + 1) * sizeof(lanes));
    side->view.is_wanted = calloc(n_observable + 1, sizeof(bool));
    for (int l = 0; l < N_LANE; l++)
        side->seat[l] = -1;
    bool good = lanes_room_init(&side->room, plan->lanes, method, n_id - plan->abi->n_parameter);
    side->room.tolerance.follows_sizes = plan->follows_sizes;
    return good && side->parameter && side->column && side->inside && side->view.values && side->view.out &&
           side->view.is_wanted;
}

static void batch_free(struct batch *base)
{
    struct lanes_batch *own = lanes_of(base);
    for (int m = 0; m < N_METHOD; m++)
        side_fini(&own->side[m]);
    free(own->wanted);
    linear_free(own->linear);
    free(own);
}

static struct batch *batch_new(const void *own)
{
    const struct plan *plan = own;
    struct lanes_batch *batch = aligned_alloc(64, (sizeof *batch + 63) / 64 * 64);
    if (!batch)
        return NULL;
    memset(batch, 0, sizeof *batch);
    batch->plan = plan;
    batch->wanted = calloc(plan->n_id, sizeof *batch->wanted);
    batch->linear = linear_new(plan->linear);
    for (int k = 0; k < N_SEAT; k++)
        batch->lane[k] = -1;
    bool good = batch->wanted && batch->linear;
    for (int m = 0; m < N_METHOD; m++)
        good = side_init(&batch->side[m], plan, lanes_methods[m]) && good;
    if (good)
        return &batch->base;
    batch_free(&batch->base);
    return NULL;
}

/* Whether an evaluation in a lane, or the new one, wants the sensitivities of id j. */
static void mark_wanted(struct lanes_batch *own, const struct side *side, const struct lane *new)
{
    memset(own->wanted, 0, own->plan->n_id * sizeof *own->wanted);
    for (int l = 0; l <= N_LANE; l++) {
        const struct lane *lane = l == N_LANE ? new : side->seat[l] >= 0 ? lane_of(own, side->seat[l]) : NULL;
        for (size_t b = 0; lane && b < lane->sim.blocks.n; b++)
            own->wanted[lane->id[b]] = true;
    }
}

/* Gives a column to each parameter that is wanted. False: out of memory. */
static bool arrange(struct lanes_batch *own, struct side *side, const struct lane *new)
{
    size_t n_id = own->plan->n_id, n_column = 0;
    bool same = true;
    mark_wanted(own, side, new);
    for (uint32_t j = 0; j < n_id; j++)
        if (own->wanted[j]) {
            same = same && n_column < side->room.n_column && side->parameter[n_column] == j;
            n_column++;
        }
    if (same && n_column == side->room.n_column)
        return true;
    for (int l = 0; l < N_LANE; l++)
        if (side->seat[l] >= 0)
            lane_store(lane_of(own, side->seat[l]), &side->room, l, side->column);
    n_column = 0;
    for (uint32_t j = 0; j < n_id; j++) {
        side->column[j] = own->wanted[j] ? (int32_t)n_column : -1;
        if (own->wanted[j])
            side->parameter[n_column++] = j;
    }
    bool good = lanes_room_set_columns(&side->room, n_column, side->parameter);
    for (int l = 0; good && l < N_LANE; l++)
        if (side->seat[l] >= 0)
            lane_load(lane_of(own, side->seat[l]), &side->room, l, side->column, true);
    return good;
}

/* The lane of a seat is free again. */
static void release(struct lanes_batch *own, int k)
{
    int l = own->lane[k];
    own->waiting &= ~(1u << k);
    own->turned &= ~(1u << k);
    own->lane[k] = -1;
    for (int m = 0; m < N_METHOD && l >= 0; m++)
        if (own->side[m].seat[l] == k) {
            own->side[m].seat[l] = -1;
            own->side[m].n_live--;
            own->side[m].room.live[l] = 0;
            own->side[m].room.outside.infused &= ~(1u << l);
        }
}

/* A seat's evaluation gets a lane of its method, or waits for one. False: out of memory. */
static bool settle(struct lanes_batch *own, int k)
{
    struct side *side = side_of(own, k);
    const struct lane *lane = lane_of(own, k);
    int l = 0;
    while (l < N_LANE && side->seat[l] >= 0)
        l++;
    if (l == N_LANE) {
        own->number[k] = own->waiting >> k & 1 ? own->number[k] : own->n_number++;
        own->waiting |= 1u << k;
        return true;
    }
    if (!arrange(own, side, lane))
        return false;
    /* Lanes that hold nothing yet hold the same, so that they compute nothing unusual. */
    for (int other = 0; !side->is_filled && other < N_LANE; other++)
        lane_load(lane, &side->room, other, side->column, false);
    lane_load(lane, &side->room, l, side->column, true);
    side->is_filled = true;
    if (side->n_live++ == 0)
        side->used = own->side[!lane->method].used;
    side->seat[l] = k;
    own->lane[k] = l;
    own->waiting &= ~(1u << k);
    return true;
}

static bool enter(struct batch *b, int k)
{
    release(lanes_of(b), k);
    return settle(lanes_of(b), k);
}

static void reload(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct side *side = side_of(own, k);
    if (own->lane[k] >= 0)
        lane_load(lane_of(own, k), &side->room, own->lane[k], side->column, true);
}

static void halt(struct batch *b, int k) { release(lanes_of(b), k); }

static void store(struct lanes_batch *own, int k)
{
    const struct side *side = side_of(own, k);
    if (own->lane[k] >= 0)
        lane_store(lane_of(own, k), &side->room, own->lane[k], side->column);
}

static void leave(struct batch *b, int k) { store(lanes_of(b), k); }

static void count(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    if (own->lane[k] >= 0)
        lane_count(lane_of(own, k), &side_of(own, k)->room, own->lane[k]);
    else
        lane_count_aside(lane_of(own, k));
}

/* Seats change their rooms, and those that wait get lanes that have become free, the first one first. False: out of memory. */
static bool change_rooms(struct lanes_batch *own)
{
    bool good = true;
    for (unsigned left = own->turned & own->base.live; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        store(own, k);
        release(own, k);
        lane_turn(lane_of(own, k));
        own->number[k] = own->n_number++;
        own->waiting |= 1u << k;
    }
    own->turned = 0;
    for (unsigned left = own->waiting; left && good;) {
        int first = __builtin_ctz(left);
        for (unsigned other = left; other; other &= other - 1)
            first = own->number[__builtin_ctz(other)] < own->number[first] ? __builtin_ctz(other) : first;
        left &= ~(1u << first);
        good = settle(own, first);
    }
    return good;
}

/* The seats of a side's lanes. */
static unsigned seats_of(const struct side *side, unsigned which)
{
    unsigned seats = 0;
    for (; which; which &= which - 1) {
        int k = side->seat[__builtin_ctz(which)];
        seats |= k >= 0 ? 1u << k : 0;
    }
    return seats;
}

/* An attempt in all lanes of one method. */
static struct integrator_events attempt_by(struct lanes_batch *own, enum lanes_method_kind method)
{
    struct side *side = &own->side[method];
    struct batch *b = &own->base;
    struct lanes_events found = own->plan->kernel->attempt[method](&side->room);
    struct integrator_events events = {.moved = seats_of(side, found.moved), .measured = seats_of(side, found.measured),
                                       .fell = seats_of(side, found.fell), .failed = seats_of(side, found.underflow),
                                       .exhausted = seats_of(side, found.spent)};
    own->turned |= seats_of(side, found.turned);
    if (method == METHOD_EXPLICIT) { /* the other one may go on */
        own->turned |= events.failed;
        events.failed = 0;
    }
    unsigned seen = events.fell | events.measured | events.failed | events.exhausted | (events.moved & b->attended);
    for (unsigned left = seen & b->live; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        b->seat[k]->t_before = side->room.t_before[own->lane[k]];
        b->seat[k]->t = side->room.t[own->lane[k]];
    }
    b->n_seat += N_LANE;
    b->n_held += side->n_live;
    side->used += COST[method] / side->n_live;
    return events;
}

/* Each evaluation gets the same time, whatever its method costs. */
static struct integrator_events attempt(struct batch *b)
{
    struct lanes_batch *own = lanes_of(b);
    const struct side *explicit = &own->side[METHOD_EXPLICIT], *implicit = &own->side[METHOD_IMPLICIT];
    if ((own->turned | own->waiting) && !change_rooms(own)) {
        for (unsigned left = b->live; left; left &= left - 1)
            outcome_fail(b->seat[__builtin_ctz(left)], EVALUATION_NO_MEMORY, "no memory for sensitivities");
        return (struct integrator_events){.finished = b->live};
    }
    bool is_implicit = !explicit->n_live || (implicit->n_live && implicit->used < explicit->used);
    return attempt_by(own, is_implicit ? METHOD_IMPLICIT : METHOD_EXPLICIT);
}

static const double *inside(struct batch *b, int k, double t)
{
    struct lanes_batch *own = lanes_of(b);
    return lane_inside(lane_of(own, k), &side_of(own, k)->room, own->lane[k], t);
}

static const double *at_end(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    return lane_at_end(lane_of(own, k), &side_of(own, k)->room, own->lane[k]);
}

static const double *at_beginning(struct batch *b, int k) { return b->seat[k]->y_before; }

static void saw_step(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    side_of(own, k)->room.control.watched[own->lane[k]] = -positive_watches(b->seat[k]);
}

static bool take_back(struct batch *b, int k, double part)
{
    struct lanes_batch *own = lanes_of(b);
    return lane_takes_back(lane_of(own, k), &side_of(own, k)->room, own->lane[k], part);
}

/* The lanes of some seats that are in a side. */
static unsigned lanes_in(const struct side *side, unsigned seats)
{
    unsigned which = 0;
    for (int l = 0; l < N_LANE; l++)
        which |= (unsigned)(side->seat[l] >= 0 && (seats >> side->seat[l] & 1)) << l;
    return which;
}

/* The states and sensitivities of some lanes at their `t`, a time in their latest steps. Others are at the ends of theirs. */
static void look_inside(const struct lanes_batch *own, struct side *side, unsigned which, const double t[N_LANE], bool is_root)
{
    const struct lanes_room *room = &side->room;
    lanes s;
    for (int l = 0; l < N_LANE; l++) {
        bool is_end = !(which >> l & 1) || (t[l] == room->t[l] && !is_root);
        s[l] = is_end ? 1 : (t[l] - room->t_before[l]) / room->h_used[l];
    }
    own->plan->kernel->inside[side - own->side](room, &s, side->inside);
}

/* The observables of what was found inside, where the model's functions of lanes give them. */
static void observe_all(struct lanes_batch *own, struct side *side, unsigned which)
{
    struct lanes_room *room = &side->room;
    struct lanes_view *view = &side->view;
    if (!room->plan->n_observe)
        return;
    memset(view->is_wanted, 0, room->plan->abi->n_observable * sizeof *view->is_wanted);
    for (int l = 0; l < N_LANE; l++)
        if (which >> l & 1)
            observation_mark(&lane_of(own, side->seat[l])->sim, view->is_wanted);
    own->plan->kernel->observe(room, &room->t_next, side->inside, view->is_wanted, view->values, view->out);
}

static void observe(struct batch *b, unsigned seats)
{
    struct lanes_batch *own = lanes_of(b);
    for (int m = 0; m < N_METHOD; m++) {
        struct side *side = &own->side[m];
        unsigned which = lanes_in(side, seats);
        if (!which)
            continue;
        for (unsigned left = which; left; left &= left - 1) { /* steps with a root end there now */
            int l = __builtin_ctz(left);
            side->room.t[l] = b->seat[side->seat[l]]->t;
        }
        look_inside(own, side, which, (const double *)&side->room.t_next, false);
        if (side->room.tolerance.follows_sizes)
            own->plan->kernel->drop_vanished(&side->room, side->inside);
        observe_all(own, side, which);
    }
}

static bool answer(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    const struct side *side = side_of(own, k);
    return lane_answer(lane_of(own, k), &side->room, own->lane[k], side->column, &side->view);
}

static void fetch(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    const struct side *side = side_of(own, k);
    lane_take_inside(lane_of(own, k), side->column, side->inside, own->lane[k]);
    lane_follow(lane_of(own, k), &side->room, own->lane[k]);
}

static void answered(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_answered(lane_of(own, k), &side_of(own, k)->room, own->lane[k]);
}

static void go_to(struct batch *b, unsigned seats, unsigned rooted)
{
    struct lanes_batch *own = lanes_of(b);
    for (int m = 0; m < N_METHOD; m++) {
        struct side *side = &own->side[m];
        unsigned which = lanes_in(side, seats), inner = lanes_in(side, rooted);
        double t[N_LANE] = {0};
        for (int l = 0; l < N_LANE; l++)
            t[l] = which >> l & 1 ? b->seat[side->seat[l]]->t : 0;
        if (inner)
            look_inside(own, side, inner, t, true);
        for (unsigned left = which; left; left &= left - 1) {
            int l = __builtin_ctz(left);
            struct lane *lane = lane_of(own, side->seat[l]);
            side->room.t[l] = t[l];
            lane_store(lane, &side->room, l, side->column);
            if (inner >> l & 1)
                lane_take_inside(lane, side->column, side->inside, l);
            lane_begin_count(lane, &side->room, l);
        }
    }
}

static bool start(struct simulation *sim) { return lane_start((struct lane *)sim); }

static bool prepare(struct simulation *sim)
{
    lane_prepare((struct lane *)sim);
    return true;
}

static void attend(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_attend(lane_of(own, k), &side_of(own, k)->room, own->lane[k]);
}

static bool look_for_steady_state(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    store(own, k);
    return lane_look_for_steady_state(lane_of(own, k), own->linear, (double *)side_of(own, k)->inside);
}

static bool may_be_sizes(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    store(own, k);
    return lane_may_be_sizes(&side_of(own, k)->room, own->lane[k]);
}

static bool fail(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_fail(lane_of(own, k), &side_of(own, k)->room, own->lane[k]);
    return false;
}

static const struct integrator_seats lane_seats = {
    .batch_new = batch_new, .batch_free = batch_free, .enter = enter, .reload = reload, .halt = halt, .leave = leave,
    .count = count, .at_end = at_end, .at_beginning = at_beginning, .observe = observe, .answer = answer, .fetch = fetch,
    .answered = answered, .go_to = go_to, .take_back = take_back, .saw_step = saw_step, .attend = attend};
static const struct integrator lanes_integrator = {
    .name = "lanes", .width = N_SEAT, .plan_new = plan_new, .plan_free = plan_free, .linear_solver = linear_solver,
    .simulation_new = simulation_new, .simulation_free = simulation_free, .prepare = prepare, .start = start,
    .attempt = attempt, .inside = inside, .look_for_steady_state = look_for_steady_state, .may_be_sizes = may_be_sizes,
    .fail = fail, .seats = &lane_seats};
const struct engine_table engine_lanes = ENGINE_OF_BATCHES(&lanes_integrator, N_SEAT, refusal, takes, suits);
