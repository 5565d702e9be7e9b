/* The lanes of one method: which evaluations are in them, and what goes between an evaluation's own numbers and those of all
 * lanes (room.h), one number at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"
#include "ode/simulation.h"

/* An evaluation in a lane, or set aside. */
struct lane {
    struct simulation sim;
    double *y;         /* n_state x (1 + most blocks): the state and its sensitivities as blocks; scratch while in a lane */
    uint32_t *id;      /* of each block: its parameter; from n_parameter on, of those that have none */
    enum lanes_method_kind method;
    double t_turn;      /* an explicit method goes no further */
    int64_t patience_back; /* of the next implicit method */
    double t_calm;      /* as in struct lanes_room */
    /* while in no lane; t, sizes and tolerances are in sim, n_step in the evaluation */
    double by_accepted, by_inside; /* as in struct lanes_room */
    double h, log_h, log_error;
    double bound;       /* where the next step must end (forcing.h) */
    int64_t n_attempt, trouble, n_sign, patience;
    bool rejected, watched;
};

/* A worker's lanes of one method. */
struct group {
    struct lanes_room room;
    int seat[N_LANE];           /* of the evaluation in each lane, or -1 */
    int n_taken;                /* lanes with an evaluation */
    bool is_filled;             /* every lane holds the numbers of some evaluation */
    uint32_t *parameter;        /* n_id: of each column */
    int32_t *column;            /* n_id: of each id, or -1 */
    lanes *inside;              /* what the kernel's `inside` found */
    lanes *values, *observed;   /* and the results of its `observe`: `values` and `out`, */
    bool *is_wanted;            /* n_observable: for these */
    double used;                /* the cost of its attempts over the cube of the number of evaluations in each */
};

/* n_id: parameters, and others. False: out of memory; group_fini is legal then, and for a group that is all zero. */
bool group_init(struct group *group, const struct lanes_plan *plan, const struct lanes_method *method, size_t n_id);
void group_fini(struct group *group);

/* Where steps must end at the latest. */
double lane_stop_time(const struct lane *lane);
/* Copies an evaluation into lane k, and out of it. */
void group_load(struct group *group, int k, const struct lane *lane);
void group_store(const struct group *group, int k, struct lane *lane);
/* Sets the simulation's time, sizes and tolerances to those in lane k. */
void group_follow(const struct group *group, int k, struct lane *lane);
/* The state and its sensitivities that `inside` has found. */
void group_take_inside(const struct group *group, int k, struct lane *lane);
/* Answers rows up to `last` from the observables that the kernel has computed for all lanes at once. False: nothing is done,
 * because it is one of the rare cases that are left to observation.c: noise of the model, rows with parameters of their own, a
 * wanted state, and numbers that are not finite. */
bool group_answer_rows(const struct group *group, int k, struct lane *lane, size_t last);
/* Goes on to the next measurement. */
void group_look_ahead(struct group *group, int k, struct lane *lane);
