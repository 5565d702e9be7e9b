/* Tolerances of an evaluation, and the sizes of states that they follow where no atol is given.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_TOLERANCE_H
#define ODE_TOLERANCE_H

#include "ode/workspace.h"

/* Those of the evaluation under way; is_relative: every state is wanted to rtol of itself, if there is no atol. */
void tolerance_set(struct workspace *workspace, bool is_relative);
/* Sizes from the initial state, in workspace.y. */
void tolerance_begin(struct workspace *workspace);
/* An input jumps at most `width` before t, where the next step ends: states at rest at zero take their sizes from their slopes
 * there, and what they gain in between is no error. */
void tolerance_wake(struct workspace *workspace, double t, double width);
/* The weights of the integrator's error test: a CVEwtFn. */
int tolerance_weights(N_Vector y, N_Vector weights, void *workspace);

#endif
