/* Times that depend on the trajectory: roots of switching functions and of events' triggers.
 * Each step is examined at its quarters, and where the parabola through three values of a
 * function has an extremum of another sign. The first change is enclosed by bisection on the
 * integrator's polynomial. Where a table's slope changes the integrator stops, too, if the error
 * test would not suffice; nothing jumps there.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"
#include "ode/simulation.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The smallest jump of the right-hand side at which the integrator stops, as a part of its rate.
 * Where a switch turns the right-hand side without a jump, the error test suffices. */
#define JUMP 1e-8
/* A kink of a table is a stop if a step over it has an error of so many tolerances; of a table of
 * many points most are not, and to restart at each would cost more. The slopes on both sides are
 * differences over this part of a step, so that no narrow peak is between. */
#define KINK 10
#define BESIDE 1e-6
/* How far, in units of rounding, an end of the interval around a root may move from numbers that
 * are exactly 0. */
#define FARTHEST 0x1p24
/* A trajectory that goes beyond its root by less than this many tolerances may as well miss it. */
#define GRAZE 50
/* A root is near to a mark (a stop or a measurement) if the trigger's value there is within so
 * many tolerances of 0, and the time between them within a part of the step. Over a whole
 * integration the errors of steps add up to about 100 tolerances (CVODES, x' = -5x until t = 1). */
#define NEAR 200
#define NEAR_PART 1e-2
/* So often is a stretch of a step divided into STOPS_PARTS where a trigger is rough. */
enum { DEEPEST = 3 };

/* The part of a step that is examined. */
struct examined {
    struct simulation *sim;
    const struct latest_step *step;
    double begin, end;
};

void root_evaluate(struct simulation *sim, double t, const double *y, double *value)
{
    struct stops *s = sim->stops;
    size_t n = s->abi->n_switching, n_event = s->abi->n_event;
    if (n > 0 && derivatives_value(&sim->model, MODEL_SWITCHING, t, y, value) != STIFFIT_OK)
        for (size_t i = 0; i < n; i++)
            value[i] = NAN;
    if (n_event > 0 && derivatives_value(&sim->model, MODEL_WHEN, t, y, value + n) != STIFFIT_OK)
        for (size_t i = 0; i < n_event; i++)
            value[n + i] = NAN;
}

bool root_is_kink(const struct stops *s, size_t i)
{
    return i < s->abi->n_switching && s->abi->switching_parameter &&
           s->abi->switching_parameter[i] == STIFFIT_SWITCH_KINK;
}

bool root_differs(const struct stops *s, size_t i)
{
    return s->roots.is_watched[i] && !isnan(s->roots.value[i]) &&
           root_is_true(s, i, s->roots.value[i]) != s->roots.is_true[i];
}

void root_take(struct stops *s, size_t i)
{
    if (!s->roots.is_watched[i] || isnan(s->roots.value[i]))
        return;
    s->roots.is_true[i] = root_is_true(s, i, s->roots.value[i]);
    if (fabs(s->roots.value[i]) > s->roots.near[i])
        s->roots.near[i] = 0;
}

