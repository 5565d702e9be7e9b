/* What the right-hand side takes from outside of the model: inputs, infusions, and the stretch
 * of time between two stops, on whose side of them it is evaluated.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_STOPS_H
#define ODE_LANES_KERNEL_STOPS_H

#include "ode/lanes/kernel_numbers.h"

INLINE void set_inputs(const struct lanes_room *room, part t, lanes *input, int h)
{
    const struct lanes_outside *outside = &room->outside;
    for (size_t i = 0; i < room->plan->abi->n_input; i++)
        PART(input, i) = PART(outside->input_value, i) +
                         PART(outside->input_slope, i) * (t - PART(outside->input_since, i));
}

/* Sets the point of a call at time t, with the inputs there. */
INLINE void set_time(const struct lanes_room *room, part t, lanes *point, lanes *input, int h)
{
    t = smaller(larger(t, PART(&room->outside.since, 0)), PART(&room->outside.until, 0));
    PART(point, 0) = t;
    set_inputs(room, t, input, h);
}

/* Adds the rates of infusions to n numbers. */
INLINE void infuse(const struct lanes_room *room, const lanes *minus_rate, size_t n, lanes *to,
                   int h)
{
    if (room->outside.infused)
        for (size_t e = 0; e < n; e++)
            PART(to, e) -= PART(minus_rate, e);
}

#endif
