/* The length of a step, and what follows it: the next step's length, the states' tolerances
 * there, and what the caller must look at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_CONTROL_H
#define ODE_LANES_STEP_CONTROL_H

#include "ode/lanes/kernel_constants.h"
#include "ode/lanes/step_numbers.h"
#include "ode/tolerance_constants.h"

/* Known here, so that loops over stages are unrolled. */
#define METHOD lanes_method
#define EXPLICIT lanes_explicit

/* Numbers of one attempt that its parts share. */
struct attempt {
    part h, per_h, inverse; /* inverse: 1/(h gamma) */
    part end;               /* of the step */
    part_mask cut;          /* it is shorter than planned, or a bit longer, to end there */
    part worst;             /* the square of the largest error over its tolerance */
    part_mask good;         /* all is finite so far */
    part_mask safe;         /* elimination without pivoting is accurate enough */
    part_mask sign;         /* that the other method would have cost less: what it counts */
    part_mask ends;         /* stiffness ends in it: estimates of all errors must be confirmed */
    C_TABLE
};

/* The length of the step. */
INLINE void plan_step(AT const struct lanes_bank *bank, struct attempt *now, int h)
{
    part t = PART(&bank->t, 0), step = PART(&bank->h, 0), next = PART(&bank->t_next, 0),
         stop = PART(&bank->t_stop, 0);
    /* The end of a step is far more accurate than its inside: it is put onto a measurement,
     * unless several are in reach. */
    part_mask lands = (next > t) & (next <= stop) & (PART(&bank->t_later, 0) > t + step);
    part longest = pick(lands, PART(&bank->t_part, 0), spread((double)INFINITY));
    part_mask limited = step > longest;
    step = pick(limited, longest, step);
    now->end = pick(lands, next, stop);
    part left = now->end - t;
    part_mask live = IS_LIVE(bank), reaches = (ROOM_STRETCH * step >= left) & live;
    part_mask halves = opposite(reaches) & (2 * step > left) & live;
    part halved = pick(longest < (double)INFINITY, smaller(step, 0.5 * longest), 0.5 * left);
    step = pick(reaches, left, pick(halves, halved, step));
    now->h = step;
    now->cut = reaches | halves | limited;
    now->end = pick(reaches, now->end, t + step);
    now->good = now->safe = everywhere;
    now->worst = spread(0);
    now->ends = opposite(everywhere);
}

/* What the implicit method divides by. */
INLINE void divide_by_step(struct attempt *now)
{
    now->per_h = 1 / now->h;
    now->inverse = now->per_h * (1 / METHOD.gamma);
}

/* The tolerance of a number of a sensitivity that a step moves to `end`. unit: 1/|p|; base: the
 * state's number in scratch.base, the effect that p must have on the state to count. */
INLINE part column_tolerance(part rtol, part before, part end, part unit, part base)
{
    part size = larger(magnitude(before), magnitude(end));
    return fused(rtol, size, fused(unit, base, spread(TOLERANCE_TINY)));
}

/* The states' tolerances minus rtol |y| after a step; see tolerance_follow. */
INLINE void follow_sizes(AT struct lanes_bank *bank, part step, part_mask moved, int h)
{
    part t = PART(&bank->t, 0), rtol = PART(&bank->tolerance.rtol, 0),
         fraction = PART(&bank->tolerance.fraction, 0);
    part at_rest = PART(&bank->tolerance.at_rest, 0);
    part_mask is_relative = MASK(&bank->tolerance.is_relative, 0);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part y = PART(bank->y, i), now = magnitude(y),
             size = larger(PART(bank->tolerance.size, i), now);
        part guess = PART(bank->tolerance.guess, i), reach = PART(bank->tolerance.reach, i);
        part age = t - PART(bank->tolerance.born, i);
        part_mask grows =
            magnitude(y - PART(bank->y_before, i)) * age >= TOLERANCE_YOUNG * step * now;
        guess = pick(grows | opposite(moved) | (size <= TOLERANCE_REST * reach), guess, spread(0));
        part_mask young = guess > 0;
        part s = pick(young & (guess > size), guess, size),
             least = pick(young, spread(TOLERANCE_FRACTION), fraction) * s;
        part log_now = log2_of(larger(now, spread(TOLERANCE_TINY))),
             log_s = log2_of(larger(s, spread(TOLERANCE_TINY)));
        part wanted = exp2_of(0.75 * log_now + 0.25 * log_s);
        wanted = pick((now < s) & (young | opposite(is_relative)), larger(wanted, now), now);
        part beyond = rtol * (larger(wanted, least) - now);
        beyond = pick(size < TOLERANCE_GROWN * reach, larger(beyond, TOLERANCE_ROUNDING * reach),
                      beyond);
        beyond = larger(beyond, TOLERANCE_NOISE * PART(bank->tolerance.noise, i));
        beyond = pick(size > 0, beyond, larger(beyond, at_rest * guess));
        PART(bank->tolerance.size, i) = size;
        PART(bank->tolerance.guess, i) = guess;
        PART(bank->tolerance.beyond, i) = pick(moved, beyond, PART(bank->tolerance.beyond, i));
    }
}

