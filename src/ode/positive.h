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

/* Call this at the initial state y. */
void positive_begin(struct simulation *simulation, const double *y);
/* After a jump to y: only the integrator's steps may fall. */
void positive_jump(struct simulation *simulation, const double *y);
/* After a step that ended at y: whether no state has fallen below zero in it or earlier; nothing
 * else need then be called. */
bool positive_is_plain(struct simulation *simulation, const double *y);
/* After a step that ended at y: whether a state has fallen below zero in it. Then call
 * positive_fall, too. */
bool positive_crosses(const struct simulation *simulation, const double *y);
/* Where a state has passed a pole in such a step, by more than its error: the part of the step,
 * at most, that leaves all states above zero. 1: none has. Overwrites simulation.columns. */
double positive_part(struct simulation *simulation, double t_before, const double *before,
                     const double *y);
/* Judges the states that fell in a step from (t_before, before) to (simulation.t, y). Overwrites
 * simulation.columns. */
void positive_fall(struct simulation *simulation, double t_before, const double *before,
                   const double *y);
/* After these: returns a state that is impossibly far below zero, or n_state. */
size_t positive_look(struct simulation *simulation, const double *y);
