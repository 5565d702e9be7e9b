/* Doses and infusions. Repeated doses stay compressed: each that has begun has one entry, its
 * next repetition.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"

#include <math.h>
#include <string.h>

/* So many repetitions of a steady dose before its time may be under way, and so many infusions
 * may run at one time: each stop looks at all of them. */
enum { MOST_PAST = 10000 };

double doses_time(const struct simulation *sim, const struct next_dose *next)
{
    const struct dose *dose = &sim->evaluation->task->experiment.dose[next->dose];
    return next->number > 0 ? dose->time + (double)next->number * dose->interval : dose->time;
}

/* Sets the time at which a repetition of a dose takes effect. */
static bool find_effect(struct simulation *sim, struct next_dose *next)
{
    const struct dose *dose = &sim->evaluation->task->experiment.dose[next->dose];
    double t = doses_time(sim, next), lag = 0;
    if (!next->is_steady && derivatives_is_there(&sim->model, MODEL_LAG)) {
        if (derivatives_value(&sim->model, MODEL_LAG, t, NULL, sim->stops->jump.row) != STIFFIT_OK)
            return outcome_model_failed(sim);
        lag = sim->stops->jump.row[dose->target];
        if (!(lag >= 0)) {
            derivatives_fail(&sim->model, "lag (it must be 0 or above)", t, false);
            return outcome_model_failed(sim);
        }
    }
    next->t = (next->number < 0 ? t + (double)next->number * dose->interval : t) + lag;
    return true;
}

static bool add_dose(struct simulation *sim, struct next_dose next)
{
    struct stops *s = sim->stops;
    struct next_dose *grown =
        pending_grow(s->doses.next, s->doses.n, &s->doses.max, sizeof *s->doses.next);
    if (!grown)
        return pending_no_memory(sim);
    s->doses.next = grown;
    s->doses.next[s->doses.n++] = next;
    return true;
}

/* Derivatives by parameter of a function that does not depend on the state; zeros if the model
 * has no such function. */
static bool take_parameters(struct simulation *sim, enum point_function which, double t, size_t row,
                            double factor, double *out)
{
    struct stops *s = sim->stops;
    memset(out, 0, sim->blocks.n * sizeof(double));
    if (sim->blocks.is_pace || sim->blocks.n == 0 || !derivatives_is_there(&sim->model, which))
        return true;
    if (derivatives_by_parameter(&sim->model, which, t, NULL, s->jump.by_parameter) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t k = 0; k < sim->blocks.n; k++)
        out[k] = factor * jump_by_block(sim, s->jump.by_parameter, s->abi->n_state, row, k);
    if (all_finite(out, sim->blocks.n))
        return true;
    derivatives_fail(&sim->model, which == MODEL_LAG ? "lag_parameter" : which == MODEL_INFUSION
                                     ? "infusion_parameter" : "bioavailability_parameter", t, true);
    return outcome_model_failed(sim);
}

/* The rates of all infusions that run. */
static void sum_rates(struct simulation *sim)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    sim->model.is_infused = false;
    memset(s->doses.rate, 0, n * sizeof(double));
    memset(s->doses.rate_parameter, 0, n * s->abi->n_parameter * sizeof(double));
    for (size_t i = 0; i < s->pending.n; i++) {
        const struct pending_item *later = &s->pending.entry[i];
        if (!later->is_end)
            continue;
        sim->model.is_infused = true;
        s->doses.rate[later->index] += later->rate;
        const double *by_block = pending_numbers(s, i) + sim->blocks.n;
        for (size_t k = 0; k < sim->blocks.n && !sim->blocks.is_pace; k++)
            if (sim->blocks.parameter[k] != ODE_NONE)
                s->doses.rate_parameter[later->index + sim->blocks.parameter[k] * n] += by_block[k];
    }
}

bool doses_end_infusion(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    memcpy(s->jump.dt, pending_numbers(s, i), sim->blocks.n * sizeof(double));
    if (!jump_travel(sim, y, NULL, s->jump.dt, 1))
        return false;
    pending_remove(s, i);
    sum_rates(sim);
    return jump_travel(sim, y, NULL, s->jump.dt, -1);
}

/* One of the model's functions of doses, for a state; `otherwise` if it has none. It must be
 * finite and at least `least`. */
