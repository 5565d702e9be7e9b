/* Lanes as an integrator: eight evaluations of one model side by side in the registers of a
 * core. Each has its own time, step size and error test; all make an attempt at a step together,
 * and a lane whose evaluation is finished takes the next one. A worker has lanes of two methods,
 * an explicit and an implicit one; an evaluation moves to the others where its steps show that
 * these cost less, and waits while all of them are taken. The kernel computes with all lanes of
 * a method at once (bank.h); gang.h copies an evaluation's numbers into them and out of them.
 * Here are the seats: which evaluation is in which lanes, how it begins, when it changes the
 * method or waits, and how it ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/drive.h"

#include "ode/blocks.h"
#include "ode/forcing.h"
#include "ode/lanes/gang.h"
#include "ode/lanes/kernel_constants.h"
#include "ode/linear.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first of two unlike steps, in halves of both: its error is then twice that of two like
 * ones. */
static const double UNEVEN = 1.24;

/* A step is accepted if its estimated error is at most so many tolerances; the estimate is that
 * of a method of lower order, and far larger than the error. Without atol, this is the number
 * for an rtol of 1e-3, and grows as rtol to the power -1/8, or -1/4 for explicit steps inside of
 * which nothing is wanted: errors become about as large as those of CVODES, or some times
 * smaller (stiffit-internals(7)). */
static const double ACCEPTED = 9, ACCEPTED_ATOL = 8;
/* What an attempt costs, beside one of the other method. */
static const double COST[N_METHOD] = {[METHOD_EXPLICIT] = 1, [METHOD_IMPLICIT] = 4};
/* As many seats as there are lanes. */
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

struct lanes_batch {
    struct batch base;
    const struct plan *plan;
    struct gang gang[N_METHOD];
    int lane[N_SEAT];           /* the first one of the seat's evaluation, among those of its
                                 * method; -1: none */
    unsigned live;              /* seats at the latest attempt */
    unsigned waiting[N_METHOD]; /* seats that wait for a lane of this method */
    unsigned turned;            /* those in a lane that are to change the method */
    uint64_t number[N_SEAT], n_number; /* the order in which they began to wait */
    bool *wanted;               /* n_id: some evaluation in a lane has this id */
    struct linear *linear;      /* for steady states */
};

static struct lanes_batch *lanes_of(struct batch *batch) { return (struct lanes_batch *)batch; }
static struct lane *lane_of(const struct lanes_batch *own, int k)
{
    return (struct lane *)own->base.seat[k];
}
static struct gang *gang_of(struct lanes_batch *own, int k)
{
    return &own->gang[lane_of(own, k)->method];
}

static const char *refusal(const struct stiffit_model *abi)
{
    return !abi->lanes ? "has no functions of lanes"
           : !lanes_kernel_is_fast() ? "cannot run in lanes on a CPU without fused multiply-add"
           : abi->n_state == 0 ? "has no states" : NULL;
}

static bool suits(const struct engine_use *use)
{
    return !use->has_adjoint && !use->has_differences && !use->has_solver && !use->has_periods &&
           !use->has_phases && !use->has_calls;
}

static void plan_free(void *own)
{
    struct plan *plan = own;
    lanes_plan_free(plan->lanes);
    linear_plan_free(plan->linear);
    free(plan);
}

static void *plan_new(const struct stiffit_model *abi, const struct ode_options *options,
                      struct error *error)
{
    const struct lanes_kernel *kernel = lanes_kernel_choose(getenv("STIFFIT_LANES_KERNEL"), error);
    struct plan *plan = kernel ? calloc(1, sizeof *plan) : NULL;
    bool is_wrong = false;
    if (!plan)
        return NULL;
    *plan = (struct plan){.abi = abi,
                          .n_id = abi->n_parameter + options->n_none,
                          .follows_sizes = options->atol == 0, .kernel = kernel};
    plan->lanes = lanes_plan_new(abi, &is_wrong);
    plan->linear = linear_plan_new(abi, LINEAR_DENSE, error);
    if (plan->lanes && plan->linear)
        return plan;
    plan_free(plan);
    if (is_wrong)
        error_set(error, STATUS_BAD_MODEL, "the patterns of the model %s for lanes are wrong",
                  abi->name);
    return NULL;
}

