/* The tape: a record of the integrator's steps as linear maps, which can be traversed backward.
 * Separate from adjoint.c because it uses only vectors and their tracers, not models and
 * objectives.
 *
 * Between two steps the integrator's memory is a handful of vectors (its history array and
 * scratch). A step replaces them by linear combinations of the old vectors, the corrector's
 * solution, and right-hand sides. If the step sizes are taken as given, only these combinations
 * need to be differentiated. The tracers of our vectors (vector.h) give their coefficients, for
 * any order, change of order or failed attempt.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/vector.h"

#include <stdint.h>

/* Calls of the right-hand side that one step can depend on: the one at the start, and one for
 * each return to order 1 after repeated failures of the error test. */
enum { TAPE_N_CALL = VECTOR_N_EVENT - 1 };

/* Column numbers: vector i of the bank before the step is i; then the corrector's solution (its
 * correction of the prediction); then the calls. */
struct tape_term {
    double factor;
    uint32_t row, column;
};

/* A step. The first fields are offsets into its terms, which are grouped by row: */
struct tape_step {
    size_t vectors; /* vector i after the step */
    /* row 0: the prediction, row 1: the scaled derivative zn[1], as passed to the corrector */
    size_t solve;
    size_t calls;   /* the state of call k; later calls come first */
    size_t outputs; /* an output, numbered by the caller */
    size_t end;
    /* the corrector's equation: y - gamma f(t, y) = prediction - rl1 zn[1] */
    double t, gamma, rl1;
    /* index of its first number: y after the step, then y of each call */
    size_t state;
    /* index of the first number added by the caller; SIZE_MAX: none */
    size_t kept;
    uint32_t n_call, call[TAPE_N_CALL];  /* their columns, later ones first */
    double call_t[TAPE_N_CALL];
};

struct tape_call {
    bool taken;
    uint32_t order; /* within the step */
    double t;
    double *y, *row; /* n_state, n_column */
};

struct tape {
    struct vector_bank *bank;
    size_t n_state, n_vector, n_column;

    /* the current step */
    double t, gamma, rl1, *solve_row[2];
    struct tape_call call[TAPE_N_CALL];
    uint32_t n_call;
    bool lost; /* more calls than there is room for */

    /* the record; its memory grows and is reused */
    size_t n_step, n_term, n_number;
    size_t step_room, term_room, number_room;
    struct tape_step *steps;
    struct tape_term *terms;
    double *numbers;
};

/* False: out of memory; tape_fini is legal then. */
bool tape_init(struct tape *tape, struct vector_bank *bank, size_t n_state);
void tape_fini(struct tape *tape);
/* Empties the tape and begins to record. */
void tape_rewind(struct tape *tape);

/* Events of the current step: the corrector was solved, with the answer `correction`; the
 * right-hand side was called, with the answer `ydot`. A later event replaces those of failed
 * attempts. */
void tape_solve(struct tape *tape, double t, double gamma, double rl1, N_Vector predicted,
                N_Vector zn1, N_Vector correction);
void tape_call(struct tape *tape, double t, N_Vector y, N_Vector ydot);

/* After the integrator's step, call in this order: tape_step with the new state; tape_output for
 * outputs, which are vectors made from the integrator's memory; tape_next. False: out of memory. */
bool tape_step(struct tape *tape, const double *y);
/* Room for `count` numbers of the caller in this step, to be filled at once. NULL: out of
 * memory. */
double *tape_add(struct tape *tape, size_t count);
bool tape_output(struct tape *tape, N_Vector output, uint32_t row);
void tape_next(struct tape *tape);

static inline uint32_t tape_solve_column(const struct tape *tape)
{
    return (uint32_t)tape->n_vector;
}
