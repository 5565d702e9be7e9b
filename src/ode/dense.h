/* LU factorisation with partial pivoting of small dense matrices, column-major. For a dozen states a library call
 * costs more than the arithmetic; larger systems go to LAPACK (linear.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ODE_DENSE_H
#define ODE_DENSE_H

#include <stdbool.h>
#include <stddef.h>

/* Overwrites a (n x n) with its factors, the reciprocals of U's diagonal in place of it. Row k was exchanged with row
 * pivot[k] >= k. False: a pivot is 0 or not finite. */
bool dense_factor(double *a, size_t n, int *pivot);
/* Solves in place for n_column right-hand sides of n numbers each, one behind the other. */
void dense_solve(const double *a, size_t n, const int *pivot, double *b, size_t n_column);
/* y_k = a x_k for n_column vectors of n numbers each. */
void dense_multiply(const double *a, size_t n, const double *x, double *y, size_t n_column);

#endif
