/* How large states that rest at zero can become.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/observer.h"

/* Estimates this for the states with rests[i], from observer.t on over `span` (INFINITY: for ever), while the others stay at y.
 * reach: n_state; 0 where nothing drives a state. noise: n_state; what rounding errors of its rate make of the state if they are
 * far above those of a sum without cancellation, as in (1 + x) - 1; else 0. Overwrites observer.f. */
void reach_estimate(struct observer *observer, const double *y, double span, const bool *rests, double *reach, double *noise);
