/* What follows an attempt: lanes whose step is accepted move, and the caller learns what it must
 * look at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_CONTROL_H
#define ODE_LANES_KERNEL_CONTROL_H

#include "ode/lanes/step_control.h"

static void swap(lanes **a, lanes **b)
{
    lanes *old = *a;
    *a = *b;
    *b = old;
}

/* Moves the lanes whose step is accepted: the new numbers go where the old ones were, and the
 * reverse. */
static void move(struct lanes_bank *bank, const part_mask *accepted)
{
    bool all = true;
    EACH_PART(bank) {
        all = all && bits(accepted[h]) == (1u << (N_LANE / N_PART)) - 1;
        for (size_t i = 0; i < bank->plan->n; i++)
            PART(bank->y_before, i) = pick(accepted[h], PART(bank->y_before, i), PART(bank->y, i));
    }
    swap(&bank->y, &bank->y_before);
    for (size_t b = 0; b < bank->n_block; b++) {
        struct lanes_block *block = &bank->block[b];
        EACH_PART(bank)
            for (size_t e = 0; !all && e < bank->plan->n * block->width; e++)
                PART(block->sens_new, e) =
                    pick(accepted[h], PART(block->sens_new, e), PART(block->sens, e));
        swap(&block->sens, &block->sens_new);
    }
}

/* Whether a state has fallen below its low (positive.h). */
INLINE part_mask is_low(const struct lanes_bank *bank, int h)
{
    part_mask low = PART(bank->y, 0) < PART(bank->low, 0);
    for (size_t i = 1; i < bank->plan->n; i++)
        low |= PART(bank->y, i) < PART(bank->low, i);
    return low;
}

/* What the caller must look at. */
static void report(struct lanes_bank *bank, struct lanes_events *events, part_mask accepted, int h)
{
    part_mask live = IS_LIVE(bank);
    part_mask fell =
        (MASK(&bank->control.watched, 0) | has_fallen(bank, h) | is_low(bank, h)) & accepted;
    part_mask measured = accepted & (PART(&bank->t, 0) >= PART(&bank->t_next, 0));
    int first = h * (N_LANE / N_PART);
    events->moved |= bits(accepted) << first;
    events->fell |= bits(fell) << first;
    events->measured |= bits(measured) << first;
    events->underflow |= bits(is_stuck(bank, h) & live) << first;
    events->spent |= bits(is_spent(bank, h) & live) << first;
    events->turned |= bits(is_turned(bank, h) & live) << first;
}

/* Ends the attempt: error tests, the next step's length, and the move. */
INLINE struct lanes_events conclude(struct lanes_bank *bank, struct attempt *now,
                                    const struct lanes_method *method)
{
    struct lanes_events events = {0};
    part_mask accepted[N_PART] = {{0}};
    EACH_PART(bank) {
        accepted[h] = now[h].good & now[h].safe & (now[h].worst <= 1) & IS_LIVE(bank);
        control(bank, &now[h], accepted[h], method, h);
        advance_time(bank, &now[h], accepted[h], h);
    }
    move(bank, accepted);
    EACH_PART(bank) {
        if (bank->tolerance.follows_sizes)
            follow_sizes(bank, now[h].h, accepted[h], h);
        report(bank, &events, accepted[h], h);
    }
    return events;
}

#endif
