/* Times that depend on the trajectory: roots of switching functions and of events' triggers. Each step is examined at its
 * quarters, and where the parabola through three values of a function has an extremum of another sign. The first change is
 * enclosed by bisection on the integrator's polynomial.
 *
 * The errors of the integration move a root, so that rounding would decide on the order of events and measurements of one time.
 * Therefore a trigger becomes true at a stop or a measurement that its root is near to, and together with others whose roots are
 * near.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/observer.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The smallest jump of the right-hand side at which the integrator stops, as a part of its rate. Where a switch turns the
 * right-hand side without a jump, the error test suffices. */
#define JUMP 1e-8
/* How far, in units of rounding, an end of the interval around a root may move from numbers that are exactly 0. */
#define FARTHEST 0x1p24
/* A trajectory that goes beyond its root by less than this many tolerances may as well miss it. */
#define GRAZE 50
/* A root is near to a place if the trigger's value there is within so many tolerances of 0 and, where it changes slowly, if the
 * time between them is at most a part of the step. */
#define NEAR 10
#define NEAR_PART 1e-3

void root_evaluate(struct observer *ob, double t, const double *y, double *value)
{
    struct stops *s = ob->stops;
    size_t n = s->abi->n_switching, n_event = s->abi->n_event;
    if (n > 0 && derivatives_value(&ob->model, MODEL_SWITCHING, t, y, value) != STIFFIT_OK)
        for (size_t i = 0; i < n; i++)
            value[i] = NAN;
    if (n_event > 0 && derivatives_value(&ob->model, MODEL_WHEN, t, y, value + n) != STIFFIT_OK)
        for (size_t i = 0; i < n_event; i++)
            value[n + i] = NAN;
}

/* Whether a value counts as true. */
static bool is_true(const struct stops *s, size_t i, double value) { return value >= 0 || -value <= s->near[i]; }

bool root_differs(const struct stops *s, size_t i)
{
    return s->is_watched[i] && !isnan(s->value[i]) && is_true(s, i, s->value[i]) != s->is_true[i];
}

void root_take(struct stops *s, size_t i)
{
    if (!s->is_watched[i] || isnan(s->value[i]))
        return;
    s->is_true[i] = is_true(s, i, s->value[i]);
    if (fabs(s->value[i]) > s->near[i])
        s->near[i] = 0;
}

bool root_matters(const struct stops *s, size_t i)
{
    if (!root_differs(s, i))
        return false;
    size_t event = i - s->abi->n_switching;
    if (i < s->abi->n_switching || !s->is_true[i])
        return true;
    for (size_t k = 0; k < s->n_later; k++)
        if (!s->later[k].is_end && s->later[k].index == event)
            return s->abi->event_kind && s->abi->event_kind[event] & STIFFIT_EVENT_CAN_LAPSE;
    return false;
}

static bool any_matters(const struct stops *s)
{
    for (size_t i = 0; i < s->n_function; i++)
        if (root_matters(s, i))
            return true;
    return false;
}

static void take_all(struct stops *s)
{
    for (size_t i = 0; i < s->n_function; i++)
        root_take(s, i);
}

static void evaluate_at(struct observer *ob, const struct latest_step *step, double t, double *value)
{
    const double *y = step->state_at(step->context, t);
    for (size_t i = 0; i < ob->stops->n_function; i++)
        value[i] = NAN;
    if (y)
        root_evaluate(ob, t, y, value);
}

static size_t add_point(double *point, size_t n, double t)
{
    size_t i = n;
    for (; i > 0 && point[i - 1] > t; i--)
        point[i] = point[i - 1];
    point[i] = t;
    return n + 1;
}

