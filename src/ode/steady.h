/* Recognises that a trajectory has arrived at a steady state: the time +infinity of a
 * measurement, and the beginning of another experiment. The steady state is the limit of the
 * simulated trajectory; no equation is solved from afar, so that it is the one which the initial
 * state leads to, and conserved totals keep their values.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/linear.h"
#include "ode/simulation.h"

#include <stdbool.h>
#include <stddef.h>

/* What a look needs of an engine. */
struct steady_solver {
    struct linear *linear;
    /* The right-hand side of the state and its sensitivities at (simulation.t, y), into `change`;
     * the Jacobian into `linear`. */
    bool (*rhs)(void *context, double *change);
    void *context;
    bool is_sparse;          /* the Jacobian is the values of the model's pattern */
    double *change, *weight; /* scratch: n_state (1 + n_block) each */
};

/* Call these after a step. steady_is_lost: the trajectory never comes to rest, because some
 * state grows for ever and the steps with it; the evaluation is finished. */
bool steady_is_lost(struct simulation *simulation);
/* Whether a look is due. True from it: state and sensitivities have arrived; y (blocks) is moved
 * onto the steady state. */
bool steady_is_due(const struct simulation *simulation);
bool steady_look(struct simulation *simulation, double *y, const struct steady_solver *solver);

/* slow.c: whether slow motions have come to rest, too. */

/* jacobian: n x n, by columns, its entries accurate to `accuracy` of themselves; y: n states and
 * n_column - 1 columns of sensitivities; f: their right-hand side; weight: 1 / tolerance of
 * each. */
struct slow_point {
    size_t n, n_column;
    const double *jacobian, *y, *f, *weight;
    double accuracy;
};

/* Makes one step of Newton's method from y towards f = 0, in which conserved totals keep their
 * values. True: no number would change by more than its tolerance, or than rounding errors hide.
 * False also without memory. */
bool slow_is_at_rest(const struct slow_point *point);
