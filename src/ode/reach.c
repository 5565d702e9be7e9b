/* How large states that rest at zero can become, from what drives them: the rate of change, the
 * states that feed them, and what feeds these.
 *
 * Each round is one step of the implicit Euler method over the whole span, of each state for
 * itself:
 *
 *     reach_i = (|f_i| + sum_(j != i) |J_ij y_j|) / (1/span + max(0, -J_ii)),
 *
 * where y_j of a state at rest is its reach of the round before. So a cascade is followed link by
 * link, and a state that decays faster than the span is no larger than its quasi-steady state. The
 * sum has no cancellation: rounding errors in the states that feed state i move it by
 * DBL_EPSILON times its reach, and where these cancel, it will not stay at zero. The right-hand
 * side is also evaluated later, because what drives a state may itself begin at zero, as k t.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/reach.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rounds after the last one that has reached a state: for what decays faster than the span. More would follow what grows
 * exponentially far beyond its growth in the span. */
enum { MORE_ROUNDS = 2 };
/* Rounds end if they change no reach by more than this part. It is small, because a reach must not jump between two parameter
 * vectors or two doses that are close: the iteration for a periodic state would see that as noise. */
#define SETTLED 1e-4
/* Parts of the span after which the right-hand side is evaluated. */
static const double later[] = {0.38, 1};
enum { N_LATER = sizeof later / sizeof *later };
/* The relative distance of points at which rounding errors are found. */
#define CLOSE 2e-5
/* Rounding errors up to this part of a rate are those of any sum. */
#define NOISY 1e-13
/* Larger than any size of use; products of a few of them are finite. */
#define MOST 1e60

/* fmax and fmin are library calls; these are inlined. */
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }

bool reach_inflow(struct simulation *sim, double t, const double *y, const double *amount, double *inflow, double *decay)
{
    const struct stiffit_model *abi = sim->abi;
    size_t n = sim->n_state;
    bool sparse = !abi->jacobian && abi->jacobian_sparse;
    int code = sparse ? derivatives_jacobian_sparse(&sim->model, t, y, sim->tolerance.jacobian)
                      : derivatives_jacobian(&sim->model, t, y, NULL, true, sim->tolerance.jacobian);
    if (code != STIFFIT_OK)
        return false;
    memset(inflow, 0, n * sizeof *inflow);
    memset(decay, 0, n * sizeof *decay);
    for (size_t j = 0; j < n; j++) {
        size_t first = sparse ? (size_t)abi->column_start[j] : j * n;
        size_t end = sparse ? (size_t)abi->column_start[j + 1] : first + n;
        for (size_t k = first; k < end; k++) {
            size_t i = sparse ? (size_t)abi->row_index[k] : k - first;
            if (i == j)
                decay[i] = larger(0, -sim->tolerance.jacobian[k]);
            else
                inflow[i] += fabs(sim->tolerance.jacobian[k] * amount[j]);
        }
    }
    return true;
}

/* Whether the right-hand side is known not to depend on time: functions of lanes have its derivative by time, and where that is
 * 0 but for jumps, there are switching or forcing functions. */
static bool is_autonomous(const struct stiffit_model *abi)
{
    const int32_t *start = abi->lanes ? abi->lanes->by_state.start : NULL;
    bool may_jump = abi->n_input > 0 || abi->n_switching > 0 || abi->n_forcing > 0;
    return start && !may_jump && start[abi->n_state] == start[abi->n_state + 1];
}

/* Sets what drives each state at y, with the sign of its direction, and how fast it decays. *changes: whether the right-hand
 * side is known to depend on time, or may; if not, it is evaluated once. False: the model cannot be computed there. */
static bool find_drive(struct simulation *sim, const double *y, double span, bool *changes, double *drive, double *decay)
{
    struct derivatives *d = &sim->model;
    size_t n = sim->n_state;
    double *f = sim->f, *inflow = decay + n, *first = inflow + n;
    if (!reach_inflow(sim, sim->t + span, y, y, inflow, decay) || derivatives_rhs(d, sim->t, y, first) != STIFFIT_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        drive[i] = first[i] + decay[i] * y[i];
    bool same = true;
    for (int k = 0; *changes && k < N_LATER; k++) {
        if (derivatives_rhs(d, sim->t + later[k] * span, y, f) != STIFFIT_OK)
            return false;
        for (size_t i = 0; i < n; i++) {
            double enters = f[i] + decay[i] * y[i];
            drive[i] = fabs(enters) > fabs(drive[i]) ? enters : drive[i];
            same = same && f[i] == first[i];
        }
    }
    *changes = !same;
    for (size_t i = 0; i < n; i++)
        drive[i] += drive[i] < 0 ? -inflow[i] : inflow[i];
    return true;
}

/* Sets `noise` to the rounding errors of the right-hand side at y: fourth differences of values so close together that they
 * would be nearly 0 (Hamming, Numerical Methods for Scientists and Engineers, 2nd ed., section 10.9). moved: scratch. */
static bool find_noise(struct simulation *sim, const double *y, double span, double *moved, double *noise)
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

void reach_estimate(struct simulation *sim, const double *y, double span, const bool *rests, double *reach, double *noise)
{
    size_t n = sim->n_state;
    double *probe = sim->tolerance.scratch, *drive = probe + n, *decay = drive + n;
    double per_span = span < INFINITY ? 1 / span : 0;
    span = span < INFINITY ? span : 0;
    memset(reach, 0, n * sizeof *reach);
    memcpy(probe, y, n * sizeof *probe);
    bool may_change = !is_autonomous(sim->abi), changes = may_change;
    for (size_t k = 0, left = 1 + MORE_ROUNDS; left > 0 && k < n + MORE_ROUNDS; k++, left--) {
        if (!find_drive(sim, probe, span, &changes, drive, decay))
            break;
        bool settled = true;
        for (size_t i = 0; i < n; i++) {
            double rate = per_span + decay[i];
            if (!rests[i] || !(rate > 0))
                continue;
            double now = larger(smaller(fabs(drive[i]) / rate, MOST), fabs(y[i]));
            bool is_new = now > 0 && reach[i] == 0;
            left = is_new ? 1 + MORE_ROUNDS : left;
            changes = changes || (is_new && may_change); /* what it multiplies was hidden by its zero */
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
