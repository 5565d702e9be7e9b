/* How accurate an evaluation is: the weights of the integrator's error test.
 *
 * Without atol, the tolerance of state i follows its own size S_i, the largest |y_i| so far in
 * this evaluation:
 *
 *     rtol max(|y_i|^(3/4) S_i^(1/4), FRACTION S_i)
 *
 * So the choice of units does not matter, the relative error of a decaying state grows slowly
 * (32 rtol six decades below S_i), and a state never becomes so small that its error goes
 * unchecked (e5, whose states span 20 decades). Over the example models and twelve reaction
 * networks, at rtol 1e-7, compared with an atol of 1e-10, which suits states of size 1: 0.90 of
 * the steps for 1.6 times the error, including STEP_GROWTH of cvodes.c; pollu's error falls from
 * 4000 rtol to 1.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/tolerance.h"

#include "ode/tolerance_constants.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The absolute tolerance of a state that crosses zero, as a part of its size, if an observable
 * needs its relative accuracy over many decades. */
#define FRACTION_RELATIVE 1e-100
/* So many failures of an evaluation may be due to sizes. */
enum { MOST_RESCUES = 8 };
/* Behind a jump this part, too, if the state will be so much larger than it has ever been. */
#define SUDDEN 1e-6
/* After a failure only a state below this part of the largest one can be at rest. */
#define SMALL 1e-6
/* A state that others must reach first begins like a power of time: so much larger is its guess. */
#define LATE 100
/* A measurement earlier than this part of all times does not show how far a state will grow. */
#define SOON 1e-3

/* Rounds after the last one that has reached a state: for what decays faster than the span. More
 * would follow what grows exponentially far beyond its growth in the span. */
enum { MORE_ROUNDS = 2 };
/* Rounds end if they change no reach by more than this part. It is small, because a reach must
 * not jump between two parameter vectors or two doses that are close: the iteration for a
 * periodic state would see that as noise. */
#define SETTLED 1e-4
/* Parts of the span after which the right-hand side is evaluated. */
static const double part_of_span[] = {0, 0.38, 1};
enum { N_TIME = sizeof part_of_span / sizeof *part_of_span };
/* The relative distance of points at which rounding errors are found. */
#define CLOSE 2e-5
/* Rounding errors up to this part of a rate are those of any sum. */
#define NOISY 1e-13
/* Larger than any size of use; products of a few of them are finite. */
#define MOST 1e60

bool tolerance_init(struct tolerance *tolerance, const struct stiffit_model *abi)
{
    size_t n = abi->n_state;
    tolerance->sizes = calloc(3 * n + 2, sizeof(double));
    tolerance->beyond = calloc(n + 1, sizeof(double));
    tolerance->born = calloc(n + 1, sizeof(double));
    tolerance->reach = calloc(n + 1, sizeof(double));
    tolerance->noise = calloc(n + 1, sizeof(double));
    tolerance->scratch = calloc(9 * n + 1, sizeof(double));
    tolerance->jacobian =
        calloc((!abi->jacobian && abi->jacobian_sparse ? abi->n_nonzero : n * n) + 1,
               sizeof(double));
    tolerance->is_at_rest = calloc(n + 1, sizeof *tolerance->is_at_rest);
    tolerance->is_idle = calloc(n + 1, sizeof *tolerance->is_idle);
    return tolerance->sizes && tolerance->beyond && tolerance->born && tolerance->reach &&
           tolerance->noise && tolerance->scratch && tolerance->jacobian && tolerance->is_at_rest &&
           tolerance->is_idle;
}

void tolerance_fini(struct tolerance *tolerance)
{
    free(tolerance->sizes);
    free(tolerance->beyond);
    free(tolerance->born);
    free(tolerance->reach);
    free(tolerance->noise);
    free(tolerance->scratch);
    free(tolerance->jacobian);
    free(tolerance->is_at_rest);
    free(tolerance->is_idle);
}

double tolerance_rtol(const struct ode_options *options, double tighter)
{
    return fmax(options->rtol / (tighter > 0 ? tighter : 1),
                fmin(options->rtol, 100 * DBL_EPSILON));
}