static const char *linear_solver(const void *plan)
{
    (void)plan;
    return "lanes";
}

void lane_free(struct simulation *sim)
{
    struct lane *lane = (struct lane *)sim;
    simulation_fini(sim);
    free(lane->y);
    free(lane->id);
    free(lane->from);
    free(lane);
}

struct simulation *lane_new(const void *plan, const struct stiffit_model *abi,
                            const struct ode_options *options)
{
    struct lane *lane = calloc(1, sizeof *lane);
    (void)plan;
    if (!lane)
        return NULL;
    size_t n = abi->n_state, n_block = blocks_most(abi, options);
    lane->y = lane->sim.y = calloc(n * (1 + n_block) + 1, sizeof(double));
    lane->id = calloc(n_block + 1, sizeof *lane->id);
    lane->from = calloc(abi->n_parameter + options->n_none + 1, sizeof *lane->from);
    if (simulation_init(&lane->sim, abi, options) && lane->y && lane->id && lane->from)
        return &lane->sim;
    lane_free(&lane->sim);
    return NULL;
}

static void batch_free(struct batch *base)
{
    struct lanes_batch *own = lanes_of(base);
    for (int m = 0; m < N_METHOD; m++)
        gang_fini(&own->gang[m]);
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
        good = gang_init(&batch->gang[m], plan->lanes, lanes_methods[m], plan->n_id) && good;
    for (int m = 0; m < N_METHOD; m++)
        batch->gang[m].bank.tolerance.follows_sizes = plan->follows_sizes;
    if (good)
        return &batch->base;
    batch_free(&batch->base);
    return NULL;
}

/* Copies the evaluation of a seat out of its lane. */
static void store_seat(struct lanes_batch *own, int k)
{
    if (own->lane[k] >= 0)
        gang_store(gang_of(own, k), own->lane[k], lane_of(own, k));
}

/* Whether an evaluation in a lane, or the new one, wants the sensitivities of id j. */
static void mark_wanted(struct lanes_batch *own, const struct gang *gang, const struct lane *new)
{
    memset(own->wanted, 0, own->plan->n_id * sizeof *own->wanted);
    for (int l = 0; l <= N_LANE; l++) {
        const struct lane *lane = l == N_LANE         ? new
                                : gang->seat[l] >= 0 ? lane_of(own, gang->seat[l])
                                                      : NULL;
        for (size_t b = 0; lane && b < lane->sim.blocks.n; b++)
            own->wanted[lane->id[b]] = true;
    }
}

/* Gives a column to each parameter that is wanted, and lanes to each evaluation. False: out of
 * memory, and every evaluation is where it was. */
static bool arrange(struct lanes_batch *own, struct gang *gang, struct layout layout)
{
    int l = 0, seat[N_LANE];
    memcpy(seat, gang->seat, sizeof seat);
    for (int k = 0; k < N_LANE; k++)
        if (seat[k] >= 0)
            gang_store(gang, k, lane_of(own, seat[k]));
    if (!gang_arrange(gang, layout, own->wanted, own->plan->n_id))
        return false;
    for (int k = 0; k < N_LANE; k++)
        gang->seat[k] = -1;
    for (int k = 0; k < N_LANE; k++) {
        if (seat[k] < 0)
            continue;
        gang->seat[l] = seat[k];
        own->lane[seat[k]] = l;
        gang_load(gang, l, lane_of(own, seat[k]));
        l += layout.n_share;
    }
    return true;
}

/* Whether an evaluation wants all columns and no others, as most do. */
static bool wants_all(const struct gang *gang, const struct lane *new)
{
    size_t n = new->sim.blocks.n;
    bool all = n == gang->n_parameter;
    for (size_t b = 0; all && b < n; b++)
        all = gang->number[new->id[b]] >= 0;
    return all;
}

