/* What a lane's evaluation needs one number at a time: its beginning, its measurements, and how it fails.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/lane.h"

#include "ode/blocks.h"
#include "ode/forcing.h"
#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/steady.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An underflow so many attempts after the model gave numbers that are not finite is the model's failure. */
enum { LASTING = 100 };
/* A step is accepted if its estimated error is at most so many tolerances; the estimate is that of a method of lower order, and
 * far larger than the error. Without atol, this is the number for an rtol of 1e-3, and grows as rtol to the power -1/8: errors
 * become about as large as those of CVODES (stiffit-internals(7)), which grow like that. */
/* The least distance, relative to the times, from the beginning of an integration to its end. */
#define CLOSEST (64 * DBL_EPSILON)
static const double ACCEPTED = 9, ACCEPTED_ATOL = 8;

struct lane *lane_new(const struct stiffit_model *abi, const struct ode_options *options)
{
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    size_t n = abi->n_state;
    size_t n_block = blocks_most(abi, options);
    lane->y = calloc(n * (1 + n_block) + 1, sizeof(double));
    lane->sim.y = lane->y;
    lane->id = calloc(n_block + 1, sizeof *lane->id);
    if (simulation_init(&lane->sim, abi, options) && lane->y && lane->id)
        return lane;
    lane_free(lane);
    return NULL;
}

void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    simulation_fini(&lane->sim);
    free(lane->y);
    free(lane->id);
    free(lane);
}

/* The root mean square of x over the tolerances at y. */
static double size_of(const struct simulation *sim, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < sim->n_state; i++) {
        double ratio = x[i] / (sim->tolerance.rtol * fabs(y[i]) + sim->tolerance.beyond[i] + DBL_MIN / DBL_EPSILON);
        sum += ratio * ratio;
    }
    return sqrt(sum / (double)sim->n_state);
}

/* The first step (Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, section II.4). False: the model failed.
 * */
static bool first_step(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    double *y = lane->y, *f = sim->f, *moved = lane->sim.y_before, *slope = sim->columns;
    double span = (sim->has_stops ? fmin(sim->t_far, sim->stops->next) : sim->t_far) - sim->t;
    int order = lanes_method.order_error;
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
    /* A step that only the span or the growth of steps limits would be the same for a certificate, which would confirm its
     * error. */
    if (sim->evaluation->tighter > 1)
        h *= pow(sim->evaluation->tighter, -1.0 / order);
    lane->h = fmax(fmin(h, sim->max_step / ROOM_STRETCH), 64 * DBL_EPSILON * fabs(sim->t) + DBL_MIN / DBL_EPSILON);
    return true;
}

bool lane_start(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    simulation_set_out(sim, CLOSEST);
    if (sim->tolerance.atol == 0)
        tolerance_follow(sim, lane->y);
    if (!first_step(lane))
        return outcome_model_failed(sim);
    lane->bound = sim->forcing ? forcing_bound(sim, lane->h) : INFINITY;
    double accepted = sim->tolerance.atol > 0 ? ACCEPTED_ATOL : ACCEPTED * sqrt(sqrt(sqrt(1e-3 / sim->tolerance.rtol)));
    lane->by_accepted = 1 / (accepted * accepted);
    lane->log_h = -INFINITY;
    lane->log_error = 0;
    lane->n_attempt = 0;
    lane->trouble = -LASTING;
    lane->rejected = false;
    lane->watched = positive_watches(sim);
    return true;
}

void lane_prepare(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    uint32_t next_id = sim->abi->n_parameter;
    blocks_choose(sim);
    for (size_t b = 0; b < sim->blocks.n; b++)
        lane->id[b] = sim->blocks.parameter[b] == ODE_NONE ? next_id++ : sim->blocks.parameter[b];
}

double lane_stop_time(const struct lane *lane)
{
    const struct simulation *sim = &lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    double far = task->time[task->n_time - 1] == INFINITY ? INFINITY : sim->t_far;
    return fmin(lane->bound, sim->has_stops ? fmin(far, sim->stops->next) : far);
}

static void set_next(const struct lane *lane, struct lanes_room *room)
{
    const struct simulation *sim = &lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    size_t i = sim->rows.i_time;
    double tighter = sim->evaluation->tighter, next = task->time[i], before = i > 0 ? task->time[i - 1] : task->t0;
    /* Steps that only the measurements limit would be the same for a certificate, which would confirm their error. */
    double part = tighter > 1 ? (next - before) * pow(tighter, -1.0 / lanes_method.order) : INFINITY;
    EACH_LANE(lane, room, k) {
        room->t_next[k] = next;
        room->t_later[k] = i + 1 < task->n_time ? task->time[i + 1] : INFINITY;
        room->t_part[k] = part;
    }
}

