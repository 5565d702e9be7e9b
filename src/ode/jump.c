/* The maps of the state and its sensitivities: doses, infusions and events.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"
#include "ode/simulation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool moves(const struct simulation *sim, const double *dt)
{
    for (size_t k = 0; k < sim->blocks.n; k++)
        if (dt[k] != 0)
            return true;
    return false;
}

bool jump_travel(struct simulation *sim, double *y, const double *f, const double *dt, double sign)
{
    size_t n = sim->n_state;
    if (!moves(sim, dt))
        return true;
    if (!f && derivatives_rhs(&sim->model, sim->t, y, sim->stops->f) != STIFFIT_OK)
        return outcome_model_failed(sim);
    f = f ? f : sim->stops->f;
    for (size_t k = 0; k < sim->blocks.n; k++)
        for (size_t i = 0; i < n && dt[k] != 0; i++)
            y[(k + 1) * n + i] += sign * dt[k] * f[i];
    return true;
}

double jump_by_block(const struct simulation *sim, const double *matrix, size_t n_row, size_t row, size_t k)
{
    return sim->blocks.is_pace || sim->blocks.parameter[k] == ODE_NONE ? 0 : matrix[row + sim->blocks.parameter[k] * n_row];
}

/* Derivatives by parameter of a function that does not depend on the state; zeros if the model has no such function. */
static bool take_parameters(struct simulation *sim, enum point_function which, double t, size_t row, double factor, double *out)
{
    struct stops *s = sim->stops;
    memset(out, 0, sim->blocks.n * sizeof(double));
    if (sim->blocks.is_pace || sim->blocks.n == 0 || !derivatives_is_there(&sim->model, which))
        return true;
    if (derivatives_by_parameter(&sim->model, which, t, NULL, s->by_parameter) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t k = 0; k < sim->blocks.n; k++)
        out[k] = factor * jump_by_block(sim, s->by_parameter, s->abi->n_state, row, k);
    if (all_finite(out, sim->blocks.n))
        return true;
    derivatives_fail(&sim->model, which == MODEL_LAG ? "lag_parameter" : which == MODEL_INFUSION
                                     ? "infusion_parameter" : "bioavailability_parameter", t, true);
    return outcome_model_failed(sim);
}

/* The rates of all infusions that run. */
void jump_sum_rates(struct simulation *sim)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    sim->model.is_infused = false;
    memset(s->rate, 0, n * sizeof(double));
    memset(s->rate_parameter, 0, n * s->abi->n_parameter * sizeof(double));
    for (size_t i = 0; i < s->n_later; i++) {
        const struct later *later = &s->later[i];
        if (!later->is_end)
            continue;
        sim->model.is_infused = true;
        s->rate[later->index] += later->rate;
        const double *by_block = schedule_numbers(s, i) + sim->blocks.n;
        for (size_t k = 0; k < sim->blocks.n && !sim->blocks.is_pace; k++)
            if (sim->blocks.parameter[k] != ODE_NONE)
                s->rate_parameter[later->index + sim->blocks.parameter[k] * n] += by_block[k];
    }
}

bool jump_end_infusion(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    memcpy(s->dt, schedule_numbers(s, i), sim->blocks.n * sizeof(double));
    if (!jump_travel(sim, y, NULL, s->dt, 1))
        return false;
    schedule_remove(s, i);
    jump_sum_rates(sim);
    return jump_travel(sim, y, NULL, s->dt, -1);
}