/* The next step's length: the smaller one of what the error asks for and of what its trend does
 * (Gustafsson 1994). */
INLINE void control(AT struct lanes_bank *bank, const struct attempt *now, part_mask accepted,
                    METHOD_TABLE struct lanes_method *method, int h)
{
    double share = 1.0 / (method->order_error + 1),
           grow = method->has_slopes ? GROW_EXPLICIT : GROW;
    part worst = pick(now->good & now->safe, now->worst, spread(1e30));
    worst = larger(smaller(worst, spread(1e30)), spread(1e-30));
    part log_error = 0.5 * log2_of(worst), log_h = log2_of(now->h);
    part last_h = PART(&bank->control.log_h, 0), planned = PART(&bank->h, 0);
    part_mask rejected = MASK(&bank->control.rejected, 0), live = IS_LIVE(bank);
    part shrink = share * log_error + SAFETY;
    part trend =
        last_h - log_h + share * (2 * log_error - PART(&bank->control.log_error, 0)) + SAFETY;
    /* last_h is -inf before the first step */
    shrink = pick(accepted, larger(shrink, trend), shrink);
    if (method->has_slopes)
        shrink += (SHARE_BELOW - share) * smaller(log_error - FAR_BELOW, spread(0));
    shrink = larger(smaller(shrink, spread(SHRINK)), spread(-grow));
    shrink = pick(accepted & rejected, larger(shrink, spread(0)), shrink);
    shrink = pick(opposite(accepted) & (last_h < -DBL_MAX) & opposite(rejected),
                  spread(SHRINK_FIRST), shrink);
    part next = now->h * exp2_of(-shrink);
    /* a step that was cut to end at a stop says nothing against the planned one */
    next = pick(accepted & now->cut & (next < planned), planned, next);
    part longest = PART(&bank->longest, 0);
    PART(&bank->h, 0) = pick(live, pick(next > longest, longest, next), planned);
    PART(&bank->control.log_h, 0) = pick(accepted, log_h, last_h);
    PART(&bank->control.log_error, 0) =
        pick(accepted, larger(log_error, spread(LEAST_ERROR)), PART(&bank->control.log_error, 0));
    MASK(&bank->control.rejected, 0) = opposite(accepted) & live;
    MASK(&bank->control.n_attempt, 0) += count_of(live, 1);
    MASK(&bank->control.n_step, 0) += count_of(accepted, 1);
    part_mask trouble = MASK(&bank->control.trouble, 0), n = MASK(&bank->control.n_attempt, 0),
              recent = trouble > n;
    MASK(&bank->control.trouble, 0) =
        count_of(now->good, trouble) |
        count_of(opposite(now->good),
                 TROUBLE + (count_of(recent, trouble) | count_of(opposite(recent), n)));
}

/* Where the step has led, and the signs for the other method. */
INLINE void advance_time(AT struct lanes_bank *bank, const struct attempt *now, part_mask accepted,
                         int h)
{
    part_mask n_sign = MASK(&bank->control.n_sign, 0), none = now->sign == 0,
              few = n_sign < NO_SIGN;
    PART(&bank->t_before, 0) = PART(&bank->t, 0);
    PART(&bank->h_used, 0) = now->h;
    PART(&bank->t, 0) = pick(accepted, now->end, PART(&bank->t, 0));
    MASK(&bank->advanced, 0) = accepted;
    PART(&bank->control.t_calm, 0) =
        pick(none, PART(&bank->t, 0), PART(&bank->control.t_calm, 0));
    part_mask less = count_of(few, n_sign) | count_of(opposite(few), NO_SIGN);
    MASK(&bank->control.n_sign, 0) =
        n_sign + count_of(IS_LIVE(bank), now->sign) - count_of(none & accepted, less);
}

/* Whether a state went from above to below zero. */
INLINE part_mask has_fallen(AT const struct lanes_bank *bank, int h)
{
    part_mask fell = (PART(bank->y, 0) < 0) & opposite(PART(bank->y_before, 0) < 0);
    for (size_t i = 1; i < N_STATE(bank); i++)
        fell |= (PART(bank->y, i) < 0) & opposite(PART(bank->y_before, i) < 0);
    return fell;
}

/* Whether the next step is too small to move t, or too many attempts were in vain because something
 * was not finite. */
INLINE part_mask is_stuck(AT const struct lanes_bank *bank, int h)
{
    return opposite(PART(&bank->h, 0) > 4 * DBL_EPSILON * magnitude(PART(&bank->t, 0)) + DBL_MIN) |
           (MASK(&bank->control.trouble, 0) - MASK(&bank->control.n_attempt, 0) >= MUCH_TROUBLE);
}

/* Whether n_step has reached max_steps. */
INLINE part_mask is_spent(AT const struct lanes_bank *bank, int h)
{
    return MASK(&bank->control.n_step, 0) >= MASK(&bank->control.max_steps, 0);
}

/* Whether the other method would cost less from here on. */
INLINE part_mask is_turned(AT const struct lanes_bank *bank, int h)
{
    return (MASK(&bank->control.n_sign, 0) >= MASK(&bank->control.patience, 0)) |
           (PART(&bank->t, 0) >= PART(&bank->control.t_turn, 0));
}

#endif
