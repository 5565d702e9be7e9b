/* How large states that rest at zero can become, from what drives them: the rate of change, the states that feed them, and what
 * feeds these.
 *
 * Each round is one step of the implicit Euler method over the whole span, of each state for itself:
 *
 *     reach_i = (|f_i| + sum_(j != i) |J_ij y_j|) / (1/span + max(0, -J_ii)),
 *
 * where y_j of a state at rest is its reach of the round before. So a cascade is followed link by link, and a state that decays
 * faster than the span is no larger than its quasi-steady state. The sum has no cancellation: rounding errors in the states
 * that feed state i move it by DBL_EPSILON times its reach, and where these cancel, it will not stay at zero. The right-hand
 * side is also evaluated later, because what drives a state may itself begin at zero, as k t.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/reach.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Most rounds, and the change of a reach that asks for another one. Estimates are needed to a few decades. */
enum { MOST_ROUNDS = 40 };
#define SETTLED 10
/* Parts of the span after which the right-hand side is evaluated. */
static const double later[] = {0, 0.38, 1};
enum { N_LATER = sizeof later / sizeof *later };
/* Larger than any size of use; products of a few of them are finite. */
#define MOST 1e60

/* Sets `feed` to sum |J_ij y_j| over j != i, and `decay` to -J_ii, or 0 where this is negative. */
static void find_feeds(const struct observer *ob, const double *y, double *feed, double *decay)
{
    const struct stiffit_model *abi = ob->abi;
    size_t n = ob->n_state;
    bool sparse = !abi->jacobian && abi->jacobian_sparse;
    memset(feed, 0, n * sizeof *feed);
    memset(decay, 0, n * sizeof *decay);
    for (size_t j = 0; j < n; j++) {
        size_t first = sparse ? (size_t)abi->column_start[j] : j * n;
        size_t end = sparse ? (size_t)abi->column_start[j + 1] : first + n;
        for (size_t k = first; k < end; k++) {
            size_t i = sparse ? (size_t)abi->row_index[k] : k - first;
            if (i == j)
                decay[i] = fmax(0, -ob->jacobian[k]);
            else
                feed[i] += fabs(ob->jacobian[k] * y[j]);
        }
    }
}

/* Sets what drives each state at y, with the sign of its direction, and how fast it decays. False: the model cannot be computed
 * there. */
static bool find_drive(struct observer *ob, const double *y, double span, double *drive, double *decay)
{
    struct derivatives *d = &ob->model;
    const struct stiffit_model *abi = ob->abi;
    size_t n = ob->n_state;
    double t = ob->t + span, *f = ob->f, *feed = decay + n;
    int code = !abi->jacobian && abi->jacobian_sparse ? derivatives_jacobian_sparse(d, t, y, ob->jacobian)
                                                      : derivatives_jacobian(d, t, y, NULL, true, ob->jacobian);
    if (code != STIFFIT_OK)
        return false;
    find_feeds(ob, y, feed, decay);
    memset(drive, 0, n * sizeof *drive);
    for (int k = 0; k < N_LATER; k++) {
        if (derivatives_rhs(d, ob->t + later[k] * span, y, f) != STIFFIT_OK)
            return false;
        for (size_t i = 0; i < n; i++) {
            double enters = f[i] + decay[i] * y[i];
            drive[i] = fabs(enters) > fabs(drive[i]) ? enters : drive[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        drive[i] += copysign(feed[i], drive[i]);
    return true;
}

void reach_estimate(struct observer *ob, const double *y, double span, const bool *rests, double *reach)
{
    size_t n = ob->n_state;
    double *probe = ob->reach_scratch, *drive = probe + n, *decay = drive + n;
    double per_span = span < INFINITY ? 1 / span : 0;
    span = span < INFINITY ? span : 0;
    memset(reach, 0, n * sizeof *reach);
    memcpy(probe, y, n * sizeof *probe);
    bool changes = true;
    for (int round = 0; round < MOST_ROUNDS && changes && find_drive(ob, probe, span, drive, decay); round++) {
        changes = false;
        for (size_t i = 0; i < n; i++) {
            double rate = per_span + decay[i];
            if (!rests[i] || !(rate > 0))
                continue;
            double now = fmin(fabs(drive[i]) / rate, MOST);
            changes = changes || now > SETTLED * reach[i] || SETTLED * now < reach[i];
            reach[i] = now;
            probe[i] = copysign(now, drive[i]);
        }
    }
}