void tolerance_set(struct simulation *sim, bool is_relative)
{
    const struct ode_options *options = &sim->options;
    double by = sim->evaluation->tighter > 0 ? sim->evaluation->tighter : 1;
    sim->tolerance.rtol = tolerance_rtol(options, sim->evaluation->tighter);
    sim->tolerance.atol =
        options->atol > 0 ? fmax(options->atol / by, fmin(options->atol, TOLERANCE_TINY)) : 0;
    sim->tolerance.is_relative = sim->model.is_relative = is_relative;
    sim->model.floor = sim->tolerance.atol / sim->tolerance.rtol;
    sim->tolerance.fraction =
        is_relative ? FRACTION_RELATIVE : TOLERANCE_FRACTION / fmax(1, by * by);
}

/* Whether state i is at rest: zero, or no larger than what rounding errors make of what could
 * drive it. */
static bool rests(const struct simulation *sim, size_t i)
{
    return sim->tolerance.is_idle[i] ||
           sim->tolerance.sizes[i] <= TOLERANCE_REST * sim->tolerance.reach[i];
}

/* Copies y to `copy`, without the rounding errors of idle states. An idle state was zero, and
 * nothing drove it at the latest estimate. It would remain exactly zero, but where the linear
 * algebra has to swap rows, it gets rounding errors of others. */
static void copy_without_idle(const struct simulation *sim, const double *y, double *copy)
{
    for (size_t i = 0; i < sim->n_state; i++)
        copy[i] = sim->tolerance.is_idle[i] ? 0 : y[i];
}

/* Idle states are no longer idle if their rates are not zero at y, where they are zero
 * themselves. */
static void look_at_idle(struct simulation *sim, const double *y)
{
    double *at = sim->tolerance.scratch, *f = at + sim->n_state;
    copy_without_idle(sim, y, at);
    bool known = derivatives_rhs(&sim->model, sim->t, at, f) == STIFFIT_OK;
    for (size_t i = 0; i < sim->n_state; i++)
        sim->tolerance.is_idle[i] = sim->tolerance.is_idle[i] && known && f[i] == 0;
}

/* fmax and fmin are library calls; these are inlined. */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

/* Whether the right-hand side is known not to depend on time: functions of lanes have its
 * derivative by time, and where that is 0 but for jumps, there are switching or forcing
 * functions. */
static bool is_autonomous(const struct stiffit_model *abi)
{
    const int32_t *start = abi->lanes ? abi->lanes->by_state.start : NULL;
    bool may_jump = abi->n_input > 0 || abi->n_switching > 0 || abi->n_forcing > 0;
    return start && !may_jump && start[abi->n_state] == start[abi->n_state + 1];
}

/* Sets what drives each state at y, with the sign of its direction, and how fast it decays: both
 * at the same time, now or later in the span, at which they make the state largest. *changes:
 * whether the right-hand side is known to depend on time, or may; if not, it is evaluated once.
 * False: the model cannot be computed there. */
static bool find_drive(struct simulation *sim, const double *y, double span, double per_span,
                       bool *changes, double *drive, double *decay)
{
    struct derivatives *d = &sim->model;
    size_t n = sim->n_state;
    double *inflow = decay + n, *first = inflow + n, *decays = first + n;
    bool same = true;
    for (int k = 0; k < (*changes ? N_TIME : 1); k++) {
        double *f = k == 0 ? first : sim->f, later = part_of_span[k] * span;
        if (derivatives_inflow(d, sim->t + (*changes ? later : span), y, y,
                               sim->tolerance.jacobian, inflow, decays) != STIFFIT_OK ||
            derivatives_rhs(d, sim->t + later, y, f) != STIFFIT_OK)
            return false;
        for (size_t i = 0; i < n; i++) {
            double enters = f[i] + decays[i] * y[i];
            enters += enters < 0 ? -inflow[i] : inflow[i];
            double rate = per_span + decays[i], before = k > 0 ? per_span + decay[i] : 0;
            bool is_larger = rate == before ? fabs(enters) > fabs(drive[i])
                                            : fabs(enters) * before > fabs(drive[i]) * rate;
            if (k == 0 || is_larger) {
                drive[i] = enters;
                decay[i] = decays[i];
            }
            same = same && f[i] == first[i];
        }
    }
    *changes = !same;
    return true;
}

/* Sets `noise` to the rounding errors of the right-hand side at y: fourth differences of values
 * so close together that they would be nearly 0 (Hamming, Numerical Methods for Scientists and
 * Engineers, 2nd ed., section 10.9). moved: scratch. */