/* The times at which the step is examined: each quarter, and the extrema between. */
static size_t choose_points(struct observer *ob, const struct latest_step *step, double from, double to)
{
    struct stops *s = ob->stops;
    size_t n = s->n_function, n_point = 0;
    double part = (to - from) / STOPS_PARTS, *at[STOPS_PARTS + 1] = {s->last};
    for (size_t k = 1; k <= STOPS_PARTS; k++) {
        double t = k < STOPS_PARTS ? from + (double)k * part : to;
        at[k] = s->sample + (k - 1) * n;
        n_point = add_point(s->point, n_point, t);
        evaluate_at(ob, step, t, at[k]);
    }
    for (size_t k = 1; k < STOPS_PARTS; k++)
        for (size_t i = 0; i < n; i++) {
            double low = at[k - 1][i], middle = at[k][i], high = at[k + 1][i];
            double a = 0.5 * (low + high) - middle, b = 0.5 * (high - low), x = -b / (2 * a);
            bool sign = middle >= 0, is_steady = (low >= 0) == sign && (high >= 0) == sign;
            if (s->is_watched[i] && is_steady && fabs(x) < 1 && (middle + 0.5 * b * x >= 0) != sign)
                n_point = add_point(s->point, n_point, from + ((double)k + x) * part);
        }
    memcpy(s->last, at[STOPS_PARTS], n * sizeof(double));
    return n_point;
}

/* Moves the ends of an interval together around its first change that matters; the signs become those at its beginning, the
 * values those at its end. */
static void enclose(struct observer *ob, const struct latest_step *step, double *from, double *to)
{
    struct stops *s = ob->stops;
    for (;;) {
        double middle = *from + 0.5 * (*to - *from);
        if (!(middle > *from && middle < *to))
            break;
        evaluate_at(ob, step, middle, s->value);
        if (any_matters(s)) {
            *to = middle;
        } else {
            take_all(s);
            *from = middle;
        }
    }
    evaluate_at(ob, step, *to, s->value);
}

/* Whether the functions have the signs of s->value (after their change), or those before, and none that changes is 0. */
static bool is_beside(const struct stops *s, const double *value, bool after)
{
    for (size_t i = 0; i < s->n_function; i++) {
        bool changes = root_differs(s, i), sign = after ? is_true(s, i, s->value[i]) : s->is_true[i];
        if (s->is_watched[i] && !isnan(s->value[i]) && (is_true(s, i, value[i]) != sign || (changes && value[i] == 0)))
            return false;
    }
    return true;
}

/* Moves an end of the interval away from numbers where a function that changes is exactly 0: the right-hand side may have the
 * value of the other side there, or a third one, as sign(0). States that change slowly stay there for many times. */
static void leave_zero(struct observer *ob, const struct latest_step *step, double *end, double limit, bool after)
{
    struct stops *s = ob->stops;
    double *value = s->sample, unit = DBL_EPSILON * fabs(*end) + DBL_MIN, way = after ? 1 : -1, t = *end;
    for (double by = unit; way * (limit - t) >= 0 && by <= FARTHEST * unit; t = *end + way * by, by *= 2) {
        evaluate_at(ob, step, t, value);
        if (!is_beside(s, value, after))
            continue;
        *end = t;
        if (after)
            memcpy(s->value, value, s->n_function * sizeof *value);
        return;
    }
}

/* Whether the right-hand side jumps between two times. */
static bool jumps(struct observer *ob, const struct latest_step *step, double from, double to)
{
    struct stops *s = ob->stops;
    const double *y = step->state_at(step->context, to);
    double *left = s->f_left, *right = s->f, rate = 0, change = 0;
    bool known = y && derivatives_rhs(&ob->model, to, y, right) == STIFFIT_OK;
    /* A jump may have put the state onto the root; what is interpolated there may be beyond it. */
    y = from <= s->begin ? s->y_begin : step->state_at(step->context, from);
    known = y && derivatives_rhs(&ob->model, from, y, left) == STIFFIT_OK && known;
    for (size_t j = 0; j < ob->n_state && known; j++) {
        rate = fmax(fabs(left[j]), fabs(right[j]));
        change = fmax(change, rate > 0 ? fabs(right[j] - left[j]) / rate : 0);
    }
    return !known || change > JUMP;
}

