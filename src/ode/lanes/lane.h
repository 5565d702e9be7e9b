/* An evaluation in a lane, or set aside: its scalar part, and its numbers while it is in no lane.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"
#include "ode/linear.h"
#include "ode/simulation.h"

/* The result of the kernel's `observe`. */
struct lanes_view {
    lanes *values, *out;
    bool *is_wanted; /* n_observable: its argument */
};

struct lane {
    struct simulation sim;
    double *y;         /* n_state x (1 + most blocks): the state and its sensitivities as blocks; scratch while in a lane */
    uint32_t *id;      /* of each block: its parameter; from n_parameter on, of those that have none */
    /* while in no lane; t, sizes and tolerances are in `o`, n_step in the evaluation */
    double by_accepted; /* as in struct lanes_room */
    double h, log_h, log_error;
    double bound;       /* where the next step must end (forcing.h) */
    int64_t n_attempt, trouble;
    bool rejected, watched;
    int first;          /* of its lanes in the room, room->n_share of them (room.h) */
};

/* The lanes of an evaluation: what is not a sensitivity is the same in all of them. */
#define EACH_LANE(lane, room, k) for (int k = (lane)->first; k < (lane)->first + (room)->n_share; k++)
/* The column and the lane of the sensitivity by the room's parameter i. */
static inline size_t lane_column(const struct lanes_room *room, int32_t i) { return (size_t)(i / room->n_share); }
static inline int lane_rank(const struct lanes_room *room, int32_t i) { return i % room->n_share; }

/* NULL: out of memory. */
struct lane *lane_new(const struct stiffit_model *abi, const struct ode_options *options);
void lane_free(struct lane *lane);

/* Chooses the blocks, and their ids. */
void lane_prepare(struct lane *lane);
/* Starts from the state in y at sim.t, in no lane yet. False: it is finished. */
bool lane_start(struct lane *lane);
/* Copies an evaluation into its lanes of a room or out of them. column: the number of each id among the room's parameters, or
 * -1. lane_fill: into lane k, which holds nothing and does not move. */
void lane_load(const struct lane *lane, struct lanes_room *room, const int32_t *column);
void lane_fill(const struct lane *lane, struct lanes_room *room, int k);
void lane_store(struct lane *lane, const struct lanes_room *room, const int32_t *column);
void lane_halt(const struct lane *lane, struct lanes_room *room);

/* lane_view.c: answers the next measurement from the kernel's view of it. False: nothing is done, because it needs more. */
bool lane_answer(struct lane *lane, const struct lanes_room *room, const int32_t *column,
                 const struct lanes_view *view);
/* After that, or another answer: the next measurement. */
void lane_answered(struct lane *lane, struct lanes_room *room);
/* Sets the simulation's time, sizes and tolerances to those in its lanes. */
void lane_follow(struct lane *lane, const struct lanes_room *room);
/* Where steps must end at the latest. */
double lane_stop_time(const struct lane *lane);
/* The state, without sensitivities, at a time of the latest step: the dense output, as the kernel's `inside`. */
const double *lane_inside(struct lane *lane, const struct lanes_room *room, double t);
/* The states at the end of the latest step and, into sim.y_before, at its beginning. */
const double *lane_at_end(struct lane *lane, const struct lanes_room *room);
/* The state and its sensitivities that `inside` has found. */
void lane_take_inside(struct lane *lane, const int32_t *column, const struct lanes_room *room, const lanes *inside);
/* After a step without a stop, of an evaluation that has stops or forcing. scratch: 2 n_state (1 + n_block) numbers. */
void lane_attend(struct lane *lane, struct lanes_room *room);
bool lane_look_for_steady_state(struct lane *lane, struct linear *linear, double *scratch);
/* Takes the latest step back, so that a shorter one, by this part, will follow. False: it would be too short. */
bool lane_takes_back(struct lane *lane, struct lanes_room *room, double part);
/* Where steps have become too small to move t: whether the sizes of states may be the reason; and the failure. */
bool lane_may_be_sizes(const struct lane *lane, const struct lanes_room *room);
void lane_fail(struct lane *lane, struct lanes_room *room);
/* Moves the counters from its lanes to the evaluation; lane_begin_count: at a stop, attempts are counted from there on. */
void lane_count(struct lane *lane, struct lanes_room *room);
void lane_begin_count(struct lane *lane, struct lanes_room *room);
