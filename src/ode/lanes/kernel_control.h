/* What follows an attempt: the next step's length, the states' tolerances there, and what the
 * caller must look at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LANES_KERNEL_CONTROL_H
#define ODE_LANES_KERNEL_CONTROL_H

#include "ode/lanes/kernel_constants.h"
#include "ode/lanes/kernel_numbers.h"
#include "ode/tolerance_constants.h"

/* Known here, so that loops over stages are unrolled. */
#define METHOD lanes_method
#define EXPLICIT lanes_explicit

/* Numbers of one attempt that its parts share. */
struct attempt {
    part h, per_h, inverse; /* inverse: 1/(h gamma) */
    part end;               /* of the step */
    part_mask cut;          /* it is shorter than planned, or a bit longer, to end there */
    part c[METHOD_STAGES][METHOD_STAGES]; /* c_ij / h */
    part worst;             /* the square of the largest error over its tolerance */
    part_mask good;         /* all is finite so far */
    part_mask safe;         /* elimination without pivoting is accurate enough */
    part_mask sign;         /* that the other method would have cost less: what it counts */
};

/* The length of the step. */
static void plan_step(const struct lanes_room *room, struct attempt *now, int h)
{
    part t = PART(&room->t, 0), step = PART(&room->h, 0), next = PART(&room->t_next, 0),
         stop = PART(&room->t_stop, 0);
    /* The end of a step is far more accurate than its inside: it is put onto a measurement,
     * unless several are in reach. */
    part_mask lands = (next > t) & (next <= stop) & (PART(&room->t_later, 0) > t + step);
    part longest = pick(lands, PART(&room->t_part, 0), spread((double)INFINITY));
    part_mask limited = step > longest;
    step = pick(limited, longest, step);
    now->end = pick(lands, next, stop);
    part left = now->end - t;
    part_mask live = MASK(&room->live, 0), reaches = (ROOM_STRETCH * step >= left) & live;
    part_mask halves = ~reaches & (2 * step > left) & live;
    part half = pick(longest < (double)INFINITY, smaller(step, 0.5 * longest), 0.5 * left);
    step = pick(reaches, left, pick(halves, half, step));
    now->h = step;
    now->cut = reaches | halves | limited;
    now->end = pick(reaches, now->end, t + step);
    now->good = now->safe = ~(part_mask){0};
    now->worst = (part){0};
}

/* The states' tolerances minus rtol |y| after a step; see tolerance_follow. */
static void follow_sizes(struct lanes_room *room, part step, part_mask moved, int h)
{
    struct lanes_tolerance *tolerance = &room->tolerance;
    part t = PART(&room->t, 0), rtol = PART(&tolerance->rtol, 0),
         fraction = PART(&tolerance->fraction, 0);
    part at_rest = PART(&tolerance->at_rest, 0);
    part_mask is_relative = MASK(&tolerance->is_relative, 0);
    for (size_t i = 0; i < room->plan->n; i++) {
        part y = PART(room->y, i), now = magnitude(y), size = larger(PART(tolerance->size, i), now);
        part guess = PART(tolerance->guess, i), reach = PART(tolerance->reach, i);
        part age = t - PART(tolerance->born, i);
        part_mask grows =
            magnitude(y - PART(room->y_before, i)) * age >= TOLERANCE_YOUNG * step * now;
        guess = pick(grows | ~moved | (size <= TOLERANCE_REST * reach), guess, (part){0});
        part_mask young = guess > 0;
        part s = pick(young & (guess > size), guess, size),
             floor = pick(young, spread(TOLERANCE_FRACTION), fraction) * s;
        part log_now = log2_of(larger(now, spread(TOLERANCE_TINY))),
             log_s = log2_of(larger(s, spread(TOLERANCE_TINY)));
        part wanted = exp2_of(0.75 * log_now + 0.25 * log_s);
        wanted = pick((now < s) & (young | ~is_relative), larger(wanted, now), now);
        part beyond = rtol * (larger(wanted, floor) - now);
        beyond = pick(size < TOLERANCE_GROWN * reach, larger(beyond, TOLERANCE_ROUNDING * reach),
                      beyond);
        beyond = larger(beyond, TOLERANCE_NOISE * PART(tolerance->noise, i));
        beyond = pick(size > 0, beyond, larger(beyond, at_rest * guess));
        PART(tolerance->size, i) = size;
        PART(tolerance->guess, i) = guess;
        PART(tolerance->beyond, i) = pick(moved, beyond, PART(tolerance->beyond, i));
    }
}

/* The next step's length: the smaller one of what the error asks for and of what its trend does
 * (Gustafsson 1994). */
