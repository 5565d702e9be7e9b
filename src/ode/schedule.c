/* The times of stops that do not depend on the trajectory, or not any more: doses, knots, timed events, times of switches, ends
 * of infusions and delayed executions. Repeated doses stay compressed: each that has begun has one entry, its next repetition.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"
#include "ode/simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many repetitions of a steady dose before its time may be under way. */
enum { MOST_PAST = 10000 };

void schedule_begin(struct simulation *sim)
{
    struct stops *s = sim->stops;
    s->n_dose = s->i_dose = s->n_later = s->i_call = s->i_phase = 0;
    s->n_made = s->n_executed = s->n_here = 0;
    memset(s->i_knot, 0, s->abi->n_input * sizeof *s->i_knot);
    for (size_t i = 0; i < s->n_function; i++)
        s->fixed[i] = INFINITY;
    memset(s->rate, 0, s->abi->n_state * sizeof(double));
}

bool schedule_pass_knots(struct simulation *sim, double limit)
{
    struct stops *s = sim->stops;
    bool any = false;
    for (size_t i = 0; i < s->abi->n_input; i++) {
        const struct input *input = &sim->evaluation->task->input[i];
        bool is_linear = s->abi->input_linear && s->abi->input_linear[i];
        size_t *k = &s->i_knot[i], before = *k;
        while (*k < input->n && input->time[*k] <= limit)
            ++*k;
        any = any || *k != before;
        size_t at = *k > 0 ? *k - 1 : 0;
        struct input_piece *piece = &sim->model.piece[i];
        *piece = (struct input_piece){.since = input->time[at], .value = input->value[at]};
        if (is_linear && *k > 0 && *k < input->n)
            piece->slope = (input->value[*k] - piece->value) / (input->time[*k] - piece->since);
    }
    return any;
}

double schedule_next_knot(const struct simulation *sim, size_t i)
{
    const struct input *input = &sim->evaluation->task->input[i];
    bool is_linear = sim->abi->input_linear && sim->abi->input_linear[i];
    size_t k = sim->stops->i_knot[i];
    if (!is_linear && k == 0) /* before its first knot an input has that knot's value */
        k = 1;
    return k < input->n ? input->time[k] : INFINITY;
}

double schedule_dose_time(const struct simulation *sim, const struct next_dose *next)
{
    const struct dose *dose = &sim->evaluation->task->dose[next->dose];
    return next->number > 0 ? dose->time + (double)next->number * dose->interval : dose->time;
}

bool schedule_find_effect(struct simulation *sim, struct next_dose *next)
{
    const struct dose *dose = &sim->evaluation->task->dose[next->dose];
    double t = schedule_dose_time(sim, next), lag = 0;
    if (!next->is_steady && derivatives_is_there(&sim->model, MODEL_LAG)) {
        if (derivatives_value(&sim->model, MODEL_LAG, t, NULL, sim->stops->row) != STIFFIT_OK)
            return outcome_model_failed(sim);
        lag = sim->stops->row[dose->target];
        if (!(lag >= 0)) {
            derivatives_fail(&sim->model, "lag (it must be 0 or above)", t, false);
            return outcome_model_failed(sim);
        }
    }
    next->t = (next->number < 0 ? t + (double)next->number * dose->interval : t) + lag;
    return true;
}

/* Makes room for one more element. */
static void *grow(void *array, size_t n, size_t *most, size_t size)
{
    if (n < *most)
        return array;
    void *grown = realloc(array, (2 * n + 4) * size);
    if (grown)
        *most = 2 * n + 4;
    return grown;
}

static bool no_memory(struct simulation *sim)
{
    return outcome_fail(sim, EVALUATION_NO_MEMORY, "no memory for doses and events");
}

static bool add_dose(struct simulation *sim, struct next_dose next)
{
    struct stops *s = sim->stops;
    struct next_dose *grown = grow(s->dose, s->n_dose, &s->max_dose, sizeof *s->dose);
    if (!grown)
        return no_memory(sim);
    s->dose = grown;
    s->dose[s->n_dose++] = next;
    return true;
}

static bool begin_dose(struct simulation *sim)
{
    struct stops *s = sim->stops;
    uint8_t steady = sim->evaluation->task->dose[s->i_dose].steady;
    struct next_dose next = {.dose = s->i_dose++, .is_steady = steady == DOSE_RESETS || steady == DOSE_ADDS};
    return (steady != DOSE_CONTINUES || schedule_past(sim, next.dose)) && schedule_find_effect(sim, &next) && add_dose(sim, next);
}

bool schedule_past(struct simulation *sim, size_t i_dose)
{
    const struct dose *dose = &sim->evaluation->task->dose[i_dose];
    double now = sim->t - schedule_slack(dose);
    bool runs = true;
    for (struct next_dose past = {.dose = i_dose, .number = -1}; runs; past.number--) {
        if (past.number < -MOST_PAST)
            return outcome_fail(sim, EVALUATION_MODEL_FAILED, "too many steady doses last longer than their interval");
        if (!schedule_find_effect(sim, &past) || !(past.t >= now ? add_dose(sim, past) : jump_resume(sim, &past, &runs)))
            return false;
    }
    jump_sum_rates(sim);
    return true;
}

void schedule_forget(struct stops *s, size_t dose)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_dose; i++)
        if (s->dose[i].dose >= dose)
            s->dose[n++] = s->dose[i];
    s->n_dose = n;
    s->n_later = 0;
}