/* Lanes for a new evaluation, or -1: out of memory. */
static int make_room(struct lanes_batch *own, struct gang *gang, const struct lane *new)
{
    bool same = gang->is_filled;
    size_t n = 0;
    if (same && wants_all(gang, new) && gang_free_lane(gang) >= 0)
        return gang_free_lane(gang);
    mark_wanted(own, gang, new);
    for (uint32_t j = 0; j < own->plan->n_id; j++) {
        same = same && own->wanted[j] == (gang->number[j] >= 0);
        n += own->wanted[j];
    }
    if (same && gang_free_lane(gang) >= 0)
        return gang_free_lane(gang);
    return arrange(own, gang, gang_choose_layout(own->plan->kernel, gang->n_taken + 1, n))
             ? gang_free_lane(gang)
             : -1;
}

/* When evaluations have left and no others have come, the others share the lanes. */
static void spread_out(struct lanes_batch *own, struct gang *gang)
{
    if (gang->n_taken == gang->n_spread)
        return;
    struct layout best = gang_choose_layout(own->plan->kernel, gang->n_taken, gang->n_parameter);
    gang->n_spread = gang->n_taken;
    if (best.n_lane == gang->bank.n_lane && best.n_share == gang->bank.n_share)
        return;
    for (uint32_t j = 0; j < own->plan->n_id; j++)
        own->wanted[j] = gang->number[j] >= 0;
    (void)arrange(own, gang, best); /* without memory for it they stay where they are */
}

/* The lane of a seat is free again. */
static void release(struct lanes_batch *own, int k)
{
    int l = own->lane[k];
    for (int m = 0; m < N_METHOD; m++)
        own->waiting[m] &= ~(1u << k);
    own->turned &= ~(1u << k);
    own->lane[k] = -1;
    for (struct gang *gang = own->gang; l >= 0 && gang < own->gang + N_METHOD; gang++)
        if (gang->seat[l] == k) {
            gang->seat[l] = -1;
            gang->n_taken--;
            gang_clear(gang, l);
        }
}

static bool is_waiting(const struct lanes_batch *own, int k)
{
    unsigned waiting = 0;
    for (int m = 0; m < N_METHOD; m++)
        waiting |= own->waiting[m];
    return waiting >> k & 1;
}

/* A seat's evaluation waits for a lane, behind all others. */
static void let_wait(struct lanes_batch *own, int k)
{
    own->number[k] = own->n_number++;
    own->waiting[lane_of(own, k)->method] |= 1u << k;
}

/* Frees the lanes of evaluations that have ended; those that begin anew are still to be counted. */
static void release_ended(struct lanes_batch *own)
{
    const struct batch *b = &own->base;
    for (int k = 0; k < N_SEAT; k++)
        if ((own->lane[k] >= 0 || is_waiting(own, k)) && !(b->live >> k & 1) &&
            !(b->seat[k] && b->seat[k]->begins_anew))
            release(own, k);
}

/* A seat's evaluation gets a lane of its method, or waits for one. False: out of memory. */
static bool place(struct lanes_batch *own, int k)
{
    struct gang *gang = gang_of(own, k);
    struct lane *lane = lane_of(own, k);
    if (gang->n_taken == N_LANE) {
        let_wait(own, k);
        return true;
    }
    int l = make_room(own, gang, lane);
    if (l < 0)
        return false;
    /* Lanes that hold nothing yet hold the same, so that they compute nothing unusual. */
    for (int other = 0; !gang->is_filled && other < N_LANE; other++)
        gang_load_states(gang, other, lane);
    gang_load(gang, l, lane);
    gang->is_filled = true;
    if (gang->n_taken++ == 0)
        gang->used = own->gang[!lane->method].used;
    gang->seat[l] = k;
    own->lane[k] = l;
    own->waiting[lane->method] &= ~(1u << k);
    return true;
}

static bool fail_memory(struct simulation *sim)
{
    return outcome_fail(sim, EVALUATION_NO_MEMORY, "no memory for sensitivities");
}

/* A simulation comes in. False: there is no memory for its sensitivities. */
static bool enter(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    release(own, k);
    release_ended(own);
    return place(own, k) || fail_memory(b->seat[k]);
}

static void reload(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    if (own->lane[k] >= 0)
        gang_load(gang_of(own, k), own->lane[k], lane_of(own, k));
}

