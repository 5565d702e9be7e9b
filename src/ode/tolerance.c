/* How accurate an evaluation is: the weights of the integrator's error test.
 *
 * Without atol, the tolerance of state i follows its own size S_i, the largest |y_i| so far in this evaluation:
 *
 *     rtol max(|y_i|^(3/4) S_i^(1/4), FRACTION S_i)
 *
 * So the choice of units does not matter, the relative error of a decaying state grows slowly (32 rtol six decades below S_i),
 * and a state never becomes so small that its error goes unchecked (e5, whose states span 20 decades). Over the example models
 * and twelve reaction networks, at rtol 1e-7, compared with an atol of 1e-10, which suits states of size 1: 0.90 of the steps
 * for 1.6 times the error, including STEP_GROWTH of workspace.c; pollu's error falls from 4000 rtol to 1.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/tolerance.h"

#include "ode/reach.h"
#include "ode/workspace.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The absolute tolerance of a state that crosses zero, as a part of its size. */
#define FRACTION 1e-6
/* The same if an observable needs a state's relative accuracy over many decades. */
#define FRACTION_RELATIVE 1e-100
/* So many failures of an evaluation may be due to sizes. */
enum { MOST_RESCUES = 8 };
/* A state that starts at zero is young, with a guessed size, as long as it grows at least like this power of time. */
#define YOUNG 0.5
/* A state up to this part of its reach (reach.h) is at rest: rounding errors. */
#define REST 1e-12
/* Behind a jump this part, too, if the state will be so much larger than it has ever been. */
#define SUDDEN 1e-6
/* After a failure only a state below this part of the largest one can be at rest. */
#define SMALL 1e-6
/* The part of its reach that a state is guessed to attain at least, since estimates of a reach are rather too large. Up to this
 * part its tolerance is at least ROUNDING times its reach: the states that drive it are known no better. */
#define PART 1e-3
#define ROUNDING (4 * DBL_EPSILON)
/* A state that others must reach first begins like a power of time: so much larger is its guess. */
#define LATE 100
/* A new estimate is worth its price if the one so far, ROUNDING times that, is at least this part of the present tolerance, or
 * would be if it grew like the span's square. */
#define DUE 0.1
/* A tolerance is at least this many times the noise of the state (reach.h). */
#define NOISE 4
/* A measurement earlier than this part of all times does not show how far a state will grow. */
#define SOON 1e-3
/* Weights must be finite. */
#define TINY (DBL_MIN / DBL_EPSILON)
/* The effect of a relative change of a parameter on a state is that change times the sensitivity. An effect below this part of
 * the state is computed only as accurately as if it were that part. Otherwise sensitivities by parameters of fast rates
 * (vdpol's epsilon, whose effects are a millionth of the states) would need more accuracy than the slopes of the states, from
 * which they are computed, and steps would shrink to the fast scale. */
#define EFFECT 0.01

void tolerance_set(struct observer *ob, bool is_relative)
{
    const struct ode_options *options = &ob->options;
    double by = ob->evaluation->tighter > 0 ? ob->evaluation->tighter : 1;
    ob->rtol = fmax(options->rtol / by, fmin(options->rtol, 100 * DBL_EPSILON));
    ob->atol = options->atol > 0 ? fmax(options->atol / by, fmin(options->atol, TINY)) : 0;
    ob->is_relative = ob->model.is_relative = is_relative;
    ob->model.floor = ob->atol / ob->rtol;
    ob->fraction = is_relative ? FRACTION_RELATIVE : FRACTION / fmax(1, by * by);
}

/* Whether state i is at rest: zero, or no larger than what rounding errors make of what could drive it. */
static bool rests(const struct observer *ob, size_t i)
{
    return ob->is_idle[i] || ob->sizes[i] <= REST * ob->reach[i];
}

/* Copies y to `copy`, without the rounding errors of idle states. An idle state was zero, and nothing drove it at the latest
 * estimate. It would remain exactly zero, but where the linear algebra has to swap rows, it gets rounding errors of others. */
