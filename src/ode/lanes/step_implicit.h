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
INLINE void set_residual(AT const struct lanes_room *room, const struct attempt *now,
                         AT const lanes *x, AT lanes *right, int h)
{
    for (size_t i = 0; i < N_STATE(room); i++) {
        part sum = fused(-now->inverse, PART(x, i), PART(right, i));
        for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++)
            sum = fused(PART(room->scratch.derived[0], TERM(jacobian, k, value)),
                        PART(x, TERM(jacobian, k, row)), sum);
        PART(right, i) = sum;
    }
}

/* Finds the lanes in which x, the first stage, is accurate: its correction is small. */
INLINE void find_safe(AT const struct lanes_room *room, struct attempt *now, AT const lanes *x,
                      AT const lanes *correction, int h)
{
    for (size_t i = 0; i < N_STATE(room); i++) {
        part size = larger(magnitude(PART(room->y, i)), magnitude(PART(x, i)));
        part tolerance = fused(PART(&room->tolerance.rtol, 0), size,
                               PART(room->tolerance.beyond, i) + TOLERANCE_TINY);
        now->safe &= magnitude(PART(correction, i)) <= UNSAFE * tolerance;
    }
}

/* How many times larger an error of state i is than its estimate, which the Jacobian at the
 * beginning of the step damps: where stiffness has ended within the step, a state stays where it
 * was held, and the estimate is near zero. f at the last two stages, which are at the same time,
 * shows the Jacobian at the end; its change counts as one of the state's own part. */
INLINE part released(AT const struct lanes_room *room, const struct attempt *now, size_t i, int h)
{
    const int last = METHOD.n_stage - 1;
    part u = PART(room->scratch.stage[last - 1], i), own = spread(0);
    part change = now->inverse * (PART(room->scratch.stage[last], i) - u);
    for (int k = ROW(jacobian, i); k < ROW(jacobian, i + 1); k++) {
        int column = TERM(jacobian, k, row);
        part entry = PART(room->scratch.derived[0], TERM(jacobian, k, value));
        change = fused(-entry, PART(room->scratch.stage[last], column), change);
        if (column == (int)i)
            own = entry * u;
    }
    /* by the equations of these stages */
    for (int j = 0; j < last - 1; j++)
        change = fused(C_PER_H(now, last - 1, j) - C_PER_H(now, last, j),
                       PART(room->scratch.stage[j], i), change);
    change = fused(-C_PER_H(now, last, last - 1), u, change);
    part size = magnitude(u) * now->inverse, after = magnitude(own + change);
    return larger((size + magnitude(own)) / (size + after + TOLERANCE_TINY), spread(1));
}

INLINE void state_end(AT struct lanes_room *room, struct attempt *now, int h)
{
    part rtol = PART(&room->tolerance.rtol, 0), worst = spread(0), finite = spread(0);
    for (size_t i = 0; i < N_STATE(room); i++) {
        part error = PART(room->scratch.stage[METHOD.n_stage - 1], i),
             end = PART(room->scratch.argument, i) + error;
        part size = larger(magnitude(PART(room->y, i)), magnitude(end)),
             beyond = PART(room->tolerance.beyond, i);
        part ratio = error * released(room, now, i, h) *
                     reciprocal_of(fused(rtol, size, beyond + TOLERANCE_TINY));
        PART(room->y_before, i) = end;
        PART(room->scratch.base, i) = TOLERANCE_EFFECT * rtol * size + beyond;
        worst = larger(ratio * ratio, worst);
        finite += 0 * end;
    }
    now->worst = worst;
    now->good &= finite == 0;
    look_for_calm(room, now, h);
}

/* The error test sees the end of a step only. Where a stiff state follows a slow one, its error
 * is small there and large inside: in lanes with a measurement inside of a step that is
 * acceptable otherwise, the error of the dense output in its middle is estimated from what it
 * leaves of the differential equation, by the linear solver. */
INLINE part_mask needs_middle(AT const struct lanes_room *room, const struct attempt *now, int h)
{
    return now->good & now->safe & (now->worst <= 1) & (PART(&room->t_next, 0) < now->end) &
           IS_LIVE(room);
}

/* The middle of the step, into scratch.argument; the slope there, into scratch.base. */
INLINE void set_middle(AT struct lanes_room *room, const struct attempt *now, int h)
{
    for (size_t i = 0; i < N_STATE(room); i++) {
        part before = PART(room->y, i), after = PART(room->y_before, i), inner = spread(0),
             by_s = spread(0);
        for (int k = METHOD.n_dense; k-- > 0;) {
            part sum = spread(0);
            for (int j = 0; j < METHOD.n_stage; j++)
                sum = fused(spread(METHOD.dense[k][j]), PART(room->scratch.stage[j], i), sum);
            by_s = 0.5 * by_s + inner;
            inner = 0.5 * inner + sum;
        }
        PART(room->scratch.argument, i) = 0.5 * (before + after) + 0.25 * inner;
        PART(room->scratch.base, i) = (after - before + 0.25 * by_s) * now->per_h;
    }
}

/* The largest error there; scratch.argument is what the linear solver makes of f minus the
 * slope. */
INLINE void judge_middle(AT const struct lanes_room *room, struct attempt *now, part_mask inside,
                         int h)
{
    part worst = spread(0), finite = spread(0), rtol = PART(&room->tolerance.rtol, 0);
    for (size_t i = 0; i < N_STATE(room); i++) {
        part error = PART(room->scratch.argument, i),
             size = larger(magnitude(PART(room->y, i)), magnitude(PART(room->y_before, i)));
        part weight =
            reciprocal_of(fused(rtol, size, PART(room->tolerance.beyond, i) + TOLERANCE_TINY));
        part ratio = error * released(room, now, i, h) * weight;
        worst = larger(ratio * ratio, worst);
        finite += 0 * error;
    }
    worst = pick(finite == 0, worst * (1 / (ACCEPTED_INSIDE * ACCEPTED_INSIDE)), spread(1e30));
    now->worst = pick(inside, larger(now->worst, worst), now->worst);
}

#endif
