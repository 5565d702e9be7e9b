/* The order of what happens at one time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/blocks.h"
#include "ode/observation.h"
#include "ode/outcome.h"
#include "ode/positive.h"
#include "ode/simulation.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On either side of a stop, the right-hand side is evaluated at times that are ASIDE away from
 * it at least. */
#define ASIDE (4 * DBL_EPSILON)
/* So many executions of events, in all or at one time, never end. */
enum { MOST_EXECUTIONS = 100000, MOST_HERE = 1000 };

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

struct stops *stops_new(const struct stiffit_model *abi, size_t n_sensitivity)
{
    struct stops *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    size_t n = abi->n_state, n_function = (size_t)abi->n_switching + abi->n_event,
           n_row = larger(n, n_function);
    size_t n_block = 1 + n_sensitivity, n_early = 0;
    for (uint32_t i = 0; i < abi->n_event && abi->event_kind; i++)
        n_early = abi->event_kind[i] & STIFFIT_EVENT_EARLY_VALUES ? n * (1 + n_block) : n_early;
    s->abi = abi;
    s->n_function = n_function;
    s->n_block = n_block;
    s->pending.stride = n_block + larger(n_block, n_early);
    struct doses *doses = &s->doses;
    struct roots *roots = &s->roots;
    struct jump *jump = &s->jump;
    const struct { double **at; size_t n;
    } arrays[] = {{&s->fixed, n_function},
                  {&roots->value, n_function},
                  {&roots->last, n_function},
                  {&roots->near, n_function},
                  {&roots->sample, STOPS_PARTS * n_function},
                  {&roots->point, STOPS_PARTS * (1 + n_function)},
                  {&roots->y_begin, n},
                  {&jump->f, n},
                  {&jump->f_left, n},
                  {&jump->y_new, n},
                  {&jump->star, larger(n, n_block)},
                  {&jump->all, n * (1 + n_block)},
                  {&jump->row, n_row},
                  {&jump->by_state, n_row * (n + 1)},
                  {&jump->by_parameter, n_row * abi->n_parameter},
                  {&jump->dt, n_block},
                  {&jump->dt_cause, n_block},
                  {&jump->dt_switch, n_block},
                  {&doses->by_share, n_block},
                  {&doses->by_rate, n_block},
                  {&doses->by_length, n_block},
                  {&doses->rate, n},
                  {&doses->rate_parameter, n * abi->n_parameter}};
    bool complete = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        complete = (*arrays[i].at = calloc(arrays[i].n + 1, sizeof(double))) && complete;
    s->i_knot = calloc((size_t)abi->n_input + 1, sizeof *s->i_knot);
    s->roots.is_watched = calloc(n_function + 1, sizeof *s->roots.is_watched);
    s->roots.is_true = calloc(n_function + 1, sizeof *s->roots.is_true);
    if (complete && s->i_knot && s->roots.is_watched && s->roots.is_true)
        return s;
    stops_free(s);
    return NULL;
}