static bool find_noise(struct simulation *sim, const double *y, double span, double *moved,
                       double *noise)
{
    static const double binomial[] = {1, -4, 6, -4, 1};
    size_t n = sim->n_state;
    double *f = sim->f;
    memset(noise, 0, n * sizeof *noise);
    for (int k = 0; k < 5; k++) {
        for (size_t i = 0; i < n; i++)
            moved[i] = y[i] * (1 + (k + 1) * CLOSE);
        if (derivatives_rhs(&sim->model, sim->t + span, moved, f) != STIFFIT_OK)
            return false;
        for (size_t i = 0; i < n; i++)
            noise[i] += binomial[k] * f[i];
    }
    for (size_t i = 0; i < n; i++)
        noise[i] = fabs(noise[i]) / sqrt(70.0); /* the sum of the binomials' squares */
    return true;
}

/* Estimates how large the states with rests[i] can become, from simulation.t on over `span`
 * (INFINITY: for ever), while the others stay at y: from what drives them, the rate of change,
 * the states that feed them, and what feeds these. Each round is one step of the implicit Euler
 * method over the whole span, of each state for itself:
 *
 *     reach_i = (|f_i| + sum_(j != i) |J_ij y_j|) / (1/span + max(0, -J_ii)),
 *
 * where y_j of a state at rest is its reach of the round before. So a cascade is followed link
 * by link, and a state that decays faster than the span is no larger than its quasi-steady
 * state. The sum has no cancellation: rounding errors in the states that feed state i move it by
 * DBL_EPSILON times its reach, and where these cancel, it will not stay at zero. The right-hand
 * side is also evaluated later, because what drives a state may itself begin at zero, as k t.
 * reach: n_state; 0 where nothing drives a state. noise: n_state; what rounding errors of its
 * rate make of the state if they are far above those of a sum without cancellation, as in (1 +
 * x) - 1; else 0. Overwrites simulation.f. */
static void estimate_reach(struct simulation *sim, const double *y, double span, const bool *rests,
                           double *reach, double *noise)
{
    size_t n = sim->n_state;
    double *probe = sim->tolerance.scratch, *drive = probe + n, *decay = drive + n;
    double per_span = span < INFINITY ? 1 / span : 0;
    span = span < INFINITY ? span : 0;
    memset(reach, 0, n * sizeof *reach);
    memcpy(probe, y, n * sizeof *probe);
    bool may_change = !is_autonomous(sim->abi), changes = may_change;
    for (size_t k = 0, left = 1 + MORE_ROUNDS; left > 0 && k < n + MORE_ROUNDS; k++, left--) {
        if (!find_drive(sim, probe, span, per_span, &changes, drive, decay))
            break;
        bool settled = true;
        for (size_t i = 0; i < n; i++) {
            double rate = per_span + decay[i];
            if (!rests[i] || !(rate > 0))
                continue;
            double now = larger(smaller(fabs(drive[i]) / rate, MOST), fabs(y[i]));
            bool is_new = now > 0 && reach[i] == 0;
            left = is_new ? 1 + MORE_ROUNDS : left;
            /* What it multiplies was hidden by its zero. */
            changes = changes || (is_new && may_change);
            settled = settled && fabs(now - reach[i]) <= SETTLED * now;
            reach[i] = now;
            probe[i] = now > fabs(y[i]) ? copysign(now, drive[i]) : y[i];
        }
        left = settled ? 1 : left;
    }
    double *moved = decay + n, *found = moved + n;
    memset(noise, 0, n * sizeof *noise);
    if (!find_noise(sim, probe, span, moved, found))
        return;
    for (size_t i = 0; i < n; i++)
        if (rests[i] && per_span + decay[i] > 0 && found[i] > NOISY * fabs(drive[i]))
            noise[i] = smaller(found[i] / (per_span + decay[i]), reach[i]);
}

/* Estimates from the rate of change at y, and from all that drives it, how large a state at rest
 * becomes until the next measurement. The guess may be far too large, which costs its fourth
 * root in accuracy while the state is young. States up to `part` of their reach count as at
 * rest. */
