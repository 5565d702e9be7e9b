/* The maps of the state and its sensitivities: doses, infusions and events.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/observer.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool moves(const struct observer *ob, const double *dt)
{
    for (size_t k = 0; k < ob->n_block; k++)
        if (dt[k] != 0)
            return true;
    return false;
}

bool jump_travel(struct observer *ob, double *y, const double *f, const double *dt, double sign)
{
    size_t n = ob->n_state;
    if (!moves(ob, dt))
        return true;
    if (!f && derivatives_rhs(&ob->model, ob->t, y, ob->stops->f) != STIFFIT_OK)
        return observer_fail(ob);
    f = f ? f : ob->stops->f;
    for (size_t k = 0; k < ob->n_block; k++)
        for (size_t i = 0; i < n && dt[k] != 0; i++)
            y[(k + 1) * n + i] += sign * dt[k] * f[i];
    return true;
}

double jump_by_block(const struct observer *ob, const double *matrix, size_t n_row, size_t row, size_t k)
{
    return ob->pace || ob->block_parameter[k] == ODE_NONE ? 0 : matrix[row + ob->block_parameter[k] * n_row];
}

/* Derivatives by parameter of a function that does not depend on the state; zeros if the model has no such function. */
static bool take_parameters(struct observer *ob, enum point_function which, double t, size_t row, double factor, double *out)
{
    struct stops *s = ob->stops;
    memset(out, 0, ob->n_block * sizeof(double));
    if (ob->pace || ob->n_block == 0 || !derivatives_is_there(&ob->model, which))
        return true;
    if (derivatives_by_parameter(&ob->model, which, t, NULL, s->by_parameter) != STIFFIT_OK)
        return observer_fail(ob);
    for (size_t k = 0; k < ob->n_block; k++)
        out[k] = factor * jump_by_block(ob, s->by_parameter, s->abi->n_state, row, k);
    if (all_finite(out, ob->n_block))
        return true;
    derivatives_fail(&ob->model, which == MODEL_LAG ? "lag_parameter" : "bioavailability_parameter", t, true);
    return observer_fail(ob);
}

/* The rates of all infusions that run. */
static void sum_rates(struct observer *ob)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state;
    ob->model.is_infused = false;
    memset(s->rate, 0, n * sizeof(double));
    memset(s->rate_parameter, 0, n * s->abi->n_parameter * sizeof(double));
    for (size_t i = 0; i < s->n_later; i++) {
        const struct later *later = &s->later[i];
        if (!later->is_end)
            continue;
        ob->model.is_infused = true;
        s->rate[later->index] += later->rate;
        const double *by_block = schedule_numbers(s, i) + ob->n_block;
        for (size_t k = 0; k < ob->n_block && !ob->pace && ob->block_parameter[k] != ODE_NONE; k++)
            s->rate_parameter[later->index + ob->block_parameter[k] * n] += by_block[k];
    }
}

bool jump_end_infusion(struct observer *ob, double *y, size_t i)
{
    struct stops *s = ob->stops;
    memcpy(s->dt, schedule_numbers(s, i), ob->n_block * sizeof(double));
    if (!jump_travel(ob, y, NULL, s->dt, 1))
        return false;
    schedule_remove(s, i);
    sum_rates(ob);
    return jump_travel(ob, y, NULL, s->dt, -1);
}

/* Share of a dose that arrives. */
static bool take_share(struct observer *ob, double t, size_t state, double *share)
{
    *share = 1;
    if (!derivatives_is_there(&ob->model, MODEL_BIOAVAILABILITY))
        return true;
    if (derivatives_value(&ob->model, MODEL_BIOAVAILABILITY, t, NULL, ob->stops->row) != STIFFIT_OK)
        return observer_fail(ob);
    *share = ob->stops->row[state];
    if (isfinite(*share))
        return true;
    derivatives_fail(&ob->model, "bioavailability", t, true);
    return observer_fail(ob);
}

bool jump_dose(struct observer *ob, double *y, size_t i)
{
    struct stops *s = ob->stops;
    const struct dose *dose = &ob->evaluation->task->dose[s->dose[i].dose];
    size_t state = dose->target, n = ob->n_state, n_block = ob->n_block;
    double t = dose->time + (s->dose[i].number ? s->dose[i].number * dose->interval : 0), share, *by = s->star;
    double end = ob->t + dose->duration;
    bool is_infusion = dose->duration > 0 && end > s->limit;
    double amount = is_infusion ? dose->amount / dose->duration : dose->amount;
    if (!take_share(ob, t, state, &share) || !take_parameters(ob, MODEL_LAG, t, state, 1, s->dt) ||
        !take_parameters(ob, MODEL_BIOAVAILABILITY, t, state, amount, by) || !jump_travel(ob, y, NULL, s->dt, 1))
        return false;
    if (is_infusion) {
        double *numbers = schedule_add(ob, (struct later){.t = end, .is_end = true, .index = (uint32_t)state,
                                                          .rate = share * amount});
        if (!numbers)
            return false;
        memcpy(numbers, s->dt, n_block * sizeof(double));
        memcpy(numbers + n_block, by, n_block * sizeof(double));
        sum_rates(ob);
    } else {
        y[state] += share * amount;
        for (size_t k = 0; k < n_block; k++)
            y[(k + 1) * n + state] += by[k];
    }
    return jump_travel(ob, y, NULL, s->dt, -1);
}