/* All but the sensitivities, which become zero. */
static void load_states(const struct lane *lane, struct lanes_room *room, int k)
{
    const struct simulation *sim = &lane->sim;
    const struct stiffit_model *abi = sim->abi;
    const struct stiffit_point *at = &sim->model.at;
    size_t n = sim->n_state;
    for (size_t j = 0; j < abi->n_parameter; j++)
        room->p[j][k] = at->p[j];
    for (size_t j = 0; j < abi->n_covariate; j++)
        room->covariate[j][k] = at->covariate[j];
    for (size_t j = 0; j < abi->n_work; j++)
        room->work[j][k] = at->work ? at->work[j] : 0;
    for (size_t c = 0; c < room->n_column; c++)
        room->active[c][k] = 0;
    for (size_t b = 0; b < room->n_block; b++)
        for (size_t e = 0; e < n * room->block[b].width; e++)
            room->block[b].sens[e][k] = room->block[b].minus_rate[e][k] = 0;
    for (size_t j = 0; j < abi->n_input; j++) {
        room->outside.input_since[j][k] = sim->model.piece[j].since;
        room->outside.input_value[j][k] = sim->model.piece[j].value;
        room->outside.input_slope[j][k] = sim->model.piece[j].slope;
    }
    for (size_t i = 0; i < n; i++) {
        room->outside.minus_rate[i][k] = sim->model.is_infused && sim->model.rate[i] != 0 ? -sim->model.rate[i] : 0;
        room->tolerance.born[i][k] = sim->tolerance.born[i];
        room->tolerance.reach[i][k] = sim->tolerance.reach[i];
        room->tolerance.noise[i][k] = sim->tolerance.noise[i];
        room->y[i][k] = room->y_before[i][k] = lane->y[i];
        room->tolerance.size[i][k] = sim->tolerance.sizes[i];
        room->tolerance.guess[i][k] = sim->tolerance.sizes[i + n];
        room->tolerance.beyond[i][k] = sim->tolerance.beyond[i];
    }
    room->outside.since[k] = sim->model.since;
    room->outside.until[k] = sim->model.until;
    room->tolerance.rtol[k] = sim->tolerance.rtol;
    room->control.by_accepted[k] = lane->by_accepted;
    room->tolerance.fraction[k] = sim->tolerance.fraction;
    room->tolerance.at_rest[k] = sim->tolerance.at_rest;
    room->tolerance.is_relative[k] = -sim->tolerance.is_relative;
    room->t[k] = room->t_before[k] = sim->t;
    room->h[k] = room->h_used[k] = lane->h;
    room->longest[k] = sim->max_step / ROOM_STRETCH;
    room->t_stop[k] = lane_stop_time(lane);
    room->control.log_h[k] = lane->log_h;
    room->control.log_error[k] = lane->log_error;
    room->control.rejected[k] = -lane->rejected;
    room->control.watched[k] = -lane->watched;
    room->control.trouble[k] = lane->trouble;
    room->control.n_attempt[k] = lane->n_attempt;
    room->control.n_step[k] = sim->evaluation->n_step;
    room->control.max_steps[k] = sim->evaluation->max_steps;
}

void lane_fill(const struct lane *lane, struct lanes_room *room, int k)
{
    load_states(lane, room, k);
    room->live[k] = 0;
}

static struct lanes_block *block_of(const struct lanes_room *room, size_t column)
{
    struct lanes_block *block = room->block;
    while (column >= block->first + block->width)
        block++;
    return block;
}

void lane_load(const struct lane *lane, struct lanes_room *room, const int32_t *column)
{
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    EACH_LANE(lane, room, k) {
        load_states(lane, room, k);
        room->live[k] = -1;
        room->outside.infused = (room->outside.infused & ~(1u << k)) | (unsigned)sim->model.is_infused << k;
    }
    set_next(lane, room);
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = lane_column(room, column[lane->id[b]]);
        int k = lane->first + lane_rank(room, column[lane->id[b]]);
        room->unit[c][k] = sim->blocks.unit[b];
        room->active[c][k] = -1;
        struct lanes_block *block = block_of(room, c);
        const double *by = sim->model.is_infused && lane->id[b] < sim->abi->n_parameter
                               ? sim->model.rate_parameter + lane->id[b] * n : NULL;
        for (size_t i = 0; i < n; i++) {
            size_t e = lanes_place(room, block, i, c - block->first);
            block->sens[e][k] = lane->y[(1 + b) * n + i];
            block->minus_rate[e][k] = by && by[i] != 0 ? -by[i] : 0;
        }
    }
}

