/* A step of the implicit method, for the states: arguments and right-hand sides of its stages,
 * its error, and whether its elimination was safe. The caller calls the model, and solves.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_IMPLICIT_H
#define ODE_LANES_STEP_IMPLICIT_H

#include "ode/lanes/step_sign.h"

/* For n numbers: the argument of stage i, x + sum a_ij u_j, into moved, which holds that of
 * stage i - 1; sum c_ij/h u_j into right. */
INLINE void combine_stage(const int i, const struct attempt *now, size_t n, AT const lanes *x,
                          STAGES_OF(stage), AT lanes *moved, AT lanes *right, int h)
{
    for (size_t e = 0; e < n; e++) {
        part argument = PART(x, e), sum = spread(0);
        for (int j = 0; j < i; j++) {
            part u = PART(stage[j], e);
            if (i < METHOD.chain)
                argument = fused(spread(METHOD.a[i][j]), u, argument);
            else if (j == i - 1)
                argument = PART(moved, e) + u;
            sum = fused(C_PER_H(now, i, j), u, sum);
        }
        PART(moved, e) = argument;
        PART(right, e) = sum;
    }
}

/* What x, the first stage, leaves of `right`. */
INLINE void set_residual(AT const struct lanes_bank *bank, const struct attempt *now,
                         AT const lanes *x, AT lanes *right, int h)
{
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part sum = fused(-now->inverse, PART(x, i), PART(right, i));
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++)
            sum = fused(PART(bank->scratch.derived[0], TERM(jacobian, k, value)),
                        PART(x, TERM(jacobian, k, row)), sum);
        PART(right, i) = sum;
    }
}

/* Finds the lanes in which x, the first stage, is accurate: its correction is small. */
INLINE void find_safe(AT const struct lanes_bank *bank, struct attempt *now, AT const lanes *x,
                      AT const lanes *correction, int h)
{
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part size = larger(magnitude(PART(bank->y, i)), magnitude(PART(x, i)));
        part tolerance = fused(PART(&bank->tolerance.rtol, 0), size,
                               PART(bank->tolerance.beyond, i) + TOLERANCE_TINY);
        now->safe &= magnitude(PART(correction, i)) <= UNSAFE * tolerance;
    }
}

INLINE void state_end(AT struct lanes_bank *bank, struct attempt *now, int h)
{
    part rtol = PART(&bank->tolerance.rtol, 0), worst = spread(0), finite = spread(0);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part error = PART(bank->scratch.stage[METHOD.n_stage - 1], i),
             end = PART(bank->scratch.argument, i) + error;
        part size = larger(magnitude(PART(bank->y, i)), magnitude(end)),
             beyond = PART(bank->tolerance.beyond, i);
        part tolerance = fused(rtol, size, beyond + TOLERANCE_TINY),
             ratio = error * reciprocal_of(tolerance);
        PART(bank->scratch.tolerance, i) = tolerance;
        PART(bank->y_before, i) = end;
        PART(bank->scratch.base, i) = TOLERANCE_EFFECT * rtol * size + beyond;
        worst = larger(ratio * ratio, worst);
        finite += 0 * end;
    }
    now->worst = worst;
    now->good &= finite == 0;
    look_for_calm(bank, now, h);
}

/* An estimated error is x = W^-1 r: the residual r of the embedded solution at the end of the
 * step, damped by W = I/(h gamma) - J of its beginning. Where the Jacobian is less stiff at the
 * end, this hides errors: a state that was held by another one, or at a value, seems to be held
 * still, and is not. The Jacobian J1 of the end confirms the step if the same residual, damped by
 * W1 = I/(h gamma) - J1, is small:
 *
 *     W1^-1 r = W1^-1 W x = x + W1^-1 (J1 - J) x.
 *
 * J1 is that of the last stage, whose argument is the embedded solution. There is nothing to
 * solve in most steps: where h gamma (J1 - J) x is within the tolerances, as W1^-1 is at most
 * h gamma where no mode grows; and where (J1 - J) x is a small part of W x = r, as then
 * W1 x = r - (J1 - J) x is about r, and x about W1^-1 r.
 *
 * set_change puts (J1 - J) x into right, and finds the lanes in which it is neither; the square
 * of the accepted error is 1/by_accepted. */
