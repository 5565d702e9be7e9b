/* Looks ahead with one step of the implicit Euler method, far longer than the time so far: where everything that still moves
 * decays, such a step ends at the steady state. It is one step of Newton's method on the subspace that conservation laws leave,
 * because the products of f and J with a law's weights are zero: a singular Jacobian is no trouble. The same step of the
 * sensitivities' equations gives those of the steady state. The trajectory has arrived if no number changes by more than its
 * tolerance in this step.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/steady.h"

#include "ode/tolerance.h"

#include <math.h>

/* The step's length over the time since the beginning. A slower motion counts as none. More would amplify rounding errors in f
 * along conserved directions. */
#define AHEAD 1e4
/* Looks are this factor apart in time: they cost about a step each. */
#define LATER 1.5

void steady_begin(struct workspace *ws) { ws->steady_since = ws->steady_next = ws->o.t; }

bool steady_look(struct workspace *ws)
{
    double age = ws->o.t - ws->steady_since, *y = vector_data(ws->y);
    size_t n = ws->o.n_state, n_number = n * (1 + ws->o.n_block);
    if (!(ws->o.t > ws->steady_next))
        return false;
    ws->steady_next = ws->steady_since + LATER * age;
    N_Vector ahead = vector_new(ws->bank), weights = vector_new(ws->bank);
    double *change = vector_data(ahead), *weight = vector_data(weights);
    bool arrived = newton_rhs(ws->o.t, ws->y, ahead, ws) == 0 && linear_factor(ws->linear, AHEAD * age) == LINEAR_OK;
    ws->factor_gamma = 0; /* the corrector's factors are gone */
    for (size_t i = 0; i < n_number; i++)
        change[i] *= AHEAD * age;
    arrived = arrived && linear_solve(ws->linear, change, 1 + ws->o.n_block) == LINEAR_OK
              && tolerance_weights(ws->y, weights, ws) == 0;
    for (size_t i = 0; i < n_number && arrived; i++)
        arrived = fabs(change[i]) * weight[i] <= 1;
    for (size_t i = 0; i < n_number && arrived; i++)
        y[i] += change[i];
    N_VDestroy(ahead);
    N_VDestroy(weights);
    return arrived;
}