bool root_matters(const struct stops *s, size_t i)
{
    if (!root_differs(s, i))
        return false;
    size_t event = i - s->abi->n_switching;
    if (i < s->abi->n_switching || !s->roots.is_true[i])
        return true;
    for (size_t k = 0; k < s->pending.n; k++)
        if (!s->pending.entry[k].is_end && s->pending.entry[k].index == event)
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

static void evaluate_at(struct simulation *sim, const struct latest_step *step, double t,
                        double *value)
{
    const double *y = step->state_at(step->context, t);
    for (size_t i = 0; i < sim->stops->n_function; i++)
        value[i] = NAN;
    if (y)
        root_evaluate(sim, t, y, value);
}

static size_t add_point(double *point, size_t n, double t)
{
    size_t i = n;
    for (; i > 0 && point[i - 1] > t; i--)
        point[i] = point[i - 1];
    point[i] = t;
    return n + 1;
}

/* Whether a trigger may have more changes of its sign between the five values: four of them bend
 * more than they are away from 0, or, if its sign changes, than half of the largest. Where the
 * step is long and the trigger is not as smooth as the states, as sin(x), the parabola does not
 * show it. */
static bool is_rough(const struct stops *s, double *const at[STOPS_PARTS + 1])
{
    for (size_t i = s->abi->n_switching; i < s->n_function; i++)
        for (size_t k = 3; k <= STOPS_PARTS && s->roots.is_watched[i]; k++) {
            double least = INFINITY, most = -INFINITY;
            for (size_t m = k - 3; m <= k; m++) {
                least = fmin(least, at[m][i]);
                most = fmax(most, at[m][i]);
            }
            double bend = fabs(at[k][i] - at[k - 3][i] - 3 * (at[k - 1][i] - at[k - 2][i]));
            if (bend > (least >= 0 ? least : most < 0 ? -most : 0.5 * fmax(most, -least)))
                return true;
        }
    return false;
}

/* The times at which a stretch of the step is examined: each quarter, and the extrema between.
 * Returns how many; 0: it must be examined in parts. */
static size_t choose_points(struct simulation *sim, const struct latest_step *step, double from,
                            double to, bool may_divide)
{
    struct stops *s = sim->stops;
    size_t n = s->n_function, n_point = 0;
    double part = (to - from) / STOPS_PARTS, *at[STOPS_PARTS + 1] = {s->roots.last};
    for (size_t k = 1; k <= STOPS_PARTS; k++) {
        double t = k < STOPS_PARTS ? from + (double)k * part : to;
        at[k] = s->roots.sample + (k - 1) * n;
        n_point = add_point(s->roots.point, n_point, t);
        evaluate_at(sim, step, t, at[k]);
    }
    if (may_divide && is_rough(s, at))
        return 0;
    for (size_t k = 1; k < STOPS_PARTS; k++)
        for (size_t i = 0; i < n; i++) {
            double low = at[k - 1][i], middle = at[k][i], high = at[k + 1][i];
            double a = 0.5 * (low + high) - middle, b = 0.5 * (high - low), x = -b / (2 * a);
            bool sign = middle >= 0, is_steady = (low >= 0) == sign && (high >= 0) == sign;
            if (s->roots.is_watched[i] && is_steady && fabs(x) < 1 &&
                (middle + 0.5 * b * x >= 0) != sign)
                n_point = add_point(s->roots.point, n_point, from + ((double)k + x) * part);
        }
    memcpy(s->roots.last, at[STOPS_PARTS], n * sizeof(double));
    return n_point;
}

/* Moves the ends of an interval together around its first change that matters; the signs become
 * those at its beginning, the values those at its end. */
static void enclose(struct simulation *sim, const struct latest_step *step, double *from,
                    double *to)
{
    struct stops *s = sim->stops;
    for (;;) {
        double middle = *from + 0.5 * (*to - *from);
        if (!(middle > *from && middle < *to))
            break;
        evaluate_at(sim, step, middle, s->roots.value);
        if (any_matters(s)) {
            *to = middle;
        } else {
            take_all(s);
            *from = middle;
        }
    }
    evaluate_at(sim, step, *to, s->roots.value);
}

/* Whether the functions have the signs of s->roots.value (after their change), or those before,
 * and none that changes is 0. */
static bool is_beside(const struct stops *s, const double *value, bool after)
{
    for (size_t i = 0; i < s->n_function; i++) {
        bool changes = root_differs(s, i),
             sign = after ? root_is_true(s, i, s->roots.value[i]) : s->roots.is_true[i];
        if (s->roots.is_watched[i] && !isnan(s->roots.value[i]) &&
            (root_is_true(s, i, value[i]) != sign || (changes && value[i] == 0)))
            return false;
    }
    return true;
}

/* Moves an end of the interval away from numbers where a function that changes is exactly 0: the
 * right-hand side may have the value of the other side there, or a third one, as sign(0). States
 * that change slowly stay there for many times. */
static void leave_zero(struct simulation *sim, const struct latest_step *step, double *end,
                       double limit, bool after)
{
    struct stops *s = sim->stops;
    double *value = s->roots.sample, unit = DBL_EPSILON * fabs(*end) + DBL_MIN,
           way = after ? 1 : -1, t = *end;
    for (double by = unit; way * (limit - t) >= 0 && by <= FARTHEST * unit;
         t = *end + way * by, by *= 2) {
        evaluate_at(sim, step, t, value);
        if (!is_beside(s, value, after))
            continue;
        *end = t;
        if (after)
            memcpy(s->roots.value, value, s->n_function * sizeof *value);
        return;
    }
}

/* Whether the right-hand side jumps between two times. */
static bool jumps(struct simulation *sim, const struct latest_step *step, double from, double to)
{
    struct stops *s = sim->stops;
    const double *y = step->state_at(step->context, to);
    double *left = s->jump.f_left, *right = s->jump.f, rate = 0, change = 0;
    bool known = y && derivatives_rhs(&sim->model, to, y, right) == STIFFIT_OK;
    /* A jump may have put the state onto the root; what is interpolated there may be beyond it. */
    y = from <= s->roots.begin ? s->roots.y_begin : step->state_at(step->context, from);
    known = y && derivatives_rhs(&sim->model, from, y, left) == STIFFIT_OK && known;
    for (size_t j = 0; j < sim->n_state && known; j++) {
        rate = fmax(fabs(left[j]), fabs(right[j]));
        change = fmax(change, rate > 0 ? fabs(right[j] - left[j]) / rate : 0);
    }
    return !known || change > JUMP;
}

/* Whether the slope of the right-hand side changes so much between two times, where `jumps` left
 * its values, that a step over them is wrong by more than KINK tolerances: a second derivative that
 * jumps by `bend` after the part d of a step, with e to go, leaves an error of about bend d e/2. */
static bool bends(const struct examined *examined, double from, double to)
{
    struct simulation *sim = examined->sim;
    struct stops *s = sim->stops;
    const struct latest_step *step = examined->step;
    double d = from - examined->begin, e = examined->end - to, *before = s->jump.y_new,
           *after = s->jump.star, beside = fmin(BESIDE * (d + e), fmin(d, e));
    if (!(beside > 0))
        return false;
    const double *y = step->state_at(step->context, from - beside);
    bool known = y && derivatives_rhs(&sim->model, from - beside, y, before) == STIFFIT_OK;
    y = known ? step->state_at(step->context, to + beside) : NULL;
    known = y && derivatives_rhs(&sim->model, to + beside, y, after) == STIFFIT_OK;
    for (size_t j = 0; j < sim->n_state && known; j++) {
        double change = (after[j] - s->jump.f[j]) - (s->jump.f_left[j] - before[j]);
        if (0.5 * fabs(change) / beside * d * e >
            KINK * (sim->tolerance.rtol * fabs(y[j]) + sim->tolerance.beyond[j]))
            return true;
    }
    return !known;
}

static bool has_root(const struct examined *examined, double from, double to, bool *is_jump)
{
    struct stops *s = examined->sim->stops;
    bool is_kink = false;
    *is_jump = jumps(examined->sim, examined->step, from, to);
    for (size_t i = 0; i < s->n_function; i++) {
        if (root_matters(s, i) && (*is_jump || i >= s->abi->n_switching))
            return true;
        is_kink = is_kink || (root_matters(s, i) && root_is_kink(s, i));
    }
    return is_kink && bends(examined, from, to);
}

/* The stop is a root, at time t of the step. */
static bool stop_at(struct simulation *sim, const struct latest_step *step, double t)
{
    struct stops *s = sim->stops;
    const double *y = step->state_at(step->context, t);
    if (y)
        memcpy(s->roots.y_begin, y, sim->n_state * sizeof *y);
    s->roots.has_state = y != NULL;
    sim->t = t;
    return s->roots.is_root = true;
}

/* The errors of the integration move roots, so that rounding would decide on the order of events
 * and measurements of one time. Therefore a trigger becomes true at a stop or a measurement that
 * its root is near to, and together with others whose roots are near. */

static double reach_of(const struct examined *examined)
{
    return NEAR_PART * (examined->end - examined->begin);
}

/* The derivatives of all triggers, the right-hand side (s->jump.f) and the sizes of the states in
 * the step (s->jump.y_new) at time t; false: they cannot be computed. */
static bool look_at(struct examined *examined, double t)
{
    struct simulation *sim = examined->sim;
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    double *size = s->jump.y_new;
    const double *y = examined->step->state_at(examined->step->context, examined->begin);
    for (size_t j = 0; j < n; j++)
        size[j] = y ? fabs(y[j]) : NAN;
    y = y ? examined->step->state_at(examined->step->context, t) : NULL;
    for (size_t j = 0; j < n && y; j++)
        size[j] = fmax(size[j], fabs(y[j]));
    if (y)
        root_evaluate(sim, t, y, s->roots.value);
    return y && derivatives_rhs(&sim->model, t, y, s->jump.f) == STIFFIT_OK &&
           derivatives_by_state_and_time(&sim->model, MODEL_WHEN, t, y, s->jump.by_state) ==
               STIFFIT_OK;
}

/* The slope of an event's trigger along the trajectory at the time of look_at, and the size of a
 * value that is near 0. */
static double width_of(const struct examined *examined, size_t event, double t, double *slope)
{
    const struct simulation *sim = examined->sim;
    const struct stops *s = sim->stops;
    size_t n = sim->n_state, n_row = s->abi->n_event;
    const double *by = s->jump.by_state + event, *size = s->jump.y_new;
    double tolerance = 0;
    *slope = by[n * n_row];
    for (size_t j = 0; j < n; j++) {
        *slope += by[j * n_row] * s->jump.f[j];
        tolerance +=
            fabs(by[j * n_row]) * (sim->tolerance.rtol * size[j] + sim->tolerance.beyond[j]);
    }
    return fmin(NEAR * tolerance, fabs(*slope) * reach_of(examined)) +
           fabs(*slope) * STOPS_CLOSEST * fabs(t);
}

/* The mark that a root at `t` is moved to, if it is within `reach`: the next stop, or else a
 * measurement. */
static double near_mark(const struct examined *examined, double t, double reach)
{
    const struct simulation *sim = examined->sim;
    const struct ode_task *task = sim->evaluation->task;
    double next = sim->stops->next, best = t, distance = reach;
    if (fabs(next - t) <= reach && next <= examined->end)
        return next;
    for (size_t i = sim->rows.i_time;
         i < task->n_time && task->time[i] <= fmin(t + reach, examined->end); i++)
        if (task->time[i] > examined->begin && fabs(task->time[i] - t) <= distance) {
            best = task->time[i];
            distance = fabs(best - t);
        }
    return best;
}

/* Counts as true the triggers that are near their roots at the mark t. True: any. */
static bool take_near(struct examined *examined, double t)
{
    struct stops *s = examined->sim->stops;
    bool any = false;
    for (size_t event = 0, i = s->abi->n_switching; event < s->abi->n_event; event++, i++) {
        double slope, width = width_of(examined, event, t, &slope);
        if (!s->roots.is_watched[i] || s->roots.is_true[i] ||
            !(s->roots.value[i] < 0 && slope > 0 && -s->roots.value[i] <= width))
            continue;
        s->roots.near[i] = fmax(s->roots.near[i], width);
        any = true;
    }
    return any;
}

static void move_root(struct examined *examined, double *t, bool is_jump)
{
    struct stops *s = examined->sim->stops;
    size_t n = s->abi->n_switching;
    double reach = 0;
    memcpy(s->roots.sample, s->roots.value, s->n_function * sizeof(double));
    if (!look_at(examined, *t))
        return;
    for (size_t i = n; i < s->n_function; i++) {
        double slope, width = width_of(examined, i - n, *t, &slope);
        s->roots.sample[i] =
            root_matters(s, i) && root_is_true(s, i, s->roots.value[i]) ? width : 0;
        if (s->roots.sample[i] > 0)
            reach = fmax(reach, width / fabs(slope));
    }
    double mark = reach > 0 ? near_mark(examined, *t, reach) : *t;
    for (size_t i = n; i < s->n_function && mark != *t; i++)
        /* the trigger need not be straight */
        s->roots.near[i] = fmax(s->roots.near[i], 2 * s->roots.sample[i]);
    if (mark != *t && !look_at(examined, mark))
        return;
    if (mark != *t && !is_jump)
        memcpy(s->jump.f_left, s->jump.f, examined->sim->n_state * sizeof *s->jump.f);
    *t = mark;
    take_near(examined, *t);
}

static bool is_measured(const struct simulation *sim, double t)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t i = sim->rows.i_time;
    while (i < task->n_time && task->time[i] < t)
        i++;
    return i < task->n_time && task->time[i] == t;
}