void stops_free(struct stops *s)
{
    if (!s)
        return;
    const struct doses *doses = &s->doses;
    const struct roots *roots = &s->roots;
    const struct jump *jump = &s->jump;
    void *const arrays[] = {s->fixed,         s->i_knot,         roots->value,
                            roots->last,      roots->near,       roots->sample,
                            roots->point,     roots->y_begin,    roots->is_watched,
                            roots->is_true,   jump->f,           jump->f_left,
                            jump->y_new,      jump->star,        jump->all,
                            jump->row,        jump->by_state,    jump->by_parameter,
                            jump->dt,         jump->dt_cause,    jump->dt_switch,
                            doses->next,      doses->by_share,   doses->by_rate,
                            doses->by_length, doses->rate,       doses->rate_parameter,
                            s->pending.entry, s->pending.number, s};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Nothing has happened yet. */
static void begin_schedule(struct simulation *sim)
{
    struct stops *s = sim->stops;
    s->doses.n = s->doses.i_dose = s->pending.n = s->i_call = s->i_phase = 0;
    s->pending.n_made = s->n_executed = s->n_here = s->n_given = 0;
    memset(s->i_knot, 0, s->abi->n_input * sizeof *s->i_knot);
    for (size_t i = 0; i < s->n_function; i++)
        s->fixed[i] = INFINITY;
    memset(s->doses.rate, 0, s->abi->n_state * sizeof(double));
}

static double earliest(const struct simulation *sim)
{
    const struct stops *s = sim->stops;
    double next = INFINITY;
    for (size_t i = 0; i < s->n_function; i++)
        next = fmin(next, s->fixed[i]);
    for (size_t i = 0; i < s->abi->n_input; i++)
        next = fmin(next, inputs_next_knot(sim, i));
    for (size_t i = 0; i < s->pending.n; i++)
        next = fmin(next, s->pending.entry[i].t);
    for (size_t i = 0; i < s->doses.n; i++)
        next = fmin(next, s->doses.next[i].t);
    if (s->i_call < sim->evaluation->task->experiment.n_call)
        next = fmin(next, sim->evaluation->task->experiment.call[s->i_call].time);
    if (s->i_phase < sim->evaluation->task->n_phase)
        next = fmin(next, sim->evaluation->task->phase[s->i_phase]);
    return next;
}

/* The stop's time, or that of a measurement from which it differs by rounding alone: 3 and
 * 30*0.1 are one time. */
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
    bool is_one = t < INFINITY && low < task->n_time && task->time[low] <= t + closest &&
                  task->time[low] > sim->stops->limit;
    return is_one ? task->time[low] : t;
}

/* Sets the next stop after `limit`. False: a lag cannot be computed, or no memory; the
 * evaluation is finished. */
static bool find_next(struct simulation *sim)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    s->next = earliest(sim);
    /* A dose takes effect at its time or later. */
    while (s->doses.i_dose < task->experiment.n_dose &&
           task->experiment.dose[s->doses.i_dose].time <= fmax(s->next, s->limit)) {
        if (!doses_begin(sim))
            return false;
        s->next = earliest(sim);
    }
    s->next = with_measurement(sim, s->next);
    return true;
}

static void set_limit(struct simulation *sim)
{
    sim->stops->limit = sim->t + STOPS_CLOSEST * fabs(sim->t);
}

/* The times after and before `t` at which the right-hand side is that of the next and the
 * previous stretch. */
static double behind(double t) { return t + fmax(ASIDE * fabs(t), DBL_MIN); }
static double ahead(double t)
{
    return t < INFINITY ? t - fmax(ASIDE * fabs(t), DBL_MIN) : INFINITY;
}

bool stops_begin(struct simulation *sim)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    begin_schedule(sim);
    sim->model.rate = s->doses.rate;
    sim->model.rate_parameter = s->doses.rate_parameter;
    sim->model.span = ode_task_last(task) - task->experiment.t0;
    s->roots.is_root = s->restarts = s->is_late = false;
    memset(s->roots.near, 0, s->n_function * sizeof *s->roots.near);
    set_limit(sim);
    if (s->abi->n_input > 0)
        (void)inputs_pass_knots(sim, s->limit);
    return true;
}

/* Times of switches that do not depend on states; NaN: those of a watched one. */
static bool take_switch_times(struct simulation *sim)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching;
    for (size_t i = 0; i < n; i++)
        s->jump.row[i] = NAN;
    if (derivatives_is_there(&sim->model, MODEL_SWITCHING_TIME) &&
        derivatives_value(&sim->model, MODEL_SWITCHING_TIME, sim->t, NULL, s->jump.row) !=
            STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t i = 0; i < n; i++) {
        s->roots.is_watched[i] = isnan(s->jump.row[i]);
        s->fixed[i] = s->jump.row[i] > sim->t ? s->jump.row[i] : INFINITY;
    }
    return true;
}