/* The root mean square of x over the tolerances at y. */
static double size_of(const struct simulation *sim, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < sim->n_state; i++) {
        double ratio = x[i] / (sim->tolerance.rtol * fabs(y[i]) + sim->tolerance.beyond[i] +
                               DBL_MIN / DBL_EPSILON);
        sum += ratio * ratio;
    }
    return sqrt(sum / (double)sim->n_state);
}

/* The first step (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, section
 * II.4). False: the model failed. */
static bool first_step(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    double *y = lane->y, *f = sim->f, *moved = lane->sim.y_before, *slope = sim->columns;
    double span = (sim->has_stops ? fmin(sim->t_far, sim->stops->next) : sim->t_far) - sim->t;
    int order = lanes_methods[lane->method]->order_error;
    if (derivatives_rhs(&sim->model, sim->t, y, f) != STIFFIT_OK)
        return false;
    double by_y = size_of(sim, y, y), by_f = size_of(sim, f, y), h = 1e-6 * span;
    if (by_f > 0 && by_y > 0)
        h = 0.01 * by_y / by_f;
    h = fmin(h, span);
    bool known = false;
    for (int i = 0; i < 8 && !known; i++, h *= known ? 1 : 0.1) {
        for (size_t j = 0; j < n; j++)
            moved[j] = y[j] + h * f[j];
        known = derivatives_rhs(&sim->model, sim->t + h, moved, slope) == STIFFIT_OK;
    }
    if (known) {
        for (size_t j = 0; j < n; j++)
            slope[j] -= f[j];
        double largest = fmax(by_f, size_of(sim, slope, y) / h);
        double next = largest > 0 ? pow(0.01 / largest, 1.0 / (order + 1)) : 100 * h;
        h = fmin(100 * h, fmin(next, span));
    }
    /* A step that only the span or the growth of steps limits would be the same for a
     * certificate, which would confirm its error. */
    if (sim->evaluation->tighter > 1)
        h *= pow(sim->evaluation->tighter, -1.0 / order);
    lane->h = fmax(fmin(h, sim->max_step / ROOM_STRETCH),
                   64 * DBL_EPSILON * fabs(sim->t) + DBL_MIN / DBL_EPSILON);
    return true;
}

double lane_part(const struct evaluation *evaluation, enum lanes_method_kind method)
{
    double tighter = evaluation->tighter;
    return tighter > 1                  ? pow(tighter, -1.0 / lanes_methods[method]->order)
         : tighter > 0 && tighter < 1 ? UNEVEN
                                      : INFINITY;
}

void lane_set_accepted(struct lane *lane)
{
    const struct tolerance *tolerance = &lane->sim.tolerance;
    const struct stiffit_model *abi = lane->sim.abi;
    double growth = tolerance->atol > 0 ? 1 : sqrt(sqrt(sqrt(1e-3 / tolerance->rtol)));
    double accepted = (tolerance->atol > 0 ? ACCEPTED_ATOL : ACCEPTED) * growth;
    /* Switches and events may happen inside of a step. */
    bool is_exact = lane->method == METHOD_EXPLICIT && abi->n_switching + abi->n_event == 0;
    lane->by_inside = is_exact ? growth * growth : 1;
    lane->by_accepted = 1 / (accepted * accepted * lane->by_inside);
    lane->by_tighter = lane_part(lane->sim.evaluation, lane->method);
}

/* At the beginning. */
static void choose_method(struct lane *lane)
{
    const struct evaluation_course *course = &lane->sim.request->course;
    bool is_stiff = course->is_stiff && course->stiff_from == -INFINITY;
    lane->method = is_stiff ? METHOD_IMPLICIT : METHOD_EXPLICIT;
    lane->t_turn = course->is_stiff && !is_stiff ? course->stiff_from : INFINITY;
    lane->patience_back = PATIENCE_IMPLICIT;
    lane->patience = lane->method == METHOD_EXPLICIT ? PATIENCE_EXPLICIT : PATIENCE_IMPLICIT;
}

