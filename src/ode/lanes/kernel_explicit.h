/* One attempt at a step by the explicit method: slopes of the states, and of the sensitivities
 * by f_y S + f_p.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_EXPLICIT_H
#define ODE_LANES_KERNEL_EXPLICIT_H

#include "ode/lanes/kernel_slopes.h"

/* The end of a block's step is in sens_new; its error. */
INLINE void weigh_block(const struct lanes_bank *bank, struct attempt *now,
                        const struct lanes_block *block, size_t width, int h)
{
    const lanes *unit = bank->unit + block->first, *base = bank->scratch.base;
    part most[8], finite[8], rtol = PART(&bank->tolerance.rtol, 0);
    for (size_t c = 0; c < width; c++)
        most[c] = finite[c] = (part){0};
    for (size_t r = 0, e = 0; r < bank->plan->n; r++)
        for (size_t c = 0; c < width; c++, e++) {
            part end = PART(block->sens_new, e);
            part tolerance =
                column_tolerance(rtol, PART(block->sens, e), end, PART(unit, c), PART(base, r));
            part ratio = error_of(block->stage, now->h, e, h) * rough_reciprocal_of(tolerance);
            most[c] = larger(magnitude(ratio), most[c]);
            /* NaN where the end or the error is infinite */
            finite[c] = fused((part){0}, ratio, finite[c]);
        }
    for (size_t c = 0; c < width; c++) {
        part_mask active = MASK(bank->active, block->first + c);
        part square = most[c] * most[c];
        now->good &= (finite[c] == 0) | ~active;
        now->worst = pick((square > now->worst) & active, square, now->worst);
    }
}

/* i: a stage; N_SLOPE: the error. */
INLINE void block_explicit(const struct lanes_bank *bank, struct attempt *now,
                           const struct lanes_block *block, size_t width, int i)
{
    size_t n_number = bank->plan->n * width;
    const lanes *from = i == 0            ? block->sens
                        : i == LAST_SLOPE ? block->sens_new
                                          : block->sens + n_number;
    EACH_PART(bank)
        if (i == N_SLOPE)
            weigh_block(bank, &now[h], block, width, h);
        else if (i > 0)
            advance(i, now[h].h, n_number, block->sens, block->stage, (lanes *)from, h);
    if (i < N_SLOPE)
        multiply(bank, block, width, i, from);
}

#define EXPLICIT_BLOCK(width) \
    static void block_explicit_##width(const struct lanes_bank *bank, struct attempt *now, \
        const struct lanes_block *block, \
                                       int i) \
    { \
        block_explicit(bank, now, block, width, i); \
    }
#define EXPLICIT_WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
EXPLICIT_WIDTHS(EXPLICIT_BLOCK)
#define EXPLICIT_ROW(width) [width] = block_explicit_##width,
static void (*const block_explicit_do[])(const struct lanes_bank *, struct attempt *,
                                         const struct lanes_block *,
                                         int) = {EXPLICIT_WIDTHS(EXPLICIT_ROW)};

/* Slope i of the states, with the derivatives that the sensitivities need. */
static void state_slope(struct lanes_bank *bank, const struct attempt *now,
                        const struct stiffit_lanes_point *base, int i)
{
    size_t n = bank->plan->n;
    lanes t, *input = bank->scratch.input + bank->plan->abi->n_input;
    lanes *argument = i == 0 ? bank->y : i == LAST_SLOPE ? bank->y_before : bank->scratch.argument;
    struct stiffit_lanes_point at = *base;
    EACH_PART(bank) {
        set_time(bank, slope_time(bank, &now[h], i, h), &t, input, h);
        if (i > 0)
            advance(i, now[h].h, n, bank->y, bank->scratch.stage, argument, h);
    }
    at.t = (const double *)&t;
    at.input = (const double *)input;
    at.y = (const double *)argument;
    /* derive, not rhs, even without columns: their last bits differ, and other lanes may have
     * columns */
    bank->plan->lanes->derive(&at, (double *)bank->scratch.derived[i]);
    EACH_PART(bank) {
        for (size_t k = 0; k < n; k++)
            PART(bank->scratch.stage[i], k) = PART(bank->scratch.derived[i], k);
        infuse(bank, bank->outside.minus_rate, n, bank->scratch.stage[i], h);
    }
}

/* The last slopes of a step that was accepted are the first ones of the next step. */
static void keep_last(const struct lanes_bank *bank, size_t n, lanes **slope, bool all)
{
    if (all)
        swap(&slope[0], &slope[LAST_SLOPE]);
    else
        EACH_PART(bank)
            for (size_t e = 0; e < n; e++)
                PART(slope[0], e) =
                    pick(MASK(&bank->advanced, 0), PART(slope[LAST_SLOPE], e), PART(slope[0], e));
}

/* The first slopes. Where some lane has none yet, all compute theirs: they get the same bits as
 * before. */
static void begin_explicit(struct lanes_bank *bank, const struct attempt *now,
                           const struct stiffit_lanes_point *base)
{
    bool all = true;
    if (bank->fresh) {
        bank->fresh = 0;
        state_slope(bank, now, base, 0);
        for (size_t b = 0; b < bank->n_block; b++)
            block_explicit_do[bank->block[b].width](bank, (struct attempt *)now, &bank->block[b],
                                                    0);
        return;
    }
    EACH_PART(bank)
        all = all && bits(MASK(&bank->advanced, 0) | ~MASK(&bank->live, 0)) ==
                         (1u << (N_LANE / N_PART)) - 1;
    keep_last(bank, bank->plan->n, bank->scratch.stage, all);
    for (size_t b = 0; b < bank->n_block; b++)
        keep_last(bank, bank->plan->n * bank->block[b].width, bank->block[b].stage, all);
}

static struct lanes_events attempt_explicit(struct lanes_bank *bank)
{
    struct attempt now[N_PART];
    struct stiffit_lanes_point at = {.p = (const double *)bank->p,
                                     .covariate = (const double *)bank->covariate,
                                     .work = (const double *)bank->work,
                                     .input_slope = (const double *)bank->outside.input_slope};
    bool together = bank->n_block == 1;
    EACH_PART(bank)
        plan_step(bank, &now[h], h);
    begin_explicit(bank, now, &at);
    for (int i = 1; i < N_SLOPE; i++) {
        state_slope(bank, now, &at, i);
        if (together)
            block_explicit_do[bank->block->width](bank, now, bank->block, i);
    }
    EACH_PART(bank)
        weigh_states(bank, &now[h], h);
    for (size_t b = 0; b < bank->n_block; b++)
        for (int i = together ? N_SLOPE : 1; i <= N_SLOPE; i++)
            block_explicit_do[bank->block[b].width](bank, now, &bank->block[b], i);
    agree(bank, now);
    EACH_PART(bank)
        now[h].worst *= by_explicit(bank, &now[h], h);
    return conclude(bank, now, &EXPLICIT);
}

#endif
