/* Evaluations come into lanes and leave them, lie in one lane or in several, and their
 * measurements are answered from what the kernel has found.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/group.h"

#include "ode/lanes/kernel_constants.h"
#include "ode/observation.h"
#include "ode/positive.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The column of the sensitivity by an id, and its lane, counted from the evaluation's first one;
 * n_share is a power of 2. */
static size_t column_of(const struct group *group, uint32_t id)
{
    return (size_t)(group->number[id] >> __builtin_ctz((unsigned)group->room.n_share));
}
static int rank_of(const struct group *group, uint32_t id)
{
    return group->number[id] & (group->room.n_share - 1);
}

void group_fini(struct group *group)
{
    lanes_room_fini(&group->room);
    free(group->parameter);
    free(group->number);
    free(group->inside);
    free(group->values);
    free(group->observed);
    free(group->is_wanted);
}

bool group_init(struct group *group, const struct lanes_plan *plan,
                const struct lanes_method *method, size_t n_id)
{
    size_t n_inside = plan->n * (1 + n_id),
           n_observable = plan->n_observe ? plan->abi->n_observable : 0;
    group->parameter = calloc(n_id, sizeof *group->parameter);
    group->number = calloc(n_id, sizeof *group->number);
    group->inside = aligned_alloc(64, n_inside * sizeof *group->inside);
    group->values = aligned_alloc(64, (plan->n_observe + 1) * sizeof(lanes));
    group->observed = aligned_alloc(64, (n_observable * (1 + n_id) + 1) * sizeof(lanes));
    group->is_wanted = calloc(n_observable + 1, sizeof(bool));
    for (int l = 0; l < N_LANE; l++)
        group->seat[l] = -1;
    bool good = lanes_room_init(&group->room, plan, method, n_id - plan->abi->n_parameter);
    return good && group->parameter && group->number && group->inside && group->values &&
           group->observed && group->is_wanted;
}

static size_t layout_cost(const struct lanes_kernel *kernel, struct layout layout,
                          size_t n_parameter)
{
    enum { OTHER = 2 }; /* what is not a sensitivity costs about as much as so many columns */
    size_t n_share = (size_t)layout.n_share, n_column = (n_parameter + n_share - 1) / n_share;
    return (size_t)(layout.n_lane / kernel->width) * (OTHER + n_column);
}

struct layout group_choose_layout(const struct lanes_kernel *kernel, int n, size_t n_parameter)
{
    struct layout best = {N_LANE, 1};
    size_t least = SIZE_MAX;
    for (int n_lane = kernel->width; n_lane <= N_LANE; n_lane *= 2)
        for (int n_share = 1; n * n_share <= n_lane; n_share *= 2) {
            const struct layout layout = {n_lane, n_share};
            size_t cost = layout_cost(kernel, layout, n_parameter);
            if (cost < least) {
                best = layout;
                least = cost;
            }
        }
    return best;
}

size_t group_cost(const struct lanes_kernel *kernel, int n, size_t n_parameter)
{
    return layout_cost(kernel, group_choose_layout(kernel, n, n_parameter), n_parameter);
}

bool group_arrange(struct group *group, struct layout layout, const bool *wanted, size_t n_id)
{
    size_t n = 0;
    for (uint32_t j = 0; j < n_id; j++)
        n += wanted[j];
    if (!lanes_room_reserve(&group->room, n, layout.n_share))
        return false;
    n = 0;
    for (uint32_t j = 0; j < n_id; j++) {
        group->number[j] = wanted[j] ? (int32_t)n : -1;
        if (wanted[j])
            group->parameter[n++] = j;
    }
    group->n_parameter = n;
    group->room.n_lane = layout.n_lane;
    group->room.live = (lanes_mask){0};
    group->room.outside.infused = 0;
    lanes_room_set_columns(&group->room, n, group->parameter, layout.n_share);
    return true;
}

int group_free_lane(const struct group *group)
{
    for (int l = 0; l < group->room.n_lane; l += group->room.n_share)
        if (group->seat[l] < 0)
            return l;
    return -1;
}

/* Where steps must end at the latest. */
double lane_stop_time(const struct lane *lane)
{
    const struct simulation *sim = &lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    double far = task->time[task->n_time - 1] == INFINITY ? INFINITY : sim->t_far;
    return fmin(lane->bound, sim->has_stops ? fmin(far, sim->stops->next) : far);
}

/* The next measurement. */
static void set_next(const struct lane *lane, struct group *group, int l)
{
    struct lanes_room *room = &group->room;
    const struct simulation *sim = &lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    size_t i = sim->rows.i_time;
    double next = task->time[i], before = i > 0 ? task->time[i - 1] : task->experiment.t0;
    double part = next > before ? (next - before) * lane->by_tighter : INFINITY;
    EACH_LANE(group, l, k) {
        room->t_next[k] = next;
        room->t_later[k] = i + 1 < task->n_time ? task->time[i + 1] : INFINITY;
        room->t_part[k] = part;
    }
}