static void copy_without_idle(const struct observer *ob, const double *y, double *copy)
{
    for (size_t i = 0; i < ob->n_state; i++)
        copy[i] = ob->is_idle[i] ? 0 : y[i];
}

/* Idle states are no longer idle if their rates are not zero at y, where they are zero themselves. */
static void look_at_idle(struct observer *ob, const double *y)
{
    double *at = ob->reach_scratch, *f = at + ob->n_state;
    copy_without_idle(ob, y, at);
    bool known = derivatives_rhs(&ob->model, ob->t, at, f) == STIFFIT_OK;
    for (size_t i = 0; i < ob->n_state; i++)
        ob->is_idle[i] = ob->is_idle[i] && known && f[i] == 0;
}

/* Estimates from the rate of change at y, and from all that drives it, how large a state at rest becomes until the next
 * measurement. The guess may be far too large, which costs its fourth root in accuracy while the state is young. States up to
 * `part` of their reach count as at rest. */
static void guess_sizes(struct observer *ob, const double *state, double span, double part)
{
    size_t n = ob->n_state;
    double *guess = ob->sizes + n, largest = 0, *f = ob->f, *y = ob->reach_scratch + 8 * n;
    copy_without_idle(ob, state, y);
    for (size_t i = 0; i < n; i++)
        ob->sizes[i] = ob->is_idle[i] ? 0 : ob->sizes[i];
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(y[i]));
    for (size_t i = 0; i < n; i++)
        ob->is_at_rest[i] = part > REST || rests(ob, i) || ob->sizes[i] <= REST * largest;
    double *reach = ob->reach_scratch + 6 * ob->n_state, *noise = reach + ob->n_state;
    reach_estimate(ob, y, span, ob->is_at_rest, reach, noise);
    for (size_t i = 0; i < n; i++) {
        ob->is_idle[i] = y[i] == 0 && ob->is_at_rest[i] && reach[i] == 0;
        if (!ob->is_at_rest[i])
            continue;
        ob->is_at_rest[i] = ob->is_idle[i] || ob->sizes[i] <= part * reach[i] || ob->sizes[i] == 0;
        ob->reach[i] = ob->is_at_rest[i] ? reach[i] : 0;
        ob->noise[i] = ob->is_at_rest[i] ? noise[i] : 0;
        largest = fmax(largest, ob->reach[i]);
    }
    bool known = derivatives_rhs(&ob->model, ob->t, y, f) == STIFFIT_OK;
    for (size_t i = 0; i < n; i++) {
        if (!ob->is_at_rest[i])
            continue;
        double by_rate = known && span < INFINITY ? span * fabs(f[i]) : 0;
        ob->born[i] = ob->t;
        guess[i] = fmin(by_rate > PART * ob->reach[i] ? by_rate : LATE * ob->reach[i], DBL_MAX * DBL_EPSILON);
        if (guess[i] == 0) /* nothing that is known drives it */
            guess[i] = largest > 0 ? largest : 1;
        ob->grows = ob->grows || ob->reach[i] > 0;
    }
}

/* Whether state i is far from its reach. */
static bool grows(const struct observer *ob, size_t i) { return ob->sizes[i] < PART * ob->reach[i]; }

/* The time from t to the first measurement after `later`; INFINITY: to a steady state. */
static double span_after(const struct observer *ob, double t, double later)
{
    const struct ode_task *task = ob->evaluation->task;
    size_t i_time = ob->i_time;
    while (i_time + 1 < task->n_time && task->time[i_time] <= later)
        i_time++;
    double span = task->time[i_time] - t;
    return span > 0 ? span : INFINITY;
}

/* Whether the tolerance of some growing state depends, or may depend until the end of the span, on an estimate. */
static bool is_due(const struct observer *ob, const double *y, double span)
{
    for (size_t i = 0; i < ob->n_state; i++) {
        double tolerance = ob->rtol * fabs(y[i]) + ob->tolerance_beyond[i], by = span / (ob->t - ob->born[i]);
        double reach = ob->reach[i] * fmax(1, by * by);
        if (ob->is_at_rest[i] && (ob->noise[i] > 0 || !(ROUNDING * reach < DUE * tolerance)))
            return true;
    }
    return false;
}