static void guess_sizes(struct simulation *sim, const double *state, double span, double part)
{
    size_t n = sim->n_state;
    double *guess = sim->tolerance.sizes + n, largest = 0, *f = sim->f,
           *y = sim->tolerance.scratch + 8 * n;
    copy_without_idle(sim, state, y);
    for (size_t i = 0; i < n; i++)
        sim->tolerance.sizes[i] = sim->tolerance.is_idle[i] ? 0 : sim->tolerance.sizes[i];
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(y[i]));
    for (size_t i = 0; i < n; i++)
        sim->tolerance.is_at_rest[i] = part > TOLERANCE_REST || rests(sim, i) ||
                                       sim->tolerance.sizes[i] <= TOLERANCE_REST * largest;
    double *reach = sim->tolerance.scratch + 6 * sim->n_state, *noise = reach + sim->n_state;
    estimate_reach(sim, y, span, sim->tolerance.is_at_rest, reach, noise);
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.is_idle[i] = y[i] == 0 && sim->tolerance.is_at_rest[i] && reach[i] == 0;
        if (!sim->tolerance.is_at_rest[i])
            continue;
        sim->tolerance.is_at_rest[i] = sim->tolerance.is_idle[i] ||
                                       sim->tolerance.sizes[i] <= part * reach[i] ||
                                       sim->tolerance.sizes[i] == 0;
        sim->tolerance.reach[i] = sim->tolerance.is_at_rest[i] ? reach[i] : 0;
        sim->tolerance.noise[i] = sim->tolerance.is_at_rest[i] ? noise[i] : 0;
        largest = fmax(largest, sim->tolerance.reach[i]);
    }
    bool known = derivatives_rhs(&sim->model, sim->t, y, f) == STIFFIT_OK;
    for (size_t i = 0; i < n; i++) {
        if (!sim->tolerance.is_at_rest[i])
            continue;
        double by_rate = known && span < INFINITY ? span * fabs(f[i]) : 0;
        sim->tolerance.born[i] = sim->t;
        double reached = sim->tolerance.reach[i];
        guess[i] = fmin(by_rate > TOLERANCE_GROWN * reached ? by_rate : LATE * reached,
                        DBL_MAX * DBL_EPSILON);
        if (guess[i] == 0) /* nothing that is known drives it */
            guess[i] = largest > 0 ? largest : 1;
        sim->tolerance.grows = sim->tolerance.grows || sim->tolerance.reach[i] > 0;
    }
}

static bool grows(const struct simulation *sim, size_t i)
{
    return tolerance_grows(sim->tolerance.sizes[i], sim->tolerance.reach[i]);
}

/* The time from t to the first measurement after `later`; INFINITY: to a steady state. */
static double span_after(const struct simulation *sim, double t, double later)
{
    const struct ode_task *task = sim->evaluation->task;
    size_t i_time = sim->rows.i_time;
    while (i_time + 1 < task->n_time && task->time[i_time] <= later)
        i_time++;
    double span = task->time[i_time] - t;
    return span > 0 ? span : INFINITY;
}

/* For some growing state. */
static bool is_due(const struct simulation *sim, const double *y, double span)
{
    for (size_t i = 0; i < sim->n_state; i++) {
        double tolerance = sim->tolerance.rtol * fabs(y[i]) + sim->tolerance.beyond[i];
        if (sim->tolerance.is_at_rest[i] &&
            tolerance_is_due(tolerance, span, sim->t - sim->tolerance.born[i],
                             sim->tolerance.reach[i], sim->tolerance.noise[i]))
            return true;
    }
    return false;
}

void tolerance_look(struct simulation *sim, const double *y)
{
    double *reach = sim->tolerance.scratch + 6 * sim->n_state, *noise = reach + sim->n_state;
    if (!sim->tolerance.grows || sim->rows.i_time >= sim->evaluation->task->n_time)
        return;
    sim->tolerance.grows = false;
    for (size_t i = 0; i < sim->n_state; i++) {
        sim->tolerance.is_at_rest[i] = grows(sim, i);
        sim->tolerance.grows = sim->tolerance.grows || sim->tolerance.is_at_rest[i];
    }
    double span = span_after(sim, sim->t, sim->t);
    if (!sim->tolerance.grows || !is_due(sim, y, span))
        return;
    estimate_reach(sim, y, span, sim->tolerance.is_at_rest, reach, noise);
    for (size_t i = 0; i < sim->n_state; i++)
        if (sim->tolerance.is_at_rest[i]) {
            sim->tolerance.reach[i] = fmax(sim->tolerance.reach[i], reach[i]);
            sim->tolerance.noise[i] = fmax(sim->tolerance.noise[i], noise[i]);
        }
}

