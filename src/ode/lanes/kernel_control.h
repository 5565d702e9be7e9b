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
static void move(struct lanes_room *room, const part_mask *accepted)
{
    bool all = true;
    EACH_PART(room) {
        all = all && bits(accepted[h]) == (1u << (N_LANE / N_PART)) - 1;
        for (size_t i = 0; i < room->plan->n; i++)
            PART(room->y_before, i) = pick(accepted[h], PART(room->y_before, i), PART(room->y, i));
    }
    swap(&room->y, &room->y_before);
    for (size_t b = 0; b < room->n_block; b++) {
        struct lanes_block *block = &room->block[b];
        EACH_PART(room)
            for (size_t e = 0; !all && e < room->plan->n * block->width; e++)
                PART(block->sens_new, e) =
                    pick(accepted[h], PART(block->sens_new, e), PART(block->sens, e));
        swap(&block->sens, &block->sens_new);
    }
}

/* Whether a state has fallen below its low (positive.h). */
INLINE part_mask is_low(const struct lanes_room *room, int h)
{
    part_mask low = PART(room->y, 0) < PART(room->low, 0);
    for (size_t i = 1; i < room->plan->n; i++)
        low |= PART(room->y, i) < PART(room->low, i);
    return low;
}

/* What the caller must look at. */
static void report(struct lanes_room *room, struct lanes_events *events, part_mask accepted, int h)
{
    part_mask live = IS_LIVE(room);
    part_mask fell =
        (MASK(&room->control.watched, 0) | has_fallen(room, h) | is_low(room, h)) & accepted;
    part_mask measured = accepted & (PART(&room->t, 0) >= PART(&room->t_next, 0));
    int first = h * (N_LANE / N_PART);
    events->moved |= bits(accepted) << first;
    events->fell |= bits(fell) << first;
    events->measured |= bits(measured) << first;
    events->underflow |= bits(is_stuck(room, h) & live) << first;
    events->spent |= bits(is_spent(room, h) & live) << first;
    events->turned |= bits(is_turned(room, h) & live) << first;
}

/* Ends the attempt: error tests, the next step's length, and the move. */
INLINE struct lanes_events conclude(struct lanes_room *room, struct attempt *now,
                                    const struct lanes_method *method)
{
    struct lanes_events events = {0};
    part_mask accepted[N_PART] = {{0}};
    EACH_PART(room) {
        accepted[h] = now[h].good & now[h].safe & (now[h].worst <= 1) & IS_LIVE(room);
        control(room, &now[h], accepted[h], method, h);
        advance_time(room, &now[h], accepted[h], h);
    }
    move(room, accepted);
    EACH_PART(room) {
        if (room->tolerance.follows_sizes)
            follow_sizes(room, now[h].h, accepted[h], h);
        report(room, &events, accepted[h], h);
    }
    return events;
}

#endif