static bool has_root(struct observer *ob, const struct latest_step *step, double from, double to)
{
    struct stops *s = ob->stops;
    bool is_jump = jumps(ob, step, from, to), is_root = false;
    for (size_t i = 0; i < s->n_function; i++)
        is_root = is_root || (root_matters(s, i) && (is_jump || i >= s->abi->n_switching));
    return is_root;
}

/* The stop is a root, at time t of the step. */
static bool stop_at(struct observer *ob, const struct latest_step *step, double t)
{
    struct stops *s = ob->stops;
    const double *y = step->state_at(step->context, t);
    if (y)
        memcpy(s->y_begin, y, ob->n_state * sizeof *y);
    s->has_state = y != NULL;
    ob->t = t;
    return s->is_root = true;
}

/* A step in which a stop is placed, and the largest time between a root and a place that it is near to. */
struct placing {
    struct observer *ob;
    const struct latest_step *step;
    double begin, end, reach;
    double *size; /* n_state: of the states in the step */
};

/* The derivatives of all triggers and the right-hand side, s->f, at time t; false: they cannot be computed. */
static bool place_look(struct placing *placing, double t)
{
    struct observer *ob = placing->ob;
    struct stops *s = ob->stops;
    size_t n = ob->n_state;
    const double *y = placing->step->state_at(placing->step->context, placing->begin);
    for (size_t j = 0; j < n; j++)
        placing->size[j] = y ? fabs(y[j]) : NAN;
    y = y ? placing->step->state_at(placing->step->context, t) : NULL;
    for (size_t j = 0; j < n && y; j++)
        placing->size[j] = fmax(placing->size[j], fabs(y[j]));
    if (y)
        root_evaluate(ob, t, y, s->value);
    return y && derivatives_rhs(&ob->model, t, y, s->f) == STIFFIT_OK &&
           derivatives_by_state_and_time(&ob->model, MODEL_WHEN, t, y, s->by_state) == STIFFIT_OK;
}

/* The slope of an event's trigger along the trajectory at the time of place_look, and the size of a value that is near 0. */
static double width_of(const struct placing *placing, size_t event, double t, double *slope)
{
    const struct observer *ob = placing->ob;
    const struct stops *s = ob->stops;
    size_t n = ob->n_state, n_row = s->abi->n_event;
    const double *by = s->by_state + event;
    double tolerance = 0;
    *slope = by[n * n_row];
    for (size_t j = 0; j < n; j++) {
        *slope += by[j * n_row] * s->f[j];
        tolerance += fabs(by[j * n_row]) * (ob->rtol * placing->size[j] + ob->tolerance_beyond[j]);
    }
    return fmin(NEAR * tolerance, fabs(*slope) * placing->reach) + fabs(*slope) * STOPS_CLOSEST * fabs(t);
}

/* The place that a root at `t` is moved to, if it is within `reach`: the next stop, or else a measurement. */
static double place_near(const struct placing *placing, double t, double reach)
{
    const struct observer *ob = placing->ob;
    const struct ode_task *task = ob->evaluation->task;
    double next = ob->stops->next, best = t, distance = reach;
    if (fabs(next - t) <= reach && next <= placing->end)
        return next;
    for (size_t i = ob->i_time; i < task->n_time && task->time[i] <= fmin(t + reach, placing->end); i++)
        if (task->time[i] > placing->begin && fabs(task->time[i] - t) <= distance) {
            best = task->time[i];
            distance = fabs(best - t);
        }
    return best;
}

/* Counts as true the triggers that are near their roots at the place t, and sets s->value to the values there. True: any. */
static bool take_near(struct placing *placing, double t)
{
    struct stops *s = placing->ob->stops;
    bool any = false;
    if (!place_look(placing, t))
        return false;
    for (size_t event = 0, i = s->abi->n_switching; event < s->abi->n_event; event++, i++) {
        double slope, width = width_of(placing, event, t, &slope);
        if (!s->is_watched[i] || s->is_true[i] || !(s->value[i] < 0 && slope > 0 && -s->value[i] <= width))
            continue;
        s->near[i] = fmax(s->near[i], width);
        any = true;
    }
    return any;
}

