/* Tolerances of an evaluation, and the sizes of states that they follow if there is no atol.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_TOLERANCE_H
#define ODE_TOLERANCE_H

#include "ode/workspace.h"

/* Sets the tolerances of the current evaluation. is_relative: without atol, each state's tolerance is rtol times its present
 * value. */
void tolerance_set(struct workspace *workspace, bool is_relative);
/* Initialises sizes from the initial state, in workspace.y. */
void tolerance_begin(struct workspace *workspace);
/* An input jumps at most `width` before t, where the next step ends. States at rest at zero take their sizes from their slopes
 * there, and their change over the jump does not count as an error. */
void tolerance_wake(struct workspace *workspace, double t, double width);
/* The weights of the integrator's error test; a CVEwtFn. */
int tolerance_weights(N_Vector y, N_Vector weights, void *workspace);

#endif