/* Whether a trigger may be near its root at the end of the examined step: a cheap look at its
 * last two samples. */
static bool may_be_near(const struct stops *s)
{
    const double *end = s->roots.sample + (STOPS_PARTS - 1) * s->n_function,
                 *before = end - s->n_function;
    for (size_t i = s->abi->n_switching; i < s->n_function; i++)
        if (s->roots.is_watched[i] && !s->roots.is_true[i] && end[i] < 0 &&
            -end[i] <= 2 * STOPS_PARTS * NEAR_PART * (end[i] - before[i]))
            return true;
    return false;
}

static bool look_at_end(struct examined *examined)
{
    struct stops *s = examined->sim->stops;
    bool is_mark = examined->end >= s->next || is_measured(examined->sim, examined->end);
    if (!is_mark || !may_be_near(s) || !look_at(examined, examined->end) ||
        !take_near(examined, examined->end))
        return false;
    memcpy(s->jump.f_left, s->jump.f, examined->sim->n_state * sizeof *s->jump.f);
    return true;
}

/* Examines a stretch of the step. True: the stop is a root. */
static bool search(struct examined *examined, double from, double end, int depth)
{
    struct simulation *sim = examined->sim;
    const struct latest_step *step = examined->step;
    struct stops *s = sim->stops;
    bool is_jump;
    double begin = from, part = (end - from) / STOPS_PARTS;
    size_t n_point = choose_points(sim, step, from, end, depth < DEEPEST && from + part > from);
    for (int k = 1; n_point == 0 && k <= STOPS_PARTS; k++) {
        double to = k < STOPS_PARTS ? begin + k * part : end;
        if (k > 1 || depth > 0)
            evaluate_at(sim, step, from, s->roots.last);
        if (search(examined, from, to, depth + 1))
            return true;
        from = to;
    }
    for (size_t k = 0; k < n_point; from = s->roots.point[k++]) {
        evaluate_at(sim, step, s->roots.point[k], s->roots.value);
        while (any_matters(s)) {
            double to = s->roots.point[k];
            enclose(sim, step, &from, &to);
            leave_zero(sim, step, &from, begin, false);
            leave_zero(sim, step, &to, sim->t, true);
            if (has_root(examined, from, to, &is_jump)) {
                if (s->abi->n_event)
                    move_root(examined, &to, is_jump);
                return stop_at(sim, step, to);
            }
            take_all(s);
            from = to;
            evaluate_at(sim, step, s->roots.point[k], s->roots.value);
        }
        take_all(s);
    }
    return false;
}

