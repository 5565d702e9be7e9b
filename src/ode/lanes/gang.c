/* Evaluations come into lanes and leave them, lie in one lane or in several, and their
 * measurements are answered from what the kernel has found.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/lanes/gang.h"

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
static size_t column_of(const struct gang *gang, uint32_t id)
{
    return (size_t)(gang->number[id] >> __builtin_ctz((unsigned)gang->bank.n_share));
}
static int rank_of(const struct gang *gang, uint32_t id)
{
    return gang->number[id] & (gang->bank.n_share - 1);
}

void gang_fini(struct gang *gang)
{
    lanes_bank_fini(&gang->bank);
    free(gang->parameter);
    free(gang->number);
    free(gang->inside);
    free(gang->values);
    free(gang->observed);
    free(gang->is_wanted);
}

bool gang_init(struct gang *gang, const struct lanes_plan *plan,
                const struct lanes_method *method, size_t n_id)
{
    size_t n_inside = plan->n * (1 + n_id), n_observable = plan->abi->n_observable,
           n_seen = plan->n_kind * n_observable;
    gang->parameter = calloc(n_id, sizeof *gang->parameter);
    gang->number = calloc(n_id, sizeof *gang->number);
    gang->inside = aligned_alloc(64, n_inside * sizeof *gang->inside);
    gang->values = aligned_alloc(64, (plan->n_values + 1) * sizeof(lanes));
    gang->observed = aligned_alloc(64, (n_seen * (1 + n_id) + 1) * sizeof(lanes));
    gang->is_wanted = calloc(2 * n_observable, sizeof(bool));
    for (int l = 0; l < N_LANE; l++)
        gang->seat[l] = -1;
    bool good = lanes_bank_init(&gang->bank, plan, method, n_id - plan->abi->n_parameter);
    return good && gang->parameter && gang->number && gang->inside && gang->values &&
           gang->observed && gang->is_wanted;
}

static size_t layout_cost(const struct lanes_kernel *kernel, struct layout layout,
                          size_t n_parameter)
{
    enum { OTHER = 2 }; /* what is not a sensitivity costs about as much as so many columns */
    size_t n_share = (size_t)layout.n_share, n_column = (n_parameter + n_share - 1) / n_share;
    return (size_t)(layout.n_lane / kernel->width) * (OTHER + n_column);
}

struct layout gang_choose_layout(const struct lanes_kernel *kernel, int n, size_t n_parameter)
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

size_t gang_cost(const struct lanes_kernel *kernel, int n, size_t n_parameter)
{
    return layout_cost(kernel, gang_choose_layout(kernel, n, n_parameter), n_parameter);
}

bool gang_arrange(struct gang *gang, struct layout layout, const bool *wanted, size_t n_id)
{
    size_t n = 0;
    for (uint32_t j = 0; j < n_id; j++)
        n += wanted[j];
    if (!lanes_bank_reserve(&gang->bank, n, layout.n_share))
        return false;
    n = 0;
    for (uint32_t j = 0; j < n_id; j++) {
        gang->number[j] = wanted[j] ? (int32_t)n : -1;
        if (wanted[j])
            gang->parameter[n++] = j;
    }
    gang->n_parameter = n;
    gang->bank.n_lane = layout.n_lane;
    gang->bank.live = (lanes_mask){0};
    gang->bank.outside.infused = 0;
    lanes_bank_set_columns(&gang->bank, n, gang->parameter, layout.n_share);
    return true;
}

