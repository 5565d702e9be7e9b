/* Lanes as an integrator: eight evaluations of one model side by side in the registers of a core. Each has its own time, step
 * size and error test; all make an attempt at a step together, and a lane whose evaluation is finished takes the next one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine_batch.h"

#include "ode/drive.h"
#include "ode/lanes/lane.h"
#include "ode/observation.h"
#include "ode/positive.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shared by all workers. */
struct plan {
    const struct stiffit_model *abi;
    struct lanes_plan *lanes;
    struct linear_plan *linear;
    size_t n_id;               /* of columns: parameters, and others */
    const struct lanes_kernel *kernel;
    bool follows_sizes;
};

/* A worker's lanes. The evaluation of a seat is in as many of them as there is room for (room.h). */
struct lanes_batch {
    struct batch base;
    const struct plan *plan;
    struct lanes_room room;
    bool is_filled;             /* every lane holds the numbers of some evaluation */
    unsigned held;              /* seats whose evaluation is in lanes */
    bool is_seat;               /* the first lane of each has its seat's number */
    int n_spread;               /* number of evaluations for which the layout was chosen */
    size_t n_parameter;         /* that have sensitivities in the room */
    uint32_t *parameter;        /* n_id: these */
    int32_t *column;            /* n_id: of each id its number among these, or -1 */
    bool *wanted;               /* n_id: some evaluation in a lane has this id */
    lanes *inside;
    struct lanes_view view;
    struct linear *linear;      /* for steady states */
};

static struct lanes_batch *lanes_of(struct batch *batch) { return (struct lanes_batch *)batch; }
static struct lane *lane_of(const struct lanes_batch *own, int k) { return (struct lane *)own->base.seat[k]; }

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

static void batch_free(struct batch *base)
{
    struct lanes_batch *own = lanes_of(base);
    lanes_room_fini(&own->room);
    free(own->parameter);
    free(own->column);
    free(own->wanted);
    free(own->inside);
    free(own->view.values);
    free(own->view.out);
    free(own->view.is_wanted);
    linear_free(own->linear);
    free(own);
}

static struct batch *batch_new(const void *own)
{
    const struct plan *plan = own;
    size_t n_id = plan->n_id, n_inside = plan->lanes->n * (1 + n_id);
    size_t n_observable = plan->lanes->n_observe ? plan->abi->n_observable : 0;
    struct lanes_batch *batch = aligned_alloc(64, (sizeof *batch + 63) / 64 * 64);
    if (!batch)
        return NULL;
    memset(batch, 0, sizeof *batch);
    batch->plan = plan;
    batch->parameter = calloc(n_id, sizeof *batch->parameter);
    batch->column = calloc(n_id, sizeof *batch->column);
    batch->wanted = calloc(n_id, sizeof *batch->wanted);
    batch->inside = aligned_alloc(64, n_inside * sizeof *batch->inside);
    batch->view.values = aligned_alloc(64, (plan->lanes->n_observe + 1) * sizeof(lanes));
    batch->view.out = aligned_alloc(64, (n_observable * (1 + n_id) + 1) * sizeof(lanes));
    batch->view.is_wanted = calloc(n_observable + 1, sizeof(bool));
    batch->linear = linear_new(plan->linear);
    if (lanes_room_init(&batch->room, plan->lanes, n_id - plan->abi->n_parameter) && batch->parameter && batch->column &&
        batch->wanted && batch->inside && batch->view.values && batch->view.out && batch->view.is_wanted && batch->linear) {
        batch->room.tolerance.follows_sizes = plan->follows_sizes;
        return &batch->base;
    }
    batch_free(&batch->base);
    return NULL;
}

/* Whether an evaluation in a lane, or the new one, wants the sensitivities of id j. */
static void mark_wanted(struct lanes_batch *own, const struct lane *new)
{
    memset(own->wanted, 0, own->plan->n_id * sizeof *own->wanted);
    for (int k = 0; k <= N_LANE; k++) {
        const struct lane *lane = k == N_LANE ? new : (own->held >> k & 1) ? lane_of(own, k) : NULL;
        for (size_t b = 0; lane && b < lane->sim.blocks.n; b++)
            own->wanted[lane->id[b]] = true;
    }
}

