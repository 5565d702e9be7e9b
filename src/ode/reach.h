/* How large states that rest at zero can become.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

/* What an amount of each state adds to the rates of the others: feed_i = sum |J_ij amount_j| over j != i, with the Jacobian at
 * (t, y). decay: -J_ii, or 0 where this is negative. n_state each. False: the Jacobian cannot be computed. */
bool reach_inflow(struct simulation *simulation, double t, const double *y, const double *amount,
                  double *inflow, double *decay);
/* Estimates this for the states with rests[i], from simulation.t on over `span` (INFINITY: for
 * ever), while the others stay at y. reach: n_state; 0 where nothing drives a state. noise:
 * n_state; what rounding errors of its rate make of the state if they are far above those of a sum
 * without cancellation, as in (1 + x) - 1; else 0. Overwrites simulation.f. */
void reach_estimate(struct simulation *simulation, const double *y, double span, const bool *rests,
                    double *reach, double *noise);
