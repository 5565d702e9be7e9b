/* Steady doses: the periodic state that doses at equal intervals, given for ever, lead to. It is
 * computed as evaluations of its own, of one interval each, before the evaluation that needs it.
 *
 * y = Phi(y, p), where Phi goes over an interval, is solved by Newton's method from a simulated
 * interval. The derivatives of Phi by the state are sensitivities of what only the initial state
 * depends on; those of the solution follow from (I - dPhi/dy) dy/dp = dPhi/dp. Conserved totals
 * make this matrix singular; the solution is then the one that the simulated intervals converge
 * to, which keeps the totals of the initial state.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

struct period;
void period_free(struct period *period); /* NULL is legal */

/* The evaluations of a request with steady doses, one after the other: period_begin and
 * period_next set simulation.evaluation to the next one, which the caller simulates: one over
 * intervals, until the periodic states are found, and then the request itself, the last one.
 * False: the request has ended. options.n_none must include n_state. */
bool period_begin(struct simulation *simulation);
bool period_next(struct simulation *simulation);
