/* Tolerances of an evaluation, and the sizes of states that they follow if there is no atol.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/observer.h"
#include "ode/sundials_compat.h"

/* Sets the tolerances of the current evaluation. is_relative: without atol, each state's tolerance is rtol times its present
 * value. */
void tolerance_set(struct observer *observer, bool is_relative);
/* Initialises sizes from the initial state y (blocks). */
void tolerance_begin(struct observer *observer, const double *y);
/* Behind a jump to y at observer.t: states that were at rest at zero, or are far below what they will be, begin anew. */
void tolerance_jump(struct observer *observer, const double *y);
/* Without atol: updates sizes and tolerance_beyond after a step that ended at (observer.t, y), or at the initial state. */
void tolerance_follow(struct observer *observer, const double *y);
/* After a measurement at or before observer.t: looks how far states that were at rest will grow until the next one. y: the state
 * there. */
void tolerance_look(struct observer *observer, const double *y);
/* The integrator has failed at observer.t, with state y: sizes that are far too small are estimated anew. False: nothing is left to
 * be tried; else it may begin again there. */
bool tolerance_rescue(struct observer *observer, const double *y);
/* An input jumps at most `width` before t, where the next step ends. States at rest at zero take their sizes from their slopes
 * there, and their change over the jump does not count as an error. */
void tolerance_wake(struct observer *observer, double t, double width);
/* The sensitivities s (blocks) that have vanished, as that by the initial value of a state long after it has decayed, are errors
 * of the integrator: sets to 0 what is below the accuracy of a state, as a part of its largest value so far. True: there are
 * such. */
bool tolerance_drop_vanished(const struct observer *observer, double *s);
/* The weights of the error test, 1 / tolerance, for y (blocks); with a signature for CVODES and a struct workspace. */
void tolerance_weigh(struct observer *observer, const double *y, double *weight);
int tolerance_weights(N_Vector y, N_Vector weights, void *workspace);
