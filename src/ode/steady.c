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
/* What has not come to rest by then never does: at a time of infinity nothing can be computed. */
#define LAST 1e150

void steady_begin(struct observer *ob) { ob->steady_since = ob->steady_next = ob->t; }

bool steady_is_lost(struct observer *ob)
{
    if (fabs(ob->t) < LAST)
        return false;
    observer_stop(ob, EVALUATION_ODE_FAILED, "no steady state: some state goes on changing for ever");
    return true;
}

bool steady_is_due(const struct observer *ob) { return ob->t > ob->steady_next; }

bool steady_look(struct observer *ob, double *y, const struct steady_solver *solver)
{
    double age = ob->t - ob->steady_since, *change = solver->change, *weight = solver->weight;
    size_t n_number = ob->n_state * (1 + ob->n_block);
    ob->steady_next = ob->steady_since + LATER * age;
    if (!solver->rhs(solver->context, change) || linear_factor(solver->linear, AHEAD * age) != LINEAR_OK)
        return false;
    for (size_t i = 0; i < n_number; i++)
        change[i] *= AHEAD * age;
    if (linear_solve(solver->linear, change, 1 + ob->n_block) != LINEAR_OK)
        return false;
    tolerance_weigh(ob, y, weight);
    for (size_t i = 0; i < n_number; i++)
        if (!(fabs(change[i]) * weight[i] <= 1))
            return false;
    for (size_t i = 0; i < n_number; i++)
        y[i] += change[i];
    return true;
}