void group_load_states(struct group *group, int k, const struct lane *lane)
{
    struct lanes_room *room = &group->room;
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
        room->outside.minus_rate[i][k] = sim->model.is_infused && sim->model.rate[i] != 0
                                           ? -sim->model.rate[i]
                                           : 0;
        room->tolerance.born[i][k] = sim->tolerance.born[i];
        room->tolerance.reach[i][k] = sim->tolerance.reach[i];
        room->tolerance.noise[i][k] = sim->tolerance.noise[i];
        room->y[i][k] = room->y_before[i][k] = lane->y[i];
        room->low[i][k] = positive_lows(sim)[i];
        room->tolerance.size[i][k] = sim->tolerance.sizes[i];
        room->tolerance.guess[i][k] = sim->tolerance.sizes[i + n];
        room->tolerance.beyond[i][k] = sim->tolerance.beyond[i];
    }
    room->outside.since[k] = sim->model.since;
    room->outside.until[k] = sim->model.until;
    room->outside.infused &= ~(1u << k);
    room->outside.infused |= (unsigned)sim->model.is_infused << k;
    room->tolerance.rtol[k] = sim->tolerance.rtol;
    room->control.by_accepted[k] = lane->by_accepted;
    room->control.by_inside[k] = lane->by_inside;
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
    room->control.n_sign[k] = lane->n_sign;
    room->control.patience[k] = lane->patience;
    room->control.t_turn[k] = lane->t_turn;
    room->control.t_calm[k] = lane->t_calm;
    room->fresh |= 1u << k;
    room->advanced[k] = 0;
}

static struct lanes_block *block_of(const struct lanes_room *room, size_t column)
{
    struct lanes_block *block = room->block;
    while (column >= block->first + block->width)
        block++;
    return block;
}

/* How the rows of an evaluation from lane l on are answered. */
static void plan_rows(const struct group *group, int l, struct lane *lane)
{
    const struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    const struct lanes_plan *plan = group->room.plan;
    size_t n_sens = evaluation->d_prediction ? evaluation->n_sens : 0;
    lane->is_simple = plan->n_observe && lane_rows_are_simple(sim->abi, evaluation) &&
                      !sim->blocks.is_pace;
    lane->is_plain = !evaluation->column || n_sens == 0;
    for (size_t s = 0; lane->is_simple && lane->is_plain && s < n_sens; s++) {
        uint32_t j = sim->blocks.sens[s];
        int32_t block = sim->blocks.of_sens[s];
        const int32_t *direct = plan->lanes->observe_parameter.start;
        lane->is_plain = block >= 0 && !(j < sim->abi->n_parameter && direct[j] < direct[j + 1]);
        size_t column = block < 0 ? 0 : column_of(group, lane->id[block]);
        int k = block < 0 ? l : l + rank_of(group, lane->id[block]);
        lane->from[s] = sim->abi->n_observable * (1 + column) * N_LANE + (size_t)k;
    }
    lane->n_from = lane->is_plain ? n_sens : 0;
}

void group_load(struct group *group, int l, struct lane *lane)
{
    struct lanes_room *room = &group->room;
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    EACH_LANE(group, l, k) {
        group_load_states(group, k, lane);
        room->live[k] = -1;
    }
    set_next(lane, group, l);
    plan_rows(group, l, lane);
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = column_of(group, lane->id[b]);
        int k = l + rank_of(group, lane->id[b]);
        room->unit[c][k] = sim->blocks.unit[b];
        room->active[c][k] = -1;
        const struct lanes_block *block = block_of(room, c);
        const double *by = sim->model.is_infused && lane->id[b] < sim->abi->n_parameter
                               ? sim->model.rate_parameter + lane->id[b] * n : NULL;
        for (size_t i = 0; i < n; i++) {
            size_t e = lanes_place(room, block, i, c - block->first);
            block->sens[e][k] = lane->y[(1 + b) * n + i];
            block->minus_rate[e][k] = by && by[i] != 0 ? -by[i] : 0;
        }
    }
}

void group_follow(const struct group *group, int k, struct lane *lane)
{
    const struct lanes_room *room = &group->room;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.sizes[i] = room->tolerance.size[i][k];
        sim->tolerance.sizes[i + n] = room->tolerance.guess[i][k];
        sim->tolerance.beyond[i] = room->tolerance.beyond[i][k];
        sim->tolerance.sizes[i + 2 * n] = room->y[i][k];
    }
    sim->tolerance.sizes[3 * n] = sim->t = room->t[k];
}

