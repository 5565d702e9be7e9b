/* Numbers of records from and to simulations and evaluations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/gpu/exchange.h"

#include "ode/lanes/kernel_constants.h"
#include "ode/lanes/bank.h"
#include "ode/observation.h"
#include "ode/stops.h"
#include "ode/tolerance.h"

#include <math.h>
#include <string.h>

static void put_long(double *record, size_t place, int64_t value)
{
    memcpy(&record[place], &value, sizeof value);
}

int64_t exchange_long(const double *record, size_t place)
{
    int64_t value;
    memcpy(&value, &record[place], sizeof value);
    return value;
}

/* The task and the measurements of a record. */
static void put_task(const struct exchange *own, double *to)
{
    const struct record *at = own->record;
    const struct simulation *sim = &own->lane->sim;
    const struct ode_task *task = sim->evaluation->task;
    size_t row = sim->rows.i_row;
    memcpy(to + at->time, task->time, task->n_time * sizeof(double));
    for (size_t i = sim->rows.i_time; i <= task->n_time; i++) {
        put_long(to, at->row_of + i, (int64_t)row);
        while (i < task->n_time && row < task->n_row && task->row_time[row] <= i)
            row++;
    }
    for (size_t i = 0; i < task->n_row; i++)
        put_long(to, at->observable + i, task->row_observable[i]);
    put_long(to, at->i_time, (int64_t)sim->rows.i_time);
    put_long(to, at->n_time, (int64_t)task->n_time);
    to[at->t0] = task->experiment.t0;
}

static void put_columns(const struct exchange *own, double *to)
{
    const struct record *at = own->record;
    const struct lane *lane = own->lane;
    const struct simulation *sim = &lane->sim;
    size_t n = sim->n_state, n_sens = sim->evaluation->n_sens;
    put_long(to, at->n_column, (int64_t)n_sens);
    for (size_t k = 0; k < n_sens; k++) {
        int32_t block = sim->blocks.of_sens[k];
        put_long(to, at->id + k, sim->blocks.sens[k] == ODE_NONE ? 0 : sim->blocks.sens[k]);
        put_long(to, at->active + k, block >= 0);
        to[at->unit + k] = block >= 0 ? sim->blocks.unit[block] : 0;
        for (size_t i = 0; i < n; i++)
            to[at->sens + i * own->n_column + k] = block >= 0 ? lane->y[(1 + (size_t)block) * n + i]
                                                              : 0;
    }
}

/* The control of steps, for both methods. */
static void put_control(const struct exchange *own, double *to)
{
    const struct record *at = own->record;
    struct lane *lane = own->lane;
    const struct evaluation *evaluation = lane->sim.evaluation;
    enum lanes_method_kind method = lane->method;
    for (int m = 0; m < N_METHOD; m++) {
        lane->method = (enum lanes_method_kind)m;
        lane_set_accepted(lane);
        to[at->accepted + (size_t)m] = lane->by_accepted;
        to[at->part_of + (size_t)m] = lane_part(evaluation, lane->method);
        if (m == METHOD_EXPLICIT)
            to[at->by_inside] = lane->by_inside;
    }
    lane->method = method;
    lane_set_accepted(lane);
    to[at->by_accepted] = lane->by_accepted;
    put_long(to, at->method, method);
    put_long(to, at->is_stiff, evaluation->course.is_stiff);
    to[at->stiff_from] = evaluation->course.stiff_from;
    put_long(to, at->n_step, evaluation->n_step);
    put_long(to, at->n_explicit, 0);
    put_long(to, at->n_implicit, 0);
    put_long(to, at->n_attempt, 0);
    put_long(to, at->n_rhs, 0);
    put_long(to, at->n_jacobian, 0);
    put_long(to, at->flip, 0);
    put_long(to, at->fresh, 1);
    put_long(to, at->rejected, lane->rejected);
    put_long(to, at->max_steps, evaluation->max_steps);
    put_long(to, at->n_sign, lane->n_sign);
    put_long(to, at->patience, lane->patience);
    put_long(to, at->patience_back, lane->patience_back);
    put_long(to, at->trouble, lane->trouble);
    to[at->h] = lane->h;
    to[at->t_stop] = lane_stop_time(lane);
    to[at->next_stop] = lane->sim.has_stops ? lane->sim.stops->next : INFINITY;
    to[at->longest] = lane->sim.max_step / ROOM_STRETCH;
    to[at->log_h] = lane->log_h;
    to[at->log_error] = lane->log_error;
    to[at->t_turn] = lane->method == METHOD_EXPLICIT ? lane->t_turn : INFINITY;
    to[at->t_calm] = lane->t_calm;
}

