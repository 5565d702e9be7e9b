/* Dense orthogonal factorisations for the parameters of a fit. They reduce the derivatives of thousands of residuals to a small
 * triangle, and that to directions that the data determine well or badly. Nothing here allocates.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_SVD_H
#define FIT_SVD_H

#include <stddef.h>

/* Householder's QR of a (m x n, column-major, destroyed) applied to b (m) too: R's upper triangle goes to r (n x n,
 * column-major, zeros below), the first n entries of Q'b to q (zeros beyond m). Returns the squared norm of the rest of Q'b:
 * the residual of the linear least-squares problem. */
double svd_triangle(size_t m, size_t n, double *a, double *b, double *r, double *q);

/* a (m x n, m >= n, destroyed) = U diag(s) V'; s decreases, v is n x n. b (m), unless NULL, becomes U'b in its first n entries
 * (the rest, and entries for s = 0, are meaningless). One-sided Jacobi (Hestenes 1958) on the transposed triangle of a QR
 * with pivoting, which is nearly orthogonal from the start and whose columns become V (Drmac & Veselic 2008): small singular
 * values and their directions keep their relative accuracy, whatever the columns' sizes. Deterministic. */
void svd_jacobi(size_t m, size_t n, double *a, double *b, double *s, double *v);

#endif
