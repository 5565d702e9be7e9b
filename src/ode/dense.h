/* LU factorisation with partial pivoting for small dense matrices, column-major. For a dozen
 * states a library call costs more than the arithmetic; larger systems use LAPACK (linear.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Four partial sums: the additions of a single sum would wait for each other. */
static inline double dense_dot(const double *restrict a, const double *restrict b, size_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        s0 += a[i] * b[i];
    return (s0 + s1) + (s2 + s3);
}

/* Overwrites a (n x n) with its factors; the diagonal of U is stored as reciprocals. Row k was
 * exchanged with row pivot[k] >= k. False: a pivot is 0 or not finite. */
bool dense_factor(double *a, size_t n, int *pivot);
/* Solves in place for n_column right-hand sides of n numbers each, stored contiguously. */
void dense_solve(const double *a, size_t n, const int *pivot, double *b, size_t n_column);
/* Solves in place with the transposed matrix, for one right-hand side. */
void dense_solve_transposed(const double *a, size_t n, const int *pivot, double *b);
/* y_k = a x_k for n_column vectors of n numbers each. */
void dense_multiply(const double *a, size_t n, const double *x, double *y, size_t n_column);
/* y = a^T x, for any m x n matrix */
void dense_multiply_transposed(const double *a, size_t m, size_t n, const double *x, double *y);
