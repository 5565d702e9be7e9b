/* Signs that the other method would cost less: in an explicit step, that stability limits it; in
 * an implicit one, that it could have been an explicit one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_TURN_H
#define ODE_LANES_KERNEL_TURN_H

#include "ode/lanes/kernel_control.h"

/* h |lambda| for the eigenvalue that the last two stages show, both at the end of the step
 * (Hairer & Wanner, Solving Ordinary Differential Equations II, section IV.2): the change of h
 * times the slope over that of the state, in tolerances. slope and change: the sums of their
 * squares. A fast state at rest changes by nothing but rounding errors, while its sensitivities
 * limit the steps: its own part of the Jacobian at the end shows it. */
INLINE void look_for_stiffness(const struct lanes_room *room, struct attempt *now, part change,
                               part slope, part size, int h)
{
    const struct lanes_rows *jacobian = &room->plan->jacobian;
    const lanes *derived = room->scratch.derived[LAST_SLOPE];
    part rtol = PART(&room->tolerance.rtol, 0);
    part square = slope / change, sixth = square * square * square;
    part error = sixth * sixth * size, accepted = error * PART(&room->control.by_accepted, 0);
    part_mask at_rest =
        (error > AT_REST * AT_REST * now->worst) & (accepted > spread(LARGE * LARGE));
    part_mask seen = rtol * rtol * change > SEEN * SEEN,
              unstable = seen & (square > spread(UNSTABLE * UNSTABLE));
    for (size_t i = 0; i < room->plan->n; i++)
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            if (jacobian->term[k].row == (int32_t)i)
                unstable |= -PART(derived, jacobian->term[k].value) * now->h > spread(UNSTABLE);
    now->sign = (unstable & SIGN) | (seen & at_rest & ~unstable & SLIGHT_SIGN);
}

/* The row sums of |J|, each state in units of its tolerance, bound all eigenvalues. They are at
 * least the diagonal, which decides alone in most steps of what is stiff. */
static void look_for_calm(const struct lanes_room *room, struct attempt *now, int h)
{
    const struct lanes_rows *jacobian = &room->plan->jacobian;
    const lanes *derived = room->scratch.derived[0];
    lanes *tolerance = room->scratch.right;
    part rtol = PART(&room->tolerance.rtol, 0);
    part_mask calm = MASK(&room->live, 0);
    for (size_t i = 0; i < room->plan->n; i++)
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            if (jacobian->term[k].row == (int32_t)i)
                calm &= magnitude(PART(derived, jacobian->term[k].value)) * now->h <= CALM;
    now->sign = calm & SIGN;
    if (!bits(calm))
        return;
    for (size_t i = 0; i < room->plan->n; i++)
        PART(tolerance, i) = fused(rtol, magnitude(PART(room->y, i)),
                                   PART(room->tolerance.beyond, i) + TOLERANCE_TINY);
    for (size_t i = 0; i < room->plan->n; i++) {
        part sum = {0};
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            sum = fused(magnitude(PART(derived, jacobian->term[k].value)),
                        PART(tolerance, jacobian->term[k].row), sum);
        calm &= sum * now->h <= CALM * PART(tolerance, i);
    }
    now->sign = calm & SIGN;
}

#endif