void tolerance_wake(struct simulation *sim, double t, double width)
{
    double now = sim->t, t0 = sim->evaluation->task->experiment.t0,
           span = span_after(sim, t, t + SOON * (sim->t_far - t0));
    bool any = false;
    for (size_t i = 0; i < sim->n_state; i++)
        any = any || rests(sim, i);
    if (!any || sim->tolerance.atol > 0 || !(span < INFINITY))
        return;
    sim->t = t;
    /* at the state after the latest step */
    guess_sizes(sim, sim->tolerance.sizes + 2 * sim->n_state, span, TOLERANCE_REST);
    sim->t = now;
    sim->tolerance.at_rest = width / span;
}

/* Whether a jump to y makes some state far larger than it has ever been. */
static bool is_sudden(struct simulation *sim, const double *y, double span)
{
    bool sudden = false;
    if (!(span < INFINITY) || derivatives_rhs(&sim->model, sim->t, y, sim->f) != STIFFIT_OK)
        return false;
    for (size_t i = 0; i < sim->n_state; i++)
        sudden = sudden || sim->tolerance.sizes[i] < SUDDEN * span * fabs(sim->f[i]);
    return sudden;
}

void tolerance_jump(struct simulation *sim, const double *y)
{
    size_t n = sim->n_state;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.is_idle[i] =
            sim->tolerance.is_idle[i] && y[i] == sim->tolerance.sizes[i + 2 * n];
        bool at_rest = rests(sim, i);
        sim->tolerance.sizes[i] = at_rest ? fabs(y[i]) : fmax(sim->tolerance.sizes[i], fabs(y[i]));
        if (at_rest && !rests(sim, i))
            sim->tolerance.sizes[i + n] = sim->tolerance.reach[i] = sim->tolerance.noise[i] = 0;
        sim->tolerance.sizes[i + 2 * n] = y[i];
        any = any || rests(sim, i);
    }
    sim->tolerance.sizes[3 * n] = sim->t;
    sim->tolerance.at_rest = 0;
    double span = span_after(sim, sim->t, sim->t);
    if (sim->tolerance.atol > 0 || !(any || is_sudden(sim, y, span)))
        return;
    guess_sizes(sim, y, span, is_sudden(sim, y, span) ? SUDDEN : TOLERANCE_REST);
}

bool tolerance_rescue(struct simulation *sim, const double *y)
{
    double largest = 0;
    bool any = false;
    if (sim->tolerance.atol > 0 || sim->tolerance.n_rescue == MOST_RESCUES ||
        sim->evaluation->adjoint)
        return false;
    sim->tolerance.n_rescue++;
    for (size_t i = 0; i < sim->n_state; i++)
        largest = fmax(largest, sim->tolerance.sizes[i]);
    guess_sizes(sim, y, span_after(sim, sim->t, sim->t), SUDDEN);
    for (size_t i = 0; i < sim->n_state; i++) {
        /* A state that is not small beside all others has grown to where it is: it fails at a
         * pole, not at rest. */
        bool is_small = sim->tolerance.sizes[i] <= SMALL * largest;
        any = any || (sim->tolerance.is_at_rest[i] && is_small &&
                      sim->tolerance.sizes[i] < SUDDEN * sim->tolerance.sizes[i + sim->n_state]);
        sim->tolerance.sizes[i + 2 * sim->n_state] = y[i];
    }
    sim->tolerance.sizes[3 * sim->n_state] = sim->t;
    return any;
}