static bool take_event_times(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching;
    if (s->abi->n_event > 0 &&
        derivatives_value(&sim->model, MODEL_WHEN, sim->t, y, s->jump.row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t i = 0; i < s->abi->n_event; i++) {
        bool is_timed = stops_kind(s, i) & STIFFIT_EVENT_TIMED;
        s->roots.is_watched[n + i] = !is_timed;
        s->fixed[n + i] = is_timed && s->jump.row[i] >= sim->t ? s->jump.row[i] : INFINITY;
        if (is_timed && isnan(s->jump.row[i])) {
            derivatives_fail(&sim->model, "event_when", sim->t, true);
            return outcome_model_failed(sim);
        }
    }
    return true;
}

bool stops_begin_state(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    set_limit(sim);
    if (!take_switch_times(sim) || !take_event_times(sim, y))
        return false;
    root_evaluate(sim, sim->t, y, s->roots.value);
    memset(s->roots.is_true, 0, s->n_function * sizeof *s->roots.is_true);
    /* from a steady state, where triggers have been true or false before */
    bool goes_on = sim->evaluation->begin;
    for (size_t i = 0; i < s->n_function; i++)
        if (goes_on || i < s->abi->n_switching ||
            !(stops_kind(s, i - s->abi->n_switching) & STIFFIT_EVENT_INITIALLY_FALSE))
            root_take(s, i);
    return find_next(sim);
}

/* Fires the events whose triggers have become true by what has happened, at a time that moves by
 * dt. */
static bool look_at_triggers(struct simulation *sim, double *y, const double *dt)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching;
    root_evaluate(sim, sim->t, y, s->roots.value);
    for (size_t i = 0; i < s->n_function; i++) {
        bool changes = root_differs(s, i);
        root_take(s, i);
        if (!changes || i < n)
            continue;
        if (!s->roots.is_true[i])
            pending_cancel(s, i - n);
        if (s->roots.is_true[i] && !events_fire(sim, y, i - n, dt))
            return false;
    }
    return true;
}

static bool is_endless(struct simulation *sim, size_t event)
{
    struct stops *s = sim->stops;
    char why[120];
    if (++s->n_executed <= MOST_EXECUTIONS && ++s->n_here <= MOST_HERE)
        return false;
    snprintf(why, sizeof why, "the event %.60s is executed for ever", s->abi->event_name[event]);
    outcome_fail(sim, EVALUATION_MODEL_FAILED, why);
    return true;
}

static bool execute(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    for (size_t i; (i = events_next(sim, y, 0)) != s->pending.n;) {
        if (i > s->pending.n)
            return outcome_model_failed(sim);
        if (is_endless(sim, s->pending.entry[i].index) || !events_execute(sim, y, i))
            return false;
        s->restarts = true;
        memcpy(s->jump.dt_cause, s->jump.dt, sim->blocks.n * sizeof(double));
        if (!look_at_triggers(sim, y, s->jump.dt_cause))
            return false;
    }
    return true;
}

/* Behind a switch whose right-hand side leads back to it, the trajectory slides along it and
 * would meet it for ever: it is no longer watched, and the derivatives are not those of sliding. */
static bool look_for_sliding(struct simulation *sim, double *y, size_t i, double slope)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state, n_row = s->abi->n_switching;
    if (derivatives_rhs(&sim->model, sim->t, y, s->jump.f) != STIFFIT_OK ||
        derivatives_by_state_and_time(&sim->model, MODEL_SWITCHING, sim->t, y, s->jump.by_state) !=
            STIFFIT_OK)
        return outcome_model_failed(sim);
    double after = s->jump.by_state[i + n * n_row];
    for (size_t j = 0; j < n; j++)
        after += s->jump.by_state[i + j * n_row] * s->jump.f[j];
    if (slope * after < 0) {
        s->roots.is_watched[i] = false;
        sim->evaluation->crosses = true;
    }
    return true;
}

