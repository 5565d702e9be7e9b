/* Linear systems with M = I - gamma J: our LU, LAPACK or KLU behind one interface. The plan is
 * made once per pool and shared; a solver belongs to one workspace.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "ode/evaluation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

struct linear_plan;
struct linear;

/* Chooses a solver for the model according to `requested`. STATUS_BAD_MODEL or STATUS_SYSTEM:
 * KLU or LAPACK was requested by name and is not available. Not thread-safe. */
struct linear_plan *linear_plan_new(const struct stiffit_model *abi, int requested,
                                    struct error *error);
void linear_plan_free(struct linear_plan *plan);
/* Entries of the factors divided by those of a full matrix; 1 if they are dense. */
double linear_plan_fill(const struct linear_plan *plan);
enum linear_solver_kind linear_plan_kind(const struct linear_plan *plan);
/* Whether J is passed as the values of the model's pattern. */
bool linear_plan_is_sparse(const struct linear_plan *plan);

/* NULL: out of memory. The plan must outlive it. */
struct linear *linear_new(const struct linear_plan *plan);
void linear_free(struct linear *linear);

/* Begins an evaluation, whose bits must not depend on earlier ones. */
void linear_begin(struct linear *linear);

/* The array for J, filled by the caller before linear_factor or linear_multiply: n x n, or the
 * n_nonzero values of the model's pattern (KLU). */
double *linear_jacobian(struct linear *linear);

enum linear_result { LINEAR_OK, LINEAR_SINGULAR, LINEAR_NO_MEMORY };

enum linear_result linear_factor(struct linear *linear, double gamma);
/* Solves in place for n_column right-hand sides of n numbers each, stored contiguously. */
enum linear_result linear_solve(struct linear *linear, double *b, size_t n_column);
/* Solves with the transpose of M, for one right-hand side. */
enum linear_result linear_solve_transposed(struct linear *linear, double *b);
/* Storage of factors: their length (0: KLU, cannot be stored), a copy of the current ones, a
 * solve with a copy. */
size_t linear_kept_length(const struct linear *linear);
void linear_keep(const struct linear *linear, double *kept);
enum linear_result linear_solve_transposed_kept(const struct linear *linear, const double *kept,
                                                double *b);
/* y_k = J x_k */
void linear_multiply(struct linear *linear, const double *x, double *y, size_t n_column);
/* y = J^T x */
void linear_multiply_transposed(struct linear *linear, const double *x, double *y);
