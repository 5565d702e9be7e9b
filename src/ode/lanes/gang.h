/* The lanes of one method: which evaluations are in them, how these lie there, and what goes
 * between an evaluation's own numbers and those of all lanes (bank.h), one number at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/bank.h"
#include "ode/lanes/lane.h"
#include "ode/simulation.h"

/* A worker's lanes of one method. */
struct gang {
    struct lanes_bank bank;
    int seat[N_LANE];           /* of the evaluation whose first lane it is, or -1 */
    int n_taken;                /* evaluations in lanes */
    int n_spread;               /* as many when the layout was chosen last */
    bool is_filled;             /* every lane holds the numbers of some evaluation */
    size_t n_parameter;         /* that have sensitivities in the bank */
    uint32_t *parameter;        /* n_id: these */
    int32_t *number;            /* n_id: of each id its number among these, or -1 */
    lanes *inside;              /* result of the kernel's `inside` */
    lanes *values, *observed;   /* results of its `observe`: `values` and `out` */
    bool *is_wanted;            /* 2 n_observable: which ones and whose noise `observe` computes */
    double used;                /* the cost of its attempts, for each evaluation in them */
};

/* The lanes of the evaluation whose first one is l: what is not a sensitivity is the same in all
 * of them. */
#define EACH_LANE(gang, l, k) for (int k = (l); k < (l) + (gang)->bank.n_share; k++)

/* How n evaluations lie in the lanes. */
struct layout {
    int n_lane, n_share;
};

/* n_id: parameters, and others. False: out of memory; gang_fini is legal then, and for a gang
 * that is all zero. */
bool gang_init(struct gang *gang, const struct lanes_plan *plan,
                const struct lanes_method *method, size_t n_id);
void gang_fini(struct gang *gang);

/* The layout of the cheapest attempts, for n evaluations. What is not a sensitivity costs as
 * much as some columns; all of it is computed as often as there are registers in use. */
struct layout gang_choose_layout(const struct lanes_kernel *kernel, int n, size_t n_parameter);
/* Of an attempt for n <= N_LANE evaluations in that layout, in columns of one register. */
size_t gang_cost(const struct lanes_kernel *kernel, int n, size_t n_parameter);
/* Gives a column to each of n_id parameters that is wanted. No lane has an evaluation's numbers
 * then. False: out of memory, and nothing has changed. */
bool gang_arrange(struct gang *gang, struct layout layout, const bool *wanted, size_t n_id);
/* The first one of free lanes for an evaluation, or -1. */
int gang_free_lane(const struct gang *gang);
/* The lanes of an evaluation that has left, from l on, are moved no more. */
static inline void gang_clear(struct gang *gang, int l)
{
    EACH_LANE(gang, l, each) {
        gang->bank.live[each] = 0;
        gang->bank.outside.infused &= ~(1u << each);
    }
}

/* The seats whose first lane is among these. */
static inline unsigned gang_seats(const struct gang *gang, unsigned which)
{
    unsigned seats = 0;
    for (; which; which &= which - 1)
        seats |=
            gang->seat[__builtin_ctz(which)] < 0 ? 0 : 1u << gang->seat[__builtin_ctz(which)];
    return seats;
}
/* The first lanes of some seats. */
static inline unsigned gang_lanes(const struct gang *gang, unsigned seats)
{
    unsigned which = 0;
    for (int l = 0; l < N_LANE; l++)
        which |= (unsigned)(gang->seat[l] >= 0 && (seats >> gang->seat[l] & 1)) << l;
    return which;
}

/* Copies an evaluation into its lanes, from l on, and out of them. */
void gang_load(struct gang *gang, int l, struct lane *lane);
void gang_store(const struct gang *gang, int l, struct lane *lane);
/* Copies an evaluation into lane k alone; its sensitivities become zero there. */
void gang_load_states(struct gang *gang, int k, const struct lane *lane);

/* Sets the simulation's time, sizes and tolerances to those in lane l. */
void gang_follow(const struct gang *gang, int l, struct lane *lane);
/* Sets the tolerances in the lanes from l on, and where steps must end, to those of the
 * simulation. */
void gang_lead(struct gang *gang, int l, const struct lane *lane);
/* The states at the end of the latest step and, in y_before, at its beginning; the simulation
 * follows. */
void gang_take_ends(const struct gang *gang, int l, struct lane *lane);
/* Goes back to the beginning of the latest step; what was there is still where the next one is
 * to go. The next step is to be a part of it. False: it cannot be shorter. */
bool gang_take_back(struct gang *gang, int l, struct lane *lane, double part);

/* The states at t, in the latest step: the dense output, as the kernel's `inside`. */
const double *gang_inside(const struct gang *gang, int l, struct lane *lane, double t);
/* For the kernel's `inside`: these evaluations at their t, a time in their latest steps; others
 * at the ends of theirs. */
void gang_set_times(const struct gang *gang, unsigned which, const double t[N_LANE],
                     bool is_root, lanes *s);
/* The state and its sensitivities that `inside` has found. */
void gang_take_inside(const struct gang *gang, int l, struct lane *lane);
/* Answers rows up to `last` from the observables and the noise that the kernel has computed for
 * all lanes at once. False: it is one of the rare cases that are left to observation.c, which
 * answers all of these rows: rows with parameters of their own, a wanted state, numbers that are
 * not finite, and a noise that is not above 0. */
bool gang_answer_rows(const struct gang *gang, int l, struct lane *lane, size_t last);
/* Goes on to the next measurement. */
void gang_look_ahead(struct gang *gang, int l, struct lane *lane);
