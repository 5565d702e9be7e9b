/* Events fire, and are executed then or later.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"

#include <math.h>
#include <string.h>

size_t events_next(struct simulation *sim, const double *y, unsigned kind)
{
    struct stops *s = sim->stops;
    size_t best = s->pending.n;
    double best_priority = 0;
    bool ranks = derivatives_is_there(&sim->model, MODEL_PRIORITY), known = false;
    for (size_t i = 0; i < s->pending.n; i++) {
        const struct pending_item *later = &s->pending.entry[i], *first = &s->pending.entry[best];
        if (!pending_is_due(s, later) || (stops_kind(s, later->index) & kind) != kind)
            continue;
        if (ranks && !known &&
            derivatives_value(&sim->model, MODEL_PRIORITY, sim->t, y, s->jump.row) != STIFFIT_OK)
            return s->pending.n + 1;
        known = true;
        double priority = ranks ? s->jump.row[later->index] : 0;
        bool is_first = best == s->pending.n || priority > best_priority;
        if (!is_first && !(priority < best_priority))
            is_first = later->index < first->index ||
                       (later->index == first->index && later->order < first->order);
        if (is_first) {
            best = i;
            best_priority = priority;
        }
    }
    return best;
}

static bool is_early(const struct stops *s, size_t event)
{
    return s->abi->event_kind && s->abi->event_kind[event] & STIFFIT_EVENT_EARLY_VALUES;
}

/* The derivative of row `row` of a function whose derivatives are in by_state and by_parameter,
 * at a time that moves by dt, for block k; star: the sensitivities at that time. */
static double total(const struct simulation *sim, const double *star, size_t n_row, size_t row,
                    double dt, size_t k)
{
    const struct stops *s = sim->stops;
    double sum = jump_by_block(sim, s->jump.by_parameter, n_row, row, k) +
                 s->jump.by_state[row + sim->n_state * n_row] * dt;
    for (size_t j = 0; j < sim->n_state; j++)
        if (star[j] != 0)
            sum += s->jump.by_state[row + j * n_row] * star[j];
    return sum;
}

static bool differentiate(struct simulation *sim, const double *y, enum point_function which)
{
    struct stops *s = sim->stops;
    int code = derivatives_by_state_and_time(&sim->model, which, sim->t, y, s->jump.by_state);
    if (code == STIFFIT_OK && !sim->blocks.is_pace)
        code = derivatives_by_parameter(&sim->model, which, sim->t, y, s->jump.by_parameter);
    return code == STIFFIT_OK || outcome_model_failed(sim);
}

/* What event_assign makes of the state and its sensitivities at the moving time. */
static bool assign(struct simulation *sim, const double *y, size_t event, const double *dt,
                   double *out)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    sim->model.at.event = (uint32_t)event;
    if (derivatives_value(&sim->model, MODEL_ASSIGN, sim->t, y, s->jump.y_new) != STIFFIT_OK)
        return outcome_model_failed(sim);
    if (sim->blocks.n && !differentiate(sim, y, MODEL_ASSIGN))
        return false;
    for (size_t k = 0; k < sim->blocks.n; k++) {
        memcpy(s->jump.star, y + (k + 1) * n, n * sizeof(double));
        for (size_t i = 0; i < n; i++)
            out[(k + 1) * n + i] = total(sim, s->jump.star, n, i, dt[k], k);
    }
    memcpy(out, s->jump.y_new, n * sizeof(double));
    if (all_finite(out, (1 + sim->blocks.n) * n))
        return true;
    derivatives_fail(&sim->model, "event_assign", sim->t, true);
    return outcome_model_failed(sim);
}

/* The delay of an event that fires, and the derivatives of the time of its execution. */
static bool take_delay(struct simulation *sim, const double *y, size_t event, const double *dt,
                       double *delay, double *dt_out)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    *delay = 0;
    memcpy(dt_out, dt, sim->blocks.n * sizeof(double));
    if (!derivatives_is_there(&sim->model, MODEL_DELAY))
        return true;
    if (derivatives_value(&sim->model, MODEL_DELAY, sim->t, y, s->jump.row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    *delay = s->jump.row[event];
    if (!(*delay >= 0)) {
        derivatives_fail(&sim->model, "event_delay (it must be 0 or above)", sim->t, false);
        return outcome_model_failed(sim);
    }
    if (sim->blocks.n && !differentiate(sim, y, MODEL_DELAY))
        return false;
    for (size_t k = 0; k < sim->blocks.n; k++)
        dt_out[k] += total(sim, y + (k + 1) * n, s->abi->n_event, event, dt[k], k);
    if (all_finite(dt_out, sim->blocks.n))
        return true;
    derivatives_fail(&sim->model, "event_delay_parameter", sim->t, true);
    return outcome_model_failed(sim);
}

bool events_fire(struct simulation *sim, double *y, size_t event, const double *dt)
{
    struct stops *s = sim->stops;
    const struct pending_item now = {.t = sim->t, .is_late = s->is_late, .index = (uint32_t)event};
    double delay, *numbers = pending_add(sim, now);
    if (!numbers)
        return false;
    struct pending_item *later = &s->pending.entry[s->pending.n - 1];
    bool good = jump_travel(sim, y, NULL, dt, 1) &&
                take_delay(sim, y, event, dt, &delay, numbers) &&
                (!is_early(s, event) || assign(sim, y, event, dt, numbers + sim->blocks.n)) &&
                jump_travel(sim, y, NULL, dt, -1);
    later->t += good ? delay : 0;
    return good;
}

bool events_fire_later(struct simulation *sim, double *y, size_t event, const double *dt)
{
    struct stops *s = sim->stops;
    if (!(stops_kind(s, event) & STIFFIT_EVENT_AFTER))
        return events_fire(sim, y, event, dt);
    double *numbers = pending_add(sim, (struct pending_item){.t = sim->t,
                                                             .is_waiting = true,
                                                             .index = (uint32_t)event});
    if (numbers)
        memcpy(numbers, dt, sim->blocks.n * sizeof(double));
    return numbers;
}

bool events_execute(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state, event = s->pending.entry[i].index;
    const double *numbers = pending_numbers(s, i);
    const uint8_t *assigned = s->abi->event_assigned ? s->abi->event_assigned + event * n : NULL;
    memcpy(s->jump.dt, numbers, sim->blocks.n * sizeof(double));
    if (!jump_travel(sim, y, NULL, s->jump.dt, 1))
        return false;
    if (is_early(s, event)) {
        for (size_t k = 0; k <= sim->blocks.n; k++)
            for (size_t j = 0; j < n; j++)
                if (!assigned || assigned[j])
                    y[k * n + j] = numbers[sim->blocks.n + k * n + j];
    } else if (!assign(sim, y, event, s->jump.dt, s->jump.all)) {
        return false;
    } else {
        memcpy(y, s->jump.all, (1 + sim->blocks.n) * n * sizeof(double));
    }
    pending_remove(s, i);
    return jump_travel(sim, y, NULL, s->jump.dt, -1);
}
