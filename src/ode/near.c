/* The order of events and measurements of one time. The errors of the integration move roots, so that rounding would decide on
 * it. Therefore a trigger becomes true at a stop or a measurement that its root is near to, and together with others whose
 * roots are near.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/near.h"

#include "ode/simulation.h"

#include <math.h>
#include <string.h>

/* A root is near to a place if the trigger's value there is within so many tolerances of 0, and the time between them within a
 * part of the step. Over a whole integration the errors of steps add up to about 100 tolerances (CVODES, x' = -5x until t = 1).
 */
#define NEAR 200
#define NEAR_PART 1e-2

static double reach_of(const struct placing *placing) { return NEAR_PART * (placing->end - placing->begin); }

/* The derivatives of all triggers, the right-hand side (s->f) and the sizes of the states in the step (s->y_new) at time t;
 * false: they cannot be computed. */
static bool place_look(struct placing *placing, double t)
{
    struct simulation *sim = placing->sim;
    struct stops *s = sim->stops;
    size_t n = sim->n_state;
    double *size = s->y_new;
    const double *y = placing->step->state_at(placing->step->context, placing->begin);
    for (size_t j = 0; j < n; j++)
        size[j] = y ? fabs(y[j]) : NAN;
    y = y ? placing->step->state_at(placing->step->context, t) : NULL;
    for (size_t j = 0; j < n && y; j++)
        size[j] = fmax(size[j], fabs(y[j]));
    if (y)
        root_evaluate(sim, t, y, s->value);
    return y && derivatives_rhs(&sim->model, t, y, s->f) == STIFFIT_OK &&
           derivatives_by_state_and_time(&sim->model, MODEL_WHEN, t, y, s->by_state) == STIFFIT_OK;
}

/* The slope of an event's trigger along the trajectory at the time of place_look, and the size of a value that is near 0. */
static double width_of(const struct placing *placing, size_t event, double t, double *slope)
{
    const struct simulation *sim = placing->sim;
    const struct stops *s = sim->stops;
    size_t n = sim->n_state, n_row = s->abi->n_event;
    const double *by = s->by_state + event, *size = s->y_new;
    double tolerance = 0;
    *slope = by[n * n_row];
    for (size_t j = 0; j < n; j++) {
        *slope += by[j * n_row] * s->f[j];
        tolerance += fabs(by[j * n_row]) * (sim->tolerance.rtol * size[j] + sim->tolerance.beyond[j]);
    }
    return fmin(NEAR * tolerance, fabs(*slope) * reach_of(placing)) + fabs(*slope) * STOPS_CLOSEST * fabs(t);
}

/* The place that a root at `t` is moved to, if it is within `reach`: the next stop, or else a measurement. */
static double place_near(const struct placing *placing, double t, double reach)
{
    const struct simulation *sim = placing->sim;
    const struct ode_task *task = sim->evaluation->task;
    double next = sim->stops->next, best = t, distance = reach;
    if (fabs(next - t) <= reach && next <= placing->end)
        return next;
    for (size_t i = sim->rows.i_time; i < task->n_time && task->time[i] <= fmin(t + reach, placing->end); i++)
        if (task->time[i] > placing->begin && fabs(task->time[i] - t) <= distance) {
            best = task->time[i];
            distance = fabs(best - t);
        }
    return best;
}

/* Counts as true the triggers that are near their roots at the place t. True: any. */
static bool take_near(struct placing *placing, double t)
{
    struct stops *s = placing->sim->stops;
    bool any = false;
    for (size_t event = 0, i = s->abi->n_switching; event < s->abi->n_event; event++, i++) {
        double slope, width = width_of(placing, event, t, &slope);
        if (!s->is_watched[i] || s->is_true[i] || !(s->value[i] < 0 && slope > 0 && -s->value[i] <= width))
            continue;
        s->near[i] = fmax(s->near[i], width);
        any = true;
    }
    return any;
}

void near_move_root(struct placing *placing, double *t, bool is_jump)
{
    struct stops *s = placing->sim->stops;
    size_t n = s->abi->n_switching;
    double reach = 0, place = *t;
    memcpy(s->sample, s->value, s->n_function * sizeof(double));
    if (!place_look(placing, *t))
        return;
    for (size_t i = n; i < s->n_function; i++) {
        double slope, width = width_of(placing, i - n, *t, &slope);
        s->sample[i] = root_matters(s, i) && root_is_true(s, i, s->value[i]) ? width : 0;
        if (s->sample[i] > 0)
            reach = fmax(reach, width / fabs(slope));
    }
    place = reach > 0 ? place_near(placing, *t, reach) : *t;
    for (size_t i = n; i < s->n_function && place != *t; i++)
        s->near[i] = fmax(s->near[i], 2 * s->sample[i]); /* the trigger need not be straight */
    if (place != *t && !place_look(placing, place))
        return;
    if (place != *t && !is_jump)
        memcpy(s->f_left, s->f, placing->sim->n_state * sizeof *s->f);
    *t = place;
    take_near(placing, *t);
}

static bool is_measured(const struct simulation *sim, double t)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t i = sim->rows.i_time;
    while (i < task->n_time && task->time[i] < t)
        i++;
    return i < task->n_time && task->time[i] == t;
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

bool near_look_at_end(struct placing *placing)
{
    struct stops *s = placing->sim->stops;
    bool is_place = placing->end >= s->next || is_measured(placing->sim, placing->end);
    if (!is_place || !may_be_near(s) || !place_look(placing, placing->end) || !take_near(placing, placing->end))
        return false;
    memcpy(s->f_left, s->f, placing->sim->n_state * sizeof *s->f);
    return true;
}