void tolerance_look(struct observer *ob, const double *y)
{
    double *reach = ob->reach_scratch + 6 * ob->n_state, *noise = reach + ob->n_state;
    if (!ob->grows || ob->i_time >= ob->evaluation->task->n_time)
        return;
    ob->grows = false;
    for (size_t i = 0; i < ob->n_state; i++) {
        ob->is_at_rest[i] = grows(ob, i);
        ob->grows = ob->grows || ob->is_at_rest[i];
    }
    double span = span_after(ob, ob->t, ob->t);
    if (!ob->grows || !is_due(ob, y, span))
        return;
    reach_estimate(ob, y, span, ob->is_at_rest, reach, noise);
    for (size_t i = 0; i < ob->n_state; i++)
        if (ob->is_at_rest[i]) {
            ob->reach[i] = fmax(ob->reach[i], reach[i]);
            ob->noise[i] = fmax(ob->noise[i], noise[i]);
        }
}

void tolerance_wake(struct observer *ob, double t, double width)
{
    double now = ob->t, span = span_after(ob, t, t + SOON * (ob->t_far - ob->evaluation->task->t0));
    bool any = false;
    for (size_t i = 0; i < ob->n_state; i++)
        any = any || rests(ob, i);
    if (!any || ob->atol > 0 || !(span < INFINITY))
        return;
    ob->t = t;
    guess_sizes(ob, ob->sizes + 2 * ob->n_state, span, REST); /* at the state after the latest step */
    ob->t = now;
    ob->at_rest = width / span;
}

/* Whether a jump to y makes some state far larger than it has ever been. */
static bool is_sudden(struct observer *ob, const double *y, double span)
{
    bool sudden = false;
    if (!(span < INFINITY) || derivatives_rhs(&ob->model, ob->t, y, ob->f) != STIFFIT_OK)
        return false;
    for (size_t i = 0; i < ob->n_state; i++)
        sudden = sudden || ob->sizes[i] < SUDDEN * span * fabs(ob->f[i]);
    return sudden;
}

void tolerance_jump(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        ob->is_idle[i] = ob->is_idle[i] && y[i] == ob->sizes[i + 2 * n];
        bool at_rest = rests(ob, i);
        ob->sizes[i] = at_rest ? fabs(y[i]) : fmax(ob->sizes[i], fabs(y[i]));
        if (at_rest && !rests(ob, i))
            ob->sizes[i + n] = ob->reach[i] = ob->noise[i] = 0;
        ob->sizes[i + 2 * n] = y[i];
        any = any || rests(ob, i);
    }
    ob->sizes[3 * n] = ob->t;
    ob->at_rest = 0;
    double span = span_after(ob, ob->t, ob->t);
    if (ob->atol > 0 || !(any || is_sudden(ob, y, span)))
        return;
    guess_sizes(ob, y, span, is_sudden(ob, y, span) ? SUDDEN : REST);
}

bool tolerance_rescue(struct observer *ob, const double *y)
{
    double largest = 0;
    bool any = false;
    if (ob->atol > 0 || ob->n_rescue == MOST_RESCUES || ob->evaluation->adjoint)
        return false;
    ob->n_rescue++;
    for (size_t i = 0; i < ob->n_state; i++)
        largest = fmax(largest, ob->sizes[i]);
    guess_sizes(ob, y, span_after(ob, ob->t, ob->t), SUDDEN);
    for (size_t i = 0; i < ob->n_state; i++) {
        /* A state that is not small beside all others has grown to where it is: it fails at a pole, not at rest. */
        bool is_small = ob->sizes[i] <= SMALL * largest;
        any = any || (ob->is_at_rest[i] && is_small && ob->sizes[i] < SUDDEN * ob->sizes[i + ob->n_state]);
        ob->sizes[i + 2 * ob->n_state] = y[i];
    }
    ob->sizes[3 * ob->n_state] = ob->t;
    return any;
}