void lane_halt(const struct lane *lane, struct lanes_room *room)
{
    EACH_LANE(lane, room, k) {
        room->live[k] = 0;
        room->outside.infused &= ~(1u << k);
    }
}

void lane_follow(struct lane *lane, const struct lanes_room *room)
{
    struct simulation *sim = &lane->sim;
    int k = lane->first;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.sizes[i] = room->tolerance.size[i][k];
        sim->tolerance.sizes[i + n] = room->tolerance.guess[i][k];
        sim->tolerance.beyond[i] = room->tolerance.beyond[i][k];
        sim->tolerance.sizes[i + 2 * n] = room->y[i][k];
    }
    sim->tolerance.sizes[3 * n] = sim->t = room->t[k];
}

void lane_store(struct lane *lane, const struct lanes_room *room, const int32_t *column)
{
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    int k = lane->first;
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = lane_column(room, column[lane->id[b]]);
        int rank = lane_rank(room, column[lane->id[b]]);
        const struct lanes_block *block = block_of(room, c);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] = block->sens[lanes_place(room, block, i, c - block->first)][k + rank];
    }
    for (size_t i = 0; i < n; i++)
        lane->y[i] = room->y[i][k];
    lane_follow(lane, room);
    sim->tolerance.at_rest = room->tolerance.at_rest[k];
    sim->t = room->t[k];
    lane->h = room->h[k];
    lane->log_h = room->control.log_h[k];
    lane->log_error = room->control.log_error[k];
    lane->rejected = room->control.rejected[k];
    lane->watched = room->control.watched[k];
    lane->trouble = room->control.trouble[k];
    lane->n_attempt = room->control.n_attempt[k];
    sim->evaluation->n_step = room->control.n_step[k];
    sim->evaluation->t_reached = sim->t;
}

void lane_count(struct lane *lane, struct lanes_room *room)
{
    struct simulation *sim = &lane->sim;
    int k = lane->first;
    int64_t n_attempt = room->control.n_attempt[k];
    sim->t = sim->evaluation->t_reached = room->t[k];
    sim->evaluation->n_step = room->control.n_step[k];
    sim->model.n_rhs += n_attempt * lanes_method.n_stage;
    sim->model.n_jacobian += n_attempt;
    sim->n_factor += n_attempt;
    EACH_LANE(lane, room, each)
        room->control.n_attempt[each] = 0;
}

void lane_take_inside(struct lane *lane, const int32_t *column, const struct lanes_room *room, const lanes *inside)
{
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++)
        lane->y[i] = inside[i][lane->first];
    for (size_t b = 0; b < sim->blocks.n; b++) {
        const lanes *from = inside + n * (1 + lane_column(room, column[lane->id[b]]));
        int k = lane->first + lane_rank(room, column[lane->id[b]]);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] = from[i][k];
    }
}

static void look_ahead(struct lane *lane, struct lanes_room *room)
{
    struct simulation *sim = &lane->sim;
    lane_follow(lane, room);
    for (size_t i = 0; i < sim->n_state; i++)
        lane->y[i] = room->y[i][lane->first];
    tolerance_look(sim, lane->y);
    for (size_t i = 0; i < sim->n_state; i++)
        EACH_LANE(lane, room, k) {
            room->tolerance.reach[i][k] = sim->tolerance.reach[i];
            room->tolerance.noise[i][k] = sim->tolerance.noise[i];
        }
}

void lane_answered(struct lane *lane, struct lanes_room *room)
{
    if (lane->sim.tolerance.grows)
        look_ahead(lane, room);
    set_next(lane, room);
}

void lane_begin_count(struct lane *lane, struct lanes_room *room)
{
    lane_count(lane, room);
    lane->n_attempt = 0;
    lane->trouble = -LASTING;
}

const double *lane_at_end(struct lane *lane, const struct lanes_room *room)
{
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        lane->y[i] = room->y[i][lane->first];
        lane->sim.y_before[i] = room->y_before[i][lane->first];
    }
    lane_follow(lane, room);
    positive_look(&lane->sim, lane->sim.y_before); /* steps in which nothing fell were not looked at */
    return lane->y;
}

