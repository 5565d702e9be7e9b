/* The order of what happens at one time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/observer.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On either side of a stop, the right-hand side is evaluated at times that are ASIDE away from it at least. */
#define ASIDE (4 * DBL_EPSILON)
/* So many executions of events, in all or at one time, never end. */
enum { MOST_EXECUTIONS = 100000, MOST_HERE = 1000 };

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

struct stops *stops_new(const struct stiffit_model *abi, size_t n_sensitivity)
{
    struct stops *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    size_t n = abi->n_state, n_function = (size_t)abi->n_switching + abi->n_event, n_row = larger(n, n_function);
    size_t n_block = 1 + n_sensitivity, n_early = 0;
    for (uint32_t i = 0; i < abi->n_event && abi->event_kind; i++)
        n_early = abi->event_kind[i] & STIFFIT_EVENT_EARLY_VALUES ? n * (1 + n_block) : n_early;
    s->abi = abi;
    s->n_function = n_function;
    s->n_block = n_block;
    s->stride = n_block + larger(n_block, n_early);
    const struct { double **at; size_t n; } arrays[] = {
        {&s->fixed, n_function}, {&s->value, n_function}, {&s->last, n_function}, {&s->near, n_function},
        {&s->sample, STOPS_PARTS * n_function},
        {&s->point, STOPS_PARTS * (1 + n_function)}, {&s->f, n}, {&s->f_left, n}, {&s->y_new, n}, {&s->y_begin, n},
        {&s->star, larger(n, n_block)}, {&s->all, n * (1 + n_block)}, {&s->row, n_row}, {&s->by_state, n_row * (n + 1)},
        {&s->by_parameter, n_row * abi->n_parameter}, {&s->dt, n_block}, {&s->dt_cause, n_block}, {&s->rate, n},
        {&s->dt_switch, n_block}, {&s->by_share, n_block}, {&s->by_rate, n_block}, {&s->by_length, n_block},
        {&s->rate_parameter, n * abi->n_parameter}};
    bool complete = true;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        complete = (*arrays[i].at = calloc(arrays[i].n + 1, sizeof(double))) && complete;
    s->i_knot = calloc((size_t)abi->n_input + 1, sizeof *s->i_knot);
    s->is_watched = calloc(n_function + 1, sizeof *s->is_watched);
    s->is_true = calloc(n_function + 1, sizeof *s->is_true);
    if (complete && s->i_knot && s->is_watched && s->is_true)
        return s;
    stops_free(s);
    return NULL;
}