/* How n evaluations lie in the lanes. */
struct layout {
    int n_lane, n_share;
};

/* The layout of the cheapest attempts. What is not a sensitivity costs about as much as OTHER columns, and all of it as often
 * as there are registers in use. */
static struct layout choose_layout(const struct lanes_batch *own, int n, size_t n_parameter)
{
    enum { OTHER = 2 };
    struct layout best = {0};
    size_t least = SIZE_MAX;
    for (int n_lane = own->plan->kernel->width; n_lane <= N_LANE; n_lane *= 2)
        for (int n_share = 1; n * n_share <= n_lane; n_share *= 2) {
            size_t n_column = (n_parameter + (size_t)n_share - 1) / (size_t)n_share;
            size_t cost = (size_t)(n_lane / own->plan->kernel->width) * (OTHER + n_column);
            if (cost < least) {
                best = (struct layout){n_lane, n_share};
                least = cost;
            }
        }
    return best;
}

static void store_live(struct lanes_batch *own)
{
    for (int k = 0; k < N_LANE; k++)
        if (own->held & own->base.live & 1u << k)
            lane_store(lane_of(own, k), &own->room, own->column);
}

/* Gives lanes to those that are held and to seat `new` (-1: none). */
static void place(struct lanes_batch *own, int new)
{
    int n = 0;
    own->is_seat = true;
    for (int k = 0; k < N_LANE; k++)
        if (own->held >> k & 1 || k == new) {
            lane_of(own, k)->first = n++ * own->room.n_share;
            own->is_seat = own->is_seat && lane_of(own, k)->first == k;
        }
}

/* Arranges the room anew for those in it and seat `new`. False: out of memory. */
static bool arrange(struct lanes_batch *own, int new, struct layout layout)
{
    size_t n = 0;
    store_live(own);
    for (uint32_t j = 0; j < own->plan->n_id; j++) {
        own->column[j] = own->wanted[j] ? (int32_t)n : -1;
        if (own->wanted[j])
            own->parameter[n++] = j;
    }
    own->n_parameter = n;
    own->room.n_lane = layout.n_lane;
    bool good = lanes_room_set_columns(&own->room, n, own->parameter, layout.n_share);
    own->room.live = (lanes_mask){0};
    own->room.outside.infused = 0;
    place(own, new);
    for (int k = 0; good && k < N_LANE; k++)
        if (own->held & own->base.live & 1u << k)
            lane_load(lane_of(own, k), &own->room, own->column);
    return good;
}

/* Finds lanes for a seat in the room as it is. False: there are none. */
static bool find_lanes(struct lanes_batch *own, int new)
{
    unsigned taken = 0;
    for (int k = 0; k < N_LANE; k++)
        if (own->held >> k & 1)
            taken |= 1u << lane_of(own, k)->first;
    if (own->is_seat && own->room.n_share == 1 && new < own->room.n_lane) {
        lane_of(own, new)->first = new;
        return true;
    }
    for (int first = 0; first < own->room.n_lane; first += own->room.n_share)
        if (!(taken >> first & 1)) {
            lane_of(own, new)->first = first;
            own->is_seat = own->is_seat && first == new;
            return true;
        }
    return false;
}

/* Whether the parameters that are wanted are those in the room. */
static bool has_wanted(const struct lanes_batch *own)
{
    size_t n = 0;
    for (uint32_t j = 0; j < own->plan->n_id; j++) {
        if (own->wanted[j] != (own->column[j] >= 0))
            return false;
        n += own->wanted[j];
    }
    return n == own->n_parameter;
}

static size_t count_wanted(const struct lanes_batch *own)
{
    size_t n = 0;
    for (uint32_t j = 0; j < own->plan->n_id; j++)
        n += own->wanted[j];
    return n;
}

static bool enter(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct lane *lane = lane_of(own, k);
    mark_wanted(own, lane);
    if (!own->is_filled || !has_wanted(own) || !find_lanes(own, k)) {
        struct layout layout = choose_layout(own, __builtin_popcount(own->held) + 1, count_wanted(own));
        if (!arrange(own, k, layout))
            return false;
    }
    /* Lanes that hold nothing yet hold the same, so that they compute nothing unusual. */
    for (int other = 0; !own->is_filled && other < N_LANE; other++)
        lane_fill(lane, &own->room, other);
    lane_load(lane, &own->room, own->column);
    own->is_filled = true;
    own->held |= 1u << k;
    return true;
}

