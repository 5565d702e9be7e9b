/* Samples every function in each gap between two times of the task, in order. If the model
 * bounds its functions over spans of time, a span between two samples is halved until its bounds
 * agree with them, so that nothing is hidden in between. Where a function turns (rises after
 * falling, or the reverse), the sample is a stop. Where it jumps, bisection encloses the change,
 * and the end of the enclosure is a stop. A pulse is a turn and a step is a jump, so the
 * integrator meets each at least once; its error test resolves the rest.
 *
 * Samples are taken shortly before the integrator needs them, so only the last few are kept.
 * They depend on the task and the parameters alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/forcing.h"

#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples in total, and the least number in a gap. */
enum { SAMPLES = 128, SAMPLES_LEAST = 4, WINDOW = 4, BISECTIONS = 32 };
/* Most halvings of one span, and in total; what is unresolved then bounds the steps. */
enum { DEPTH = 40, MOST_HALVINGS = 16384 };
/* Bounds agree with the samples if they exceed them by this part of the largest value. */
#define HIDDEN 1e-3
/* A change below this part of the largest value is rounding. A jump is a change this many times
 * those of its neighbours. */
#define ROUNDING 1e-9
#define ABRUPT 8
/* A step is stretched to a stop that lies at most this many times its length ahead. */
#define NEARLY 1.01
/* A stop closer than this, relative to the times, counts as passed: the integrator cannot make
 * so short a step. */
#define CLOSEST 1e-12
#define BEHIND 1e-11
/* The error test of states at rest skips this many times the distance from a jump to its stop. */
#define WAKE 10

/* A time at which a step must end. Steps shorter than half of `reach` may pass it: they see what
 * the samples saw. */
struct stop {
    double t, reach;
};

struct forcing {
    size_t n;
    double *numbers;           /* all of the following six */
    double time[WINDOW];
    double *value[WINDOW];     /* n each, at these times */
    double *between, *size;    /* n: scratch; the largest value so far */
    double *bound;             /* 4 n, as forcing_range */
    double *ahead;             /* n each: values at the next samples, the last one first */
    double time_ahead[DEPTH + 1];
    size_t n_ahead, n_halving;
    bool is_unresolved[WINDOW]; /* the span that ends at this sample */
    int *direction;            /* n: of the last change, -1, 0 or 1 */
    struct stop *stop;         /* n + 2: those of the current cell, increasing */
    size_t n_stop, i_stop;
    size_t i_gap, i_part, n_part; /* of the next sample */
    double gap_begin;
    int n_end;                 /* samples beyond the last one, which repeat it */
    bool is_fresh;             /* no step has been made yet */
};

struct forcing *forcing_new(const struct stiffit_model *abi)
{
    struct forcing *f = calloc(1, sizeof *f);
    size_t n = abi->n_forcing;
    if (!f)
        return NULL;
    f->n = n;
    double *numbers = calloc((WINDOW + 2 + 4 + DEPTH + 1) * n + 1, sizeof *numbers);
    f->numbers = f->value[0] = numbers;
    f->direction = calloc(n + 1, sizeof *f->direction);
    f->stop = calloc(n + 2, sizeof *f->stop);
    if (!numbers || !f->direction || !f->stop) {
        forcing_free(f);
        return NULL;
    }
    for (int i = 1; i < WINDOW; i++)
        f->value[i] = numbers + (size_t)i * n;
    f->between = numbers + WINDOW * n;
    f->size = f->between + n;
    f->bound = f->size + n;
    f->ahead = f->bound + 4 * n;
    return f;
}

void forcing_free(struct forcing *f)
{
    if (!f)
        return;
    free(f->numbers);
    free(f->direction);
    free(f->stop);
    free(f);
}

/* The values at time t. A function that cannot be computed keeps its value. */
static void evaluate(struct simulation *sim, double t, double *value)
{
    struct forcing *f = sim->forcing;
    const double *last = f->value[WINDOW - 1];
    if (derivatives_forcing(&sim->model, t, value) != STIFFIT_OK)
        memcpy(value, last, f->n * sizeof *value);
    for (size_t k = 0; k < f->n; k++) {
        if (!isfinite(value[k]))
            value[k] = last[k];
        f->size[k] = fmax(f->size[k], fabs(value[k]));
    }
}

