/* Samples every function in each gap between two times of the task, in order. Where a function turns (rises after falling, or
 * the reverse), the sample is a stop. Where it jumps, bisection encloses the change, and the end of the enclosure is a stop. A
 * pulse is a turn and a step is a jump, so the integrator meets each at least once; its error test resolves the rest.
 *
 * Samples are taken shortly before the integrator needs them, so only the last few are kept. They depend on the task and the
 * parameters alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/forcing.h"

#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples in total, and the least number in a gap. */
enum { SAMPLES = 128, SAMPLES_LEAST = 4, WINDOW = 4, BISECTIONS = 32 };
/* A change below this part of the largest value is rounding. A jump is a change this many times those of its neighbours. */
#define ROUNDING 1e-9
#define ABRUPT 8
/* A step is stretched to a stop that lies at most this many times its length ahead. */
#define NEARLY 1.01
/* A stop closer than this, relative to the times, counts as passed: the integrator cannot make so short a step. */
#define CLOSEST 1e-12
#define BEHIND 1e-11
/* The error test of states at rest skips this many times the distance from a jump to its stop. */
#define WAKE 10

/* A time at which a step must end. Steps shorter than half of `reach` may pass it: they see what the samples saw. */
struct stop {
    double t, reach;
};

struct forcing {
    size_t n;
    double *numbers;           /* all of the following four */
    double time[WINDOW];
    double *value[WINDOW];     /* n each, at these times */
    double *between, *size;    /* n: scratch; the largest value so far */
    int *direction;            /* n: of the last change, -1, 0 or 1 */
    struct stop *stop;         /* n + 1: those of the current cell, increasing */
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
    double *numbers = calloc((WINDOW + 2) * n + 1, sizeof *numbers);
    f->numbers = f->value[0] = numbers;
    f->direction = calloc(n + 1, sizeof *f->direction);
    f->stop = calloc(n + 1, sizeof *f->stop);
    if (!numbers || !f->direction || !f->stop) {
        forcing_free(f);
        return NULL;
    }
    for (int i = 1; i < WINDOW; i++)
        f->value[i] = numbers + (size_t)i * n;
    f->between = numbers + WINDOW * n;
    f->size = f->between + n;
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

/* Adds the sample at time t (stored at time[3]) and moves the window. A function that cannot be computed keeps its value. */
static void sample(struct observer *ob, double t)
{
    struct forcing *f = ob->forcing;
    double *oldest = f->value[0];
    for (int i = 0; i + 1 < WINDOW; i++) {
        f->time[i] = f->time[i + 1];
        f->value[i] = f->value[i + 1];
    }
    f->value[WINDOW - 1] = oldest;
    f->time[WINDOW - 1] = t;
    if (derivatives_forcing(&ob->model, t, oldest) != STIFFIT_OK)
        memcpy(oldest, f->value[WINDOW - 2], f->n * sizeof *oldest);
    for (size_t k = 0; k < f->n; k++) {
        if (!isfinite(oldest[k]))
            oldest[k] = f->value[WINDOW - 2][k];
        f->size[k] = fmax(f->size[k], fabs(oldest[k]));
    }
}

/* The time of the next sample; after the last one, its time again. */
static double next_time(struct observer *ob)
{
    struct forcing *f = ob->forcing;
    const struct ode_task *task = ob->evaluation->task;
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

/* Encloses the largest change of function k between two times; returns the end of the enclosure. */
static double enclose(struct observer *ob, size_t k, double from, double to, double low, double high)
{
    struct forcing *f = ob->forcing;
    double whole = fabs(high - low);
    int i = 0;
    for (; i < BISECTIONS && fabs(high - low) > 0.5 * whole; i++) {
        double middle = from + 0.5 * (to - from);
        if (derivatives_forcing(&ob->model, middle, f->between) != STIFFIT_OK || !isfinite(f->between[k]))
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

static void add_stop(struct forcing *f, double t, double reach)
{
    size_t i = f->n_stop++;
    for (; i > 0 && f->stop[i - 1].t > t; i--)
        f->stop[i] = f->stop[i - 1];
    f->stop[i] = (struct stop){t, reach};
}

/* Finds the stops of the window's second cell. */
static void look(struct observer *ob)
{
    struct forcing *f = ob->forcing;
    f->n_stop = f->i_stop = 0;
    for (size_t k = 0; k < f->n; k++) {
        double before = f->value[1][k] - f->value[0][k], now = f->value[2][k] - f->value[1][k];
        double after = f->value[3][k] - f->value[2][k];
        int direction = now > 0 ? 1 : -1;
        if (!(fabs(now) > ROUNDING * f->size[k]))
            continue;
        if (fabs(now) > ABRUPT * fmax(fabs(before), fabs(after)))
            add_stop(f, enclose(ob, k, f->time[1], f->time[2], f->value[1][k], f->value[2][k]), 0);
        else if (f->direction[k] == -direction)
            add_stop(f, f->time[1], fmin(f->time[2] - f->time[1], f->time[1] - f->time[0]));
        f->direction[k] = direction;
    }
}

/* The first stop after t; infinity if there is none. */
static struct stop next_stop(struct observer *ob, double t)
{
    struct forcing *f = ob->forcing;
    for (;;) {
        double least = t + CLOSEST * (fabs(ob->evaluation->task->t0) + fabs(ob->t_far));
        for (; f->i_stop < f->n_stop; f->i_stop++)
            if (f->stop[f->i_stop].t > least)
                return f->stop[f->i_stop];
        if (f->n_end > 1)
            return (struct stop){.t = INFINITY};
        sample(ob, next_time(ob));
        look(ob);
    }
}

void forcing_begin(struct observer *ob)
{
    struct forcing *f = ob->forcing;
    const struct ode_task *task = ob->evaluation->task;
    size_t n_part = SAMPLES / task->n_time;
    f->n_part = n_part > SAMPLES_LEAST ? n_part : SAMPLES_LEAST;
    f->n_stop = f->i_stop = f->i_gap = f->i_part = 0;
    f->n_end = 0;
    f->gap_begin = task->t0;
    f->is_fresh = true;
    memset(f->size, 0, f->n * sizeof *f->size);
    memset(f->direction, 0, f->n * sizeof *f->direction);
    for (int i = 0; i < WINDOW - 1; i++) {
        f->time[i] = task->t0;
        memset(f->value[i], 0, f->n * sizeof(double));
    }
    sample(ob, task->t0); /* twice: nothing changes before the beginning */
    sample(ob, task->t0);
    sample(ob, next_time(ob));
}

double forcing_bound(struct observer *ob, double step)
{
    struct forcing *f = ob->forcing;
    struct stop stop = next_stop(ob, ob->t);
    double left = stop.t - ob->t;
    if (left == INFINITY)
        return INFINITY;
    if (f->is_fresh)
        step = left;
    f->is_fresh = false;
    if (2 * step < stop.reach)
        return INFINITY;
    if (NEARLY * step >= left) {
        tolerance_wake(ob, stop.t, WAKE * BEHIND * fabs(stop.t));
        return stop.t;
    }
    /* two steps of similar length instead of a very short last one */
    return 2 * step > left ? ob->t + 0.5 * left : INFINITY;
}