/* When evaluations have ended and no others have come, those that are left share the lanes. */
static void spread_out(struct lanes_batch *own)
{
    int n = __builtin_popcount(own->held);
    if (n == own->n_spread)
        return;
    struct layout best = choose_layout(own, n, own->n_parameter);
    own->n_spread = n;
    if (best.n_lane == own->room.n_lane && best.n_share == own->room.n_share)
        return;
    for (uint32_t j = 0; j < own->plan->n_id; j++)
        own->wanted[j] = own->column[j] >= 0;
    (void)arrange(own, -1, best); /* with no more columns than before: there is memory */
}

static void reload(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_load(lane_of(own, k), &own->room, own->column);
}

static void halt(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    if (own->held >> k & 1)
        lane_halt(lane_of(own, k), &own->room);
    own->held &= ~(1u << k);
}

static void leave(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_store(lane_of(own, k), &own->room, own->column);
}

static void count(struct batch *b, int k) { lane_count(lane_of(lanes_of(b), k), &lanes_of(b)->room); }

/* Seats of which the first lane is among these. */
static unsigned by_seat(const struct lanes_batch *own, unsigned which)
{
    unsigned seats = 0;
    if (own->is_seat)
        return which & own->held;
    for (unsigned left = own->held; left; left &= left - 1)
        seats |= (which >> lane_of(own, __builtin_ctz(left))->first & 1) << __builtin_ctz(left);
    return seats;
}

static struct integrator_events attempt(struct batch *b)
{
    struct lanes_batch *own = lanes_of(b);
    const struct lanes_room *room = &own->room;
    spread_out(own);
    struct lanes_events found = own->plan->kernel->attempt(&own->room);
    struct integrator_events events = {.moved = by_seat(own, found.moved), .measured = by_seat(own, found.measured),
                                       .fell = by_seat(own, found.fell), .failed = by_seat(own, found.underflow),
                                       .exhausted = by_seat(own, found.spent)};
    unsigned seen = events.fell | events.measured | events.failed | events.exhausted | (events.moved & b->attended);
    for (unsigned left = seen & b->live; left; left &= left - 1) {
        int k = __builtin_ctz(left);
        b->seat[k]->t_before = room->t_before[lane_of(own, k)->first];
        b->seat[k]->t = room->t[lane_of(own, k)->first];
    }
    return events;
}

static const double *inside(struct batch *b, int k, double t)
{
    return lane_inside(lane_of(lanes_of(b), k), &lanes_of(b)->room, t);
}

static const double *at_end(struct batch *b, int k) { return lane_at_end(lane_of(lanes_of(b), k), &lanes_of(b)->room); }

static const double *at_beginning(struct batch *b, int k) { return b->seat[k]->y_before; }

static void saw_step(struct batch *b, int k)
{
    struct lanes_room *room = &lanes_of(b)->room;
    int64_t watches = -positive_watches(b->seat[k]);
    EACH_LANE(lane_of(lanes_of(b), k), room, each)
        room->control.watched[each] = watches;
}

static bool take_back(struct batch *b, int k, double part)
{
    return lane_takes_back(lane_of(lanes_of(b), k), &lanes_of(b)->room, part);
}

/* The states and sensitivities of some seats at their times in the latest steps, and (is_root) even if that is the end. Other
 * lanes are at the ends of theirs. */
static void look_inside(struct lanes_batch *own, unsigned seats, bool is_root)
{
    struct lanes_room *room = &own->room;
    lanes s = (lanes){0} + 1;
    for (; seats; seats &= seats - 1) {
        const struct lane *lane = lane_of(own, __builtin_ctz(seats));
        EACH_LANE(lane, room, k) {
            double t = is_root ? lane->sim.t : room->t_next[k];
            if (t != room->t[k] || is_root)
                s[k] = (t - room->t_before[k]) / room->h_used[k];
        }
    }
    own->plan->kernel->inside(room, &s, own->inside);
}