/* The right-hand side from now on is that behind the stop. At a root that is at this very time:
 * a later one, with the state of this one, may be on the other side again. */
static void look_ahead(struct simulation *sim)
{
    struct stops *s = sim->stops;
    bool is_due = !s->roots.is_root;
    for (size_t i = 0; i < s->abi->n_switching; i++)
        is_due = is_due || s->fixed[i] <= s->limit;
    s->since = is_due ? behind(sim->t) : sim->t;
}

/* Goes to the other side of switches: of those whose time has come, and of those with a root. If
 * two at one time do not move alike, there is no derivative (coincidence.c). */
static bool pass_switches(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching, first = n;
    double *dt = s->jump.dt, *other = s->jump.dt_cause, slope = 0, slope_of_first = 0;
    s->has_switch = false;
    for (size_t i = 0; i < n; i++) {
        bool is_due = s->fixed[i] <= s->limit, is_root = s->roots.is_root && root_differs(s, i);
        if (!is_due && !is_root)
            continue;
        double *out = first == n ? dt : other;
        s->fixed[i] = is_due ? INFINITY : s->fixed[i];
        root_take(s, i);
        if (root_is_kink(s, i)) {
            s->restarts = true;
            continue;
        }
        if (is_due ? !jump_fixed(sim, y, i, out)
                   : !root_differentiate(sim, y, i, s->jump.f_left, out, &slope))
            return false;
        s->has_switch = s->has_switch || is_root;
        slope_of_first = first == n ? slope : slope_of_first;
        first = first == n ? i : first;
    }
    if (first == n)
        return true;
    memcpy(s->jump.dt_switch, dt, sim->blocks.n * sizeof(double));
    s->restarts = true;
    if (!jump_travel(sim, y, s->roots.is_root ? s->jump.f_left : NULL, dt, 1))
        return false;
    sim->model.since = s->since;
    sim->model.until = INFINITY;
    return jump_travel(sim, y, NULL, dt, -1) &&
           (!s->roots.is_watched[first] || look_for_sliding(sim, y, first, slope_of_first));
}

/* Executes the events that come first at this time; the triggers and values of the others are
 * evaluated after them. */
static bool happen_first(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching, i;
    for (i = 0; i < s->abi->n_event; i++) {
        if (!(stops_kind(s, i) & STIFFIT_EVENT_FIRST) || !(s->fixed[n + i] <= s->limit))
            continue;
        s->fixed[n + i] = INFINITY;
        if (!jump_fixed(sim, y, n + i, s->jump.dt_cause) ||
            !events_fire(sim, y, i, s->jump.dt_cause))
            return false;
    }
    while ((i = events_next(sim, y, STIFFIT_EVENT_FIRST)) < s->pending.n) {
        if (is_endless(sim, s->pending.entry[i].index) || !events_execute(sim, y, i))
            return false;
        s->restarts = true;
        root_evaluate(sim, sim->t, y, s->roots.value);
    }
    return i == s->pending.n || outcome_model_failed(sim);
}

/* Fires events that the task calls, timed ones that are due, and those whose triggers have a
 * root. The derivatives of their times are those before any is executed. */
