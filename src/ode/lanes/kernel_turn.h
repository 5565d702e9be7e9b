/* Signs that the other method would cost less: in an explicit step, that stability limits it; in an implicit one, that it could
 * have been an explicit one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_TURN_H
#define ODE_LANES_KERNEL_TURN_H

#include "ode/lanes/kernel_control.h"

/* h |lambda| for the eigenvalue that the last two stages show, both at the end of the step (Hairer & Wanner, Solving Ordinary
 * Differential Equations II, section IV.2): the change of h times the slope over that of the state, in tolerances. slope and
 * change: the sums of their squares. A fast state at rest changes by nothing but rounding errors, while its sensitivities limit
 * the steps: its own part of the Jacobian at the end shows it. */
INLINE void look_for_stiffness(const struct lanes_room *room, struct attempt *now, part change, part slope, int h)
{
    const struct lanes_rows *jacobian = &room->plan->jacobian;
    const lanes *derived = room->scratch.derived[LAST_SLOPE];
    part rtol = PART(&room->tolerance.rtol, 0);
    now->sign = (rtol * rtol * change > SEEN * SEEN) & (slope > UNSTABLE * UNSTABLE * change);
    for (size_t i = 0; i < room->plan->n; i++)
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            if (jacobian->term[k].row == (int32_t)i)
                now->sign |= -PART(derived, jacobian->term[k].value) * now->h > spread(UNSTABLE);
}

/* The row sums of |J|, each state in units of its tolerance, bound all eigenvalues. They are at least the diagonal, which
 * decides alone in most steps of what is stiff. */
static void look_for_calm(const struct lanes_room *room, struct attempt *now, int h)
{
    const struct lanes_rows *jacobian = &room->plan->jacobian;
    const lanes *derived = room->scratch.derived[0];
    lanes *tolerance = room->scratch.right;
    part rtol = PART(&room->tolerance.rtol, 0);
    now->sign = MASK(&room->live, 0);
    for (size_t i = 0; i < room->plan->n; i++)
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            if (jacobian->term[k].row == (int32_t)i)
                now->sign &= magnitude(PART(derived, jacobian->term[k].value)) * now->h <= CALM;
    if (!bits(now->sign))
        return;
    for (size_t i = 0; i < room->plan->n; i++)
        PART(tolerance, i) =
            fused(rtol, magnitude(PART(room->y, i)), PART(room->tolerance.beyond, i) + TOLERANCE_TINY);
    for (size_t i = 0; i < room->plan->n; i++) {
        part sum = {0};
        for (int32_t k = jacobian->start[i]; k < jacobian->start[i + 1]; k++)
            sum = fused(magnitude(PART(derived, jacobian->term[k].value)), PART(tolerance, jacobian->term[k].row), sum);
        now->sign &= sum * now->h <= CALM * PART(tolerance, i);
    }
}

#endif