/* The observables of what was found inside, where the model's functions of lanes give them. */
static void observe_all(struct lanes_batch *own, unsigned which)
{
    struct lanes_room *room = &own->room;
    struct lanes_view *view = &own->view;
    if (!room->plan->n_observe)
        return;
    memset(view->is_wanted, 0, room->plan->abi->n_observable * sizeof *view->is_wanted);
    for (int k = 0; k < N_LANE; k++)
        if (which >> k & 1)
            observation_mark(&lane_of(own, k)->sim, view->is_wanted);
    own->plan->kernel->observe(room, &room->t_next, own->inside, view->is_wanted, view->values, view->out);
}

static void observe(struct batch *b, unsigned seats)
{
    struct lanes_batch *own = lanes_of(b);
    for (unsigned left = seats; left; left &= left - 1) { /* steps with a root end there now */
        const struct lane *lane = lane_of(own, __builtin_ctz(left));
        EACH_LANE(lane, &own->room, k)
            own->room.t[k] = lane->sim.t;
    }
    look_inside(own, seats, false);
    if (own->room.tolerance.follows_sizes)
        own->plan->kernel->drop_vanished(&own->room, own->inside);
    observe_all(own, seats);
}

static bool answer(struct batch *b, int k)
{
    const struct lanes_batch *own = lanes_of(b);
    return lane_answer(lane_of(own, k), &own->room, own->column, &own->view);
}

static void fetch(struct batch *b, int k)
{
    const struct lanes_batch *own = lanes_of(b);
    lane_take_inside(lane_of(own, k), own->column, &own->room, own->inside);
    lane_follow(lane_of(own, k), &own->room);
}

static void answered(struct batch *b, int k) { lane_answered(lane_of(lanes_of(b), k), &lanes_of(b)->room); }

static void go_to(struct batch *b, unsigned seats, unsigned rooted)
{
    struct lanes_batch *own = lanes_of(b);
    if (rooted)
        look_inside(own, rooted, true);
    for (; seats; seats &= seats - 1) {
        int seat = __builtin_ctz(seats);
        struct lane *lane = lane_of(own, seat);
        EACH_LANE(lane, &own->room, k)
            own->room.t[k] = lane->sim.t;
        lane_store(lane, &own->room, own->column);
        if (rooted >> seat & 1)
            lane_take_inside(lane, own->column, &own->room, own->inside);
        lane_begin_count(lane, &own->room);
    }
}

static bool start(struct simulation *sim) { return lane_start((struct lane *)sim); }

static bool prepare(struct simulation *sim)
{
    lane_prepare((struct lane *)sim);
    return true;
}

static void attend(struct batch *b, int k) { lane_attend(lane_of(lanes_of(b), k), &lanes_of(b)->room); }

static bool look_for_steady_state(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_store(lane_of(own, k), &own->room, own->column);
    return lane_look_for_steady_state(lane_of(own, k), own->linear, (double *)own->inside);
}

static bool may_be_sizes(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    lane_store(lane_of(own, k), &own->room, own->column);
    return lane_may_be_sizes(lane_of(own, k), &own->room);
}

static bool fail(struct batch *b, int k)
{
    lane_fail(lane_of(lanes_of(b), k), &lanes_of(b)->room);
    return false;
}

static const struct integrator_seats lane_seats = {
    .batch_new = batch_new, .batch_free = batch_free, .enter = enter, .reload = reload, .halt = halt, .leave = leave,
    .count = count, .at_end = at_end, .at_beginning = at_beginning, .observe = observe, .answer = answer, .fetch = fetch,
    .answered = answered, .go_to = go_to, .take_back = take_back, .saw_step = saw_step, .attend = attend};
static const struct integrator lanes_integrator = {
    .name = "lanes", .width = N_LANE, .plan_new = plan_new, .plan_free = plan_free, .linear_solver = linear_solver,
    .simulation_new = simulation_new, .simulation_free = simulation_free, .prepare = prepare, .start = start,
    .attempt = attempt, .inside = inside, .look_for_steady_state = look_for_steady_state, .may_be_sizes = may_be_sizes,
    .fail = fail, .seats = &lane_seats};
const struct engine_table engine_lanes = ENGINE_OF_BATCHES(&lanes_integrator, N_LANE, refusal, takes, suits);
