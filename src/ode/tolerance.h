/* Tolerances of an evaluation, and the sizes of states that they follow if there is no atol.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/simulation.h"

/* False: out of memory; tolerance_fini is legal then. */
bool tolerance_init(struct tolerance *tolerance, const struct stiffit_model *abi);
void tolerance_fini(struct tolerance *tolerance);
/* The relative tolerance of evaluations; tighter: as in struct evaluation. */
double tolerance_rtol(const struct ode_options *options, double tighter);
/* Sets the tolerances of the current evaluation. is_relative: without atol, each state's
 * tolerance is rtol times its present value. */
void tolerance_set(struct simulation *simulation, bool is_relative);
/* Initialises sizes from the initial state y (blocks). */
void tolerance_begin(struct simulation *simulation, const double *y);
/* Behind a jump to y at simulation.t: states that were at rest at zero, or are far below what
 * they will be, begin anew. */
void tolerance_jump(struct simulation *simulation, const double *y);
/* Without atol: updates sizes and tolerance_beyond after a step that ended at (simulation.t, y),
 * or at the initial state. */
void tolerance_follow(struct simulation *simulation, const double *y);
/* After a measurement at or before simulation.t: looks how far states that were at rest will
 * grow until the next one. y: the state there. */
void tolerance_look(struct simulation *simulation, const double *y);
/* The integrator has failed at simulation.t, with state y: sizes that are far too small are
 * estimated anew. False: nothing is left to be tried; else it may begin again there. */
bool tolerance_rescue(struct simulation *simulation, const double *y);
/* An input jumps at most `width` before t, where the next step ends. States at rest at zero take
 * their sizes from their slopes there, and their change over the jump does not count as an
 * error. */
void tolerance_wake(struct simulation *simulation, double t, double width);
/* A state and its sensitivities have vanished, as long after a decay, if they are below this
 * part of the state's size: what is left are errors of the integrator, the square of the
 * tolerance at zero. 0 with an atol. */
double tolerance_vanished(const struct simulation *simulation);
/* y (blocks) without the sensitivities that have vanished: y itself, or `seen`, which then is a
 * copy. */
const double *tolerance_drop_vanished(const struct simulation *simulation, const double *y,
                                      double *seen);
/* The weights of the error test, 1 / tolerance, for y (blocks). */
void tolerance_weigh(struct simulation *simulation, const double *y, double *weight);
