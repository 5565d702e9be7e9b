/* A step of the explicit method, for the states: arguments of its stages, and its error.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_EXPLICIT_H
#define ODE_LANES_STEP_EXPLICIT_H

#include "ode/lanes/step_sign.h"

/* For n numbers: the argument of stage i, x + h sum a_ij k_j. */
INLINE void advance_stage(const int i, part step, size_t n, AT const lanes *x, STAGES_OF(slope),
                          AT lanes *out, int h)
{
    for (size_t e = 0; e < n; e++) {
        part sum = spread(0);
        UNROLLED
        for (int j = 0; j < i; j++)
            if (EXPLICIT.a[i][j] != 0)
                sum = fused(spread(EXPLICIT.a[i][j]), PART(slope[j], e), sum);
        PART(out, e) = fused(step, sum, PART(x, e));
    }
}

/* The estimated error of number e. */
INLINE part error_of(STAGES_OF(slope), part step, size_t e, int h)
{
    part sum = spread(0);
    UNROLLED
    for (int j = 0; j < N_SLOPE; j++)
        if (EXPLICIT.error[j] != 0)
            sum = fused(spread(EXPLICIT.error[j]), PART(slope[j], e), sum);
    return step * sum;
}

/* The time of slope i. */
INLINE part slope_time(AT const struct lanes_bank *bank, const struct attempt *now, int i, int h)
{
    part time = fused(spread(EXPLICIT.alpha[i]), now->h, PART(&bank->t, 0));
    return EXPLICIT.alpha[i] == 1 ? now->end : time;
}

/* The end of the states' step is in y_before; its error, and what the last two stages show. */
INLINE void weigh_states(AT struct lanes_bank *bank, struct attempt *now, int h)
{
    part rtol = PART(&bank->tolerance.rtol, 0), worst = spread(0), finite = spread(0),
         by_state = spread(0), by_slope = spread(0), all = spread(0);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part end = PART(bank->y_before, i),
             size = larger(magnitude(PART(bank->y, i)), magnitude(end));
        part beyond = PART(bank->tolerance.beyond, i),
             weight = reciprocal_of(fused(rtol, size, beyond + TOLERANCE_TINY));
        part ratio = error_of(bank->scratch.stage, now->h, i, h) * weight;
        part change = (end - PART(bank->scratch.argument, i)) * weight;
        part slopes = (PART(bank->scratch.stage[LAST_SLOPE], i) -
                       PART(bank->scratch.stage[LAST_SLOPE - 1], i)) *
                      now->h * weight;
        PART(bank->scratch.base, i) = TOLERANCE_EFFECT * rtol * size + beyond;
        worst = larger(ratio * ratio, worst);
        by_state = fused(change, change, by_state);
        by_slope = fused(slopes, slopes, by_slope);
        all = fused(size * weight, size * weight, all);
        finite = fused(spread(0), end * ratio, finite); /* NaN where one is infinite */
    }
    now->worst = worst;
    now->good &= finite == 0;
    look_for_stiffness(bank, now, by_state, by_slope, all, h);
}

/* The error inside of a step is about as large as the estimate, that of its end far smaller. */
INLINE part by_explicit(AT const struct lanes_bank *bank, const struct attempt *now, int h)
{
    part by = PART(&bank->control.by_accepted, 0);
    return pick(PART(&bank->t_next, 0) < now->end, by * PART(&bank->control.by_inside, 0), by);
}

#endif