/* Adds the sample at time t (stored at time[3]) and moves the window. */
static void add_sample(struct forcing *f, double t, const double *value, bool is_unresolved)
{
    double *oldest = f->value[0];
    for (int i = 0; i + 1 < WINDOW; i++) {
        f->time[i] = f->time[i + 1];
        f->value[i] = f->value[i + 1];
        f->is_unresolved[i] = f->is_unresolved[i + 1];
    }
    f->value[WINDOW - 1] = memcpy(oldest, value, f->n * sizeof *value);
    f->time[WINDOW - 1] = t;
    f->is_unresolved[WINDOW - 1] = is_unresolved;
}

/* Whether a function that is a at the beginning of a span and b at its end, `h` later, stays
 * within `allowed` of the range between them. Its graph lies in the parallelogram that the
 * bounds of the slope make. */
static bool is_seen(double a, double b, double h, double lower, double upper, double least,
                    double most, double allowed)
{
    double low = fmin(a, b), high = fmax(a, b);
    if (least >= 0 || most <= 0 || (lower >= low - allowed && upper <= high + allowed))
        return true;
    double width = most - least; /* least < 0 < most */
    if (!(width < INFINITY))
        return false;
    upper = fmin(upper, (most * b - least * a - most * least * h) / width);
    lower = fmax(lower, (most * a - least * b + most * least * h) / width);
    return lower >= low - allowed && upper <= high + allowed;
}

/* Whether the samples at both ends of a span tell all about it. */
static bool is_resolved(struct simulation *sim, double from, const double *first, double to,
                        const double *last)
{
    struct forcing *f = sim->forcing;
    const double *bound = f->bound;
    if (derivatives_forcing_range(&sim->model, from, to, f->bound) != STIFFIT_OK)
        return false;
    for (size_t k = 0; k < f->n; k++)
        if (!is_seen(first[k], last[k], to - from, bound[k], bound[k + f->n], bound[k + 2 * f->n],
                     bound[k + 3 * f->n], HIDDEN * f->size[k]))
            return false;
    return true;
}

/* The time of the next sample; after the last one, its time again. */
static double next_time(struct simulation *sim)
{
    struct forcing *f = sim->forcing;
    const struct ode_task *task = sim->evaluation->task;
    while (f->i_gap < task->n_time && task->time[f->i_gap] <= f->gap_begin)
        f->i_gap++;
    if (f->i_gap == task->n_time) {
        f->n_end++;
        return f->time[WINDOW - 1];
    }
    double end = task->time[f->i_gap];
    if (++f->i_part < f->n_part)
        return f->gap_begin + (end - f->gap_begin) * ((double)f->i_part / (double)f->n_part);
    f->i_part = 0;
    f->gap_begin = end;
    return end;
}

/* Takes the next sample: at the next time, or earlier if something may be hidden before it. */
static void sample(struct simulation *sim)
{
    struct forcing *f = sim->forcing;
    double from = f->time[WINDOW - 1];
    const double *first = f->value[WINDOW - 1];
    bool is_good = true;
    if (f->n_ahead == 0) {
        f->time_ahead[f->n_ahead++] = next_time(sim);
        evaluate(sim, f->time_ahead[0], f->ahead);
    }
    for (;;) {
        double *last = f->ahead + (f->n_ahead - 1) * f->n, to = f->time_ahead[f->n_ahead - 1];
        double middle = from + 0.5 * (to - from);
        is_good = !sim->model.abi->forcing_range || !(to > from) ||
                  is_resolved(sim, from, first, to, last);
        if (is_good || f->n_ahead > DEPTH || f->n_halving == MOST_HALVINGS ||
            !(middle - from > BEHIND * fabs(middle)))
            break;
        f->n_halving++;
        f->time_ahead[f->n_ahead++] = middle;
        evaluate(sim, middle, last + f->n);
    }
    f->n_ahead--;
    add_sample(f, f->time_ahead[f->n_ahead], f->ahead + f->n_ahead * f->n, !is_good);
}

/* Encloses the largest change of function k between two times; returns the end of the enclosure. */
static double enclose(struct simulation *sim, size_t k, double from, double to, double low,
                      double high)
{
    struct forcing *f = sim->forcing;
    double whole = fabs(high - low);
    int i = 0;
    for (; i < BISECTIONS && fabs(high - low) > 0.5 * whole; i++) {
        double middle = from + 0.5 * (to - from);
        if (derivatives_forcing(&sim->model, middle, f->between) != STIFFIT_OK ||
            !isfinite(f->between[k]))
            break;
        if (fabs(f->between[k] - low) > fabs(high - f->between[k])) {
            to = middle;
            high = f->between[k];
        } else {
            from = middle;
            low = f->between[k];
        }
    }
    /* well behind a true jump, not at it: times are rounded */
    return i < BISECTIONS ? to : to + fmax(to - from, BEHIND * fabs(to));
}

