/* What lies inside of a step.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_STEP_INSIDE_H
#define ODE_LANES_STEP_INSIDE_H

#include "ode/lanes/step_numbers.h"

/* Factors of the numbers before and after the step and of each stage in what is at s. */
struct weights {
    part before, after, stage[METHOD_STAGES];
    bool at_end; /* in all lanes */
};

INLINE void weigh_inside(METHOD_TABLE struct lanes_method *method, part s, part h_used,
                         struct weights *weights)
{
    weights->before = 1 - s;
    weights->after = s;
    for (int j = 0; j < method->n_stage; j++) {
        part inner = spread(0);
        for (int k = method->n_dense; k-- > 0;)
            inner = inner * s + method->dense[k][j];
        weights->stage[j] = s * (1 - s) * inner;
        if (method->has_slopes)
            weights->stage[j] *= h_used;
    }
}

/* One matrix of rows of `width`; out: its columns, n numbers each. */
INLINE void interpolate(METHOD_TABLE struct lanes_method *method, const struct weights *weights,
                        size_t n, size_t width, AT const lanes *before, AT const lanes *after,
                        STAGES_OF(stage), AT lanes *out, int h)
{
    for (size_t r = 0, e = 0; r < n; r++)
        for (size_t c = 0; c < width; c++, e++) {
            part end = PART(after, e),
                 sum = fused(weights->before, PART(before, e), weights->after * end);
            for (int j = 0; j < method->n_stage && !weights->at_end; j++)
                sum = fused(weights->stage[j], PART(stage[j], e), sum);
            PART(out, c * n + r) = pick(weights->after == 1, end, sum);
        }
}

/* The error of what is seen under a number (lanes_plan.h), in which it is `value`, that is due to
 * tolerances beyond rtol |y| of states that are not young; NaN if one of these or the value is not
 * finite. */
INLINE part excess_of(AT const struct lanes_bank *bank, size_t seen, part value,
                      AT const lanes *values, int h)
{
    part excess = 0 * value;
    for (int k = ROW(observe, seen); k < ROW(observe, seen + 1); k++) {
        part effect = magnitude(PART(values, TERM(observe, k, value))) *
                      PART(bank->tolerance.beyond, TERM(observe, k, row));
        excess += pick(PART(bank->tolerance.guess, TERM(observe, k, row)) == 0, effect, spread(0));
    }
    return excess;
}

#endif
