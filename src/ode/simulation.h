/* One evaluation under way: the state of everything that does not depend on the integrator. Each
 * struct in it belongs to the module that is named beside it, which alone changes it; an
 * integrator's own simulation begins with this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/derivatives.h"
#include "ode/evaluation.h"

/* tolerance.c: how accurate the evaluation is, and the sizes of states that this follows. */
struct tolerance {
    double rtol, atol;          /* atol 0: from the states' sizes */
    /* the floor of the magnitude used for a state's tolerance, as a part of the state's size */
    double fraction;
    bool is_relative;           /* each state's tolerance is rtol times its present value */
    bool grows;                 /* some states may be far from their reach */
    int n_rescue;               /* of this evaluation: see tolerance_rescue */
    /* for each state: the largest |y| so far; the guessed size of a young state, else 0; y after
     * the last step; then its t */
    double *sizes;              /* 3 n_state + 1 */
    double *born;               /* n_state: since when the state may be young */
    double *reach;              /* n_state: what a state that was at rest can become
                                 * (tolerance.c), else 0 */
    double *noise;              /* n_state: what rounding errors of its rate make of such a state
                                 * (tolerance.c) */
    double *beyond;             /* n_state: tolerance minus rtol |y| */
    /* tolerance of states at zero, in their guessed sizes, while an input jumps */
    double at_rest;
    double *scratch;            /* 9 n_state */
    double *jacobian;           /* n_state x n_state, or the values of the model's pattern */
    bool *is_at_rest;           /* n_state: scratch */
    /* n_state: it was zero, and nothing drove it at the latest estimate */
    bool *is_idle;
};

/* blocks.c: the state, and a block for each wanted parameter that enters the right-hand side or
 * the initial state. */
struct blocks {
    size_t n;                   /* of sensitivities */
    /* n_parameter + options.n_none places; its parameter in this phase or ODE_NONE */
    uint32_t *parameter;
    bool *in_rhs;               /* whether it enters the right-hand side */
    /* 1 / |p| of that parameter: turns tolerances of states into those of its block */
    double *unit;
    int32_t *of_sens;           /* block of each wanted parameter, or -1 */
    /* the one block is the dependence of the states on the unit of time (probe.c) */
    bool is_pace;
    /* n_sens: evaluation.sens of this phase, or of the variant of the latest rows */
    const uint32_t *sens;
    /* the variant whose parameters are in derivatives.other, or EXPERIMENT_NONE */
    uint32_t variant;
    const uint32_t *phase_sens; /* sens of the phase, while `sens` is the variant's */
    /* sens (n_parameter + options.n_none places) and parameters of the variant */
    uint32_t *variant_sens;
    double *variant_p;
};

/* observation.c: the measurements; drive.c begins with the first one. */
struct rows {
    size_t i_time, i_row;       /* the next to be answered */
    double *seen;               /* n_state (1 + most blocks): the state of an answer */
    double *h, *h_state, *h_parameter; /* n_observable x 1, n_state, n_parameter */
    /* entries of h_state in use: of wanted observables, not 0, by state */
    size_t n_term;
    struct row_term {
        uint32_t observable, state;
        double value;
    } *term;
    bool has_terms;             /* they are those of the latest rows, exact */
    double *h_row;              /* n_observable x n_parameter: total derivatives */
    bool *is_wanted;            /* n_observable */
    /* n_observable: the largest absolute prediction so far (of all: the first entry) */
    double *h_largest;
};

/* steady.c: the search for a steady state. */
struct steady {
    double since, next;         /* the beginning of the integration; the time of the next look */
};

struct simulation {
    const struct stiffit_model *abi;
    struct ode_options options;
    size_t n_state;
    double max_step;            /* of the options and the model; INFINITY: none */
    size_t slot;                /* its number in the pool */

    struct derivatives model;   /* at this evaluation's parameters */
    struct tolerance tolerance;
    struct blocks blocks;
    struct rows rows;
    struct steady steady;
    struct stops *stops;
    struct positive *positive;
    bool is_watched;            /* by positive.c: positive_look must see each step; otherwise
                                 * only those in which a state goes below zero, and the state
                                 * before them */
    struct forcing *forcing;    /* NULL: the model has none */
    struct period *period;      /* made by the first request with steady doses */

    struct evaluation *request; /* the caller's */
    struct evaluation *evaluation; /* the one under way for it: the same or, with steady doses, one
                                    * of several (period.h) */
    bool has_stops;             /* of this evaluation */
    /* restarts with relative tolerances, because an observable needs them */
    bool begins_anew;
    double *y;                  /* the integrator's: the state and its sensitivities, as blocks */
    double t_before, t;         /* the latest step */
    /* the last time: gives the integrator direction and scale, but no stop time */
    double t_far;
    int64_t n_factor;
    double *f, *y_before, *columns; /* scratch: n_state, n_state, n_state x n_parameter */
};

/* False: out of memory. simulation_fini is legal then, and for a simulation that is all zero. */
bool simulation_init(struct simulation *simulation, const struct stiffit_model *abi,
                     const struct ode_options *options);
void simulation_fini(struct simulation *simulation);