bool root_find(struct simulation *sim, const struct latest_step *step, double from)
{
    struct stops *s = sim->stops;
    const struct ode_task *task = sim->evaluation->task;
    bool any = false;
    s->roots.is_root = false;
    for (size_t i = 0; i < s->n_function; i++)
        any = any || s->roots.is_watched[i];
    if (!any)
        return false;
    double end = fmin(sim->t, task->time[task->n_time - 1]);
    struct examined examined = {.sim = sim, .step = step, .begin = from, .end = end};
    if (search(&examined, from, end, 0))
        return true;
    return look_at_end(&examined) && stop_at(sim, step, end);
}

void root_look_begin(struct simulation *sim, const double *y)
{
    struct stops *s = sim->stops;
    s->pending.n = 0;
    for (size_t i = 0; i < s->n_function; i++)
        s->roots.is_watched[i] = sim->evaluation->n_sens > 0;
    root_evaluate(sim, sim->t, y, s->roots.value);
    take_all(s);
    memcpy(s->roots.last, s->roots.value, s->n_function * sizeof(double));
    s->roots.begin = sim->t;
    memcpy(s->roots.y_begin, y, sim->n_state * sizeof *y);
}

void root_look(struct simulation *sim, const struct latest_step *step, double from)
{
    struct stops *s = sim->stops;
    const struct evaluation *evaluation = sim->evaluation;
    double to = sim->t;
    while (root_find(sim, step, from)) {
        for (size_t i = 0; i < s->n_function; i++)
            for (size_t k = 0; k < evaluation->n_sens && root_differs(s, i); k++)
                if (!s->abi->switching_parameter ||
                    (s->abi->switching_parameter[i + evaluation->sens[k] * s->n_function] &&
                     !root_is_kink(s, i)))
                    sim->evaluation->crosses = true;
        take_all(s);
        memcpy(s->roots.last, s->roots.value, s->n_function * sizeof(double));
        from = sim->t;
        sim->t = to;
        if (sim->evaluation->crosses)
            memset(s->roots.is_watched, 0, s->n_function * sizeof *s->roots.is_watched);
    }
}