void tolerance_begin(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    double least = INFINITY, largest = 0;
    ob->grows = false;
    ob->n_rescue = 0;
    for (size_t i = 0; i < n; i++) {
        ob->sizes[i] = fabs(y[i]);
        ob->sizes[i + n] = ob->reach[i] = ob->noise[i] = 0;
        ob->sizes[i + 2 * n] = y[i];
        ob->is_idle[i] = false;
        ob->tolerance_beyond[i] = ob->atol;
        least = fmin(least, fabs(y[i]));
        largest = fmax(largest, fabs(y[i]));
    }
    ob->sizes[3 * n] = ob->evaluation->task->t0;
    ob->at_rest = 0;
    if (least <= REST * largest && ob->atol == 0)
        guess_sizes(ob, y, span_after(ob, ob->t, ob->t), REST);
}

/* fmax is a library call; this is inlined. */
static inline double larger(double a, double b) { return a > b ? a : b; }

void tolerance_follow(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    double *size = ob->sizes, *guess = size + n, *before = guess + n, *t = before + n, *beyond = ob->tolerance_beyond;
    const double *reach = ob->reach;
    double h = ob->t - *t, rtol = ob->rtol;
    bool looked = false;
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs(y[i]), part = ob->fraction;
        size[i] = larger(size[i], magnitude);
        if (guess[i] > 0 && h > 0 && size[i] > REST * reach[i]
            && !(fabs(y[i] - before[i]) * (ob->t - ob->born[i]) >= YOUNG * h * magnitude)) {
            if (ob->is_idle[i] && !looked) {
                look_at_idle(ob, y);
                looked = true;
            }
            if (!ob->is_idle[i])
                guess[i] = 0;
        }
        before[i] = y[i];
        double s = size[i];
        bool young = guess[i] > 0;
        if (young) {
            s = larger(s, guess[i]);
            part = FRACTION;
        }
        double wanted = magnitude, root;
        if (magnitude < s && (young || !ob->is_relative)) {
            root = sqrt(magnitude);
            wanted = root * sqrt(root * sqrt(s));
        }
        beyond[i] = rtol * (larger(wanted, part * s) - magnitude);
        if (grows(ob, i))
            beyond[i] = larger(beyond[i], ROUNDING * reach[i]);
        beyond[i] = larger(beyond[i], NOISE * ob->noise[i]);
        if (size[i] == 0)
            beyond[i] = larger(beyond[i], ob->at_rest * guess[i]);
    }
    *t = ob->t;
}

void tolerance_weigh(struct observer *ob, const double *y, double *weight)
{
    size_t n = ob->n_state;
    const double *state = y;
    double *beyond = ob->tolerance_beyond, rtol = ob->rtol;
    if (ob->atol == 0)
        tolerance_follow(ob, y);
    for (size_t i = 0; i < n; i++)
        weight[i] = 1 / (rtol * fabs(y[i]) + beyond[i] + TINY);
    for (size_t k = 0; k < ob->n_block; k++) {
        double per = ob->block_unit[k], part = EFFECT * rtol * per;
        y += n;
        weight += n;
        for (size_t i = 0; i < n; i++)
            weight[i] = 1 / (rtol * fabs(y[i]) + part * fabs(state[i]) + per * beyond[i] + TINY);
    }
}

double tolerance_vanished(const struct observer *ob)
{
    double part = ob->rtol * ob->fraction;
    return ob->atol == 0 ? part * part : 0;
}

const double *tolerance_drop_vanished(const struct observer *ob, const double *y, double *seen)
{
    size_t n = ob->n_state, n_all = n * (1 + ob->n_block);
    double part = tolerance_vanished(ob);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        double least = part * ob->sizes[i];
        for (size_t k = 0; k < ob->n_block && fabs(y[i]) <= least; k++) {
            double s = y[i + (1 + k) * n];
            if (s == 0 || fabs(s) > ob->block_unit[k] * least)
                continue;
            if (!any)
                memcpy(seen, y, n_all * sizeof *y);
            any = true;
            seen[i + (1 + k) * n] = 0;
        }
    }
    return any ? seen : y;
}

int tolerance_weights(N_Vector y, N_Vector weight, void *workspace)
{
    tolerance_weigh(&((struct workspace *)workspace)->o, vector_data(y), vector_data(weight));
    return 0;
}
