/* Signs that the other method would cost less: in an explicit step, that stability limits it; in
 * an implicit one, that it could have been an explicit one.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_SIGN_H
#define ODE_LANES_STEP_SIGN_H

#include "ode/lanes/step_control.h"

/* h |lambda| for the eigenvalue that the last two stages show, both at the end of the step
 * (Hairer & Wanner, Solving Ordinary Differential Equations II, section IV.2): the change of h
 * times the slope over that of the state, in tolerances. slope and change: the sums of their
 * squares. A fast state at rest changes by nothing but rounding errors, while its sensitivities
 * limit the steps: its own part of the Jacobian at the end shows it. */
INLINE void look_for_stiffness(AT const struct lanes_bank *bank, struct attempt *now, part change,
                               part slope, part size, int h)
{
    part rtol = PART(&bank->tolerance.rtol, 0);
    part square = slope / change, sixth = square * square * square;
    part error = sixth * sixth * size, accepted = error * PART(&bank->control.by_accepted, 0);
    part_mask at_rest =
        (error > AT_REST * AT_REST * now->worst) & (accepted > spread(LARGE * LARGE));
    part_mask seen = rtol * rtol * change > SEEN * SEEN,
              unstable = seen & (square > spread(UNSTABLE * UNSTABLE));
    for (size_t i = 0; i < N_STATE(bank); i++)
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++)
            if (TERM(jacobian, k, row) == (int)i)
                unstable |= -PART(bank->scratch.derived[LAST_SLOPE], TERM(jacobian, k, value)) *
                                now->h >
                            spread(UNSTABLE);
    now->sign = count_of(unstable, SIGN) |
                count_of(seen & at_rest & opposite(unstable), SLIGHT_SIGN);
}

/* The row sums of |J|, each state in units of its tolerance, bound all eigenvalues. They are at
 * least the diagonal, which decides alone in most steps of what is stiff. */
INLINE void look_for_calm(AT struct lanes_bank *bank, struct attempt *now, int h)
{
    AT lanes *tolerance = bank->scratch.right;
    part rtol = PART(&bank->tolerance.rtol, 0);
    part_mask calm = IS_LIVE(bank);
    for (size_t i = 0; i < N_STATE(bank); i++)
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++)
            if (TERM(jacobian, k, row) == (int)i)
                calm &= magnitude(PART(bank->scratch.derived[0], TERM(jacobian, k, value))) *
                            now->h <= CALM;
    now->sign = count_of(calm, SIGN);
    if (!somewhere(calm))
        return;
    for (size_t i = 0; i < N_STATE(bank); i++)
        PART(tolerance, i) = fused(rtol, magnitude(PART(bank->y, i)),
                                   PART(bank->tolerance.beyond, i) + TOLERANCE_TINY);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part sum = spread(0);
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++)
            sum = fused(magnitude(PART(bank->scratch.derived[0], TERM(jacobian, k, value))),
                        PART(tolerance, TERM(jacobian, k, row)), sum);
        calm &= sum * now->h <= CALM * PART(tolerance, i);
    }
    now->sign = count_of(calm, SIGN);
}

#endif