void tolerance_begin(struct simulation *sim, const double *y)
{
    size_t n = sim->n_state;
    double least = INFINITY, largest = 0;
    sim->tolerance.grows = false;
    sim->tolerance.n_rescue = 0;
    for (size_t i = 0; i < n; i++) {
        sim->tolerance.sizes[i] = fabs(y[i]);
        sim->tolerance.sizes[i + n] = sim->tolerance.reach[i] = sim->tolerance.noise[i] = 0;
        sim->tolerance.sizes[i + 2 * n] = y[i];
        sim->tolerance.is_idle[i] = false;
        sim->tolerance.beyond[i] = sim->tolerance.atol;
        least = fmin(least, fabs(y[i]));
        largest = fmax(largest, fabs(y[i]));
    }
    sim->tolerance.sizes[3 * n] = sim->evaluation->task->experiment.t0;
    sim->tolerance.at_rest = 0;
    if (least <= TOLERANCE_REST * largest && sim->tolerance.atol == 0)
        guess_sizes(sim, y, span_after(sim, sim->t, sim->t), TOLERANCE_REST);
}

void tolerance_follow(struct simulation *sim, const double *y)
{
    size_t n = sim->n_state;
    double *size = sim->tolerance.sizes, *guess = size + n, *before = guess + n, *t = before + n;
    double *beyond = sim->tolerance.beyond;
    const double *reach = sim->tolerance.reach;
    double h = sim->t - *t, rtol = sim->tolerance.rtol;
    bool looked = false;
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs(y[i]), part = sim->tolerance.fraction;
        size[i] = larger(size[i], magnitude);
        if (guess[i] > 0 && h > 0 && size[i] > TOLERANCE_REST * reach[i] &&
            !(fabs(y[i] - before[i]) * (sim->t - sim->tolerance.born[i]) >=
              TOLERANCE_YOUNG * h * magnitude)) {
            if (sim->tolerance.is_idle[i] && !looked) {
                look_at_idle(sim, y);
                looked = true;
            }
            if (!sim->tolerance.is_idle[i])
                guess[i] = 0;
        }
        before[i] = y[i];
        double s = size[i];
        bool young = guess[i] > 0;
        if (young) {
            s = larger(s, guess[i]);
            part = TOLERANCE_FRACTION;
        }
        double wanted = magnitude, root;
        if (magnitude < s && (young || !sim->tolerance.is_relative)) {
            root = sqrt(magnitude);
            wanted = root * sqrt(root * sqrt(s));
        }
        beyond[i] = rtol * (larger(wanted, part * s) - magnitude);
        if (grows(sim, i))
            beyond[i] = larger(beyond[i], TOLERANCE_ROUNDING * reach[i]);
        beyond[i] = larger(beyond[i], TOLERANCE_NOISE * sim->tolerance.noise[i]);
        if (size[i] == 0)
            beyond[i] = larger(beyond[i], sim->tolerance.at_rest * guess[i]);
    }
    *t = sim->t;
}

void tolerance_weigh(struct simulation *sim, const double *y, double *weight)
{
    size_t n = sim->n_state;
    const double *state = y;
    double *beyond = sim->tolerance.beyond, rtol = sim->tolerance.rtol;
    if (sim->tolerance.atol == 0)
        tolerance_follow(sim, y);
    for (size_t i = 0; i < n; i++)
        weight[i] = 1 / (rtol * fabs(y[i]) + beyond[i] + TOLERANCE_TINY);
    for (size_t k = 0; k < sim->blocks.n; k++) {
        double per = sim->blocks.unit[k], part = TOLERANCE_EFFECT * rtol * per;
        y += n;
        weight += n;
        for (size_t i = 0; i < n; i++)
            weight[i] =
                1 / (rtol * fabs(y[i]) + part * fabs(state[i]) + per * beyond[i] + TOLERANCE_TINY);
    }
}

double tolerance_vanished(const struct simulation *sim)
{
    double part = sim->tolerance.rtol * sim->tolerance.fraction;
    return sim->tolerance.atol == 0 ? part * part : 0;
}

const double *tolerance_drop_vanished(const struct simulation *sim, const double *y, double *seen)
{
    size_t n = sim->n_state, n_all = n * (1 + sim->blocks.n);
    double part = tolerance_vanished(sim);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        double least = part * sim->tolerance.sizes[i];
        for (size_t k = 0; k < sim->blocks.n && fabs(y[i]) <= least; k++) {
            double s = y[i + (1 + k) * n];
            if (s == 0 || fabs(s) > sim->blocks.unit[k] * least)
                continue;
            if (!any)
                memcpy(seen, y, n_all * sizeof *y);
            any = true;
            seen[i + (1 + k) * n] = 0;
        }
    }
    return any ? seen : y;
}