bool lane_start(struct lane *lane, bool is_new)
{
    struct simulation *sim = &lane->sim;
    uint32_t next_id = sim->abi->n_parameter;
    if (is_new)
        choose_method(lane);
    for (size_t block = 0; block < sim->blocks.n; block++)
        lane->id[block] = sim->blocks.parameter[block] == ODE_NONE ? next_id++
                                                                   : sim->blocks.parameter[block];
    if (sim->tolerance.atol == 0)
        tolerance_follow(sim, lane->y);
    if (!first_step(lane))
        return outcome_model_failed(sim);
    lane->bound = sim->forcing ? forcing_bound(sim, lane->h) : INFINITY;
    lane_set_accepted(lane);
    lane->log_h = -INFINITY;
    lane->log_error = 0;
    lane->n_attempt = 0;
    lane->trouble = -LASTING;
    lane->n_sign = 0;
    lane->t_calm = sim->t;
    lane->rejected = false;
    lane->watched = sim->is_watched;
    return true;
}

static bool start(struct batch *b, int k)
{
    bool is_new = !(b->live >> k & 1);
    if (!lane_start(lane_of(lanes_of(b), k), is_new))
        return false;
    if (is_new)
        return enter(b, k);
    reload(b, k);
    return true;
}

/* Moves attempts to the counters of the model's calls. */
static void count_attempts(struct lane *lane, int64_t n_attempt)
{
    const struct lanes_method *method = lanes_methods[lane->method];
    /* The last slope of an explicit step is the first one of the next step. */
    bool is_explicit = lane->method == METHOD_EXPLICIT;
    lane->sim.model.n_rhs += n_attempt * (method->n_stage - is_explicit);
    lane->sim.model.n_jacobian += is_explicit ? 0 : n_attempt;
    lane->sim.n_factor += is_explicit ? 0 : n_attempt;
    lane->n_attempt = 0;
}

static void count(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct simulation *sim = b->seat[k];
    int l = own->lane[k];
    if (l < 0) {
        count_attempts(lane_of(own, k), lane_of(own, k)->n_attempt);
        return;
    }
    struct lanes_bank *bank = &gang_of(own, k)->bank;
    sim->t = sim->evaluation->t_reached = bank->t[l];
    sim->evaluation->n_step = bank->control.n_step[l];
    count_attempts(lane_of(own, k), bank->control.n_attempt[l]);
    EACH_LANE(gang_of(own, k), l, each)
        bank->control.n_attempt[each] = 0;
}

/* An evaluation that is in no lane changes the method. */
static void turn(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    bool is_stiff = lane->method == METHOD_EXPLICIT, is_early = sim->evaluation->n_step < FEW_STEPS;
    if (is_stiff)
        sim->request->course = (struct evaluation_course){
            true, is_early ? -INFINITY : fmin(lane->t_turn, lane->t_calm)};
    else if (is_early)
        sim->request->course.is_stiff = false;
    count_attempts(lane, lane->n_attempt);
    lane->trouble = -LASTING;
    lane->method = is_stiff ? METHOD_IMPLICIT : METHOD_EXPLICIT;
    lane->t_turn = INFINITY;
    lane_set_accepted(lane);
    lane->patience = is_stiff ? lane->patience_back : PATIENCE_EXPLICIT;
    if (is_stiff && lane->patience_back < INT64_MAX / 2)
        lane->patience_back *= 2;
    lane->log_h = -INFINITY;
    lane->log_error = 0;
    lane->n_sign = 0;
    lane->rejected = false;
    lane->h = fmax(lane->h, 64 * DBL_EPSILON * fabs(sim->t) + DBL_MIN / DBL_EPSILON);
}

static void leave(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    store_seat(own, k);
    if (own->turned >> k & 1)
        turn(lane_of(own, k));
    release(own, k);
}

/* Those that have turned change the method; those that wait get the lanes that have become free,
 * the first one first. Returns those for which there is no memory. */
static unsigned change_lanes(struct lanes_batch *own)
{
    unsigned lost = 0;
    EACH_SEAT(k, own->turned & own->base.live) {
        store_seat(own, k);
        release(own, k);
        turn(lane_of(own, k));
        let_wait(own, k);
    }
    own->turned = 0;
    for (int m = 0; m < N_METHOD; m++)
        for (unsigned waiting; (waiting = own->waiting[m] & ~lost) != 0
                               && own->gang[m].n_taken < N_LANE;) {
            int first = __builtin_ctz(waiting);
            EACH_SEAT(other, waiting)
                first = own->number[other] < own->number[first] ? other : first;
            if (!place(own, first))
                lost |= 1u << first;
        }
    EACH_SEAT(k, lost)
        fail_memory(own->base.seat[k]);
    return lost;
}