/* One of the model's functions of doses, for a state; `otherwise` if it has none. It must be finite and at least `least`. */
static bool take_value(struct simulation *sim, enum point_function which, double t, size_t state, double otherwise, double *value)
{
    *value = otherwise;
    if (!derivatives_is_there(&sim->model, which))
        return true;
    if (derivatives_value(&sim->model, which, t, NULL, sim->stops->row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    *value = sim->stops->row[state];
    if (isfinite(*value) && (which != MODEL_INFUSION || *value > 0))
        return true;
    derivatives_fail(&sim->model, which == MODEL_INFUSION ? "infusion (rate and duration must be above 0)" : "bioavailability",
                     t, which != MODEL_INFUSION);
    return outcome_model_failed(sim);
}

bool jump_course(struct simulation *sim, const struct next_dose *next, struct course *course)
{
    struct stops *s = sim->stops;
    const struct dose *dose = &sim->evaluation->task->dose[next->dose];
    size_t state = dose->target, n_block = sim->blocks.n;
    double t = schedule_dose_time(sim, next), share, given, *by = s->by_rate, *by_length = s->by_length, *by_given = s->star;
    bool is_length = dose->duration != 0, is_modelled = dose->duration < 0 || dose->rate < 0;
    if (!take_value(sim, MODEL_BIOAVAILABILITY, t, state, 1, &share) ||
        !take_parameters(sim, MODEL_LAG, t, state, 1, s->dt) ||
        !take_parameters(sim, MODEL_BIOAVAILABILITY, t, state, 1, s->by_share))
        return false;
    given = is_length ? dose->duration : dose->rate;
    memset(by_given, 0, n_block * sizeof(double));
    if (is_modelled && (!take_value(sim, MODEL_INFUSION, t, state, NAN, &given) ||
                        !take_parameters(sim, MODEL_INFUSION, t, state, 1, by_given)))
        return false;
    double amount = given != 0 ? dose->amount / given : dose->amount; /* is a rate, or a length */
    *course = (struct course){share * dose->amount, share * amount, given};
    for (size_t k = 0; k < n_block; k++) {
        by[k] = amount * s->by_share[k] - (given != 0 ? course->rate / given * by_given[k] : 0);
        by_length[k] = by_given[k];
    }
    if (given == 0 || is_length)
        return true;
    *course = (struct course){share * dose->amount, given, share * amount};
    s->by_rate = by_length;
    s->by_length = by;
    return true;
}

/* An infusion that began at `since` and runs until later. */
static bool begin_infusion(struct simulation *sim, const struct course *course, double since, uint32_t state)
{
    struct stops *s = sim->stops;
    double *numbers = schedule_add(sim, (struct later){.t = since + course->length, .is_end = true, .index = state,
                                                      .rate = course->rate});
    for (size_t k = 0; numbers && k < sim->blocks.n; k++) {
        numbers[k] = s->dt[k] + s->by_length[k];
        numbers[sim->blocks.n + k] = s->by_rate[k];
    }
    return numbers;
}

bool jump_resume(struct simulation *sim, const struct next_dose *past, bool *runs)
{
    struct course course;
    if (!jump_course(sim, past, &course))
        return false;
    *runs = jump_infuses(sim->stops, past->t, &course);
    return !*runs || begin_infusion(sim, &course, past->t, sim->evaluation->task->dose[past->dose].target);
}

bool jump_fixed(struct simulation *sim, const double *y, size_t i, double *dt)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching, n_row = i < n ? n : s->abi->n_event;
    enum point_function which = i < n ? MODEL_SWITCHING_TIME : MODEL_WHEN;
    memset(dt, 0, sim->blocks.n * sizeof(double));
    if (sim->blocks.n == 0 || sim->blocks.is_pace)
        return true;
    if (derivatives_by_parameter(&sim->model, which, sim->evaluation->task->t0, i < n ? NULL : y, s->by_parameter) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t k = 0; k < sim->blocks.n; k++)
        dt[k] = jump_by_block(sim, s->by_parameter, n_row, i < n ? i : i - n, k);
    return true;
}

void jump_keep_rates(struct simulation *sim)
{
    struct stops *s = sim->stops;
    for (size_t i = 0; i < s->n_later; i++)
        for (size_t k = 0; k < sim->blocks.n && s->later[i].is_end; k++)
            if (schedule_numbers(s, i)[sim->blocks.n + k] != 0 && sim->blocks.parameter[k] == ODE_NONE)
                sim->evaluation->crosses = true;
    jump_sum_rates(sim);
}

bool jump_dose(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    size_t state = sim->evaluation->task->dose[s->dose[i].dose].target, n = sim->n_state;
    struct course course;
    if (!jump_course(sim, &s->dose[i], &course) || !jump_travel(sim, y, NULL, s->dt, 1))
        return false;
    if (jump_infuses(s, sim->t, &course)) {
        if (!begin_infusion(sim, &course, sim->t, (uint32_t)state))
            return false;
        jump_sum_rates(sim);
    } else {
        double amount = sim->evaluation->task->dose[s->dose[i].dose].amount;
        y[state] += course.amount;
        for (size_t k = 0; k < sim->blocks.n; k++)
            y[(k + 1) * n + state] += amount * s->by_share[k];
    }
    return jump_travel(sim, y, NULL, s->dt, -1);
}

bool jump_steady(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    const struct evaluation *evaluation = sim->evaluation;
    const struct next_dose next = s->dose[i];
    size_t n = sim->n_state, number = 0;
    for (size_t k = 0; k < next.dose; k++)
        number += evaluation->task->dose[k].steady != DOSE_SINGLE;
    const double *add = s->steady + number * n * (1 + s->n_steady_column);
    if (evaluation->task->dose[next.dose].steady == DOSE_RESETS) {
        memset(y, 0, n * (1 + sim->blocks.n) * sizeof *y);
        schedule_forget(s, next.dose);
    }
    for (size_t j = 0; j < n; j++)
        y[j] += add[j];
    for (size_t c = 0; c < s->n_steady_column; c++)
        for (size_t j = 0; j < n && sim->blocks.of_sens[c] >= 0; j++)
            y[(size_t)(1 + sim->blocks.of_sens[c]) * n + j] += add[(1 + c) * n + j];
    sim->evaluation->crosses = evaluation->crosses || s->steady_crosses;
    for (i = 0; s->dose[i].dose != next.dose || !s->dose[i].is_steady;)
        i++;
    memset(s->dt, 0, sim->blocks.n * sizeof *s->dt);
    if (!schedule_repeat(sim, i) || !schedule_past(sim, next.dose))
        return false;
    memset(s->dt, 0, sim->blocks.n * sizeof *s->dt);
    return true;
}

/* The derivative of row `row` of a function whose derivatives are in by_state and by_parameter, at a time that moves by dt, for
 * block k; star: the sensitivities at that time. */
static double total(const struct simulation *sim, const double *star, size_t n_row, size_t row, double dt, size_t k)
{
    const struct stops *s = sim->stops;
    double sum = jump_by_block(sim, s->by_parameter, n_row, row, k) + s->by_state[row + sim->n_state * n_row] * dt;
    for (size_t j = 0; j < sim->n_state; j++)
        if (star[j] != 0)
            sum += s->by_state[row + j * n_row] * star[j];
    return sum;
}

static bool differentiate(struct simulation *sim, const double *y, enum point_function which)
{
    struct stops *s = sim->stops;
    bool good = derivatives_by_state_and_time(&sim->model, which, sim->t, y, s->by_state) == STIFFIT_OK &&
                (sim->blocks.is_pace || derivatives_by_parameter(&sim->model, which, sim->t, y, s->by_parameter) == STIFFIT_OK);
    return good || outcome_model_failed(sim);
}

/* What event_assign makes of the state and its sensitivities at the moving time. */
static bool assign(struct simulation *sim, const double *y, size_t event, const double *dt, double *out)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    sim->model.at.event = (uint32_t)event;
    if (derivatives_value(&sim->model, MODEL_ASSIGN, sim->t, y, s->y_new) != STIFFIT_OK)
        return outcome_model_failed(sim);
    if (sim->blocks.n && !differentiate(sim, y, MODEL_ASSIGN))
        return false;
    for (size_t k = 0; k < sim->blocks.n; k++) {
        memcpy(s->star, y + (k + 1) * n, n * sizeof(double));
        for (size_t i = 0; i < n; i++)
            out[(k + 1) * n + i] = total(sim, s->star, n, i, dt[k], k);
    }
    memcpy(out, s->y_new, n * sizeof(double));
    if (all_finite(out, (1 + sim->blocks.n) * n))
        return true;
    derivatives_fail(&sim->model, "event_assign", sim->t, true);
    return outcome_model_failed(sim);
}