static double earliest(const struct simulation *sim)
{
    const struct stops *s = sim->stops;
    double next = INFINITY;
    for (size_t i = 0; i < s->n_function; i++)
        next = fmin(next, s->fixed[i]);
    for (size_t i = 0; i < s->abi->n_input; i++)
        next = fmin(next, schedule_next_knot(sim, i));
    for (size_t i = 0; i < s->n_later; i++)
        next = fmin(next, s->later[i].t);
    for (size_t i = 0; i < s->n_dose; i++)
        next = fmin(next, s->dose[i].t);
    if (s->i_call < sim->evaluation->task->n_call)
        next = fmin(next, sim->evaluation->task->call[s->i_call].time);
    if (s->i_phase < sim->evaluation->task->n_phase)
        next = fmin(next, sim->evaluation->task->phase[s->i_phase]);
    return next;
}

/* The stop's time, or that of a measurement from which it differs by rounding alone: 3 and 30*0.1 are one time. */
static double with_measurement(const struct simulation *sim, double t)
{
    const struct ode_task *task = sim->evaluation->task;
    double closest = STOPS_CLOSEST * fabs(t);
    size_t low = sim->rows.i_time, high = task->n_time;
    while (low < high) { /* the first measurement from t - closest on */
        size_t middle = low + (high - low) / 2;
        if (task->time[middle] < t - closest)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_one = t < INFINITY && low < task->n_time && task->time[low] <= t + closest && task->time[low] > sim->stops->limit;
    return is_one ? task->time[low] : t;
}

bool schedule_look(struct simulation *sim)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    s->next = earliest(sim);
    /* A dose takes effect at its time or later. */
    while (s->i_dose < task->n_dose && task->dose[s->i_dose].time <= fmax(s->next, s->limit)) {
        if (!begin_dose(sim))
            return false;
        s->next = earliest(sim);
    }
    s->next = with_measurement(sim, s->next);
    return true;
}

size_t schedule_dose(const struct stops *s)
{
    size_t best = s->n_dose;
    for (size_t i = 0; i < s->n_dose; i++)
        if (s->dose[i].t <= s->limit && (best == s->n_dose || s->dose[i].t < s->dose[best].t))
            best = i;
    return best;
}

bool schedule_repeat(struct simulation *sim, size_t i)
{
    struct stops *s = sim->stops;
    struct next_dose *next = &s->dose[i];
    bool is_past = next->number < 0;
    next->number += next->is_steady ? 0 : 1; /* the states of a steady dose are followed by the dose */
    next->is_steady = false;
    if (!is_past && next->number < sim->evaluation->task->dose[next->dose].count)
        return schedule_find_effect(sim, next);
    memmove(s->dose + i, s->dose + i + 1, (--s->n_dose - i) * sizeof *s->dose);
    return true;
}

bool schedule_again(struct simulation *sim)
{
    struct stops *s = sim->stops;
    bool good = true;
    for (size_t i = 0; i < s->n_dose && good && derivatives_is_there(&sim->model, MODEL_LAG); i++) {
        if (schedule_dose_time(sim, &s->dose[i]) >= sim->t)
            good = schedule_find_effect(sim, &s->dose[i]);
        else
            sim->evaluation->crosses = true;
    }
    return good;
}

double *schedule_numbers(const struct stops *s, size_t i) { return s->later_number + i * s->stride; }

double *schedule_add(struct simulation *sim, struct later later)
{
    struct stops *s = sim->stops;
    size_t most = s->max_later;
    struct later *grown = grow(s->later, s->n_later, &most, sizeof *s->later);
    if (grown)
        s->later = grown;
    double *numbers = grown && most > s->max_later ? realloc(s->later_number, most * s->stride * sizeof *numbers)
                                                   : s->later_number;
    if (!grown || !numbers) {
        no_memory(sim);
        return NULL;
    }
    s->later_number = numbers;
    s->max_later = most;
    later.order = s->n_made++;
    s->later[s->n_later] = later;
    numbers = schedule_numbers(s, s->n_later++);
    memset(numbers, 0, s->stride * sizeof *numbers);
    return numbers;
}

void schedule_remove(struct stops *s, size_t i)
{
    size_t last = --s->n_later;
    s->later[i] = s->later[last];
    if (i != last)
        memcpy(schedule_numbers(s, i), schedule_numbers(s, last), s->stride * sizeof(double));
}

bool schedule_is_due(const struct stops *s, const struct later *later)
{
    return !later->is_end && later->t <= s->limit && !later->is_waiting && (s->is_late || !later->is_late);
}

size_t schedule_execution(struct simulation *sim, const double *y, unsigned kind)
{
    struct stops *s = sim->stops;
    size_t best = s->n_later;
    double best_priority = 0;
    bool ranks = derivatives_is_there(&sim->model, MODEL_PRIORITY), known = false;
    for (size_t i = 0; i < s->n_later; i++) {
        const struct later *later = &s->later[i], *first = &s->later[best];
        if (!schedule_is_due(s, later) || (stops_kind(s, later->index) & kind) != kind)
            continue;
        if (ranks && !known && derivatives_value(&sim->model, MODEL_PRIORITY, sim->t, y, s->row) != STIFFIT_OK)
            return s->n_later + 1;
        known = true;
        double priority = ranks ? s->row[later->index] : 0;
        bool is_first = best == s->n_later || priority > best_priority;
        if (!is_first && !(priority < best_priority))
            is_first = later->index < first->index || (later->index == first->index && later->order < first->order);
        if (is_first) {
            best = i;
            best_priority = priority;
        }
    }
    return best;
}

void schedule_cancel(struct stops *s, size_t event)
{
    bool can_lapse = stops_kind(s, event) & STIFFIT_EVENT_CAN_LAPSE;
    for (size_t i = s->n_later; i-- > 0;)
        if (!s->later[i].is_end && s->later[i].index == event && (can_lapse || s->later[i].is_waiting))
            schedule_remove(s, i);
}