void stops_free(struct stops *s)
{
    if (!s)
        return;
    void *const arrays[] = {s->fixed, s->value, s->last, s->near, s->sample, s->point, s->f, s->f_left, s->y_new, s->y_begin,
                            s->star, s->all, s->row, s->by_state, s->by_parameter, s->dt, s->dt_cause, s->rate,
                            s->rate_parameter, s->dt_switch, s->by_share, s->by_rate, s->by_length, s->i_knot,
                            s->is_watched, s->is_true, s->dose, s->later, s->later_number, s};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* Whether something happens that does not come from a switch. */
static bool is_eventful(const struct stiffit_model *abi, const struct ode_task *task)
{
    bool is_endless = task->n_time && task->time[task->n_time - 1] == INFINITY;
    return abi->n_input || task->n_phase || (abi->n_state && (task->n_dose || abi->n_event || is_endless));
}

bool ode_has_stops(const struct stiffit_model *abi, const struct ode_task *task)
{
    return is_eventful(abi, task) || (abi->n_state && abi->n_switching);
}

bool ode_has_periods(const struct ode_task *task)
{
    for (size_t i = 0; i < task->n_dose; i++)
        if (task->dose[i].steady)
            return true;
    return false;
}

bool ode_takes_adjoint(const struct stiffit_model *abi, const struct ode_task *task)
{
    return !is_eventful(abi, task) && !task->n_variant;
}

static void set_limit(struct observer *ob) { ob->stops->limit = ob->t + STOPS_CLOSEST * fabs(ob->t); }

/* The times after and before `t` at which the right-hand side is that of the next and the previous stretch. */
static double behind(double t) { return t + fmax(ASIDE * fabs(t), DBL_MIN); }
static double ahead(double t) { return t < INFINITY ? t - fmax(ASIDE * fabs(t), DBL_MIN) : INFINITY; }

bool stops_begin(struct observer *ob)
{
    struct stops *s = ob->stops;
    const struct ode_task *task = ob->evaluation->task;
    schedule_begin(ob);
    ob->model.rate = s->rate;
    ob->model.rate_parameter = s->rate_parameter;
    ob->model.span = ode_task_last(task) - task->t0;
    s->is_root = s->restarts = s->is_late = false;
    memset(s->near, 0, s->n_function * sizeof *s->near);
    set_limit(ob);
    if (s->abi->n_input > 0)
        (void)schedule_pass_knots(ob, s->limit);
    return true;
}

/* Times of switches that do not depend on states; NaN: those of a watched one. */
static bool take_switch_times(struct observer *ob)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching;
    for (size_t i = 0; i < n; i++)
        s->row[i] = NAN;
    if (derivatives_is_there(&ob->model, MODEL_SWITCHING_TIME) &&
        derivatives_value(&ob->model, MODEL_SWITCHING_TIME, ob->t, NULL, s->row) != STIFFIT_OK)
        return observer_fail(ob);
    for (size_t i = 0; i < n; i++) {
        s->is_watched[i] = isnan(s->row[i]);
        s->fixed[i] = s->row[i] > ob->t ? s->row[i] : INFINITY;
    }
    return true;
}

static bool take_event_times(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching;
    if (s->abi->n_event > 0 && derivatives_value(&ob->model, MODEL_WHEN, ob->t, y, s->row) != STIFFIT_OK)
        return observer_fail(ob);
    for (size_t i = 0; i < s->abi->n_event; i++) {
        bool is_timed = stops_kind(s, i) & STIFFIT_EVENT_TIMED;
        s->is_watched[n + i] = !is_timed;
        s->fixed[n + i] = is_timed && s->row[i] >= ob->t ? s->row[i] : INFINITY;
        if (is_timed && isnan(s->row[i])) {
            derivatives_fail(&ob->model, "event_when", ob->t, true);
            return observer_fail(ob);
        }
    }
    return true;
}

bool stops_begin_state(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    set_limit(ob);
    if (!take_switch_times(ob) || !take_event_times(ob, y))
        return false;
    root_evaluate(ob, ob->t, y, s->value);
    memset(s->is_true, 0, s->n_function * sizeof *s->is_true);
    bool goes_on = ob->evaluation->begin; /* from a steady state, where triggers have been true or false before */
    for (size_t i = 0; i < s->n_function; i++)
        if (goes_on || i < s->abi->n_switching || !(stops_kind(s, i - s->abi->n_switching) & STIFFIT_EVENT_INITIALLY_FALSE))
            root_take(s, i);
    return schedule_look(ob);
}

/* Fires the events whose triggers have become true by what has happened, at a time that moves by dt. */
static bool look_at_triggers(struct observer *ob, double *y, const double *dt)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching;
    root_evaluate(ob, ob->t, y, s->value);
    for (size_t i = 0; i < s->n_function; i++) {
        bool changes = root_differs(s, i);
        root_take(s, i);
        if (!changes || i < n)
            continue;
        if (!s->is_true[i])
            schedule_cancel(s, i - n);
        if (s->is_true[i] && !jump_fire(ob, y, i - n, dt))
            return false;
    }
    return true;
}

static bool is_endless(struct observer *ob, size_t event)
{
    struct stops *s = ob->stops;
    char why[120];
    if (++s->n_executed <= MOST_EXECUTIONS && ++s->n_here <= MOST_HERE)
        return false;
    snprintf(why, sizeof why, "the event %.60s is executed for ever", s->abi->event_name[event]);
    observer_stop(ob, EVALUATION_MODEL_FAILED, why);
    return true;
}