/* Moves the root at *t, where the triggers that change have their new signs in s->value, to a place that it is near to, and adds
 * the triggers that are near their roots there. */
static void place_root(struct placing *placing, double *t)
{
    struct stops *s = placing->ob->stops;
    size_t n = s->abi->n_switching;
    double reach = 0, place = *t;
    memcpy(s->sample, s->value, s->n_function * sizeof(double));
    if (!place_look(placing, *t))
        return;
    for (size_t i = n; i < s->n_function; i++) {
        double slope, width = width_of(placing, i - n, *t, &slope);
        s->sample[i] = root_matters(s, i) && is_true(s, i, s->value[i]) ? width : 0;
        if (s->sample[i] > 0)
            reach = fmax(reach, width / fabs(slope));
    }
    place = reach > 0 ? place_near(placing, *t, reach) : *t;
    for (size_t i = n; i < s->n_function && place != *t; i++)
        s->near[i] = fmax(s->near[i], 2 * s->sample[i]); /* the trigger need not be straight */
    if (place != *t || s->abi->n_event > 1)
        take_near(placing, *t = place);
}

/* Whether a trigger may be near its root at the end of the examined step: a cheap look at its last two samples. */
static bool may_be_near(const struct stops *s)
{
    const double *end = s->sample + (STOPS_PARTS - 1) * s->n_function, *before = end - s->n_function;
    for (size_t i = s->abi->n_switching; i < s->n_function; i++)
        if (s->is_watched[i] && !s->is_true[i] && end[i] < 0 && -end[i] <= 2 * STOPS_PARTS * NEAR_PART * (end[i] - before[i]))
            return true;
    return false;
}

bool root_find(struct observer *ob, const struct latest_step *step, double from)
{
    struct stops *s = ob->stops;
    bool any = false;
    double begin = from;
    s->is_root = false;
    for (size_t i = 0; i < s->n_function; i++)
        any = any || s->is_watched[i];
    if (!any)
        return false;
    const struct ode_task *task = ob->evaluation->task;
    double end = fmin(ob->t, task->time[task->n_time - 1]);
    struct placing placing = {.ob = ob, .step = step, .begin = from, .end = end, .reach = NEAR_PART * (end - from), .size = s->y_new};
    size_t n_point = choose_points(ob, step, from, end);
    bool is_place = (end == task->time[task->n_time - 1] || end >= s->next) && may_be_near(s);
    for (size_t k = 0; k < n_point; from = s->point[k++]) {
        evaluate_at(ob, step, s->point[k], s->value);
        while (any_matters(s)) {
            double to = s->point[k];
            enclose(ob, step, &from, &to);
            leave_zero(ob, step, &from, begin, false);
            leave_zero(ob, step, &to, ob->t, true);
            if (has_root(ob, step, from, to)) {
                if (s->abi->n_event)
                    place_root(&placing, &to);
                return stop_at(ob, step, to);
            }
            take_all(s);
            from = to;
            evaluate_at(ob, step, s->point[k], s->value);
        }
        take_all(s);
    }
    if (!is_place || !take_near(&placing, end))
        return false;
    memcpy(s->f_left, s->f, ob->n_state * sizeof *s->f);
    return stop_at(ob, step, end);
}

void root_look_begin(struct observer *ob, const double *y)
{
    struct stops *s = ob->stops;
    s->n_later = 0;
    for (size_t i = 0; i < s->n_function; i++)
        s->is_watched[i] = ob->evaluation->n_sens > 0;
    root_evaluate(ob, ob->t, y, s->value);
    take_all(s);
    memcpy(s->last, s->value, s->n_function * sizeof(double));
    s->begin = ob->t;
    memcpy(s->y_begin, y, ob->n_state * sizeof *y);
}