/* What the right-hand side takes from outside of the model. */
static void put_outside(const struct exchange *own, double *to)
{
    const struct record *at = own->record;
    const struct simulation *sim = &own->lane->sim;
    const struct derivatives *model = &sim->model;
    size_t n = sim->n_state;
    to[at->since] = model->since;
    to[at->until] = model->until;
    for (size_t j = 0; j < sim->abi->n_input; j++) {
        to[at->input_since + j] = model->piece[j].since;
        to[at->input_value + j] = model->piece[j].value;
        to[at->input_slope + j] = model->piece[j].slope;
    }
    put_long(to, at->infused, model->is_infused);
    for (size_t i = 0; i < n && own->has_doses; i++) {
        to[at->minus_rate + i] = model->is_infused && model->rate[i] != 0 ? -model->rate[i] : 0;
        for (size_t k = 0; k < sim->evaluation->n_sens; k++) {
            bool is_by = model->is_infused && sim->blocks.of_sens[k] >= 0;
            double rate = is_by ? model->rate_parameter[sim->blocks.sens[k] * n + i] : 0;
            to[at->minus_rate_of + i * own->n_column + k] = rate != 0 ? -rate : 0;
        }
    }
}

void exchange_put(const struct exchange *own, bool turned, double *to)
{
    const struct record *at = own->record;
    const struct lane *lane = own->lane;
    const struct simulation *sim = &lane->sim;
    const struct stiffit_point *point = &sim->model.at;
    size_t n = sim->n_state, n_byte = n * sizeof(double);
    put_long(to, at->status, GPU_LIVE);
    to[at->t] = sim->t;
    to[at->rtol] = sim->tolerance.rtol;
    to[at->fraction] = sim->tolerance.fraction;
    to[at->at_rest] = sim->tolerance.at_rest;
    put_long(to, at->is_relative, sim->tolerance.is_relative);
    put_long(to, at->grows, sim->tolerance.grows);
    memcpy(to + at->p, point->p, sim->abi->n_parameter * sizeof(double));
    if (sim->abi->n_covariate)
        memcpy(to + at->covariate, point->covariate, sim->abi->n_covariate * sizeof(double));
    for (size_t i = 0; i < sim->abi->n_work; i++)
        to[at->work + i] = point->work ? point->work[i] : 0;
    memcpy(to + at->y, lane->y, n_byte);
    memcpy(to + at->size, sim->tolerance.sizes, n_byte);
    memcpy(to + at->guess, sim->tolerance.sizes + n, n_byte);
    memcpy(to + at->beyond, sim->tolerance.beyond, n_byte);
    memcpy(to + at->born, sim->tolerance.born, n_byte);
    memcpy(to + at->reach, sim->tolerance.reach, n_byte);
    memcpy(to + at->noise, sim->tolerance.noise, n_byte);
    put_outside(own, to);
    put_control(own, to);
    put_long(to, at->turned, turned);
    put_long(to, at->by_host, !lane_rows_are_simple(sim->abi, sim->evaluation));
    put_columns(own, to);
    put_task(own, to);
}

/* Takes the observables of rows, or their noise (kind, as in struct lanes_plan), and the
 * derivatives (NULL: none) from an answer. False: something is not finite, or a noise is not
 * above 0. */
static bool take_rows(const struct exchange *own, struct exchange_rows rows, size_t kind,
                      double *value, double *derivative, const double *answer)
{
    const struct evaluation *evaluation = rows.evaluation;
    const struct record *record = own->record;
    size_t n = rows.last - rows.first, at = kind * own->n_row,
           stride = evaluation->stride ? evaluation->stride : evaluation->task->n_row;
    const double *derived = answer + record->derivative + at * own->n_column;
    const uint32_t *to = evaluation->column;
    double odd = 0;
    bool is_low = false;
    for (size_t i = rows.first; i < rows.last; i++) {
        value[i] = answer[record->seen + at + i];
        odd += 0 * answer[record->excess + at + i];
        is_low |= value[i] <= 0;
    }
    for (size_t k = 0; derivative && to && k < evaluation->n_sens; k++)
        memset(derivative + rows.first + to[k] * stride, 0, n * sizeof(double));
    for (size_t k = 0; derivative && k < evaluation->n_sens; k++)
        for (size_t i = rows.first; i < rows.last; i++) {
            double *place = &derivative[i + (to ? to[k] : k) * stride];
            double each = derived[i * own->n_column + k];
            odd += 0 * each;
            *place = to ? *place + each : each;
        }
    return odd == 0 && !(kind > 0 && is_low);
}