/* The delay of an event that fires, and the derivatives of the time of its execution. */
static bool take_delay(struct simulation *sim, const double *y, size_t event, const double *dt, double *delay, double *dt_out)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    *delay = 0;
    memcpy(dt_out, dt, sim->blocks.n * sizeof(double));
    if (!derivatives_is_there(&sim->model, MODEL_DELAY))
        return true;
    if (derivatives_value(&sim->model, MODEL_DELAY, sim->t, y, s->row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    *delay = s->row[event];
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

static bool is_early(const struct stops *s, size_t event)
{
    return s->abi->event_kind && s->abi->event_kind[event] & STIFFIT_EVENT_EARLY_VALUES;
}

bool jump_fire(struct simulation *sim, double *y, size_t event, const double *dt)
{
    struct stops *s = sim->stops;
    double delay, *numbers = schedule_add(sim, (struct later){.t = sim->t, .is_late = s->is_late, .index = (uint32_t)event});
    if (!numbers)
        return false;
    struct later *later = &s->later[s->n_later - 1];
    bool good = jump_travel(sim, y, NULL, dt, 1) && take_delay(sim, y, event, dt, &delay, numbers) &&
                (!is_early(s, event) || assign(sim, y, event, dt, numbers + sim->blocks.n)) && jump_travel(sim, y, NULL, dt, -1);
    later->t += good ? delay : 0;
    return good;
}

bool jump_fire_later(struct simulation *sim, double *y, size_t event, const double *dt)
{
    struct stops *s = sim->stops;
    if (!(stops_kind(s, event) & STIFFIT_EVENT_AFTER))
        return jump_fire(sim, y, event, dt);
    double *numbers = schedule_add(sim, (struct later){.t = sim->t, .is_waiting = true, .index = (uint32_t)event});
    if (numbers)
        memcpy(numbers, dt, sim->blocks.n * sizeof(double));
    return numbers;
}

bool jump_execute(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state, event = s->later[i].index;
    const double *numbers = schedule_numbers(s, i);
    const uint8_t *assigned = s->abi->event_assigned ? s->abi->event_assigned + event * n : NULL;
    memcpy(s->dt, numbers, sim->blocks.n * sizeof(double));
    if (!jump_travel(sim, y, NULL, s->dt, 1))
        return false;
    if (is_early(s, event)) {
        for (size_t k = 0; k <= sim->blocks.n; k++)
            for (size_t j = 0; j < n; j++)
                if (!assigned || assigned[j])
                    y[k * n + j] = numbers[sim->blocks.n + k * n + j];
    } else if (!assign(sim, y, event, s->dt, s->all)) {
        return false;
    } else {
        memcpy(y, s->all, (1 + sim->blocks.n) * n * sizeof(double));
    }
    schedule_remove(s, i);
    return jump_travel(sim, y, NULL, s->dt, -1);
}