int gang_free_lane(const struct gang *gang)
{
    for (int l = 0; l < gang->bank.n_lane; l += gang->bank.n_share)
        if (gang->seat[l] < 0)
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
static void set_next(const struct lane *lane, struct gang *gang, int l)
{
    struct lanes_bank *bank = &gang->bank;
    const struct simulation *sim = &lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    size_t i = sim->rows.i_time;
    double next = task->time[i], before = i > 0 ? task->time[i - 1] : task->experiment.t0;
    double part = next > before ? (next - before) * lane->by_tighter : INFINITY;
    EACH_LANE(gang, l, k) {
        bank->t_next[k] = next;
        bank->t_later[k] = i + 1 < task->n_time ? task->time[i + 1] : INFINITY;
        bank->t_part[k] = part;
    }
}

void gang_load_states(struct gang *gang, int k, const struct lane *lane)
{
    struct lanes_bank *bank = &gang->bank;
    const struct simulation *sim = &lane->sim;
    const struct stiffit_model *abi = sim->abi;
    const struct stiffit_point *at = &sim->model.at;
    size_t n = sim->n_state;
    for (size_t j = 0; j < abi->n_parameter; j++)
        bank->p[j][k] = at->p[j];
    for (size_t j = 0; j < abi->n_covariate; j++)
        bank->covariate[j][k] = at->covariate[j];
    for (size_t j = 0; j < abi->n_work; j++)
        bank->work[j][k] = at->work ? at->work[j] : 0;
    for (size_t c = 0; c < bank->n_column; c++)
        bank->active[c][k] = 0;
    for (size_t b = 0; b < bank->n_block; b++)
        for (size_t e = 0; e < n * bank->block[b].width; e++)
            bank->block[b].sens[e][k] = bank->block[b].minus_rate[e][k] = 0;
    for (size_t j = 0; j < abi->n_input; j++) {
        bank->outside.input_since[j][k] = sim->model.piece[j].since;
        bank->outside.input_value[j][k] = sim->model.piece[j].value;
        bank->outside.input_slope[j][k] = sim->model.piece[j].slope;
    }
    for (size_t i = 0; i < n; i++) {
        bank->outside.minus_rate[i][k] = sim->model.is_infused && sim->model.rate[i] != 0
                                           ? -sim->model.rate[i]
                                           : 0;
        bank->tolerance.born[i][k] = sim->tolerance.born[i];
        bank->tolerance.reach[i][k] = sim->tolerance.reach[i];
        bank->tolerance.noise[i][k] = sim->tolerance.noise[i];
        bank->y[i][k] = bank->y_before[i][k] = lane->y[i];
        bank->low[i][k] = positive_lows(sim)[i];
        bank->tolerance.size[i][k] = sim->tolerance.sizes[i];
        bank->tolerance.guess[i][k] = sim->tolerance.sizes[i + n];
        bank->tolerance.beyond[i][k] = sim->tolerance.beyond[i];
    }
    bank->outside.since[k] = sim->model.since;
    bank->outside.until[k] = sim->model.until;
    bank->outside.infused &= ~(1u << k);
    bank->outside.infused |= (unsigned)sim->model.is_infused << k;
    bank->tolerance.rtol[k] = sim->tolerance.rtol;
    bank->control.by_accepted[k] = lane->by_accepted;
    bank->control.by_inside[k] = lane->by_inside;
    bank->tolerance.fraction[k] = sim->tolerance.fraction;
    bank->tolerance.at_rest[k] = sim->tolerance.at_rest;
    bank->tolerance.is_relative[k] = -sim->tolerance.is_relative;
    bank->t[k] = bank->t_before[k] = sim->t;
    bank->h[k] = bank->h_used[k] = lane->h;
    bank->longest[k] = sim->max_step / ROOM_STRETCH;
    bank->t_stop[k] = lane_stop_time(lane);
    bank->control.log_h[k] = lane->log_h;
    bank->control.log_error[k] = lane->log_error;
    bank->control.rejected[k] = -lane->rejected;
    bank->control.watched[k] = -lane->watched;
    bank->control.trouble[k] = lane->trouble;
    bank->control.n_attempt[k] = lane->n_attempt;
    bank->control.n_step[k] = sim->evaluation->n_step;
    bank->control.max_steps[k] = sim->evaluation->max_steps;
    bank->control.n_sign[k] = lane->n_sign;
    bank->control.patience[k] = lane->patience;
    bank->control.t_turn[k] = lane->t_turn;
    bank->control.t_calm[k] = lane->t_calm;
    bank->fresh |= 1u << k;
    bank->advanced[k] = 0;
}

static struct lanes_block *block_of(const struct lanes_bank *bank, size_t column)
{
    struct lanes_block *block = bank->block;
    while (column >= block->first + block->width)
        block++;
    return block;
}

/* How the rows of an evaluation from lane l on are answered. */
static void plan_rows(const struct gang *gang, int l, struct lane *lane)
{
    const struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    const struct lanes_plan *plan = gang->bank.plan;
    size_t n_sens = evaluation->d_prediction ? evaluation->n_sens : 0;
    lane->is_simple = plan->n_kind && lane_rows_are_simple(sim->abi, evaluation) &&
                      !sim->blocks.is_pace;
    for (size_t s = 0; lane->is_simple && s < n_sens; s++) {
        int32_t block = sim->blocks.of_sens[s];
        lane->from[s] = LANE_NOWHERE;
        if (block < 0)
            continue;
        size_t column = column_of(gang, lane->id[block]),
               k = (size_t)l + (size_t)rank_of(gang, lane->id[block]);
        lane->from[s] = plan->n_kind * sim->abi->n_observable * (1 + column) * N_LANE + k;
    }
}

void gang_load(struct gang *gang, int l, struct lane *lane)
{
    struct lanes_bank *bank = &gang->bank;
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    EACH_LANE(gang, l, k) {
        gang_load_states(gang, k, lane);
        bank->live[k] = -1;
    }
    set_next(lane, gang, l);
    plan_rows(gang, l, lane);
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = column_of(gang, lane->id[b]);
        int k = l + rank_of(gang, lane->id[b]);
        bank->unit[c][k] = sim->blocks.unit[b];
        bank->active[c][k] = -1;
        const struct lanes_block *block = block_of(bank, c);
        const double *by = sim->model.is_infused && lane->id[b] < sim->abi->n_parameter
                               ? sim->model.rate_parameter + lane->id[b] * n : NULL;
        for (size_t i = 0; i < n; i++) {
            size_t e = lanes_place(bank, block, i, c - block->first);
            block->sens[e][k] = lane->y[(1 + b) * n + i];
            block->minus_rate[e][k] = by && by[i] != 0 ? -by[i] : 0;
        }
    }
}