/* What was at the beginning of the step is still where the next one is to go. */
bool lane_takes_back(struct lane *lane, struct lanes_room *room, double part)
{
    double h = part * room->h_used[lane->first];
    if (part == 1 || !(h > 4 * DBL_EPSILON * fabs(room->t[lane->first])))
        return false;
    lane->sim.t = room->t_before[lane->first];
    EACH_LANE(lane, room, k) {
        room->t[k] = room->t_before[k];
        room->h[k] = h;
        room->control.rejected[k] = -1;
        for (size_t i = 0; i < lane->sim.n_state; i++)
            room->y[i][k] = room->y_before[i][k];
        for (size_t b = 0; b < room->n_block; b++)
            for (size_t e = 0; e < lane->sim.n_state * room->block[b].width; e++)
                room->block[b].sens[e][k] = room->block[b].sens_new[e][k];
    }
    return true;
}

/* Calls the model's functions at the state until one fails. */
static void find_failure(struct lane *lane)
{
    struct simulation *sim = &lane->sim;
    struct derivatives *d = &sim->model;
    bool good = derivatives_rhs(d, sim->t, lane->y, sim->f) == STIFFIT_OK &&
                (sim->blocks.n == 0 || derivatives_rhs_parameter(d, sim->t, lane->y, sim->columns) == STIFFIT_OK);
    if (good)
        d->failure = (struct model_failure){.where = "derivatives", .t = sim->t, .not_finite = true};
}

/* Whether something was not finite in the latest attempts. */
static bool is_lasting(const struct lane *lane, const struct lanes_room *room)
{
    return room->control.n_attempt[lane->first] - room->control.trouble[lane->first] < LASTING;
}

bool lane_may_be_sizes(const struct lane *lane, const struct lanes_room *room) { return !is_lasting(lane, room); }

void lane_fail(struct lane *lane, struct lanes_room *room)
{
    bool is_model = is_lasting(lane, room);
    lane_count(lane, room);
    if (is_model) {
        find_failure(lane);
        outcome_model_failed(&lane->sim);
    } else {
        outcome_integrator_failed(&lane->sim, "the step size fell to rounding level");
    }
}

const double *lane_inside(struct lane *lane, const struct lanes_room *room, double t)
{
    int k = lane->first;
    double *y = lane->y, s = t >= room->t[k] ? 1 : (t - room->t_before[k]) / room->h_used[k], weight[METHOD_STAGES];
    for (int j = 0; j < lanes_method.n_stage; j++) {
        double inner = 0;
        for (int d = lanes_method.n_dense; d-- > 0;)
            inner = inner * s + lanes_method.dense[d][j];
        weight[j] = s * (1 - s) * inner;
    }
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        y[i] = (1 - s) * room->y_before[i][k] + s * room->y[i][k];
        for (int j = 0; j < lanes_method.n_stage && s < 1; j++)
            y[i] += weight[j] * room->scratch.stage[j][i][k];
    }
    return y;
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
        derivatives_jacobian(model, sim->t, y, NULL, false, linear_jacobian(look->linear)) != STIFFIT_OK ||
        (sim->blocks.n && derivatives_rhs_parameter(model, sim->t, y, sim->columns) != STIFFIT_OK))
        return false;
    linear_multiply(look->linear, y + n, change + n, sim->blocks.n);
    for (size_t b = 0; b < sim->blocks.n; b++)
        for (size_t i = 0; i < n && sim->blocks.in_rhs[b]; i++)
            change[(1 + b) * n + i] += sim->columns[sim->blocks.parameter[b] * n + i];
    return true;
}

bool lane_look_for_steady_state(struct lane *lane, struct linear *linear, double *scratch)
{
    struct look look = {.lane = lane, .linear = linear};
    const struct steady_solver solver = {.linear = linear, .rhs = rhs, .context = &look, .change = scratch,
                                         .weight = scratch + lane->sim.n_state * (1 + lane->sim.blocks.n)};
    linear_begin(linear);
    return steady_look(&lane->sim, lane->y, &solver);
}

void lane_attend(struct lane *lane, struct lanes_room *room)
{
    struct simulation *sim = &lane->sim;
    lane_follow(lane, room);
    if (!sim->forcing)
        return;
    lane->bound = forcing_bound(sim, room->h[lane->first]);
    EACH_LANE(lane, room, k) {
        for (size_t i = 0; i < sim->n_state; i++) {
            room->tolerance.guess[i][k] = sim->tolerance.sizes[i + sim->n_state];
            room->tolerance.reach[i][k] = sim->tolerance.reach[i];
            room->tolerance.noise[i][k] = sim->tolerance.noise[i];
            room->tolerance.born[i][k] = sim->tolerance.born[i];
        }
        room->tolerance.at_rest[k] = sim->tolerance.at_rest;
        room->t_stop[k] = lane_stop_time(lane);
    }
}
