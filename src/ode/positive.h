/* Detects states that fall below zero although the equations do not allow it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* More than this many tolerances below zero is no error of one step. */
#define POSITIVE_ERRORS 10

struct simulation;
struct positive;

/* NULL: out of memory. */
struct positive *positive_new(size_t n_state);
void positive_free(struct positive *positive); /* NULL is legal */

/* n_state: the equations keep these states from falling below zero, as far as is known now. */
const bool *positive_kept(const struct positive *positive);

/* Call this at the initial state y. */
void positive_begin(struct simulation *simulation, const double *y);
/* After a jump to y: only the integrator's steps may fall. */
void positive_jump(struct simulation *simulation, const double *y);
/* n_state: a step that leads below these, or from above to below zero, must be looked at. -inf
 * where the model allows a state to be negative. Changed by the functions here. */
const double *positive_lows(const struct simulation *simulation);
/* After a step that ended at y: whether no state has fallen below zero in it or earlier, nor
 * further; nothing else need then be called. */
bool positive_is_plain(struct simulation *simulation, const double *y);
/* After a step that ended at y: whether a state has fallen below zero in it, or below its low.
 * Then call positive_fall, too. */
bool positive_crosses(const struct simulation *simulation, const double *y);
/* Where a state has passed a pole in such a step from (t_before, before) to (simulation.t, y), or
 * has become negative by more than its error: the part of the step, at most, that does not lead
 * there. 1: none has. Overwrites simulation.columns. */
double positive_part(struct simulation *simulation, double t_before, const double *before,
                     const double *y);
/* Whether a state began that step, within its tolerance, at the wrong side of a pole; sets those
 * to zero where the step is taken back to, in y (blocks). */
bool positive_is_lost(const struct simulation *simulation);
void positive_lift(struct simulation *simulation, double *y);
/* Where no further step is possible from y (blocks): sets states to zero that are below it by
 * errors, since the model may not be computable there, or that fall and are above it by less than
 * their errors, since their slope may jump there. False: there are none. Overwrites
 * simulation.f. */
bool positive_rescue(struct simulation *simulation, double *y);
/* Judges the states that fell in a step that stands. Overwrites simulation.columns. */
void positive_fall(struct simulation *simulation, double t_before, const double *before,
                   const double *y);
/* After these: returns a state that is impossibly far below zero, or n_state. */
size_t positive_look(struct simulation *simulation, const double *y);
