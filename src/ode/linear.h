/* Linear systems with M = I - gamma J: our own LU, LAPACK or KLU behind one interface. The plan is made once per
 * pool and shared; a solver belongs to one workspace.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_LINEAR_H
#define ODE_LINEAR_H

#include "base/error.h"
#include "ode/evaluation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

struct linear_plan;
struct linear;

/* Chooses for `requested` and the model; KLU and LAPACK fail with STATUS_BAD_MODEL or STATUS_SYSTEM where they
 * were asked for by name and cannot be had. Not thread-safe. */
struct linear_plan *linear_plan_new(const struct stiffit_model *abi, int requested, struct error *error);
void linear_plan_free(struct linear_plan *plan);
/* Entries of the factors over those of a full matrix, 1 where they are dense. */
double linear_plan_fill(const struct linear_plan *plan);
enum linear_solver_kind linear_plan_kind(const struct linear_plan *plan);
/* Whether it takes J as the values of the model's pattern. */
bool linear_plan_is_sparse(const struct linear_plan *plan);

/* NULL: out of memory. The plan must live as long. */
struct linear *linear_new(const struct linear_plan *plan);
void linear_free(struct linear *linear);

/* A new evaluation: nothing of the last one's may show in the bits of this one. */
void linear_begin(struct linear *linear);

/* Where the caller puts J before linear_factor or linear_multiply: n x n, or the n_nonzero values of the model's
 * pattern (KLU). */
double *linear_jacobian(struct linear *linear);

enum linear_result { LINEAR_OK, LINEAR_SINGULAR, LINEAR_NO_MEMORY };

enum linear_result linear_factor(struct linear *linear, double gamma);
/* In place, n_column right-hand sides of n numbers one behind the other. */
enum linear_result linear_solve(struct linear *linear, double *b, size_t n_column);
/* The same with the transpose of M, one right-hand side. */
enum linear_result linear_solve_transposed(struct linear *linear, double *b);
/* Factors to keep: as many numbers, 0 where they cannot be (KLU); a copy of those at hand; a solve with the copy. */
size_t linear_kept_length(const struct linear *linear);
void linear_keep(const struct linear *linear, double *kept);
enum linear_result linear_solve_transposed_kept(const struct linear *linear, const double *kept, double *b);
/* y_k = J x_k */
void linear_multiply(struct linear *linear, const double *x, double *y, size_t n_column);
/* y = J^T x */
void linear_multiply_transposed(struct linear *linear, const double *x, double *y);

#endif
