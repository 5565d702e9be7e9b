/* Dense orthogonal factorisations of the size of a fit's parameters: what turns the derivatives of thousands of residuals
 * into a small triangle, and that into directions the data know well or badly. Nothing here allocates.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIT_SVD_H
#define FIT_SVD_H

#include <stddef.h>

/* Householder's QR of a (m x n, column-major, destroyed) applied to b (m) too: R's upper triangle goes to r (n x n,
 * column-major, zeros below), the first n entries of Q'b to q (zeros beyond m). What is left of b has the squared norm
 * that is returned: the residual of the linear least-squares problem. */
double svd_triangle(size_t m, size_t n, double *a, double *b, double *r, double *q);

/* One-sided Jacobi (Hestenes 1958; small singular values to high relative accuracy: Demmel & Veselic 1992): a (m x n, m >= n)
 * becomes U diag(s), so that a's old value is U diag(s) V'. v is n x n. s decreases. Deterministic. */
void svd_jacobi(size_t m, size_t n, double *a, double *s, double *v);

#endif
