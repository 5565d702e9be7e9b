/* Dense linear algebra for the parameters of a fit: reduces the derivatives of thousands of
 * residuals to a small triangle, and that to directions that the data determine well or badly.
 * Nothing here allocates. Matrices are column-major.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of squares of x (n), of x y, and of w x y. */
double matrix_squares(size_t n, const double *x);
double matrix_dot(size_t n, const double *x, const double *y);
double matrix_product(size_t n, const double *w, const double *x, const double *y);

void matrix_transpose(size_t n, double *matrix); /* n x n, in place */

/* Householder's QR of a (m x n, destroyed) applied to b (m) too: R's upper triangle goes to r (n
 * x n, zeros below), the first n entries of Q'b to q (zeros beyond m). Returns the squared norm
 * of the rest of Q'b: the residual of the linear least-squares problem. Rows come in blocks; one
 * with columns of zeros costs less, most of all if it comes first. */
double matrix_triangle(size_t m, size_t n, double *a, double *b, double *r, double *q);

/* x = R^-1 (n x n, zeros below) for the upper triangle r of matrix_triangle. Returns a lower limit
 * of the smallest singular value of R diag(1/scale), at most sqrt(n) times too small. 0: R is
 * singular to rounding, and x is meaningless. */
double matrix_invert(size_t n, const double *r, const double *scale, double *x);
/* If that is above this and columns are scaled to one length, the inverse loses no digits that
 * matter. */
#define MATRIX_WELL_CONDITIONED 1e-5

/* a (m x n, m >= n, destroyed) = U diag(s) V'; s decreases, v is n x n. b (m), unless NULL,
 * becomes U'b in its first n entries (the rest, and entries for s = 0, are meaningless).
 * One-sided Jacobi (Hestenes 1958) on the transposed triangle of a QR with pivoting, which is
 * nearly orthogonal from the start and whose columns become V (Drmac & Veselic 2008): small
 * singular values and their directions keep their relative accuracy, whatever the columns'
 * sizes. Deterministic. */
void matrix_singular(size_t m, size_t n, double *a, double *b, double *s, double *v);

/* b (m) receives in its first n entries the x with the least |a x - b|, a: m x n, m >= n,
 * destroyed; 0 for columns that are combinations of longer ones to rounding. Scratch: r (n x n),
 * order (n). */
void matrix_least(size_t m, size_t n, double *a, double *b, double *r, double *order);

/* The Cholesky factor of the rows and columns index[0..k) of an n x n matrix: the lower triangle
 * of `factor`, k x k with leading dimension k. False: a pivot is not positive beyond rounding. */
bool matrix_factor(size_t n, const double *matrix, size_t k, const uint32_t *index, double *factor);
/* x = L^-1 x and x = L^-T x. */
void matrix_solve_lower(size_t k, const double *factor, double *x);
void matrix_solve_upper(size_t k, const double *factor, double *x);
/* The inverse of the matrix with that factor: k x k. */
void matrix_inverse(size_t k, const double *factor, double *inverse);
