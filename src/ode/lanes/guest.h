/* An evaluation in a lane, or set aside: its scalar part, and its numbers while it is in no lane.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/room.h"
#include "ode/observer.h"

struct guest {
    struct observer o;
    size_t slot;       /* in the pool */
    double *y;         /* n_state x (1 + n_parameter): the state and its sensitivities as blocks; scratch while in a lane */
    double *y_before;  /* n_state: scratch */
    /* while in no lane; t, sizes and tolerances are in `o`, n_step in the evaluation */
    double by_accepted; /* as in struct lanes_room */
    double h, log_h, log_error;
    int64_t n_attempt, trouble;
    bool rejected, watched;
};

/* NULL: out of memory. */
struct guest *guest_new(const struct stiffit_model *abi, const struct ode_options *options);
void guest_free(struct guest *guest);

/* Begins o.evaluation, for no lane yet. False: it is finished. */
bool guest_begin(struct guest *guest, const struct lanes_method *method, bool is_relative);
/* Copies an evaluation into lane k of a room or out of it. column: of each parameter in the room, or -1. `live`: it moves
 * there; else it only fills the lane. */
void guest_load(const struct guest *guest, struct lanes_room *room, int k, const int32_t *column, bool live);
void guest_store(struct guest *guest, const struct lanes_room *room, int k, const int32_t *column);

/* Calls for an evaluation in lane k after an attempt; false: it is finished. `inside`: the result of the kernel's function, at
 * the time of the next measurement. */
bool guest_answer(struct guest *guest, struct lanes_room *room, int k, const int32_t *column, const lanes *inside);
bool guest_look_for_fall(struct guest *guest, struct lanes_room *room, int k);
void guest_fail_underflow(struct guest *guest, const struct lanes_room *room, int k);
/* Fills in the counters from lane k; the caller then sets the outcome. */
void guest_count(struct guest *guest, const struct lanes_room *room, int k);