void group_store(const struct group *group, int k, struct lane *lane)
{
    const struct lanes_room *room = &group->room;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = column_of(group, lane->id[b]);
        int rank = rank_of(group, lane->id[b]);
        const struct lanes_block *block = block_of(room, c);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] =
                block->sens[lanes_place(room, block, i, c - block->first)][k + rank];
    }
    for (size_t i = 0; i < n; i++)
        lane->y[i] = room->y[i][k];
    group_follow(group, k, lane);
    sim->tolerance.at_rest = room->tolerance.at_rest[k];
    sim->t = room->t[k];
    lane->h = room->h[k];
    lane->log_h = room->control.log_h[k];
    lane->log_error = room->control.log_error[k];
    lane->rejected = room->control.rejected[k];
    lane->watched = room->control.watched[k];
    lane->trouble = room->control.trouble[k];
    lane->n_attempt = room->control.n_attempt[k];
    lane->n_sign = room->control.n_sign[k];
    lane->t_calm = room->control.t_calm[k];
    sim->evaluation->n_step = room->control.n_step[k];
    sim->evaluation->t_reached = sim->t;
}

void group_lead(struct group *group, int l, const struct lane *lane)
{
    struct lanes_room *room = &group->room;
    const struct simulation *sim = &lane->sim;
    EACH_LANE(group, l, each) {
        for (size_t i = 0; i < sim->n_state; i++) {
            room->tolerance.guess[i][each] = sim->tolerance.sizes[i + sim->n_state];
            room->tolerance.reach[i][each] = sim->tolerance.reach[i];
            room->tolerance.noise[i][each] = sim->tolerance.noise[i];
            room->tolerance.born[i][each] = sim->tolerance.born[i];
        }
        room->tolerance.at_rest[each] = sim->tolerance.at_rest;
        room->t_stop[each] = lane_stop_time(lane);
    }
}

void group_take_ends(const struct group *group, int k, struct lane *lane)
{
    const struct lanes_room *room = &group->room;
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        lane->y[i] = room->y[i][k];
        lane->sim.y_before[i] = room->y_before[i][k];
    }
    group_follow(group, k, lane);
}

bool group_take_back(struct group *group, int l, struct lane *lane, double part)
{
    struct lanes_room *room = &group->room;
    struct simulation *sim = &lane->sim;
    double h = part * room->h_used[l];
    if (part == 1 || !(h > 4 * DBL_EPSILON * fabs(room->t[l])))
        return false;
    sim->t = room->t_before[l];
    EACH_LANE(group, l, each) {
        room->t[each] = room->t_before[each];
        room->h[each] = h;
        room->control.rejected[each] = -1;
        room->advanced[each] = 0;
        for (size_t i = 0; i < sim->n_state; i++)
            room->y[i][each] = room->y_before[i][each];
        for (const struct lanes_block *block = room->block; block < room->block + room->n_block;
             block++)
            for (size_t e = 0; e < sim->n_state * block->width; e++)
                block->sens[e][each] = block->sens_new[e][each];
    }
    if (positive_is_lost(sim)) {
        group_store(group, l, lane);
        positive_lift(sim, lane->y);
        group_load(group, l, lane);
    }
    return true;
}

const double *group_inside(const struct group *group, int k, struct lane *lane, double t)
{
    const struct lanes_room *room = &group->room;
    const struct lanes_method *method = room->method;
    double *y = lane->y, s = t >= room->t[k] ? 1 : (t - room->t_before[k]) / room->h_used[k],
           weight[METHOD_STAGES];
    for (int j = 0; j < method->n_stage; j++) {
        double inner = 0;
        for (int d = method->n_dense; d-- > 0;)
            inner = inner * s + method->dense[d][j];
        weight[j] = s * (1 - s) * inner * (method->has_slopes ? room->h_used[k] : 1);
    }
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        y[i] = (1 - s) * room->y_before[i][k] + s * room->y[i][k];
        for (int j = 0; j < method->n_stage && s < 1; j++)
            y[i] += weight[j] * room->scratch.stage[j][i][k];
    }
    return y;
}

void group_set_times(const struct group *group, unsigned which, const double t[N_LANE],
                     bool is_root, lanes *s)
{
    const struct lanes_room *room = &group->room;
    *s = (lanes){0} + 1;
    for (; which; which &= which - 1) {
        int l = __builtin_ctz(which);
        EACH_LANE(group, l, k)
            if (t[l] != room->t[k] || is_root)
                (*s)[k] = (t[l] - room->t_before[k]) / room->h_used[k];
    }
}

