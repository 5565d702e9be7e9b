/* The numbers of eight evaluations side by side, and the kernel that makes one attempt at a step
 * in all of them. A lane's numbers depend on nothing in other lanes. The kernel is compiled for
 * several widths of registers; all give the same bits.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "model/lanes_plan.h"
#include "ode/lanes/method.h"

#include <stdint.h>

enum { N_LANE = STIFFIT_LANES };

/* A number, or a truth value (0 or -1), or a count in each lane. */
typedef double lanes __attribute__((vector_size(8 * N_LANE)));
typedef int64_t lanes_mask __attribute__((vector_size(8 * N_LANE)));

/* Sensitivities by some parameters; an n_state x width matrix is stored row by row, or by column
 * for the model's functions of stages. */
struct lanes_block {
    size_t first, width;      /* columns first <= c < first + width of the bank */
    /* matrices, each followed by another one, which is scratch for a stage's argument */
    lanes *sens, *sens_new;
    lanes *minus_rate;        /* matrix: of infusions, as below */
    lanes *stage[METHOD_STAGES];
    size_t n_entry;           /* of df/dp; 0 where `which` says the same */
    struct stiffit_lanes_entry *entry;
    int64_t *which;           /* as in stiffit_lanes_columns */
};

/* The lanes' tolerances and sizes of states, as in struct tolerance. */
struct lanes_tolerance {
    bool follows_sizes;  /* atol is 0 */
    lanes rtol, fraction, at_rest;
    lanes_mask is_relative;
    lanes *size, *guess, *beyond, *born, *reach, *noise; /* n_state each */
};

/* What the right-hand side takes from outside of the model (kernel_slopes.h). */
struct lanes_outside {
    lanes since, until;  /* the right-hand side is evaluated between these times */
    /* lanes with infusions. Rates are subtracted with the other sign: 0 then leaves all bits
     * alone */
    unsigned infused;
    lanes *minus_rate;   /* n */
    lanes *input_since, *input_value, *input_slope; /* n_input: value + slope (t - since) */
};

/* The control of steps. */
struct lanes_control {
    lanes by_accepted;            /* 1 / (how many tolerances a step's error may be)^2 */
    lanes by_inside;              /* a factor of that for explicit steps with a measurement
                                   * inside */
    /* logarithms to base 2 of the latest step's h and error; log_h infinite: there is none */
    lanes log_h, log_error;
    lanes_mask rejected;          /* the latest attempt was rejected */
    lanes_mask trouble;           /* n_attempt when something was not finite, or more the more
                                   * often it was (TROUBLE); or far below 0 */
    lanes_mask watched;           /* the caller wants to see each of its steps */
    lanes_mask n_attempt, n_step, max_steps;
    lanes_mask n_sign, patience;  /* signs that the other method would cost less; of which so
                                   * many make the lane change */
    lanes t_turn;                 /* in any case it changes from this time on */
    lanes t_calm;                 /* of the latest step without a sign */
};

struct lanes_scratch {
    lanes *derived[METHOD_STAGES], *curved[METHOD_STAGES]; /* curved follows derived */
    lanes *entry[METHOD_STAGES], *stage[METHOD_STAGES]; /* stage: followed by gamma_i h */
    lanes *factor, *argument, *right, *base;
    lanes *tolerance, *factor_end; /* of states in a step; by the Jacobian at its end */
    lanes *input; /* n_input at the beginning of the step, then n_input in a stage */
};

/* An evaluation is in `n_share` neighbouring lanes, whose first one's number is a multiple of
 * n_share: all of them integrate its states, and each has a part of its sensitivities. Of the
 * parameters in the order of lanes_bank_set_columns, number i is in column i / n_share of the
 * lane of rank i % n_share. Errors are compared over all of them, so all make the same steps. */
struct lanes_bank {
    const struct lanes_plan *plan;
    const struct lanes_method *method;
    bool by_column;      /* matrices are stored by column */
    int n_lane, n_share; /* n_lane: lanes from there on are in no use, and may be left out */
    size_t n_column, n_block;
    struct lanes_block *block;
    /* the blocks' memory, and its size */
    lanes *memory;
    struct stiffit_lanes_entry *entry;
    int64_t *which;
    size_t n_memory, most_blocks;
    /* for the model's function of all stages: the right-hand sides of all columns, and its
     * argument by block */
    lanes *right;
    struct stiffit_lanes_columns *columns;
    lanes_mask of_rank[N_LANE]; /* k: lanes of that rank */
    struct lanes_tolerance tolerance;
    struct lanes_outside outside;
    struct lanes_control control;
    struct lanes_scratch scratch;

