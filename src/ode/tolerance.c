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

#include "ode/workspace.h"

#include <float.h>
#include <math.h>

/* The absolute tolerance of a state that crosses zero, as a part of its size. */
#define FRACTION 1e-6
/* The same if an observable needs a state's relative accuracy over many decades. */
#define FRACTION_RELATIVE 1e-100
/* A state that starts at zero is young, with a guessed size, as long as it grows at least like this power of time. */
#define YOUNG 0.5
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

/* Guesses the size of states that start at zero, from their slopes until the next measurement. The guess may be far too large,
 * which costs its fourth root in accuracy while the state is young. With slope zero it is that of the largest state. */
static void guess_sizes(struct observer *ob, const double *y)
{
    const struct ode_task *task = ob->evaluation->task;
    size_t n = ob->n_state;
    double *guess = ob->sizes + n, largest = 0, *f = ob->f;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(y[i]));
    size_t next = ob->i_time;
    while (next + 1 < task->n_time && task->time[next] <= ob->t)
        next++;
    double interval = task->time[next] - ob->t;
    bool known = derivatives_rhs(&ob->model, ob->t, y, f) == STIFFIT_OK;
    for (size_t i = 0; i < n; i++)
        if (ob->sizes[i] == 0) {
            ob->born[i] = ob->t;
            bool moves = known && f[i] != 0 && interval < INFINITY;
            guess[i] = moves ? fmin(interval * fabs(f[i]), DBL_MAX * DBL_EPSILON) : largest > 0 ? largest : 1;
        }
}

void tolerance_wake(struct observer *ob, double t, double width)
{
    const struct ode_task *task = ob->evaluation->task;
    size_t n = ob->n_state, i_time = ob->i_time;
    const double *y = ob->sizes + 2 * n; /* after the latest step */
    double *f = ob->f;
    bool rests = false;
    for (size_t i = 0; i < n; i++)
        rests = rests || (ob->sizes[i] == 0 && ob->sizes[i + n] > 0);
    double soon = t + SOON * (ob->t_far - task->t0);
    while (i_time + 1 < task->n_time && task->time[i_time] <= soon)
        i_time++;
    double interval = task->time[i_time] - t;
    if (!rests || ob->atol > 0 || !(interval > 0 && interval < INFINITY) || derivatives_rhs(&ob->model, t, y, f) != STIFFIT_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if (ob->sizes[i] == 0 && ob->sizes[i + n] > 0 && f[i] != 0)
            ob->sizes[i + n] = fmin(interval * fabs(f[i]), DBL_MAX * DBL_EPSILON);
    ob->at_rest = width / interval;
}

void tolerance_jump(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    bool rests = false;
    for (size_t i = 0; i < n; i++) {
        if (y[i] != 0 && ob->sizes[i] == 0)
            ob->sizes[i + n] = 0;
        ob->sizes[i] = fmax(ob->sizes[i], fabs(y[i]));
        ob->sizes[i + 2 * n] = y[i];
        rests = rests || ob->sizes[i] == 0;
    }
    ob->sizes[3 * n] = ob->t;
    ob->at_rest = 0;
    if (rests && ob->atol == 0)
        guess_sizes(ob, y);
}

void tolerance_begin(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    bool zero = false;
    for (size_t i = 0; i < n; i++) {
        ob->sizes[i] = fabs(y[i]);
        ob->sizes[i + n] = 0;
        ob->sizes[i + 2 * n] = y[i];
        ob->tolerance_beyond[i] = ob->atol;
        zero = zero || y[i] == 0;
    }
    ob->sizes[3 * n] = ob->evaluation->task->t0;
    ob->at_rest = 0;
    if (zero && ob->atol == 0)
        guess_sizes(ob, y);
}

/* fmax is a library call; this is inlined. */
static inline double larger(double a, double b) { return a > b ? a : b; }

void tolerance_follow(struct observer *ob, const double *y)
{
    size_t n = ob->n_state;
    double *size = ob->sizes, *guess = size + n, *before = guess + n, *t = before + n, *beyond = ob->tolerance_beyond;
    double h = ob->t - *t, rtol = ob->rtol;
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs(y[i]), part = ob->fraction;
        size[i] = larger(size[i], magnitude);
        if (guess[i] > 0 && h > 0 && !(fabs(y[i] - before[i]) * (ob->t - ob->born[i]) >= YOUNG * h * magnitude))
            guess[i] = 0;
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

int tolerance_weights(N_Vector y, N_Vector weight, void *workspace)
{
    tolerance_weigh(&((struct workspace *)workspace)->o, vector_data(y), vector_data(weight));
    return 0;
}