void gang_follow(const struct gang *gang, int k, struct lane *lane)
{
    const struct lanes_bank *bank = &gang->bank;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.sizes[i] = bank->tolerance.size[i][k];
        sim->tolerance.sizes[i + n] = bank->tolerance.guess[i][k];
        sim->tolerance.beyond[i] = bank->tolerance.beyond[i][k];
        sim->tolerance.sizes[i + 2 * n] = bank->y[i][k];
    }
    sim->tolerance.sizes[3 * n] = sim->t = bank->t[k];
}

void gang_store(const struct gang *gang, int k, struct lane *lane)
{
    const struct lanes_bank *bank = &gang->bank;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t b = 0; b < sim->blocks.n; b++) {
        size_t c = column_of(gang, lane->id[b]);
        int rank = rank_of(gang, lane->id[b]);
        const struct lanes_block *block = block_of(bank, c);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] =
                block->sens[lanes_place(bank, block, i, c - block->first)][k + rank];
    }
    for (size_t i = 0; i < n; i++)
        lane->y[i] = bank->y[i][k];
    gang_follow(gang, k, lane);
    sim->tolerance.at_rest = bank->tolerance.at_rest[k];
    sim->t = bank->t[k];
    lane->h = bank->h[k];
    lane->log_h = bank->control.log_h[k];
    lane->log_error = bank->control.log_error[k];
    lane->rejected = bank->control.rejected[k];
    lane->watched = bank->control.watched[k];
    lane->trouble = bank->control.trouble[k];
    lane->n_attempt = bank->control.n_attempt[k];
    lane->n_sign = bank->control.n_sign[k];
    lane->t_calm = bank->control.t_calm[k];
    sim->evaluation->n_step = bank->control.n_step[k];
    sim->evaluation->t_reached = sim->t;
}

void gang_lead(struct gang *gang, int l, const struct lane *lane)
{
    struct lanes_bank *bank = &gang->bank;
    const struct simulation *sim = &lane->sim;
    EACH_LANE(gang, l, each) {
        for (size_t i = 0; i < sim->n_state; i++) {
            bank->tolerance.guess[i][each] = sim->tolerance.sizes[i + sim->n_state];
            bank->tolerance.reach[i][each] = sim->tolerance.reach[i];
            bank->tolerance.noise[i][each] = sim->tolerance.noise[i];
            bank->tolerance.born[i][each] = sim->tolerance.born[i];
        }
        bank->tolerance.at_rest[each] = sim->tolerance.at_rest;
        bank->t_stop[each] = lane_stop_time(lane);
    }
}

void gang_take_ends(const struct gang *gang, int k, struct lane *lane)
{
    const struct lanes_bank *bank = &gang->bank;
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        lane->y[i] = bank->y[i][k];
        lane->sim.y_before[i] = bank->y_before[i][k];
    }
    gang_follow(gang, k, lane);
}