    /* the evaluations' arguments */
    lanes *p, *covariate, *work;
    lanes *unit;         /* by column: 1 / |p| */
    lanes_mask *active;  /* by column: the evaluation wants it */

    /* where they are */
    /* of an explicit method: lanes whose first slope is unknown, and those whose first slope is
     * the last one of the latest step */
    unsigned fresh;
    lanes_mask advanced;
    lanes_mask live;     /* others are not moved */
    lanes t, h;          /* h: planned */
    lanes longest;       /* of planned steps */
    lanes t_stop;        /* steps end there at the latest, exactly */
    lanes t_next, t_later; /* times of the next measurement, and of the one after it */
    lanes t_part;        /* lane_part, as a time */
    /* y_before: at the beginning of the latest step (lanes that did not move: equal to y) */
    lanes *y, *y_before;
    lanes *low;          /* n: the caller must look at a step that leads below these */
    lanes t_before, h_used;
};

/* Reasons for which a lane needs the caller after an attempt: bits of attempt's result, N_LANE
 * for each. */
struct lanes_events {
    unsigned moved;     /* the step was accepted */
    unsigned measured;  /* it reached t_next */
    unsigned fell;      /* a state went from above to below zero or below its low, or the lane is
                         * watched */
    unsigned underflow; /* the next step is too small to move t, or see is_stuck */
    unsigned spent;     /* n_step has reached max_steps */
    unsigned turned;    /* the other method would cost less from here on */
};

/* Number of state i and column c of a block in its matrices. */
static inline size_t lanes_place(const struct lanes_bank *bank, const struct lanes_block *block,
                                 size_t i, size_t c)
{
    return bank->by_column ? c * bank->plan->n + i : i * block->width + c;
}

struct lanes_kernel {
    const char *name;
    int width; /* lanes in a register */
    struct lanes_events (*attempt[N_METHOD])(struct lanes_bank *bank);
    /* The states and sensitivities at t_before + s h_used: n_state rows of 1 + n_column numbers,
     * column by column. */
    void (*inside[N_METHOD])(const struct lanes_bank *bank, const lanes *s, lanes *out);
    /* tolerance_drop_vanished for sensitivities found inside. */
    void (*drop_vanished)(const struct lanes_bank *bank, lanes *inside);
    /* The wanted observables and their noise at a time, from what `inside` has found there, by
     * their numbers in a plan that has n_kind. values: n_values numbers, the outputs of the
     * model's functions. out: as many as is_wanted x (1 + n_column), column by column: first the
     * errors that come from the states' tolerances beyond rtol |y|, or NaN in lanes where a wanted
     * number is not finite; then the derivatives by way of the states. */
    void (*observe)(const struct lanes_bank *bank, const lanes *time, const lanes *inside,
                    const bool *is_wanted, lanes *values, lanes *out);
};

/* The kernel called `name`, or the widest one if `name` is NULL or empty. NULL: this CPU has no
 * such kernel, and *error says which ones it has. */
const struct lanes_kernel *lanes_kernel_choose(const char *name, struct error *error);

/* Whether this CPU multiplies and adds in one operation, which takes the C library more than ten
 * times as long. */
bool lanes_kernel_is_fast(void);

/* For columns by parameter, and n_other ones. False: out of memory. lanes_bank_fini is legal
 * then, and for a bank that is all zero. */
bool lanes_bank_init(struct lanes_bank *bank, const struct lanes_plan *plan,
                     const struct lanes_method *method, size_t n_other);
void lanes_bank_fini(struct lanes_bank *bank);
/* Sets the parameters that have sensitivities (n_parameter and more: what the right-hand side
 * does not depend on), and how many lanes share those of an evaluation. All sensitivities are
 * zero then. lanes_bank_reserve has made room for as many. */
void lanes_bank_set_columns(struct lanes_bank *bank, size_t n, const uint32_t *parameter,
                            int n_share);
/* Makes room for n parameters; the numbers of the present ones may be lost. False: out of memory,
 * and nothing has changed. */
bool lanes_bank_reserve(struct lanes_bank *bank, size_t n, int n_share);