static bool fire(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching;
    double slope;
    const struct ode_task *task = sim->evaluation->task;
    memset(s->jump.dt_cause, 0, s->n_block * sizeof(double));
    const struct event_call *call = task->experiment.call;
    for (; s->i_call < task->experiment.n_call && call[s->i_call].time <= s->limit; s->i_call++)
        if (!events_fire_later(sim, y, call[s->i_call].event, s->jump.dt_cause))
            return false;
    for (size_t i = n; i < s->n_function; i++) {
        double *dt = s->jump.dt_cause;
        bool is_late = s->fixed[i] == -INFINITY; /* and its time does not matter */
        bool is_due = s->fixed[i] <= s->limit, is_root = s->roots.is_root && root_differs(s, i);
        if (!is_due && !is_root)
            continue;
        s->fixed[i] = is_due ? INFINITY : s->fixed[i];
        root_take(s, i);
        if (is_root && !s->roots.is_true[i]) {
            pending_cancel(s, i - n);
            continue;
        }
        if (is_late)
            memset(dt, 0, sim->blocks.n * sizeof(double));
        else if (is_root && s->has_switch) /* behind the switch, the trigger may be constant */
            memcpy(dt, s->jump.dt_switch, sim->blocks.n * sizeof(double));
        else if (!is_due && sim->blocks.n &&
                 derivatives_rhs(&sim->model, sim->t, y, s->jump.f_left) != STIFFIT_OK)
            return outcome_model_failed(sim);
        else if (is_due ? !jump_fixed(sim, y, i, dt)
                        : !root_differentiate(sim, y, i, s->jump.f_left, dt, &slope))
            return false;
        if (!events_fire_later(sim, y, i - n, dt))
            return false;
    }
    return true;
}

/* A timed event whose new time has passed happens at once. */
static bool move_event_times(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching;
    if (s->abi->n_event > 0 &&
        derivatives_value(&sim->model, MODEL_WHEN, sim->t, y, s->jump.row) != STIFFIT_OK)
        return outcome_model_failed(sim);
    for (size_t i = 0; i < s->abi->n_event; i++) {
        double *fixed = &s->fixed[n + i];
        if (!(stops_kind(s, i) & STIFFIT_EVENT_TIMED))
            continue;
        if (isnan(s->jump.row[i])) {
            derivatives_fail(&sim->model, "event_when", sim->t, true);
            return outcome_model_failed(sim);
        }
        if (s->jump.row[i] > s->limit)
            *fixed = s->jump.row[i];
        else if (*fixed < INFINITY && *fixed > s->limit)
            *fixed = s->jump.row[i] < sim->t ? -INFINITY : s->jump.row[i];
    }
    return true;
}

/* From here on, other parameters. */
static bool begin_phase(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    size_t before = s->i_phase;
    while (s->i_phase < task->n_phase && task->phase[s->i_phase] <= s->limit)
        s->i_phase++;
    if (s->i_phase == before)
        return true;
    s->restarts = true;
    if (!blocks_set_phase(sim, s->i_phase))
        return outcome_model_failed(sim);
    if (sim->n_state == 0)
        return true;
    return doses_change_phase(sim) && take_switch_times(sim) && move_event_times(sim, y);
}

/* What happens before the measurements of side 0. */
static bool happen_before(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    set_limit(sim);
    s->n_here = s->n_given = 0;
    s->restarts = s->roots.is_root; /* the integrator is behind it */
    memset(s->jump.dt_cause, 0, s->n_block * sizeof(double));
    if (s->abi->n_input > 0 && inputs_pass_knots(sim, s->limit))
        s->restarts = true;
    for (size_t i = s->pending.n; i-- > 0;)
        if (s->pending.entry[i].is_end && s->pending.entry[i].t <= s->limit) {
            s->restarts = true;
            if (!doses_end_infusion(sim, y, i))
                return false;
        }
    look_ahead(sim);
    if (!begin_phase(sim, y) || !pass_switches(sim, y))
        return false;
    sim->model.since = s->since;
    sim->model.until = INFINITY;
    if (!happen_first(sim, y) || !fire(sim, y))
        return false;
    s->roots.is_root = false;
    memset(s->jump.dt_cause, 0, s->n_block * sizeof(double));
    return look_at_triggers(sim, y, s->jump.dt_cause) && execute(sim, y);
}

/* Fires the events that have waited for the measurements, and executes these and the late ones. */
static bool happen_late(struct simulation *sim, double *y)
{
    struct stops *s = sim->stops;
    bool any = false;
    s->is_late = true;
    for (size_t i = 0; i < s->pending.n; i++)
        any = any || s->pending.entry[i].is_waiting || pending_is_due(s, &s->pending.entry[i]);
    for (size_t i = 0; any && i < s->pending.n;) {
        size_t event = s->pending.entry[i].index;
        if (!s->pending.entry[i].is_waiting) {
            i++;
            continue;
        }
        memcpy(s->jump.dt_cause, pending_numbers(s, i), sim->blocks.n * sizeof(double));
        pending_remove(s, i);
        i = 0;
        if (!events_fire(sim, y, event, s->jump.dt_cause))
            return false;
    }
    bool good = !any || execute(sim, y);
    s->is_late = false;
    return good;
}