void group_take_inside(const struct group *group, int l, struct lane *lane)
{
    const lanes *inside = group->inside;
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++)
        lane->y[i] = inside[i][l];
    for (size_t b = 0; b < sim->blocks.n; b++) {
        const lanes *from = inside + n * (1 + column_of(group, lane->id[b]));
        int k = l + rank_of(group, lane->id[b]);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] = from[i][k];
    }
}

/* Adds the entries of parameter j to what is numbered by observable. */
static void add_direct(const struct group *group, int k, uint32_t j, double *by_observable)
{
    const struct lanes_plan *plan = group->room.plan;
    const struct stiffit_pattern *pattern = &plan->lanes->observe_parameter;
    const lanes *entry = group->values + plan->abi->n_observable +
                         plan->lanes->observe_state.start[plan->n];
    for (int32_t e = pattern->start[j]; e < pattern->start[j + 1]; e++)
        by_observable[pattern->row[e]] += entry[e][k];
}

/* What is in a lane (the first number is at `from`) of the observables of n rows. */
static void take_rows(size_t n, const uint32_t *observable, const double *from, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[(size_t)observable[i] * N_LANE];
}

/* The derivatives of n rows from `first` on. False: one is not finite. */
static bool fill_derivatives(const struct lane *lane, const struct group *group, int l,
                             size_t first, size_t n)
{
    const struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    const struct ode_task *task = evaluation->task;
    const uint32_t *observable = task->row_observable + first, *to = evaluation->column;
    size_t n_observable = sim->abi->n_observable, n_sens = evaluation->n_sens,
           stride = evaluation->stride ? evaluation->stride : task->n_row;
    const int32_t *direct = group->room.plan->lanes->observe_parameter.start;
    double odd = 0, *all = evaluation->d_prediction + first, *derived = sim->rows.h_row;
    for (size_t s = 0; to && s < n_sens; s++)
        memset(all + to[s] * stride, 0, n * sizeof(double));
    for (size_t s = 0; s < n_sens; s++) {
        uint32_t j = sim->blocks.sens[s];
        int32_t block = sim->blocks.of_sens[s];
        size_t column = block < 0 ? 0 : column_of(group, lane->id[block]);
        int k = block < 0 ? l : l + rank_of(group, lane->id[block]);
        const lanes *by_way = group->observed + n_observable * (1 + column);
        double *derivative = all + (to ? to[s] : s) * stride;
        for (size_t i = 0; i < n; i++)
            derived[observable[i]] = block < 0 ? 0 : by_way[observable[i]][k];
        if (j < sim->abi->n_parameter && direct[j] < direct[j + 1])
            add_direct(group, k, j, derived);
        for (size_t i = 0; i < n; i++) {
            double each = derived[observable[i]];
            odd += 0 * each; /* NaN if it is not finite */
            derivative[i] = to ? derivative[i] + each : each;
        }
    }
    return odd == 0;
}

bool group_answer_rows(const struct group *group, int l, struct lane *lane, size_t last)
{
    struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    size_t first = sim->rows.i_row, n = last - first, n_share = (size_t)group->room.n_share,
           stride = evaluation->stride ? evaluation->stride : evaluation->task->n_row;
    if (!lane->is_simple)
        return false;
    const uint32_t *observable = evaluation->task->row_observable + first;
    const double *error = (const double *)group->observed + l;
    double odd = 0;
    take_rows(n, observable, (const double *)group->values + l, evaluation->prediction + first);
    for (size_t each = 0; each < n_share; each++)
        for (size_t i = 0; i < n; i++)
            odd += 0 * error[(size_t)observable[i] * N_LANE + each]; /* NaN: not finite */
    if (odd != 0)
        return false;
    for (size_t s = 0; s < lane->n_from; s++)
        take_rows(n, observable, (const double *)group->observed + lane->from[s],
                  evaluation->d_prediction + first + s * stride);
    if (!lane->is_plain && !fill_derivatives(lane, group, l, first, n))
        return false;
    sim->rows.i_row = last;
    sim->begins_anew = sim->tolerance.atol == 0 && !sim->tolerance.is_relative &&
                       observation_rows_ask_relative(sim, first, last, error, N_LANE);
    return true;
}

void group_look_ahead(struct group *group, int l, struct lane *lane)
{
    struct lanes_room *room = &group->room;
    struct simulation *sim = &lane->sim;
    set_next(lane, group, l);
    if (!sim->tolerance.grows)
        return;
    group_follow(group, l, lane);
    for (size_t i = 0; i < sim->n_state; i++)
        lane->y[i] = room->y[i][l];
    tolerance_look(sim, lane->y);
    for (size_t i = 0; i < sim->n_state; i++)
        EACH_LANE(group, l, k) {
            room->tolerance.reach[i][k] = sim->tolerance.reach[i];
            room->tolerance.noise[i][k] = sim->tolerance.noise[i];
        }
}
