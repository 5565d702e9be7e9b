/* How large states that rest at zero can become.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/observer.h"

/* Estimates this for the states with rests[i], from observer.t on over `span` (INFINITY: for ever), while the others stay at y.
 * reach: n_state; 0 where nothing drives a state. Overwrites observer.f. */
void reach_estimate(struct observer *observer, const double *y, double span, const bool *rests, double *reach);