bool gang_take_back(struct gang *gang, int l, struct lane *lane, double part)
{
    struct lanes_bank *bank = &gang->bank;
    struct simulation *sim = &lane->sim;
    double h = part * bank->h_used[l];
    if (part == 1 || !(h > 4 * DBL_EPSILON * fabs(bank->t[l])))
        return false;
    sim->t = bank->t_before[l];
    EACH_LANE(gang, l, each) {
        bank->t[each] = bank->t_before[each];
        bank->h[each] = h;
        bank->control.rejected[each] = -1;
        bank->advanced[each] = 0;
        for (size_t i = 0; i < sim->n_state; i++)
            bank->y[i][each] = bank->y_before[i][each];
        for (const struct lanes_block *block = bank->block; block < bank->block + bank->n_block;
             block++)
            for (size_t e = 0; e < sim->n_state * block->width; e++)
                block->sens[e][each] = block->sens_new[e][each];
    }
    if (positive_is_lost(sim)) {
        gang_store(gang, l, lane);
        positive_lift(sim, lane->y);
        gang_load(gang, l, lane);
    }
    return true;
}

const double *gang_inside(const struct gang *gang, int k, struct lane *lane, double t)
{
    const struct lanes_bank *bank = &gang->bank;
    const struct lanes_method *method = bank->method;
    double *y = lane->y, s = t >= bank->t[k] ? 1 : (t - bank->t_before[k]) / bank->h_used[k],
           weight[METHOD_STAGES];
    for (int j = 0; j < method->n_stage; j++) {
        double inner = 0;
        for (int d = method->n_dense; d-- > 0;)
            inner = inner * s + method->dense[d][j];
        weight[j] = s * (1 - s) * inner * (method->has_slopes ? bank->h_used[k] : 1);
    }
    for (size_t i = 0; i < lane->sim.n_state; i++) {
        y[i] = (1 - s) * bank->y_before[i][k] + s * bank->y[i][k];
        for (int j = 0; j < method->n_stage && s < 1; j++)
            y[i] += weight[j] * bank->scratch.stage[j][i][k];
    }
    return y;
}

void gang_set_times(const struct gang *gang, unsigned which, const double t[N_LANE],
                     bool is_root, lanes *s)
{
    const struct lanes_bank *bank = &gang->bank;
    *s = (lanes){0} + 1;
    for (; which; which &= which - 1) {
        int l = __builtin_ctz(which);
        EACH_LANE(gang, l, k)
            if (t[l] != bank->t[k] || is_root)
                (*s)[k] = (t[l] - bank->t_before[k]) / bank->h_used[k];
    }
}

void gang_take_inside(const struct gang *gang, int l, struct lane *lane)
{
    const lanes *inside = gang->inside;
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state;
    for (size_t i = 0; i < n; i++)
        lane->y[i] = inside[i][l];
    for (size_t b = 0; b < sim->blocks.n; b++) {
        const lanes *from = inside + n * (1 + column_of(gang, lane->id[b]));
        int k = l + rank_of(gang, lane->id[b]);
        for (size_t i = 0; i < n; i++)
            lane->y[(1 + b) * n + i] = from[i][k];
    }
}

/* Rows to be answered from what the kernel has found in lane l: their observables or their noise
 * (kind, as in struct lanes_plan), and the answer, whose first row is theirs. */
struct taken {
    int l;
    size_t kind, n;
    const uint32_t *observable;
    double *value, *derivative; /* derivative: NULL, or as evaluation.d_prediction */
};

/* Adds the direct entries by parameter j to what is numbered by observable. */
static void add_direct(const struct gang *gang, const struct taken *rows, uint32_t j,
                       double *by_observable)
{
    const struct lanes_plan *plan = gang->bank.plan;
    const struct lanes_term *term = plan->direct.term;
    const int32_t *start = plan->direct.start + rows->kind * plan->abi->n_parameter;
    for (int32_t k = start[j]; k < start[j + 1]; k++)
        by_observable[term[k].row] += gang->values[term[k].value][rows->l];
}