/* Changes of function k in the cells before and after the window's second one, as they compare
 * with the change in this. With cells of equal length they are the changes; otherwise it takes
 * slopes. */
static bool is_abrupt(const struct forcing *f, size_t k)
{
    double slope[WINDOW - 1];
    for (int i = 0; i + 1 < WINDOW; i++) {
        double change = fabs(f->value[i + 1][k] - f->value[i][k]), h = f->time[i + 1] - f->time[i];
        slope[i] = f->n_halving == 0 ? change : h > 0 ? change / h : 0;
    }
    return slope[1] > ABRUPT * fmax(slope[0], slope[2]);
}

static void add_stop(struct forcing *f, double t, double reach)
{
    size_t i = f->n_stop++;
    for (; i > 0 && f->stop[i - 1].t > t; i--)
        f->stop[i] = f->stop[i - 1];
    f->stop[i] = (struct stop){t, reach};
}

/* Finds the stops of the window's second cell. */
static void look(struct simulation *sim)
{
    struct forcing *f = sim->forcing;
    f->n_stop = f->i_stop = 0;
    for (size_t k = 0; k < f->n; k++) {
        double now = f->value[2][k] - f->value[1][k];
        int direction = now > 0 ? 1 : -1;
        if (!(fabs(now) > ROUNDING * f->size[k]))
            continue;
        if (is_abrupt(f, k))
            add_stop(f, enclose(sim, k, f->time[1], f->time[2], f->value[1][k], f->value[2][k]), 0);
        else if (f->direction[k] == -direction)
            add_stop(f, f->time[1], fmin(f->time[2] - f->time[1], f->time[1] - f->time[0]));
        f->direction[k] = direction;
    }
    if (f->is_unresolved[2])
        add_stop(f, f->time[2], f->time[2] - f->time[1]);
}

/* The first stop after t; infinity if there is none. */
static struct stop next_stop(struct simulation *sim, double t)
{
    struct forcing *f = sim->forcing;
    for (;;) {
        double t0 = sim->evaluation->task->experiment.t0;
        double least = t + CLOSEST * (fabs(t0) + fabs(sim->t_far));
        for (; f->i_stop < f->n_stop; f->i_stop++)
            if (f->stop[f->i_stop].t > least)
                return f->stop[f->i_stop];
        if (f->n_end > 1)
            return (struct stop){.t = INFINITY};
        sample(sim);
        look(sim);
    }
}

void forcing_begin(struct simulation *sim)
{
    struct forcing *f = sim->forcing;
    const struct ode_task *task = sim->evaluation->task;
    size_t n_part = SAMPLES / task->n_time;
    f->n_part = n_part > SAMPLES_LEAST ? n_part : SAMPLES_LEAST;
    f->n_stop = f->i_stop = f->i_gap = f->i_part = 0;
    f->n_end = 0;
    f->n_ahead = f->n_halving = 0;
    f->gap_begin = task->experiment.t0;
    f->is_fresh = true;
    memset(f->size, 0, f->n * sizeof *f->size);
    memset(f->direction, 0, f->n * sizeof *f->direction);
    for (int i = 0; i < WINDOW; i++) { /* nothing changes before the beginning */
        f->time[i] = task->experiment.t0;
        f->is_unresolved[i] = false;
        memset(f->value[i], 0, f->n * sizeof(double));
    }
    evaluate(sim, task->experiment.t0, f->ahead);
    add_sample(f, task->experiment.t0, f->ahead, false);
    add_sample(f, task->experiment.t0, f->ahead, false);
    sample(sim);
}

double forcing_bound(struct simulation *sim, double step)
{
    struct forcing *f = sim->forcing;
    struct stop stop = next_stop(sim, sim->t);
    double left = stop.t - sim->t;
    if (left == INFINITY)
        return INFINITY;
    if (f->is_fresh)
        step = left;
    f->is_fresh = false;
    if (2 * step < stop.reach)
        return INFINITY;
    if (NEARLY * step >= left) {
        tolerance_wake(sim, stop.t, WAKE * BEHIND * fabs(stop.t));
        return stop.t;
    }
    /* two steps of similar length instead of a very short last one */
    return 2 * step > left ? sim->t + 0.5 * left : INFINITY;
}