void root_look(struct observer *ob, const struct latest_step *step, double from)
{
    struct stops *s = ob->stops;
    const struct evaluation *evaluation = ob->evaluation;
    double to = ob->t;
    while (root_find(ob, step, from)) {
        for (size_t i = 0; i < s->n_function; i++)
            for (size_t k = 0; k < evaluation->n_sens && root_differs(s, i); k++)
                if (!s->abi->switching_parameter || s->abi->switching_parameter[i + evaluation->sens[k] * s->n_function])
                    ob->evaluation->crosses = true;
        take_all(s);
        memcpy(s->last, s->value, s->n_function * sizeof(double));
        from = ob->t;
        ob->t = to;
        if (ob->evaluation->crosses)
            memset(s->is_watched, 0, s->n_function * sizeof *s->is_watched);
    }
}

/* The second derivative of function i along the trajectory before its root, from its slope and a slope a little earlier, by
 * the gradient at the root. */
static double curvature(struct observer *ob, const double *y, const double *by_state, size_t n_row, const double *f,
                        double slope)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state;
    double back = INFINITY, earlier = by_state[n * n_row], since = ob->model.since;
    for (size_t j = 0; j < n; j++)
        back = fmin(back, 1e-7 * (fabs(y[j]) + ob->tolerance_beyond[j] / ob->rtol) / fabs(f[j]));
    if (!(back > 0 && isfinite(back)))
        return 0;
    for (size_t j = 0; j < n; j++)
        s->y_new[j] = y[j] - back * f[j];
    ob->model.since = -INFINITY;
    int code = derivatives_rhs(&ob->model, ob->t - back, s->y_new, s->f);
    ob->model.since = since;
    if (code != STIFFIT_OK)
        return 0;
    for (size_t j = 0; j < n; j++)
        earlier += by_state[j * n_row] * s->f[j];
    return (slope - earlier) / back;
}

bool root_differentiate(struct observer *ob, const double *y, size_t i, const double *f, double *dt, double *slope)
{
    struct stops *s = ob->stops;
    size_t n = ob->n_state, n_switching = s->abi->n_switching;
    enum point_function which = i < n_switching ? MODEL_SWITCHING : MODEL_WHEN;
    size_t n_row = which == MODEL_WHEN ? s->abi->n_event : n_switching, row = which == MODEL_WHEN ? i - n_switching : i;
    const double *by_state = s->by_state + row;
    double tolerance = 0;
    memset(dt, 0, ob->n_block * sizeof(double));
    *slope = 0;
    if (derivatives_by_state_and_time(&ob->model, which, ob->t, y, s->by_state) != STIFFIT_OK ||
        (ob->n_block && !ob->pace && derivatives_by_parameter(&ob->model, which, ob->t, y, s->by_parameter) != STIFFIT_OK))
        return observer_fail(ob);
    *slope = by_state[n * n_row];
    for (size_t j = 0; j < n; j++) {
        *slope += by_state[j * n_row] * f[j];
        tolerance += fabs(by_state[j * n_row]) * (ob->rtol * fabs(y[j]) + ob->tolerance_beyond[j]);
    }
    for (size_t k = 0; k < ob->n_block; k++) {
        double sum = jump_by_block(ob, s->by_parameter, n_row, row, k);
        for (size_t j = 0; j < n; j++)
            sum += by_state[j * n_row] * y[(k + 1) * n + j];
        dt[k] = -sum / *slope;
    }
    bool grazes = !all_finite(dt, ob->n_block);
    if (grazes)
        memset(dt, 0, ob->n_block * sizeof(double));
    else if (ob->n_block && !ob->pace)
        grazes = *slope * *slope <= 2 * GRAZE * tolerance * fabs(curvature(ob, y, by_state, n_row, f, *slope));
    ob->evaluation->crosses = ob->evaluation->crosses || grazes;
    return true;
}