struct change {
    part_mask large;
    part_mask ends; /* entries of J1 - J are large beside the diagonal of W1, by the tolerances */
    part_mask gap;  /* a state that is held at both ends is not inside, where no error shows it */
};
INLINE struct change set_change(AT const struct lanes_bank *bank, const struct attempt *now,
                                AT const lanes *x, part by_accepted, AT lanes *right, int h)
{
    const int last = METHOD.n_stage - 1;
    part finite = spread(0);
    struct change found;
    found.large = found.ends = found.gap = opposite(everywhere);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part sum = spread(0), size = spread(0), damping = now->inverse;
        part residual = now->inverse * PART(x, i), tolerance = PART(bank->scratch.tolerance, i);
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++) {
            int value = TERM(jacobian, k, value), column = TERM(jacobian, k, row);
            part before = PART(bank->scratch.derived[0], value),
                 after = PART(bank->scratch.derived[last], value), change = after - before;
            residual = fused(-before, PART(x, column), residual);
            sum = fused(change, PART(x, column), sum);
            size = fused(magnitude(change), PART(bank->scratch.tolerance, column), size);
            if (column == (int)i) {
                part held = smaller(magnitude(before), magnitude(after)),
                     inside = smaller(magnitude(PART(bank->scratch.derived[1], value)),
                                      magnitude(PART(bank->scratch.derived[INSIDE], value)));
                damping += magnitude(after);
                found.gap |= held > fused(spread(GAP), inside, GAP * now->inverse);
            }
        }
        part bound = now->inverse * tolerance;
        PART(right, i) = sum;
        found.large |= (sum * sum * by_accepted > bound * bound) &
                       (magnitude(sum) > RELEASED * magnitude(residual));
        found.ends |= size > ENDS * damping * tolerance;
        finite = fused(spread(0), size, finite);
    }
    part_mask known = finite == 0; /* else the next step fails */
    found.large &= known;
    found.ends &= known;
    found.gap &= known;
    return found;
}

/* Whether the Jacobian at the end must be asked for the states' error. */
INLINE part_mask must_confirm(AT const struct lanes_bank *bank, struct attempt *now,
                              AT lanes *right, int h)
{
    part by_accepted = PART(&bank->control.by_accepted, 0);
    part_mask within = now->good & now->safe & (now->worst * by_accepted <= 1) & IS_LIVE(bank);
    struct change found = set_change(bank, now, bank->scratch.stage[METHOD.n_stage - 1],
                                     by_accepted, right, h);
    if (somewhere(found.gap & within)) {
        now->worst = pick(found.gap & within, GAP_ERROR / by_accepted, now->worst);
        within &= opposite(found.gap);
    }
    now->ends = found.ends & within;
    return found.large & within;
}

/* Adds x to its correction W1^-1 (J1 - J) x. */
INLINE void correct(AT const struct lanes_bank *bank, AT const lanes *x, AT lanes *correction,
                    int h)
{
    for (size_t i = 0; i < N_STATE(bank); i++)
        PART(correction, i) += PART(x, i);
}

/* The largest square of an error of a state over its tolerance. */
INLINE part weigh(AT const struct lanes_bank *bank, AT const lanes *error, int h)
{
    part worst = spread(0), finite = spread(0);
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part ratio = PART(error, i) * reciprocal_of(PART(bank->scratch.tolerance, i));
        worst = larger(ratio * ratio, worst);
        finite += 0 * PART(error, i);
    }
    return pick(finite == 0, worst, spread(1e30));
}

/* The states' error that the Jacobian at the end makes of the estimate; where it is far larger,
 * those of the sensitivities must be confirmed, too. */
INLINE void judge_end(AT const struct lanes_bank *bank, struct attempt *now, part_mask large,
                      AT const lanes *error, int h)
{
    part worst = weigh(bank, error, h);
    now->ends |= large & (worst > ENDS * ENDS * now->worst);
    now->worst = pick(large, larger(now->worst, worst), now->worst);
}

/* The error test sees the end of a step only. Where a stiff state follows a slow one, its error
 * is small there and large inside: in lanes with a measurement inside of a step that is
 * acceptable otherwise, the error of the dense output in its middle is estimated from what it
 * leaves of the differential equation, by the linear solver. */
INLINE part_mask needs_middle(AT const struct lanes_bank *bank, const struct attempt *now, int h)
{
    return now->good & now->safe & (now->worst <= 1) & (PART(&bank->t_next, 0) < now->end) &
           IS_LIVE(bank);
}

/* The middle of the step, into scratch.argument; the slope there, into scratch.base. */
INLINE void set_middle(AT struct lanes_bank *bank, const struct attempt *now, int h)
{
    for (size_t i = 0; i < N_STATE(bank); i++) {
        part before = PART(bank->y, i), after = PART(bank->y_before, i), inner = spread(0),
             by_s = spread(0);
        for (int k = METHOD.n_dense; k-- > 0;) {
            part sum = spread(0);
            for (int j = 0; j < METHOD.n_stage; j++)
                sum = fused(spread(METHOD.dense[k][j]), PART(bank->scratch.stage[j], i), sum);
            by_s = 0.5 * by_s + inner;
            inner = 0.5 * inner + sum;
        }
        PART(bank->scratch.argument, i) = 0.5 * (before + after) + 0.25 * inner;
        PART(bank->scratch.base, i) = (after - before + 0.25 * by_s) * now->per_h;
    }
}

/* Raises the step's error to the largest one of a state inside the step. */
INLINE void judge_middle(AT const struct lanes_bank *bank, struct attempt *now, part_mask inside,
                         AT const lanes *error, int h)
{
    part worst = weigh(bank, error, h) * BY_INSIDE;
    now->worst = pick(inside, larger(now->worst, worst), now->worst);
}

#endif
