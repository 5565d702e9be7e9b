/* Recognises that a trajectory has arrived at a steady state: the time +infinity of a measurement, and the beginning of another
 * experiment. The steady state is the limit of the simulated trajectory; no equation is solved from afar, so that it is the one
 * which the initial state leads to, and conserved totals keep their values.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/workspace.h"

/* Call this where a segment begins that has no other stop than +infinity. */
void steady_begin(struct workspace *ws);
/* Call this after a step. True: state and sensitivities have arrived; ws->y is moved onto the steady state. */
bool steady_look(struct workspace *ws);
