/* What every engine keeps for an evaluation, whatever its integrator: the model at this evaluation's parameters, tolerances and
 * the sizes of states, which parameters have a block of sensitivities, the next measurement, and scratch for the observables.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/derivatives.h"
#include "ode/evaluation.h"
#include "ode/forcing.h"
#include "ode/positive.h"
#include "ode/stops.h"

struct observer {
    const struct stiffit_model *abi;
    struct ode_options options;
    double max_step;            /* of the options and the model; INFINITY: none */
    size_t n_state;
    struct derivatives model;

    double rtol, atol;          /* of the current evaluation; atol 0: from the states' sizes (tolerance.c) */
    double fraction;            /* the floor of the magnitude used for a state's tolerance, as a part of the state's size */
    bool is_relative;           /* each state's tolerance is rtol times its present value */
    /* for each state: the largest |y| so far; the guessed size of a young state, else 0; y after the last step; then its t */
    double *sizes;              /* 3 n_state + 1 */
    double *born;               /* n_state: since when the state may be young */
    double *reach;              /* n_state: what a state that was at rest can become (reach.h), else 0 */
    double *noise;              /* n_state: what rounding errors of its rate make of such a state (reach.h) */
    int n_rescue;               /* of this evaluation: see tolerance_rescue */
    bool grows;                 /* some states may be far from their reach */
    double at_rest;             /* tolerance of states at zero, in their guessed sizes, while an input jumps */
    double *tolerance_beyond;   /* n_state: tolerance minus rtol |y| */

    /* blocks: the state, and one for each wanted parameter that enters the right-hand side or the initial state */
    size_t n_block;             /* counts only the sensitivities */
    uint32_t *block_parameter;  /* n_parameter + options.n_none places; its parameter in this phase or ODE_NONE */
    bool *block_rhs;            /* whether it enters the right-hand side */
    double *block_unit;         /* 1 / |p| of that parameter: turns tolerances of states into those of its block */
    int32_t *sens_block;        /* block of each wanted parameter, or -1 */
    bool pace;                  /* the one block is the dependence of the states on the unit of time (probe.c) */

    /* scratch */
    double *f;                         /* n_state */
    double *columns;                   /* n_state x n_parameter */
    double *reach_scratch;             /* 9 n_state */
    double *jacobian;                  /* for reach.c: n_state x n_state, or the values of the model's pattern */
    bool *is_at_rest, *is_idle;        /* n_state: for tolerance.c */
    double *seen;                      /* n_state (1 + most blocks): the state of an answer */
    double *h, *h_state, *h_parameter; /* n_observable x 1, n_state, n_parameter */
    size_t n_term;                     /* entries of h_state in use: of wanted observables, not 0, by state */
    struct observer_term {
        uint32_t observable, state;
        double value;
    } *term;
    bool has_terms;                    /* they are those of the latest rows, exact */
    double *h_row;                     /* n_observable x n_parameter: total derivatives */
    bool *is_wanted;                   /* n_observable */
    double *h_largest;                 /* n_observable: the largest absolute prediction so far (of all: the first entry) */

    /* the current evaluation */
    struct evaluation *evaluation;
    const uint32_t *sens;       /* n_sens: evaluation.sens of this phase, or of the variant of the latest rows */
    uint32_t variant;           /* the one whose parameters `other` has, or EXPERIMENT_NONE */
    const uint32_t *phase_sens; /* that of the phase meanwhile */
    uint32_t *variant_sens;     /* n_parameter + options.n_none places: its sens, */
    double *variant_p;          /* and its parameters */
    double t;                   /* the integrator's time */
    double t_far;               /* the last time: gives the integrator direction and scale, but no stop time */
    size_t i_time, i_row;       /* the next to be answered */
    double steady_since, steady_next; /* steady.c: the beginning of the segment; the time of the next look */
    int64_t n_factor;
    bool begins_anew;           /* restarts with relative tolerances, because an observable needs them */
    struct forcing *forcing;    /* NULL: the model has none */
    struct positive *positive;
    bool has_stops;             /* of this evaluation */
    struct stops *stops;
};

/* The most sensitivities that an evaluation has. */
size_t observer_most_blocks(const struct stiffit_model *abi, const struct ode_options *options);
/* False: out of memory. observer_fini is legal then, and for an observer that is all zero. */
bool observer_init(struct observer *observer, const struct stiffit_model *abi, const struct ode_options *options);
void observer_fini(struct observer *observer);

/* Begins the current evaluation: the first measurement is the next one. */
void observer_begin(struct observer *observer, bool is_relative);
/* Chooses the parameters that get a block of sensitivities. */
void observer_choose_blocks(struct observer *observer);
/* Sets the parameters of a phase. False: the model's `prepare` failed. */
bool observer_set_phase(struct observer *observer, size_t phase);
/* Sets the parameters of a row that has some of its own, and sets the phase's again. False: `prepare` failed; no row's are
 * set. */
bool observer_begin_variant(struct observer *observer, size_t row);
void observer_end_variant(struct observer *observer, size_t row);
/* The initial state and its sensitivities: 1 + n_block blocks. Returns a code as derivatives_initial does. */
int observer_initial(struct observer *observer, double *y);
/* Puts evaluation.begin, if any, in place of it. */
void observer_begin_given(struct observer *observer, double *y);
/* Answers the rows of the next task time from the state and its sensitivities there (blocks; NULL if there are no states).
 * False: they cannot be computed. If begins_anew is set, the evaluation must be begun again, is_relative. */
bool observer_answer(struct observer *observer, const double *y, bool initial);
/* Answers all measurements before t, and those at t up to a side, from the state at t. If begins_anew is set, the rest is not
 * answered. False: the evaluation is finished. */
bool observer_answer_until(struct observer *observer, double t, int side, const double *y, bool initial);

/* Fill in the outcome; all return false. observer_fail reports the model's last failure. observer_stop appends the time to the
 * reason. */
bool observer_finish(struct observer *observer, enum evaluation_outcome outcome);
bool observer_fail(struct observer *observer);
bool observer_stop(struct observer *observer, enum evaluation_outcome outcome, const char *why);
/* As observer_stop, for failures of the integrator that a tolerance may cause: names --atol if none is given. */
bool observer_stop_integrator(struct observer *observer, const char *why);
bool observer_spent(struct observer *observer); /* the budget of steps */
bool observer_fall(struct observer *observer, size_t state); /* see positive_look */