static bool execute(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    for (size_t i; (i = schedule_execution(ob, y, 0)) != s->n_later;) {
        if (i > s->n_later)
            return observer_fail(ob);
        if (is_endless(ob, s->later[i].index) || !jump_execute(ob, y, i))
            return false;
        s->restarts = true;
        memcpy(s->dt_cause, s->dt, ob->n_block * sizeof(double));
        if (!look_at_triggers(ob, y, s->dt_cause))
            return false;
    }
    return true;
}

/* Behind a switch whose right-hand side leads back to it, the trajectory slides along it and would meet it for ever: it is no
 * longer watched, and the derivatives are not those of sliding. */
static bool look_for_sliding(struct observer *ob, double *y, size_t i, double slope)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state, n_row = s->abi->n_switching;
    if (derivatives_rhs(&ob->model, ob->t, y, s->f) != STIFFIT_OK ||
        derivatives_by_state_and_time(&ob->model, MODEL_SWITCHING, ob->t, y, s->by_state) != STIFFIT_OK)
        return observer_fail(ob);
    double after = s->by_state[i + n * n_row];
    for (size_t j = 0; j < n; j++)
        after += s->by_state[i + j * n_row] * s->f[j];
    if (slope * after < 0) {
        s->is_watched[i] = false;
        ob->evaluation->crosses = true;
    }
    return true;
}

/* The right-hand side from now on is that behind the stop. At a root that is at this very time: a later one, with the state of
 * this one, may be on the other side again. */
static void look_ahead(struct observer *ob)
{
    struct stops *s = ob->stops;
    bool is_due = !s->is_root;
    for (size_t i = 0; i < s->abi->n_switching; i++)
        is_due = is_due || s->fixed[i] <= s->limit;
    s->since = is_due ? behind(ob->t) : ob->t;
}

/* Goes to the other side of switches: of those whose time has come, and of those with a root. If two at one time
 * do not move alike, there is no derivative (meet.c). */
static bool pass_switches(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching, first = n;
    double *dt = s->dt, *other = s->dt_cause, slope = 0, slope_of_first = 0;
    s->has_switch = false;
    for (size_t i = 0; i < n; i++) {
        bool is_due = s->fixed[i] <= s->limit, is_root = s->is_root && root_differs(s, i);
        if (!is_due && !is_root)
            continue;
        double *out = first == n ? dt : other;
        s->fixed[i] = is_due ? INFINITY : s->fixed[i];
        root_take(s, i);
        if (is_due ? !jump_fixed(ob, y, i, out) : !root_differentiate(ob, y, i, s->f_left, out, &slope))
            return false;
        s->has_switch = s->has_switch || is_root;
        slope_of_first = first == n ? slope : slope_of_first;
        first = first == n ? i : first;
    }
    if (first == n)
        return true;
    memcpy(s->dt_switch, dt, ob->n_block * sizeof(double));
    s->restarts = true;
    if (!jump_travel(ob, y, s->is_root ? s->f_left : NULL, dt, 1))
        return false;
    ob->model.since = s->since;
    ob->model.until = INFINITY;
    return jump_travel(ob, y, NULL, dt, -1) && (!s->is_watched[first] || look_for_sliding(ob, y, first, slope_of_first));
}

/* Executes the events that come before others of their time, whose triggers and values are those behind them. */
static bool happen_first(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching, i;
    for (i = 0; i < s->abi->n_event; i++) {
        if (!(stops_kind(s, i) & STIFFIT_EVENT_FIRST) || !(s->fixed[n + i] <= s->limit))
            continue;
        s->fixed[n + i] = INFINITY;
        if (!jump_fixed(ob, y, n + i, s->dt_cause) || !jump_fire(ob, y, i, s->dt_cause))
            return false;
    }
    while ((i = schedule_execution(ob, y, STIFFIT_EVENT_FIRST)) < s->n_later) {
        if (is_endless(ob, s->later[i].index) || !jump_execute(ob, y, i))
            return false;
        s->restarts = true;
        root_evaluate(ob, ob->t, y, s->value);
    }
    return i == s->n_later || observer_fail(ob);
}

