/* KLU for M = I - gamma J of the model's sparse pattern.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_SPARSE_H
#define ODE_SPARSE_H

#include "ode/linear.h"

struct sparse_plan; /* pattern of M and its symbolic analysis: shared, read-only */
struct sparse;

struct sparse_plan *sparse_plan_new(const struct stiffit_model *abi, struct error *error);
void sparse_plan_free(struct sparse_plan *plan);
size_t sparse_plan_n_factor(const struct sparse_plan *plan); /* entries of L and U expected by the analysis */

struct sparse *sparse_new(const struct sparse_plan *plan);
void sparse_free(struct sparse *sparse);
/* Makes the next factorisation a full one; a refactorisation would reuse the pivots of an earlier evaluation. */
void sparse_begin(struct sparse *sparse);
enum linear_result sparse_factor(struct sparse *sparse, const double *jacobian, double gamma);
enum linear_result sparse_solve(struct sparse *sparse, double *b, size_t n_column);
enum linear_result sparse_solve_transposed(struct sparse *sparse, double *b);
void sparse_multiply(const struct sparse_plan *plan, const double *jacobian, const double *x, double *y,
                     size_t n_column);
void sparse_multiply_transposed(const struct sparse_plan *plan, const double *jacobian, const double *x, double *y);

#endif