/* The second derivative of function i along the trajectory before its root, from its slope and a
 * slope a little earlier, by the gradient at the root. */
static double curvature(struct simulation *sim, const double *y, const double *by_state,
                        size_t n_row, const double *f, double slope)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    double back = INFINITY, earlier = by_state[n * n_row], since = sim->model.since;
    for (size_t j = 0; j < n; j++)
        back = fmin(back, 1e-7 * (fabs(y[j]) + sim->tolerance.beyond[j] / sim->tolerance.rtol) /
                              fabs(f[j]));
    if (!(back > 0 && isfinite(back)))
        return 0;
    for (size_t j = 0; j < n; j++)
        s->jump.y_new[j] = y[j] - back * f[j];
    sim->model.since = -INFINITY;
    int code = derivatives_rhs(&sim->model, sim->t - back, s->jump.y_new, s->jump.f);
    sim->model.since = since;
    if (code != STIFFIT_OK)
        return 0;
    for (size_t j = 0; j < n; j++)
        earlier += by_state[j * n_row] * s->jump.f[j];
    return (slope - earlier) / back;
}

bool root_differentiate(struct simulation *sim, const double *y, size_t i, const double *f,
                        double *dt, double *slope)
{
    struct stops *s = sim->stops;
    size_t n = sim->n_state, n_switching = s->abi->n_switching;
    enum point_function which = i < n_switching ? MODEL_SWITCHING : MODEL_WHEN;
    size_t n_row = which == MODEL_WHEN ? s->abi->n_event : n_switching,
           row = which == MODEL_WHEN ? i - n_switching : i;
    const double *by_state = s->jump.by_state + row;
    double tolerance = 0;
    memset(dt, 0, sim->blocks.n * sizeof(double));
    *slope = 0;
    if (derivatives_by_state_and_time(&sim->model, which, sim->t, y, s->jump.by_state) !=
            STIFFIT_OK ||
        (sim->blocks.n && !sim->blocks.is_pace &&
         derivatives_by_parameter(&sim->model, which, sim->t, y, s->jump.by_parameter) !=
             STIFFIT_OK))
        return outcome_model_failed(sim);
    *slope = by_state[n * n_row];
    for (size_t j = 0; j < n; j++) {
        *slope += by_state[j * n_row] * f[j];
        tolerance += fabs(by_state[j * n_row]) *
                     (sim->tolerance.rtol * fabs(y[j]) + sim->tolerance.beyond[j]);
    }
    for (size_t k = 0; k < sim->blocks.n; k++) {
        double sum = jump_by_block(sim, s->jump.by_parameter, n_row, row, k);
        for (size_t j = 0; j < n; j++)
            sum += by_state[j * n_row] * y[(k + 1) * n + j];
        dt[k] = -sum / *slope;
    }
    bool grazes = !all_finite(dt, sim->blocks.n);
    if (grazes)
        memset(dt, 0, sim->blocks.n * sizeof(double));
    else if (sim->blocks.n && !sim->blocks.is_pace)
        grazes = *slope * *slope <=
                 2 * GRAZE * tolerance * fabs(curvature(sim, y, by_state, n_row, f, *slope));
    sim->evaluation->crosses = sim->evaluation->crosses || grazes;
    return true;
}