/* An attempt in the lanes of one method. */
static struct integrator_events attempt_by(struct lanes_batch *own, enum lanes_method_kind method)
{
    struct gang *gang = &own->gang[method];
    struct batch *b = &own->base;
    spread_out(own, gang);
    struct lanes_events found = own->plan->kernel->attempt[method](&gang->bank);
    struct integrator_events events = {.moved = b->attended ? gang_seats(gang, found.moved) : 0,
                                       .measured = gang_seats(gang, found.measured),
                                       .fell = gang_seats(gang, found.fell),
                                       .failed = gang_seats(gang, found.underflow),
                                       .exhausted = gang_seats(gang, found.spent)};
    own->turned |= gang_seats(gang, found.turned);
    if (method == METHOD_EXPLICIT) { /* the other one may go on */
        own->turned |= events.failed;
        events.failed = 0;
    }
    unsigned seen = events.fell | events.measured | events.failed | events.exhausted |
                    (events.moved & b->attended);
    EACH_SEAT(k, seen & b->live) {
        b->seat[k]->t_before = gang->bank.t_before[own->lane[k]];
        b->seat[k]->t = gang->bank.t[own->lane[k]];
    }
    b->n_seat += N_LANE;
    b->n_held += (uint64_t)gang->n_taken;
    gang->used += COST[method] / (gang->n_taken * gang->n_taken * gang->n_taken);
    return events;
}

/* Methods get time by the cube of their evaluations' number: attempts with few lanes in use wait
 * until there are more. */
static struct integrator_events attempt(struct batch *b)
{
    struct lanes_batch *own = lanes_of(b);
    const struct gang *explicit = &own->gang[METHOD_EXPLICIT],
                       *implicit = &own->gang[METHOD_IMPLICIT];
    if (b->live != own->live)
        release_ended(own);
    own->live = b->live;
    unsigned lost = change_lanes(own);
    if (lost)
        return (struct integrator_events){.finished = lost};
    bool is_implicit = !explicit->n_taken || (implicit->n_taken && implicit->used < explicit->used);
    return attempt_by(own, is_implicit ? METHOD_IMPLICIT : METHOD_EXPLICIT);
}

static const double *inside(struct batch *b, int k, double t)
{
    struct lanes_batch *own = lanes_of(b);
    return gang_inside(gang_of(own, k), own->lane[k], lane_of(own, k), t);
}

static const double *at_end(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct lane *lane = lane_of(own, k);
    gang_take_ends(gang_of(own, k), own->lane[k], lane);
    /* Steps in which nothing fell were not looked at. */
    positive_look(&lane->sim, lane->sim.y_before);
    return lane->y;
}

static const double *at_beginning(struct batch *b, int k) { return b->seat[k]->y_before; }

static void saw_step(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct lanes_bank *bank = &gang_of(own, k)->bank;
    const double *low = positive_lows(b->seat[k]);
    EACH_LANE(gang_of(own, k), own->lane[k], each) {
        bank->control.watched[each] = -b->seat[k]->is_watched;
        for (size_t i = 0; i < b->seat[k]->n_state; i++)
            bank->low[i][each] = low[i];
    }
}

static bool take_back(struct batch *b, int k, double part)
{
    struct lanes_batch *own = lanes_of(b);
    return gang_take_back(gang_of(own, k), own->lane[k], lane_of(own, k), part);
}

/* Answers the next measurement of a seat, in lane l; rows up to `last`. False: the evaluation is
 * finished. */
static bool answer_one(struct batch *b, int k, struct gang *gang, int l, size_t last)
{
    struct lane *lane = lane_of(lanes_of(b), k);
    struct simulation *sim = &lane->sim;
    if (!gang_answer_rows(gang, l, lane, last)) {
        gang_take_inside(gang, l, lane);
        gang_follow(gang, l, lane);
        if (!observation_answer(sim, lane->y, false)) {
            count(b, k);
            return outcome_model_failed(sim);
        }
    }
    sim->rows.i_time += !sim->begins_anew;
    if (sim->rows.i_time == sim->evaluation->task->n_time) {
        count(b, k);
        return outcome_set(sim, EVALUATION_OK);
    }
    gang_look_ahead(gang, l, lane);
    return true;
}

