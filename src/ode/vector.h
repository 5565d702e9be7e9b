/* Our N_Vector: the state and its sensitivities as one vector of equal blocks y, s_1 ... s_S,
 * compiled with the program because a distribution's SUNDIALS may be built without optimisation.
 * All vectors of a bank share one active length, so one integrator memory serves any number of
 * sensitivities. They use memory allocated with the bank, because SUNDIALS crashes after a clone
 * that fails.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/sundials_compat.h"

#include <stdbool.h>
#include <stddef.h>

struct vector_bank;

/* A bank of `n_vector` vectors of up to `n_block` blocks of `n_state` doubles; NULL: out of
 * memory. Not thread-safe. */
struct vector_bank *vector_bank_new(SUNContext context, size_t n_state, size_t n_block,
                                    size_t n_vector);
void vector_bank_free(struct vector_bank *bank);
/* Sets the number of blocks of every vector of the bank (at most that of vector_bank_new). */
void vector_bank_set_blocks(struct vector_bank *bank, size_t n_block);
/* A vector of the bank with undefined contents; NULL: all are in use. N_VClone of a vector does
 * the same. */
N_Vector vector_new(struct vector_bank *bank);

static inline double *vector_data(N_Vector v) { return v->content; }

/* Tracers: while tracing is on, each vector has coefficients after its blocks. They express it
 * as a linear combination of all vectors of the bank as they were when tracing was last turned
 * on, and of VECTOR_N_EVENT events, whose coefficients the caller sets. The vector operations
 * update them, and so record every operation of the integrator. Norms ignore them. */
enum { VECTOR_N_EVENT = 7 };
/* Turning it on makes each vector depend on itself alone. */
void vector_bank_trace(struct vector_bank *bank, bool on);
size_t vector_bank_n_vector(const struct vector_bank *bank);
/* n_vector + VECTOR_N_EVENT: the length of the tracers below */
size_t vector_bank_n_tracer(const struct vector_bank *bank);
double *vector_bank_tracers(struct vector_bank *bank, size_t i_vector);
double *vector_tracers(N_Vector v);
size_t vector_index(N_Vector v); /* its number in the bank */

/* sqrt(sum (x_i w_i)^2 / n); the norm of a whole vector is the largest one of its blocks. */
double vector_block_norm(const double *x, const double *w, size_t n);