/* Takes predictions, the noise and derivatives from an answer. False: as above. */
static bool take_answer(const struct exchange *own, struct exchange_rows rows,
                        const double *answer)
{
    struct evaluation *evaluation = rows.evaluation;
    bool good = take_rows(own, rows, 0, evaluation->prediction, evaluation->d_prediction, answer);
    bool has_noise = evaluation->noise && own->lane->sim.abi->noise;
    struct exchange_rows next = rows;
    for (size_t end = rows.first; has_noise && end < rows.last && good; end = next.last) {
        bool is_own;
        next.first = end;
        next.last = observation_end_of_own(evaluation->task, end, rows.last, &is_own);
        if (is_own)
            observation_take_own(evaluation, next.first, next.last);
        else
            good = take_rows(own, next, 1, evaluation->noise, evaluation->d_noise, answer);
    }
    return good;
}

/* After that: whether some rows ask for relative tolerances. */
static bool asks_relative(const struct exchange *own, struct exchange_rows rows,
                          const double *answer)
{
    struct simulation *sim = &own->lane->sim;
    const struct ode_task *task = rows.evaluation->task;
    const double *excess = answer + own->record->excess; /* of observables */
    if (!own->is_own) {
        sim->evaluation = rows.evaluation;
        tolerance_set(sim, false);
        memset(sim->rows.h_largest, 0, sim->abi->n_observable * sizeof(double));
    }
    if (sim->tolerance.atol > 0)
        return false;
    for (size_t first = rows.first, last; first < rows.last; first = last) {
        for (last = first; last < rows.last && task->row_time[last] == task->row_time[first];
             last++)
            sim->rows.h[task->row_observable[last]] = excess[last];
        if (observation_rows_ask_relative(sim, first, last, sim->rows.h, 1))
            return true;
    }
    return false;
}

/* What the device has found at a measurement. */
static void take_states(const struct exchange *own, const double *answer, size_t i_time)
{
    const struct record *at = own->record;
    struct lane *lane = own->lane;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state, n_byte = n * sizeof(double), first = i_time * n;
    memcpy(sim->tolerance.sizes, answer + at->size_at + first, n_byte);
    memcpy(sim->tolerance.sizes + n, answer + at->guess_at + first, n_byte);
    memcpy(sim->tolerance.beyond, answer + at->beyond_at + first, n_byte);
    memcpy(lane->y, answer + at->at_time + first, n_byte);
    for (size_t k = 0; k < sim->evaluation->n_sens; k++)
        for (size_t i = 0; i < n && sim->blocks.of_sens[k] >= 0; i++)
            lane->y[(1 + (size_t)sim->blocks.of_sens[k]) * n + i] =
                answer[at->sens_at + (first + i) * own->n_column + k];
}

/* Answers rows from the states there. */
static bool answer_from_states(const struct exchange *own, size_t last, const double *answer)
{
    struct simulation *sim = &own->lane->sim;
    bool good = true;
    while (sim->rows.i_row < last && good) {
        take_states(own, answer, sim->rows.i_time);
        good = observation_answer(sim, own->lane->y, false) && !sim->begins_anew;
        sim->rows.i_time++;
    }
    return good;
}

bool exchange_answer(const struct exchange *own, struct exchange_rows rows,
                     const double *answer)
{
    if (!lane_rows_are_simple(own->lane->sim.abi, rows.evaluation))
        return answer_from_states(own, rows.last, answer);
    return take_answer(own, rows, answer) && !asks_relative(own, rows, answer);
}

struct exchange_calls exchange_count(const struct record *at, const double *head)
{
    int64_t n_explicit = exchange_long(head, at->n_explicit),
            n_implicit = exchange_long(head, at->n_implicit);
    bool is_explicit = exchange_long(head, at->method) == METHOD_EXPLICIT;
    *(is_explicit ? &n_explicit : &n_implicit) += exchange_long(head, at->n_attempt);
    return (struct exchange_calls){
        .n_rhs = exchange_long(head, at->n_rhs) + n_explicit * (lanes_explicit.n_stage - 1) +
                 n_implicit * lanes_method.n_stage,
        .n_jacobian = exchange_long(head, at->n_jacobian) + n_implicit, .n_factor = n_implicit};
}

