/* What the right-hand side takes from outside of the model: inputs, infusions, and the stretch
 * of time between two stops, on whose side of them it is evaluated.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_STOPS_H
#define ODE_LANES_STEP_STOPS_H

#include "ode/lanes/step_numbers.h"

INLINE void set_inputs(AT const struct lanes_bank *bank, part t, AT lanes *input, int h)
{
    for (size_t i = 0; i < N_INPUT(bank); i++)
        PART(input, i) =
            PART(bank->outside.input_value, i) +
            PART(bank->outside.input_slope, i) * (t - PART(bank->outside.input_since, i));
}

/* Sets the point of a call at time t, with the inputs there. */
INLINE void set_time(AT const struct lanes_bank *bank, part t, AT lanes *point, AT lanes *input,
                     int h)
{
    t = smaller(larger(t, PART(&bank->outside.since, 0)), PART(&bank->outside.until, 0));
    PART(point, 0) = t;
    set_inputs(bank, t, input, h);
}

/* Adds the rates of infusions to n numbers. */
INLINE void infuse(AT const struct lanes_bank *bank, AT const lanes *minus_rate, size_t n,
                   AT lanes *to, int h)
{
    if (IS_INFUSED(bank))
        for (size_t e = 0; e < n; e++)
            PART(to, e) -= PART(minus_rate, e);
}

#endif