/* Of the lanes of one method. */
static unsigned answer_lanes(struct batch *b, struct gang *gang, unsigned which)
{
    struct lanes_batch *own = lanes_of(b);
    struct lanes_bank *bank = &gang->bank;
    const struct lanes_kernel *kernel = own->plan->kernel;
    size_t last[N_LANE] = {0};
    unsigned finished = 0;
    lanes s;
    EACH_SEAT(l, which) /* steps with a root end there now */
        EACH_LANE(gang, l, k)
            bank->t[k] = b->seat[gang->seat[l]]->t;
    gang_set_times(gang, which, (const double *)&bank->t_next, false, &s);
    memset(gang->is_wanted, 0, 2 * bank->plan->abi->n_observable * sizeof *gang->is_wanted);
    EACH_SEAT(l, which)
        if (lane_of(own, gang->seat[l])->is_simple)
            last[l] = observation_mark(b->seat[gang->seat[l]], gang->is_wanted);
    kernel->inside[gang - own->gang](bank, &s, gang->inside);
    if (bank->tolerance.follows_sizes)
        kernel->drop_vanished(bank, gang->inside);
    if (bank->plan->n_kind)
        kernel->observe(bank, &bank->t_next, gang->inside, gang->is_wanted, gang->values,
                        gang->observed);
    EACH_SEAT(l, which) {
        int k = gang->seat[l];
        if (!answer_one(b, k, gang, l, last[l]))
            finished |= 1u << k;
    }
    return finished;
}

static unsigned answer(struct batch *b, unsigned seats)
{
    struct lanes_batch *own = lanes_of(b);
    unsigned finished = 0, which[N_METHOD] = {0};
    EACH_SEAT(k, seats)
        which[lane_of(own, k)->method] |= 1u << own->lane[k];
    for (int m = 0; m < N_METHOD; m++)
        finished |= which[m] ? answer_lanes(b, &own->gang[m], which[m]) : 0;
    return finished;
}

/* The lanes of one method. */
static void move_lanes(struct batch *b, struct gang *gang, unsigned which, unsigned rooted)
{
    struct lanes_batch *own = lanes_of(b);
    double t[N_LANE] = {0};
    EACH_SEAT(l, which)
        t[l] = b->seat[gang->seat[l]]->t;
    if (rooted) {
        lanes s;
        gang_set_times(gang, rooted, t, true, &s);
        own->plan->kernel->inside[gang - own->gang](&gang->bank, &s, gang->inside);
    }
    EACH_SEAT(l, which) {
        int k = gang->seat[l];
        struct lane *lane = lane_of(own, k);
        EACH_LANE(gang, l, each)
            gang->bank.t[each] = t[l];
        gang_store(gang, l, lane);
        if (rooted >> l & 1)
            gang_take_inside(gang, l, lane);
        count(b, k); /* attempts are counted from here on */
        lane->trouble = -LASTING;
    }
}

static void go_to(struct batch *b, unsigned seats, unsigned rooted)
{
    struct lanes_batch *own = lanes_of(b);
    for (struct gang *gang = own->gang; gang < own->gang + N_METHOD; gang++)
        move_lanes(b, gang, gang_lanes(gang, seats), gang_lanes(gang, rooted));
}

static uint32_t cost(const void *own, size_t n)
{
    const struct plan *plan = own;
    size_t n_full = n / N_LANE, left = n % N_LANE, n_column = plan->abi->n_parameter;
    return (uint32_t)(n_full * gang_cost(plan->kernel, N_LANE, n_column) +
                      (left ? gang_cost(plan->kernel, (int)left, n_column) : 0));
}

static void attend(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct gang *gang = gang_of(own, k);
    struct lane *lane = lane_of(own, k);
    int l = own->lane[k];
    gang_follow(gang, l, lane);
    if (!lane->sim.forcing)
        return;
    lane->bound = forcing_bound(&lane->sim, gang->bank.h[l]);
    gang_lead(gang, l, lane);
}

