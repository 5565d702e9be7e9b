/* What is at one time with a root: see near.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/stops_parts.h"

/* The part of a step that is examined. */
struct placing {
    struct simulation *sim;
    const struct latest_step *step;
    double begin, end;
};
/* Moves the root at *t, where the triggers that change have their new signs in stops.value, to a stop or measurement that it is
 * near to, and adds the triggers that are near their roots there. is_jump: of the right-hand side, at the root. */
void near_move_root(struct placing *placing, double *t, bool is_jump);
/* If the end is a stop or a measurement: counts as true the triggers that are near their roots there. True: any. */
bool near_look_at_end(struct placing *placing);