static bool take_value(struct simulation *sim, enum point_function which, double t, size_t state,
                       double otherwise, double *value)
{
    *value = otherwise;
    if (!derivatives_is_there(&sim->model, which))
        return true;
    if (derivatives_value(&sim->model, which, t, NULL, sim->stops->jump.row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    *value = sim->stops->jump.row[state];
    if (isfinite(*value) && (which != MODEL_INFUSION || *value > 0))
        return true;
    derivatives_fail(&sim->model,
                     which == MODEL_INFUSION ? "infusion (rate and duration must be above 0)"
                                             : "bioavailability",
                     t, which != MODEL_INFUSION);
    return outcome_model_failed(sim);
}

bool doses_course(struct simulation *sim, const struct next_dose *next, struct course *course)
{
    struct stops *s = sim->stops;
    const struct dose *dose = &sim->evaluation->task->experiment.dose[next->dose];
    size_t state = dose->target, n_block = sim->blocks.n;
    double t = doses_time(sim, next), share, given;
    double *by = s->doses.by_rate, *by_length = s->doses.by_length, *by_given = s->jump.star;
    bool is_length = dose->duration != 0, is_modelled = dose->duration < 0 || dose->rate < 0;
    if (!take_value(sim, MODEL_BIOAVAILABILITY, t, state, 1, &share) ||
        !take_parameters(sim, MODEL_LAG, t, state, 1, s->jump.dt) ||
        !take_parameters(sim, MODEL_BIOAVAILABILITY, t, state, 1, s->doses.by_share))
        return false;
    given = is_length ? dose->duration : dose->rate;
    memset(by_given, 0, n_block * sizeof(double));
    if (is_modelled && (!take_value(sim, MODEL_INFUSION, t, state, NAN, &given) ||
                        !take_parameters(sim, MODEL_INFUSION, t, state, 1, by_given)))
        return false;
    double amount = given != 0 ? dose->amount / given : dose->amount; /* is a rate, or a length */
    *course = (struct course){share * dose->amount, share * amount, given};
    for (size_t k = 0; k < n_block; k++) {
        by[k] =
            amount * s->doses.by_share[k] - (given != 0 ? course->rate / given * by_given[k] : 0);
        by_length[k] = by_given[k];
    }
    if (given == 0 || is_length)
        return true;
    *course = (struct course){share * dose->amount, given, share * amount};
    s->doses.by_rate = by_length;
    s->doses.by_length = by;
    return true;
}

/* An infusion that began at `since` and runs until later. */
static bool begin_infusion(struct simulation *sim, const struct course *course, double since,
                           uint32_t state)
{
    struct stops *s = sim->stops;
    if (s->pending.n >= MOST_PAST)
        return outcome_fail(sim, EVALUATION_MODEL_FAILED,
                            "too many infusions run at the same time");
    double *numbers = pending_add(sim, (struct pending_item){.t = since + course->length,
                                                             .is_end = true, .index = state,
                                                             .rate = course->rate});
    for (size_t k = 0; numbers && k < sim->blocks.n; k++) {
        numbers[k] = s->jump.dt[k] + s->doses.by_length[k];
        numbers[sim->blocks.n + k] = s->doses.by_rate[k];
    }
    return numbers;
}

/* Resumes an infusion that took effect earlier, unless it has ended: false in *runs. */
static bool resume(struct simulation *sim, const struct next_dose *past, bool *runs)
{
    struct course course;
    if (!doses_course(sim, past, &course))
        return false;
    *runs = doses_infuses(sim->stops, past->t, &course);
    const struct dose *dose = &sim->evaluation->task->experiment.dose[past->dose];
    return !*runs || begin_infusion(sim, &course, past->t, dose->target);
}

/* Adds the earlier repetitions of a steady dose that are still pending or still running. */
static bool add_past(struct simulation *sim, size_t i_dose)
{
    const struct dose *dose = &sim->evaluation->task->experiment.dose[i_dose];
    double now = sim->t - doses_slack(dose);
    bool runs = true;
    for (struct next_dose past = {.dose = i_dose, .number = -1}; runs; past.number--) {
        if (past.number < -MOST_PAST)
            return outcome_fail(sim, EVALUATION_MODEL_FAILED,
                                "too many steady doses last longer than their interval");
        if (!find_effect(sim, &past) ||
            !(past.t >= now ? add_dose(sim, past) : resume(sim, &past, &runs)))
            return false;
    }
    sum_rates(sim);
    return true;
}

bool doses_begin(struct simulation *sim)
{
    struct stops *s = sim->stops;
    uint8_t steady = sim->evaluation->task->experiment.dose[s->doses.i_dose].steady;
    struct next_dose next = {.dose = s->doses.i_dose++,
                             .is_steady = steady == DOSE_RESETS || steady == DOSE_ADDS};
    return (steady != DOSE_CONTINUES || add_past(sim, next.dose)) && find_effect(sim, &next) &&
           add_dose(sim, next);
}

/* Removes what earlier doses and events have left to be done, but for doses from `dose` on. */
static void forget(struct stops *s, size_t dose)
{
    size_t n = 0;
    for (size_t i = 0; i < s->doses.n; i++)
        if (s->doses.next[i].dose >= dose)
            s->doses.next[n++] = s->doses.next[i];
    s->doses.n = n;
    s->pending.n = 0;
}

size_t doses_due(const struct simulation *sim, int side)
{
    const struct stops *s = sim->stops;
    const struct dose *dose = sim->evaluation->task->experiment.dose;
    size_t best = s->doses.n;
    for (size_t i = 0; i < s->doses.n; i++)
        if (s->doses.next[i].t <= s->limit && dose[s->doses.next[i].dose].side < side &&
            (best == s->doses.n || s->doses.next[i].t < s->doses.next[best].t))
            best = i;
    return best;
}

bool doses_repeat(struct simulation *sim, size_t i)
{
    struct stops *s = sim->stops;
    struct next_dose *next = &s->doses.next[i];
    bool is_past = next->number < 0;
    /* the states of a steady dose are followed by the dose */
    next->number += next->is_steady ? 0 : 1;
    next->is_steady = false;
    if (!is_past && next->number < sim->evaluation->task->experiment.dose[next->dose].count)
        return find_effect(sim, next);
    memmove(s->doses.next + i, s->doses.next + i + 1, (--s->doses.n - i) * sizeof *s->doses.next);
    return true;
}

/* The lags of later doses; those that are on their way lose the derivatives of their times. */
static bool again(struct simulation *sim)
{
    struct stops *s = sim->stops;
    bool good = true;
    for (size_t i = 0; i < s->doses.n && good && derivatives_is_there(&sim->model, MODEL_LAG);
         i++) {
        if (doses_time(sim, &s->doses.next[i]) >= sim->t)
            good = find_effect(sim, &s->doses.next[i]);
        else
            sim->evaluation->crosses = true;
    }
    return good;
}

/* Infusions keep their rates, and lose derivatives by parameters that the model no longer has. */
static void keep_rates(struct simulation *sim)
{
    struct stops *s = sim->stops;
    for (size_t i = 0; i < s->pending.n; i++)
        for (size_t k = 0; k < sim->blocks.n && s->pending.entry[i].is_end; k++)
            if (pending_numbers(s, i)[sim->blocks.n + k] != 0 &&
                sim->blocks.parameter[k] == ODE_NONE)
                sim->evaluation->crosses = true;
    sum_rates(sim);
}

bool doses_give(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    const struct dose *dose = &sim->evaluation->task->experiment.dose[s->doses.next[i].dose];
    size_t state = dose->target, n = sim->n_state;
    struct course course;
    if (!doses_course(sim, &s->doses.next[i], &course) || !jump_travel(sim, y, NULL, s->jump.dt, 1))
        return false;
    if (doses_infuses(s, sim->t, &course)) {
        if (!begin_infusion(sim, &course, sim->t, (uint32_t)state))
            return false;
        sum_rates(sim);
    } else {
        double amount = dose->amount;
        y[state] += course.amount;
        for (size_t k = 0; k < sim->blocks.n; k++)
            y[(k + 1) * n + state] += amount * s->doses.by_share[k];
    }
    return jump_travel(sim, y, NULL, s->jump.dt, -1);
}

bool doses_give_steady(struct simulation *sim, double *y, size_t i)
{
    struct stops *s = sim->stops;
    const struct evaluation *evaluation = sim->evaluation;
    const struct next_dose next = s->doses.next[i];
    size_t n = sim->n_state, number = 0;
    for (size_t k = 0; k < next.dose; k++)
        number += evaluation->task->experiment.dose[k].steady != DOSE_SINGLE;
    const double *add = s->doses.steady + number * n * (1 + s->doses.n_column);
    if (evaluation->task->experiment.dose[next.dose].steady == DOSE_RESETS) {
        memset(y, 0, n * (1 + sim->blocks.n) * sizeof *y);
        forget(s, next.dose);
    }
    for (size_t j = 0; j < n; j++)
        y[j] += add[j];
    for (size_t c = 0; c < s->doses.n_column; c++)
        for (size_t j = 0; j < n && sim->blocks.of_sens[c] >= 0; j++)
            y[(size_t)(1 + sim->blocks.of_sens[c]) * n + j] += add[(1 + c) * n + j];
    sim->evaluation->crosses = evaluation->crosses || s->doses.crosses;
    for (i = 0; s->doses.next[i].dose != next.dose || !s->doses.next[i].is_steady;)
        i++;
    memset(s->jump.dt, 0, sim->blocks.n * sizeof *s->jump.dt);
    if (!doses_repeat(sim, i) || !add_past(sim, next.dose))
        return false;
    memset(s->jump.dt, 0, sim->blocks.n * sizeof *s->jump.dt);
    return true;
}

bool doses_change_phase(struct simulation *sim)
{
    keep_rates(sim);
    return again(sim);
}