/* Fires events that the task calls, timed ones that are due, and those whose triggers have a root. The derivatives of their
 * times are those before any is executed. */
static bool fire(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching;
    double slope;
    const struct ode_task *task = ob->evaluation->task;
    memset(s->dt_cause, 0, s->n_block * sizeof(double));
    for (; s->i_call < task->n_call && task->call[s->i_call].time <= s->limit; s->i_call++)
        if (!jump_fire_later(ob, y, task->call[s->i_call].event, s->dt_cause))
            return false;
    for (size_t i = n; i < s->n_function; i++) {
        double *dt = s->dt_cause;
        bool is_late = s->fixed[i] == -INFINITY; /* and its time does not matter */
        bool is_due = s->fixed[i] <= s->limit, is_root = s->is_root && root_differs(s, i);
        if (!is_due && !is_root)
            continue;
        s->fixed[i] = is_due ? INFINITY : s->fixed[i];
        root_take(s, i);
        if (is_root && !s->is_true[i]) {
            schedule_cancel(s, i - n);
            continue;
        }
        if (is_late)
            memset(dt, 0, ob->n_block * sizeof(double));
        else if (is_root && s->has_switch) /* behind the switch, the trigger may be constant */
            memcpy(dt, s->dt_switch, ob->n_block * sizeof(double));
        else if (!is_due && ob->n_block && derivatives_rhs(&ob->model, ob->t, y, s->f_left) != STIFFIT_OK)
            return observer_fail(ob);
        else if (is_due ? !jump_fixed(ob, y, i, dt) : !root_differentiate(ob, y, i, s->f_left, dt, &slope))
            return false;
        if (!jump_fire_later(ob, y, i - n, dt))
            return false;
    }
    return true;
}

/* A timed event whose new time has passed happens at once. */
static bool move_event_times(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching;
    if (s->abi->n_event > 0 && derivatives_value(&ob->model, MODEL_WHEN, ob->t, y, s->row) != STIFFIT_OK)
        return observer_fail(ob);
    for (size_t i = 0; i < s->abi->n_event; i++) {
        double *fixed = &s->fixed[n + i];
        if (!(stops_kind(s, i) & STIFFIT_EVENT_TIMED))
            continue;
        if (isnan(s->row[i])) {
            derivatives_fail(&ob->model, "event_when", ob->t, true);
            return observer_fail(ob);
        }
        if (s->row[i] > s->limit)
            *fixed = s->row[i];
        else if (*fixed < INFINITY && *fixed > s->limit)
            *fixed = s->row[i] < ob->t ? -INFINITY : s->row[i];
    }
    return true;
}

/* From here on, other parameters. */
static bool begin_phase(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    const struct ode_task *task = ob->evaluation->task;
    size_t before = s->i_phase;
    while (s->i_phase < task->n_phase && task->phase[s->i_phase] <= s->limit)
        s->i_phase++;
    if (s->i_phase == before)
        return true;
    s->restarts = true;
    if (!observer_set_phase(ob, s->i_phase))
        return observer_fail(ob);
    if (ob->n_state == 0)
        return true;
    jump_keep_rates(ob);
    return schedule_again(ob) && take_switch_times(ob) && move_event_times(ob, y);
}