/* The derivative of row `row` of a function whose derivatives are in by_state and by_parameter, at a time that moves by dt, for
 * block k; star: the sensitivities at that time. */
static double total(const struct observer *ob, const double *star, size_t n_row, size_t row, double dt, size_t k)
{
    const struct stops *s = ob->stops;
    double sum = jump_by_block(ob, s->by_parameter, n_row, row, k) + s->by_state[row + ob->n_state * n_row] * dt;
    for (size_t j = 0; j < ob->n_state; j++)
        if (star[j] != 0)
            sum += s->by_state[row + j * n_row] * star[j];
    return sum;
}

static bool differentiate(struct observer *ob, const double *y, enum point_function which)
{
    struct stops *s = ob->stops;
    bool good = derivatives_by_state_and_time(&ob->model, which, ob->t, y, s->by_state) == STIFFIT_OK &&
                (ob->pace || derivatives_by_parameter(&ob->model, which, ob->t, y, s->by_parameter) == STIFFIT_OK);
    return good || observer_fail(ob);
}

/* What event_assign makes of the state and its sensitivities at the moving time. */
static bool assign(struct observer *ob, const double *y, size_t event, const double *dt, double *out)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state;
    ob->model.at.event = (uint32_t)event;
    if (derivatives_value(&ob->model, MODEL_ASSIGN, ob->t, y, s->y_new) != STIFFIT_OK)
        return observer_fail(ob);
    if (ob->n_block && !differentiate(ob, y, MODEL_ASSIGN))
        return false;
    for (size_t k = 0; k < ob->n_block; k++) {
        memcpy(s->star, y + (k + 1) * n, n * sizeof(double));
        for (size_t i = 0; i < n; i++)
            out[(k + 1) * n + i] = total(ob, s->star, n, i, dt[k], k);
    }
    memcpy(out, s->y_new, n * sizeof(double));
    if (all_finite(out, (1 + ob->n_block) * n))
        return true;
    derivatives_fail(&ob->model, "event_assign", ob->t, true);
    return observer_fail(ob);
}

/* The delay of an event that fires, and the derivatives of the time of its execution. */
static bool take_delay(struct observer *ob, const double *y, size_t event, const double *dt, double *delay, double *dt_out)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state;
    *delay = 0;
    memcpy(dt_out, dt, ob->n_block * sizeof(double));
    if (!derivatives_is_there(&ob->model, MODEL_DELAY))
        return true;
    if (derivatives_value(&ob->model, MODEL_DELAY, ob->t, y, s->row) != STIFFIT_OK)
        return observer_fail(ob);
    *delay = s->row[event];
    if (!(*delay >= 0)) {
        derivatives_fail(&ob->model, "event_delay (it must be 0 or above)", ob->t, false);
        return observer_fail(ob);
    }
    if (ob->n_block && !differentiate(ob, y, MODEL_DELAY))
        return false;
    for (size_t k = 0; k < ob->n_block; k++)
        dt_out[k] += total(ob, y + (k + 1) * n, s->abi->n_event, event, dt[k], k);
    if (all_finite(dt_out, ob->n_block))
        return true;
    derivatives_fail(&ob->model, "event_delay_parameter", ob->t, true);
    return observer_fail(ob);
}

static bool is_early(const struct stops *s, size_t event)
{
    return s->abi->event_kind && s->abi->event_kind[event] & STIFFIT_EVENT_EARLY_VALUES;
}

bool jump_fire(struct observer *ob, double *y, size_t event, const double *dt)
{
    struct stops *s = ob->stops;
    double delay, *numbers = schedule_add(ob, (struct later){.t = ob->t, .index = (uint32_t)event});
    if (!numbers)
        return false;
    struct later *later = &s->later[s->n_later - 1];
    bool good = jump_travel(ob, y, NULL, dt, 1) && take_delay(ob, y, event, dt, &delay, numbers) &&
                (!is_early(s, event) || assign(ob, y, event, dt, numbers + ob->n_block)) && jump_travel(ob, y, NULL, dt, -1);
    later->t += good ? delay : 0;
    return good;
}

bool jump_execute(struct observer *ob, double *y, size_t i)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state, event = s->later[i].index;
    const double *numbers = schedule_numbers(s, i);
    const uint8_t *assigned = s->abi->event_assigned ? s->abi->event_assigned + event * n : NULL;
    memcpy(s->dt, numbers, ob->n_block * sizeof(double));
    if (!jump_travel(ob, y, NULL, s->dt, 1))
        return false;
    if (is_early(s, event)) {
        for (size_t k = 0; k <= ob->n_block; k++)
            for (size_t j = 0; j < n; j++)
                if (!assigned || assigned[j])
                    y[k * n + j] = numbers[ob->n_block + k * n + j];
    } else if (!assign(ob, y, event, s->dt, s->all)) {
        return false;
    } else {
        memcpy(y, s->all, (1 + ob->n_block) * n * sizeof(double));
    }
    schedule_remove(s, i);
    return jump_travel(ob, y, NULL, s->dt, -1);
}