/* The right-hand side of state and sensitivities. */
struct look {
    struct lane *lane;
    struct linear *linear;
};

static bool rhs(void *context, double *change)
{
    struct look *look = context;
    struct simulation *sim = &look->lane->sim;
    struct derivatives *model = &sim->model;
    const double *y = look->lane->y;
    size_t n = sim->n_state;
    if (derivatives_rhs(model, sim->t, y, change) != STIFFIT_OK ||
        derivatives_jacobian(model, sim->t, y, NULL, false, linear_jacobian(look->linear)) !=
            STIFFIT_OK ||
        (sim->blocks.n && derivatives_rhs_parameter(model, sim->t, y, sim->columns) != STIFFIT_OK))
        return false;
    linear_multiply(look->linear, y + n, change + n, sim->blocks.n);
    for (size_t b = 0; b < sim->blocks.n; b++)
        for (size_t i = 0; i < n && sim->blocks.in_rhs[b]; i++)
            change[(1 + b) * n + i] += sim->columns[sim->blocks.parameter[b] * n + i];
    return true;
}

static bool look_for_steady_state(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    struct lane *lane = lane_of(own, k);
    double *scratch = (double *)gang_of(own, k)->inside;
    struct look look = {.lane = lane, .linear = own->linear};
    double *weight = scratch + lane->sim.n_state * (1 + lane->sim.blocks.n);
    const struct steady_solver solver = {.linear = own->linear, .rhs = rhs, .context = &look,
                                         .change = scratch, .weight = weight};
    store_seat(own, k);
    linear_begin(own->linear);
    return steady_look(&lane->sim, lane->y, &solver);
}

/* Calls the model's functions at the state until one fails. */
static void find_failure(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    struct derivatives *d = &sim->model;
    bool good = derivatives_rhs(d, sim->t, lane->y, sim->f) == STIFFIT_OK &&
                (sim->blocks.n == 0 ||
                 derivatives_rhs_parameter(d, sim->t, lane->y, sim->columns) == STIFFIT_OK);
    if (good)
        d->failure = (struct model_failure){.where = "derivatives", .t = sim->t,
                                            .not_finite = true};
}

/* Whether something was not finite in the latest attempts. */
static bool is_lasting(const struct lanes_bank *bank, int k)
{
    return bank->control.n_attempt[k] - bank->control.trouble[k] < LASTING;
}

static bool may_be_sizes(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    store_seat(own, k);
    return !is_lasting(&gang_of(own, k)->bank, own->lane[k]);
}

static bool fail(struct batch *b, int k)
{
    struct lanes_batch *own = lanes_of(b);
    bool is_model = is_lasting(&gang_of(own, k)->bank, own->lane[k]);
    count(b, k);
    if (!is_model)
        return outcome_integrator_failed(b->seat[k], "the step size fell to rounding level");
    find_failure(lane_of(own, k));
    return outcome_model_failed(b->seat[k]);
}

static const struct integrator_seats lane_seats = {
    .batch_new = batch_new, .batch_free = batch_free, .enter = enter, .reload = reload,
    .leave = leave, .count = count,
    .at_end = at_end, .at_beginning = at_beginning, .answer = answer, .go_to = go_to,
    .take_back = take_back,
    .saw_step = saw_step, .attend = attend, .cost = cost};
static const struct integrator lanes_integrator = {.name = "lanes",
                                                   .width = N_SEAT, .closest = LANES_CLOSEST,
                                                   .plan_new = plan_new, .plan_free = plan_free,
                                                   .linear_solver = linear_solver,
                                                   .simulation_new = lane_new,
                                                   .simulation_free = lane_free, .start = start,
                                                   .attempt = attempt, .inside = inside,
                                                   .look_for_steady_state = look_for_steady_state,
                                                   .may_be_sizes = may_be_sizes, .fail = fail,
                                                   .seats = &lane_seats};
const struct engine_table engine_lanes = ENGINE_OF_SEATS(&lanes_integrator, N_SEAT, refusal, true,
                                                         suits);