/* What happens before the measurements of side 0. */
static bool happen_before(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    set_limit(ob);
    s->n_here = 0;
    s->restarts = s->is_root; /* the integrator is behind it */
    memset(s->dt_cause, 0, s->n_block * sizeof(double));
    if (s->abi->n_input > 0 && schedule_pass_knots(ob, s->limit))
        s->restarts = true;
    for (size_t i = s->n_later; i-- > 0;)
        if (s->later[i].is_end && s->later[i].t <= s->limit) {
            s->restarts = true;
            if (!jump_end_infusion(ob, y, i))
                return false;
        }
    look_ahead(ob);
    if (!begin_phase(ob, y) || !pass_switches(ob, y))
        return false;
    ob->model.since = s->since;
    ob->model.until = INFINITY;
    if (!happen_first(ob, y) || !fire(ob, y))
        return false;
    s->is_root = false;
    memset(s->dt_cause, 0, s->n_block * sizeof(double));
    return look_at_triggers(ob, y, s->dt_cause) && execute(ob, y);
}

/* Fires the events that have waited for the measurements, and executes these and the late ones. */
static bool happen_late(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    bool any = false;
    s->is_late = true;
    for (size_t i = 0; i < s->n_later; i++)
        any = any || s->later[i].is_waiting || schedule_is_due(s, &s->later[i]);
    for (size_t i = 0; any && i < s->n_later;) {
        size_t event = s->later[i].index;
        if (!s->later[i].is_waiting) {
            i++;
            continue;
        }
        memcpy(s->dt_cause, schedule_numbers(s, i), ob->n_block * sizeof(double));
        schedule_remove(s, i);
        i = 0;
        if (!jump_fire(ob, y, event, s->dt_cause))
            return false;
    }
    bool good = !any || execute(ob, y);
    s->is_late = false;
    return good;
}

/* And after them. */
static bool happen_after(struct observer *ob, double *y)
{
    struct stops *s = ob->stops;
    if (!happen_late(ob, y))
        return false;
    for (size_t i; (i = schedule_dose(s)) < s->n_dose;) {
        s->restarts = true;
        if (s->dose[i].is_steady ? !jump_steady(ob, y, i) : !jump_dose(ob, y, i) || !schedule_repeat(ob, i))
            return false;
        memcpy(s->dt_cause, s->dt, ob->n_block * sizeof(double));
        if (!look_at_triggers(ob, y, s->dt_cause) || !execute(ob, y))
            return false;
    }
    return true;
}

bool stops_happen(struct observer *ob, double *y, bool initial)
{
    struct stops *s = ob->stops;
    set_limit(ob);
    /* The very state in which the root was found: by rounding, another way to interpolate may not be beyond it. */
    if (s->is_root && s->has_state)
        memcpy(y, s->y_begin, ob->n_state * sizeof *y);
    if (!meet_look(ob, y))
        return false;
    for (int side = -1; side <= 1; side++) {
        if ((side == 0 && !happen_before(ob, y)) || (side == 1 && !happen_after(ob, y)) ||
            !observer_answer_until(ob, ob->t, side, y, initial))
            return false;
        if (ob->begins_anew)
            return true;
    }
    if (!all_finite(y, (1 + ob->n_block) * ob->n_state)) {
        derivatives_fail(&ob->model, "events", ob->t, true);
        return observer_fail(ob);
    }
    if (!schedule_look(ob))
        return false;
    root_evaluate(ob, ob->t, y, s->last);
    s->begin = ob->t;
    memcpy(s->y_begin, y, ob->n_state * sizeof *y);
    ob->model.since = s->since;
    ob->model.until = ahead(s->next);
    if (initial) {
        tolerance_begin(ob, y);
        positive_begin(ob, y);
    } else if (s->restarts) {
        positive_jump(ob, y);
        tolerance_jump(ob, y);
    }
    return true;
}

bool stops_await_steady_state(const struct observer *ob)
{
    const struct ode_task *task = ob->evaluation->task;
    return ob->has_stops && ob->stops->next == INFINITY && ob->i_time < task->n_time && task->time[ob->i_time] == INFINITY;
}

bool stops_set_inputs(struct observer *ob, double t, int side)
{
    ob->stops->limit = side < 0 ? nextafter(t, -INFINITY) : t;
    if (ob->abi->n_input > 0)
        (void)schedule_pass_knots(ob, ob->stops->limit);
    return begin_phase(ob, NULL);
}
