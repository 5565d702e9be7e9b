/* What the explicit method is made of, for many numbers at once: arguments of stages, slopes of
 * sensitivities, and errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_SLOPES_H
#define ODE_LANES_KERNEL_SLOPES_H

#include "ode/lanes/kernel_share.h"
#include "ode/lanes/step_explicit.h"
#include "ode/lanes/step_stops.h"

static void advance(int i, part step, size_t n, const lanes *x, lanes *const *slope, lanes *out,
                    int h)
{
#define SLOPES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define SLOPE(i) \
    case i: \
        advance_stage(i, step, n, x, slope, out, h); \
        break;
    switch (i) {
        SLOPES(SLOPE)
    }
}

/* The slopes of a block's sensitivities at `from`: slope i. */
INLINE void multiply(const struct lanes_bank *bank, const struct lanes_block *block, size_t width,
                     int i, const lanes *from)
{
    const struct lanes_plan *plan = bank->plan;
    const struct lanes_rows *jacobian = &plan->jacobian;
    const lanes *derived = bank->scratch.derived[i];
    lanes *slope = block->stage[i];
    EACH_PART(bank) {
        for (size_t r = 0; r < plan->n; r++) {
            const struct lanes_term *end = jacobian->term + jacobian->start[r + 1];
            part sum[8];
            for (size_t c = 0; c < width; c++)
                sum[c] = (part){0};
            for (const struct lanes_term *term = jacobian->term + jacobian->start[r]; term < end;
                 term++) {
                part value = PART(derived, term->value);
                const lanes *operand = from + (size_t)term->row * width;
                for (size_t c = 0; c < width; c++)
                    sum[c] = fused(value, PART(operand, c), sum[c]);
            }
            for (size_t c = 0; c < width; c++)
                PART(slope, r * width + c) = sum[c];
        }
        for (size_t q = 0; q < block->n_entry; q++) {
            const struct stiffit_lanes_entry *entry = &block->entry[q];
            add_entry(bank, entry, PART(derived, plan->entry[entry->value / N_LANE].value), slope,
                      h);
        }
        infuse(bank, block->minus_rate, plan->n * width, slope, h);
    }
}

#endif
