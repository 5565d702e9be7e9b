/* Looks ahead with one step of the implicit Euler method, far longer than the time so far: where
 * everything that still moves decays, such a step ends at the steady state. It is one step of
 * Newton's method on the subspace that conservation laws leave, because the products of f and J
 * with a law's weights are zero: a singular Jacobian is no trouble. The same step of the
 * sensitivities' equations gives those of the steady state. The trajectory has arrived if no
 * number changes by more than its tolerance in this step, and none would in one of infinite
 * length (slow.h), which is longer where some mode is slower than all that has happened so far.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/steady.h"

#include "ode/outcome.h"
#include "ode/tolerance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The step's length over the time since the beginning. More would amplify rounding errors in f
 * along conserved directions. */
#define AHEAD 1e4
/* Looks are this factor apart in time: they cost about a step each. */
#define LATER 1.5
/* What has not come to rest by then never does: at a time of infinity nothing can be computed. */
#define LAST 1e150

bool steady_is_lost(struct simulation *sim)
{
    if (fabs(sim->t) < LAST)
        return false;
    outcome_fail(sim, EVALUATION_ODE_FAILED,
                 "no steady state: some state goes on changing for ever");
    return true;
}

bool steady_is_due(const struct simulation *sim) { return sim->t > sim->steady.next; }

/* The accuracy of the Jacobian's entries: of the model's own, and of differences. */
#define ACCURACY (16 * DBL_EPSILON)
#define ACCURACY_DIFFERENCES 1e-5

/* Whether slow modes have come to rest. f is overwritten with the right-hand side. */
static bool slow_modes_rest(struct simulation *sim, const double *y,
                            const struct steady_solver *solver)
{
    const struct stiffit_model *abi = sim->abi;
    size_t n = sim->n_state;
    double *dense = calloc(n * n, sizeof *dense), *f = calloc(n * (1 + sim->blocks.n), sizeof *f);
    const double *jacobian = linear_jacobian(solver->linear);
    bool rests = dense && f && solver->rhs(solver->context, f);
    for (size_t j = 0; rests && j < n; j++)
        for (size_t k = solver->is_sparse ? (size_t)abi->column_start[j] : j * n,
                    end = solver->is_sparse ? (size_t)abi->column_start[j + 1] : k + n;
             k < end; k++)
            dense[(solver->is_sparse ? (size_t)abi->row_index[k] : k - j * n) + j * n] =
                jacobian[k];
    const struct slow_point point = {.n = n,
                                     .n_column = 1 + sim->blocks.n, .jacobian = dense, .y = y,
                                     .f = f, .weight = solver->weight,
                                     .accuracy = abi->jacobian || abi->jacobian_sparse
                                                     ? ACCURACY
                                                     : ACCURACY_DIFFERENCES};
    rests = rests && slow_is_at_rest(&point);
    free(dense);
    free(f);
    return rests;
}

bool steady_look(struct simulation *sim, double *y, const struct steady_solver *solver)
{
    double age = sim->t - sim->steady.since, *change = solver->change, *weight = solver->weight;
    size_t n_number = sim->n_state * (1 + sim->blocks.n);
    sim->steady.next = sim->steady.since + LATER * age;
    if (!solver->rhs(solver->context, change) ||
        linear_factor(solver->linear, AHEAD * age) != LINEAR_OK)
        return false;
    for (size_t i = 0; i < n_number; i++)
        change[i] *= AHEAD * age;
    if (linear_solve(solver->linear, change, 1 + sim->blocks.n) != LINEAR_OK)
        return false;
    tolerance_weigh(sim, y, weight);
    for (size_t i = 0; i < n_number; i++)
        if (!(fabs(change[i]) * weight[i] <= 1))
            return false;
    if (!slow_modes_rest(sim, y, solver))
        return false;
    for (size_t i = 0; i < n_number; i++)
        y[i] += change[i];
    return true;
}
