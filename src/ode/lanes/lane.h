/* One evaluation of the lanes' integrator outside of any lane: what an engine that integrates
 * elsewhere begins with.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/lanes/method.h"
#include "ode/simulation.h"

/* The least distance, relative to the times, from the beginning of an integration to its end. */
#define LANES_CLOSEST (64 * DBL_EPSILON)

/* An evaluation in a lane, or set aside. */
struct lane {
    struct simulation sim;
    /* n_state x (1 + most blocks): the state and its sensitivities as blocks; scratch while in a
     * lane */
    double *y;
    /* of each block: its parameter; from n_parameter on, of those that have none */
    uint32_t *id;
    /* While in a lane, for gang_answer_rows: */
    bool is_simple;     /* gang_answer_rows answers the rows */
    /* by sens: the place in gang.observed of the first observable's derivative by way of the
     * states; LANE_NOWHERE: no state depends on it */
    size_t *from;
    enum lanes_method_kind method;
    double t_turn;      /* an explicit method goes no further */
    int64_t patience_back; /* of the next implicit method */
    double t_calm;      /* as in struct lanes_control */
    /* while in no lane; t, sizes and tolerances are in sim, n_step in the evaluation */
    double by_accepted, by_inside; /* as in struct lanes_control */
    double by_tighter;  /* a step that only measurements limit is at most this part of the time
                         * between them; INFINITY: as long as that */
    double h, log_h, log_error;
    double bound;       /* where the next step must end (forcing.h) */
    int64_t n_attempt, trouble, n_sign, patience;
    bool rejected, watched;
};

#define LANE_NOWHERE SIZE_MAX

/* Whether the rows of an evaluation are no more than observables, their noise and derivatives of
 * both, which are computed where it is integrated: observation.c answers all others. */
static inline bool lane_rows_are_simple(const struct stiffit_model *abi,
                                        const struct evaluation *evaluation)
{
    bool has_noise = evaluation->noise && abi->noise;
    return (!has_noise || abi->lanes->noise) && !evaluation->task->row_variant && !evaluation->end;
}

/* Functions of struct integrator; the plan is not used. */
struct simulation *lane_new(const void *plan, const struct stiffit_model *abi,
                            const struct ode_options *options);
void lane_free(struct simulation *simulation);
/* Chooses the method, if the evaluation is new, and the first step. False: the evaluation is
 * finished. */
bool lane_start(struct lane *lane, bool is_new);
/* Where steps must end at the latest. */
double lane_stop_time(const struct lane *lane);
/* How long a step to the next measurement is at most, and how long two steps together, in the
 * distance of the measurements. Steps that only these limit would be the same at two tolerances,
 * and a comparison would confirm their errors: shorter at tighter ones; at looser ones two steps
 * differ. INFINITY: there is no limit, and two steps are alike. */
double lane_part(const struct evaluation *evaluation, enum lanes_method_kind method);
/* Sets by_accepted, by_inside and by_tighter for its method. */
void lane_set_accepted(struct lane *lane);