struct evaluation_course exchange_course(const struct record *at, const double *head)
{
    return (struct evaluation_course){exchange_long(head, at->is_stiff) != 0, head[at->stiff_from]};
}

/* The time, and the tolerances there. */
static void take_tolerance(const struct exchange *own, const double *record)
{
    const struct record *at = own->record;
    struct simulation *sim = &own->lane->sim;
    size_t n = sim->n_state, n_byte = n * sizeof(double);
    sim->t = record[at->t];
    sim->rows.i_time = (size_t)exchange_long(record, at->i_time);
    sim->tolerance.grows = exchange_long(record, at->grows);
    memcpy(sim->tolerance.sizes, record + at->size, n_byte);
    memcpy(sim->tolerance.sizes + n, record + at->guess, n_byte);
    memcpy(sim->tolerance.sizes + 2 * n, record + at->y, n_byte);
    sim->tolerance.sizes[3 * n] = sim->t;
    memcpy(sim->tolerance.beyond, record + at->beyond, n_byte);
    memcpy(sim->tolerance.born, record + at->born, n_byte);
    memcpy(sim->tolerance.reach, record + at->reach, n_byte);
    memcpy(sim->tolerance.noise, record + at->noise, n_byte);
}

void exchange_resume(const struct exchange *own, const double *record)
{
    const struct record *at = own->record;
    struct lane *lane = own->lane;
    struct simulation *sim = &lane->sim;
    size_t n = sim->n_state, n_sens = sim->evaluation->n_sens;
    const struct exchange_calls calls = exchange_count(at, record);
    take_tolerance(own, record);
    sim->rows.i_row = (size_t)exchange_long(record, at->row_of + sim->rows.i_time);
    memcpy(lane->y, record + at->y, n * sizeof(double));
    for (size_t k = 0; k < n_sens; k++)
        for (size_t i = 0; i < n && sim->blocks.of_sens[k] >= 0; i++)
            lane->y[(1 + (size_t)sim->blocks.of_sens[k]) * n + i] =
                record[at->sens + i * own->n_column + k];
    lane->method = (enum lanes_method_kind)exchange_long(record, at->method);
    lane->h = record[at->h];
    lane->log_h = record[at->log_h];
    lane->log_error = record[at->log_error];
    lane->t_turn = record[at->t_turn];
    lane->t_calm = record[at->t_calm];
    lane->rejected = exchange_long(record, at->rejected);
    lane->n_sign = exchange_long(record, at->n_sign);
    lane->patience = exchange_long(record, at->patience);
    lane->patience_back = exchange_long(record, at->patience_back);
    lane->trouble = -LASTING;
    sim->model.n_rhs += calls.n_rhs;
    sim->model.n_jacobian += calls.n_jacobian;
    sim->n_factor += calls.n_factor;
    sim->evaluation->n_step = exchange_long(record, at->n_step);
    sim->evaluation->t_reached = sim->t;
    sim->evaluation->course = exchange_course(at, record);
}

void exchange_look(const struct exchange *own, double *record)
{
    const struct record *at = own->record;
    struct simulation *sim = &own->lane->sim;
    size_t n_byte = sim->n_state * sizeof(double);
    const double *y = record + at->y;
    int64_t n_rhs = sim->model.n_rhs, n_jacobian = sim->model.n_jacobian;
    take_tolerance(own, record);
    tolerance_look(sim, y);
    memcpy(record + at->reach, sim->tolerance.reach, n_byte);
    memcpy(record + at->noise, sim->tolerance.noise, n_byte);
    put_long(record, at->grows, sim->tolerance.grows);
    put_long(record, at->n_rhs, exchange_long(record, at->n_rhs) + sim->model.n_rhs - n_rhs);
    put_long(record, at->n_jacobian,
             exchange_long(record, at->n_jacobian) + sim->model.n_jacobian - n_jacobian);
    sim->model.n_rhs = n_rhs;
    sim->model.n_jacobian = n_jacobian;
    put_long(record, at->status, GPU_LOOKED);
}
