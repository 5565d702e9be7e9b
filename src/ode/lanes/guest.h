/* An evaluation in a lane, or set aside: its scalar part, and its numbers while it is in no lane.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"
#include "ode/linear.h"
#include "ode/observer.h"

/* The result of the kernel's `observe`. */
struct lanes_view {
    lanes *values, *out;
    bool *is_wanted; /* n_observable: its argument */
};

struct guest {
    struct observer o;
    size_t slot;       /* in the pool */
    double *y;         /* n_state x (1 + most blocks): the state and its sensitivities as blocks; scratch while in a lane */
    double *y_before;  /* n_state: scratch */
    uint32_t *id;      /* of each block: its parameter; from n_parameter on, of those that have none */
    /* while in no lane; t, sizes and tolerances are in `o`, n_step in the evaluation */
    double by_accepted; /* as in struct lanes_room */
    double h, log_h, log_error;
    double bound;       /* where the next step must end (forcing.h) */
    int64_t n_attempt, trouble;
    bool rejected, watched;
};

/* NULL: out of memory. */
struct guest *guest_new(const struct stiffit_model *abi, const struct ode_options *options);
void guest_free(struct guest *guest);

/* Begins o.evaluation, for no lane yet. False: it is finished. */
bool guest_begin(struct guest *guest, bool is_relative);
/* Copies an evaluation into lane k of a room or out of it. column: of each id in the room, or -1. `live`: it moves
 * there; else it only fills the lane. */
void guest_load(const struct guest *guest, struct lanes_room *room, int k, const int32_t *column, bool live);
void guest_store(struct guest *guest, const struct lanes_room *room, int k, const int32_t *column);

/* Calls for an evaluation in lane k after an attempt; false: it is finished. `inside`, `view`: the results of the kernel's
 * functions, at the time of the next measurement. */
bool guest_answer(struct guest *guest, struct lanes_room *room, int k, const int32_t *column, const lanes *inside,
                  const struct lanes_view *view);
/* guest_view.c: answers the next measurement from the view. False: nothing is done, because it needs more than that. */
bool guest_answer_from_view(struct guest *guest, const struct lanes_room *room, int k, const int32_t *column,
                            const struct lanes_view *view);
/* Sets the observer's time, sizes and tolerances to those in lane k. */
void guest_follow(struct guest *guest, const struct lanes_room *room, int k);
/* Where steps must end at the latest. */
double guest_stop_time(const struct guest *guest);
/* Whether its last step has met a stop, at room->t[k], which is moved back to a root inside of the step. */
bool guest_meets_stop(struct guest *guest, struct lanes_room *room, int k, bool *is_root);
/* After guest_store at a stop (from a root: with the result of `inside` there): what happens at it. */
void guest_take_inside(struct guest *guest, const int32_t *column, const lanes *inside, int k);
bool guest_pass_stop(struct guest *guest, struct lanes_room *room, int k);
/* After a step without a stop, of an evaluation that has stops or forcing. scratch: 2 n_state (1 + n_block) numbers. */
bool guest_attend(struct guest *guest, struct lanes_room *room, int k, const int32_t *column, struct linear *linear,
                  double *scratch);
/* After a step in which a state went below zero: whether the state passed a pole, so that the step is taken back and a shorter
 * one will follow. */
bool guest_takes_back(struct guest *guest, struct lanes_room *room, int k);
/* After a step that is not taken back: false ends the evaluation, because a state is impossibly far below zero. */
bool guest_look_for_fall(struct guest *guest, struct lanes_room *room, int k);
/* Where steps have become too small to move t: begins again with other sizes of states, if these may be the reason. The caller
 * then loads the guest. False: it has failed. */
bool guest_rescue(struct guest *guest, struct lanes_room *room, int k, const int32_t *column);
void guest_fail_underflow(struct guest *guest, struct lanes_room *room, int k);
/* Fills in the counters from lane k; the caller then sets the outcome. */
void guest_count(struct guest *guest, struct lanes_room *room, int k);