INLINE void control(struct lanes_room *room, const struct attempt *now, part_mask accepted,
                    const struct lanes_method *method, int h)
{
    double share = 1.0 / (method->order_error + 1),
           grow = method->has_slopes ? GROW_EXPLICIT : GROW;
    part worst = pick(now->good & now->safe, now->worst, spread(1e30));
    worst = larger(smaller(worst, spread(1e30)), spread(1e-30));
    part log_error = 0.5 * log2_of(worst), log_h = log2_of(now->h);
    part last_h = PART(&room->control.log_h, 0), planned = PART(&room->h, 0);
    part_mask rejected = MASK(&room->control.rejected, 0), live = MASK(&room->live, 0);
    part shrink = share * log_error + SAFETY;
    part trend =
        last_h - log_h + share * (2 * log_error - PART(&room->control.log_error, 0)) + SAFETY;
    /* last_h is -inf before the first step */
    shrink = pick(accepted, larger(shrink, trend), shrink);
    if (method->has_slopes)
        shrink += (SHARE_BELOW - share) * smaller(log_error - FAR_BELOW, (part){0});
    shrink = larger(smaller(shrink, spread(SHRINK)), spread(-grow));
    shrink = pick(accepted & rejected, larger(shrink, (part){0}), shrink);
    shrink = pick(~accepted & (last_h < -DBL_MAX) & ~rejected, spread(SHRINK_FIRST), shrink);
    part next = now->h * exp2_of(-shrink);
    /* a step that was cut to end at a stop says nothing against the planned one */
    next = pick(accepted & now->cut & (next < planned), planned, next);
    part longest = PART(&room->longest, 0);
    PART(&room->h, 0) = pick(live, pick(next > longest, longest, next), planned);
    PART(&room->control.log_h, 0) = pick(accepted, log_h, last_h);
    PART(&room->control.log_error, 0) =
        pick(accepted, larger(log_error, spread(LEAST_ERROR)), PART(&room->control.log_error, 0));
    MASK(&room->control.rejected, 0) = ~accepted & live;
    MASK(&room->control.n_attempt, 0) -= live;
    MASK(&room->control.n_step, 0) -= accepted;
    lanes_mask *trouble = &room->control.trouble, *n_attempt = &room->control.n_attempt;
    MASK(trouble, 0) = (MASK(trouble, 0) & now->good) | (MASK(n_attempt, 0) & ~now->good);
}

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

/* What the caller must look at. */
static void report(struct lanes_room *room, struct lanes_events *events, part_mask accepted, int h)
{
    part t = PART(&room->t, 0);
    part_mask fell = MASK(&room->control.watched, 0), live = MASK(&room->live, 0);
    int first = h * (N_LANE / N_PART);
    for (size_t i = 0; i < room->plan->n; i++)
        fell |= (PART(room->y, i) < 0) & ~(PART(room->y_before, i) < 0);
    fell &= accepted;
    part_mask measured = accepted & (t >= PART(&room->t_next, 0));
    part_mask underflow = live & ~(PART(&room->h, 0) > 4 * DBL_EPSILON * magnitude(t) + DBL_MIN);
    part_mask spent = live & (MASK(&room->control.n_step, 0) >= MASK(&room->control.max_steps, 0));
    events->moved |= bits(accepted) << first;
    events->fell |= bits(fell) << first;
    events->measured |= bits(measured) << first;
    events->underflow |= bits(underflow) << first;
    events->spent |= bits(spent) << first;
    part_mask turned = (MASK(&room->control.n_sign, 0) >= MASK(&room->control.patience, 0)) |
                       (t >= PART(&room->control.t_turn, 0));
    events->turned |= bits(turned & live) << first;
}

/* Ends the attempt: error tests, the next step's length, and the move. */
INLINE struct lanes_events conclude(struct lanes_room *room, struct attempt *now,
                                    const struct lanes_method *method)
{
    struct lanes_events events = {0};
    part_mask accepted[N_PART] = {{0}};
    EACH_PART(room) {
        accepted[h] = now[h].good & now[h].safe & (now[h].worst <= 1) & MASK(&room->live, 0);
        control(room, &now[h], accepted[h], method, h);
        PART(&room->t_before, 0) = PART(&room->t, 0);
        PART(&room->h_used, 0) = now[h].h;
        PART(&room->t, 0) = pick(accepted[h], now[h].end, PART(&room->t, 0));
        MASK(&room->advanced, 0) = accepted[h];
        part_mask n_sign = MASK(&room->control.n_sign, 0), none = now[h].sign == 0,
                  few = n_sign < NO_SIGN;
        PART(&room->control.t_calm, 0) =
            pick(none, PART(&room->t, 0), PART(&room->control.t_calm, 0));
        part_mask less = none & accepted[h] & ((few & n_sign) | (~few & NO_SIGN));
        MASK(&room->control.n_sign, 0) = n_sign + (now[h].sign & MASK(&room->live, 0)) - less;
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