/* No step is made between the doses of one time, so that no other budget ends them. */
static bool gives_too_many(struct simulation *sim)
{
    if (++sim->stops->n_given <= MOST_EXECUTIONS)
        return false;
    char why[100];
    snprintf(why, sizeof why, "more than %d doses are given at the time %.10g", MOST_EXECUTIONS,
             sim->t);
    outcome_fail(sim, EVALUATION_MODEL_FAILED, why);
    return true;
}

/* Executes what happens after the measurements of lower sides, and before those of this side. */
static bool happen_after(struct simulation *sim, int side, double *y)
{
    struct stops *s = sim->stops;
    if (side == 1 && !happen_late(sim, y))
        return false;
    for (size_t i; (i = doses_due(sim, side)) < s->doses.n;) {
        s->restarts = true;
        if (gives_too_many(sim))
            return false;
        if (s->doses.next[i].is_steady ? !doses_give_steady(sim, y, i)
                                       : !doses_give(sim, y, i) || !doses_repeat(sim, i))
            return false;
        memcpy(s->jump.dt_cause, s->jump.dt, sim->blocks.n * sizeof(double));
        if (!look_at_triggers(sim, y, s->jump.dt_cause) || !execute(sim, y))
            return false;
    }
    return true;
}

bool stops_happen(struct simulation *sim, double *y, bool initial)
{
    struct stops *s = sim->stops;
    set_limit(sim);
    /* The very state in which the root was found: by rounding, another way to interpolate may
     * not be beyond it. */
    if (s->roots.is_root && s->roots.has_state)
        memcpy(y, s->roots.y_begin, sim->n_state * sizeof *y);
    if (!coincidence_look(sim, y))
        return false;
    bool is_last = false;
    for (int side = -1; !is_last; side++) {
        if ((side == 0 && !happen_before(sim, y)) || (side >= 1 && !happen_after(sim, side, y)))
            return false;
        is_last = side >= 1 && doses_due(sim, INT8_MAX) == s->doses.n;
        if (!observation_answer_until(sim, sim->t, is_last ? INT8_MAX : side, y, initial))
            return false;
        if (sim->begins_anew)
            return true;
    }
    if (!all_finite(y, (1 + sim->blocks.n) * sim->n_state)) {
        derivatives_fail(&sim->model, "events", sim->t, true);
        return outcome_model_failed(sim);
    }
    if (!find_next(sim))
        return false;
    root_evaluate(sim, sim->t, y, s->roots.last);
    s->roots.begin = sim->t;
    memcpy(s->roots.y_begin, y, sim->n_state * sizeof *y);
    sim->model.since = s->since;
    sim->model.until = ahead(s->next);
    if (initial) {
        tolerance_begin(sim, y);
        positive_begin(sim, y);
    } else if (s->restarts) {
        positive_jump(sim, y);
        tolerance_jump(sim, y);
    }
    return true;
}

bool stops_await_steady_state(const struct simulation *sim)
{
    const struct ode_task *task = sim->evaluation->task;
    return sim->has_stops && sim->stops->next == INFINITY && sim->rows.i_time < task->n_time &&
           task->time[sim->rows.i_time] == INFINITY;
}

bool stops_set_inputs(struct simulation *sim, double t, int side)
{
    sim->stops->limit = side < 0 ? nextafter(t, -INFINITY) : t;
    if (sim->abi->n_input > 0)
        (void)inputs_pass_knots(sim, sim->stops->limit);
    return begin_phase(sim, NULL);
}
