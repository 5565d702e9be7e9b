/* The tape: what the integrator did in its steps, as linear maps, so that they can be gone through backward. Separate
 * from adjoint.c because it knows vectors and their tracers only, and nothing of models and objectives.
 *
 * Between two steps the integrator's memory is a handful of vectors (its history array and scratch). A step makes new
 * ones from them: linear combinations of the old ones, of the corrector's solution, and of right-hand sides. With the
 * step sizes taken as given, that is all that there is to differentiate; the tracers of our vectors (vector.h) give the
 * coefficients, whatever order, change of order or failed attempt was behind them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_ADJOINT_TAPE_H
#define ODE_ADJOINT_TAPE_H

#include "ode/vector.h"

#include <stdint.h>

/* Calls of the right-hand side that one step can depend on: the one at the start, and one for each return to order 1
 * after repeated failures of the error test. */
enum { TAPE_N_CALL = VECTOR_N_EVENT - 1 };

/* The numbers of columns: vector i of the bank as it was before the step is i; then the corrector's solution (its
 * correction of the prediction); then the calls. */
struct tape_term {
    double factor;
    uint32_t row, column;
};

/* Terms of a step, by what their row is: */
struct tape_step {
    size_t vectors; /* vector i after the step */
    size_t solve;   /* 0: the prediction, 1: the scaled derivative zn[1], as the corrector was given them */
    size_t calls;   /* the state that call k was made for; later calls come first */
    size_t outputs; /* an output: a number of the caller's */
    size_t end;
    double t, gamma, rl1;                /* the corrector's equation: y - gamma f(t, y) = prediction - rl1 zn[1] */
    size_t state;                        /* first of its numbers: y after the step, then y of each call */
    size_t kept;                         /* first of the numbers that the caller added; SIZE_MAX: none */
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

    /* the step under way */
    double t, gamma, rl1, *solve_row[2];
    struct tape_call call[TAPE_N_CALL];
    uint32_t n_call;
    bool lost; /* more calls than there is room for */

    /* the record; grows and is kept */
    size_t n_step, n_term, n_number;
    size_t step_room, term_room, number_room;
    struct tape_step *steps;
    struct tape_term *terms;
    double *numbers;
};

/* False: out of memory; tape_fini accepts the rest. */
bool tape_init(struct tape *tape, struct vector_bank *bank, size_t n_state);
void tape_fini(struct tape *tape);
/* Empties it and begins to record. */
void tape_rewind(struct tape *tape);

/* Events of the step under way: the corrector has been solved (correction is its answer); the right-hand side was asked
 * for (ydot is its answer). What is told last replaces what failed attempts told before. */
void tape_solve(struct tape *tape, double t, double gamma, double rl1, N_Vector predicted, N_Vector zn1,
                N_Vector correction);
void tape_call(struct tape *tape, double t, N_Vector y, N_Vector ydot);

/* After the integrator's step: first this, with its state; then its outputs, vectors made from the integrator's
 * memory; then tape_next. False: out of memory. */
bool tape_step(struct tape *tape, const double *y);
/* `count` more numbers of the caller's own for this step, to be written at once. NULL: out of memory. */
double *tape_add(struct tape *tape, size_t count);
bool tape_output(struct tape *tape, N_Vector output, uint32_t row);
void tape_next(struct tape *tape);

static inline uint32_t tape_solve_column(const struct tape *tape) { return (uint32_t)tape->n_vector; }

#endif