/* The derivatives of rows. False: one is not finite. */
static bool take_derivatives(const struct gang *gang, const struct lane *lane,
                             const struct taken *rows)
{
    const struct stiffit_model *abi = lane->sim.abi;
    const struct evaluation *evaluation = lane->sim.evaluation;
    size_t n = rows->n, n_sens = evaluation->n_sens,
           stride = evaluation->stride ? evaluation->stride : evaluation->task->n_row;
    const uint32_t *to = evaluation->column, *observable = rows->observable;
    const lanes *first = gang->observed + rows->kind * abi->n_observable;
    double odd = 0, *derived = lane->sim.rows.h_row; /* by observable */
    for (size_t s = 0; to && s < n_sens; s++)
        memset(rows->derivative + to[s] * stride, 0, n * sizeof(double));
    for (size_t s = 0; s < n_sens; s++) {
        uint32_t j = lane->sim.blocks.sens[s];
        const double *way = lane->from[s] == LANE_NOWHERE ? NULL
                                                          : (const double *)first + lane->from[s];
        double *derivative = rows->derivative + (to ? to[s] : s) * stride;
        for (size_t i = 0; i < n; i++)
            derived[observable[i]] = way ? way[(size_t)observable[i] * N_LANE] : 0;
        if (j < abi->n_parameter)
            add_direct(gang, rows, j, derived);
        for (size_t i = 0; i < n; i++) {
            double each = derived[observable[i]];
            odd += 0 * each; /* NaN if it is not finite */
            derivative[i] = to ? derivative[i] + each : each;
        }
    }
    return odd == 0;
}

/* Answers these rows. False: a number is not finite, or a noise is not above 0. */
static bool take_rows(const struct gang *gang, const struct lane *lane, const struct taken *rows)
{
    const struct lanes_plan *plan = gang->bank.plan;
    size_t n_share = (size_t)gang->bank.n_share;
    const double *value = (const double *)(gang->values + lanes_plan_value(plan, rows->kind, 0));
    const lanes *excess = gang->observed + rows->kind * plan->abi->n_observable;
    double odd = 0;
    bool is_low = false;
    for (size_t i = 0; i < rows->n; i++) {
        size_t o = rows->observable[i];
        rows->value[i] = value[o * N_LANE + (size_t)rows->l];
        is_low |= rows->value[i] <= 0;
        for (size_t each = 0; each < n_share; each++)
            odd += 0 * excess[o][(size_t)rows->l + each]; /* NaN: a number is not finite */
    }
    return odd == 0 && !(rows->kind > 0 && is_low) &&
           (!rows->derivative || take_derivatives(gang, lane, rows));
}

/* The noise of rows first ... last - 1. */
static bool take_noise(const struct gang *gang, int l, const struct lane *lane, size_t first,
                       size_t last)
{
    const struct evaluation *evaluation = lane->sim.evaluation;
    bool good = true;
    for (size_t end; first < last && good; first = end) {
        bool is_own;
        end = observation_end_of_own(evaluation->task, first, last, &is_own);
        const struct taken rows = {
            l, 1, end - first, evaluation->task->row_observable + first, evaluation->noise + first,
            evaluation->d_noise ? evaluation->d_noise + first : NULL};
        if (is_own)
            observation_take_own(evaluation, first, end);
        else
            good = take_rows(gang, lane, &rows);
    }
    return good;
}

bool gang_answer_rows(const struct gang *gang, int l, struct lane *lane, size_t last)
{
    struct simulation *sim = &lane->sim;
    const struct evaluation *evaluation = sim->evaluation;
    size_t first = sim->rows.i_row;
    const struct taken rows = {
        l, 0, last - first, evaluation->task->row_observable + first,
        evaluation->prediction + first,
        evaluation->d_prediction ? evaluation->d_prediction + first : NULL};
    if (!lane->is_simple || !take_rows(gang, lane, &rows) ||
        (evaluation->noise && sim->abi->noise && !take_noise(gang, l, lane, first, last)))
        return false;
    sim->rows.i_row = last;
    sim->begins_anew = sim->tolerance.atol == 0 && !sim->tolerance.is_relative &&
                       observation_rows_ask_relative(sim, first, last,
                                                     (const double *)gang->observed + l, N_LANE);
    return true;
}

void gang_look_ahead(struct gang *gang, int l, struct lane *lane)
{
    struct lanes_bank *bank = &gang->bank;
    struct simulation *sim = &lane->sim;
    set_next(lane, gang, l);
    if (!sim->tolerance.grows)
        return;
    gang_follow(gang, l, lane);
    for (size_t i = 0; i < sim->n_state; i++)
        lane->y[i] = bank->y[i][l];
    tolerance_look(sim, lane->y);
    for (size_t i = 0; i < sim->n_state; i++)
        EACH_LANE(gang, l, k) {
            bank->tolerance.reach[i][k] = sim->tolerance.reach[i];
            bank->tolerance.noise[i][k] = sim->tolerance.noise[i];
        }
}
