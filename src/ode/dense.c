/* The dense LU: one body of code, compiled once for every small size (the loops unroll) and once for any size.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/dense.h"

#include "ode/wide.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE bool factor(double *restrict a, size_t n, int *restrict pivot)
{
    for (size_t k = 0; k < n; k++) {
        double *column = a + k * n;
        size_t best = k;
        double largest = fabs(column[k]);
        for (size_t i = k + 1; i < n; i++)
            if (fabs(column[i]) > largest) {
                largest = fabs(column[i]);
                best = i;
            }
        double reciprocal = 1 / column[best];
        if (!(largest > 0) || !isfinite(reciprocal))
            return false;
        pivot[k] = (int)best;
        if (best != k)
            for (size_t j = 0; j < n; j++) {
                double swap = a[k + j * n];
                a[k + j * n] = a[best + j * n];
                a[best + j * n] = swap;
            }
        column[k] = reciprocal;
        for (size_t i = k + 1; i < n; i++)
            column[i] *= reciprocal;
        for (size_t j = k + 1; j < n; j++) {
            double *other = a + j * n, head = other[k];
            for (size_t i = k + 1; i < n; i++)
                other[i] -= column[i] * head;
        }
    }
    return true;
}

INLINE void solve_1(const double *restrict a, size_t n, const int *restrict pivot, double *restrict b)
{
    for (size_t k = 0; k < n; k++) {
        double head = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = head;
    }
    for (size_t k = 0; k < n; k++) {
        double head = b[k];
        for (size_t i = k + 1; i < n; i++)
            b[i] -= a[i + k * n] * head;
    }
    for (size_t k = n; k-- > 0;) {
        double head = b[k] *= a[k + k * n];
        for (size_t i = 0; i < k; i++)
            b[i] -= a[i + k * n] * head;
    }
}

/* Four right-hand sides at once: every entry of the factors is read once for all of them. */
INLINE void solve_4(const double *restrict a, size_t n, const int *restrict pivot, double *restrict b0)
{
    double *restrict b1 = b0 + n, *restrict b2 = b0 + 2 * n, *restrict b3 = b0 + 3 * n;
    for (size_t k = 0; k < n; k++) {
        size_t other = (size_t)pivot[k];
        double h0 = b0[other], h1 = b1[other], h2 = b2[other], h3 = b3[other];
        b0[other] = b0[k], b1[other] = b1[k], b2[other] = b2[k], b3[other] = b3[k];
        b0[k] = h0, b1[k] = h1, b2[k] = h2, b3[k] = h3;
    }
    for (size_t k = 0; k < n; k++) {
        const double *column = a + k * n;
        double h0 = b0[k], h1 = b1[k], h2 = b2[k], h3 = b3[k];
        for (size_t i = k + 1; i < n; i++) {
            b0[i] -= column[i] * h0;
            b1[i] -= column[i] * h1;
            b2[i] -= column[i] * h2;
            b3[i] -= column[i] * h3;
        }
    }
    for (size_t k = n; k-- > 0;) {
        const double *column = a + k * n;
        double h0 = b0[k] *= column[k], h1 = b1[k] *= column[k], h2 = b2[k] *= column[k], h3 = b3[k] *= column[k];
        for (size_t i = 0; i < k; i++) {
            b0[i] -= column[i] * h0;
            b1[i] -= column[i] * h1;
            b2[i] -= column[i] * h2;
            b3[i] -= column[i] * h3;
        }
    }
}

INLINE void solve(const double *a, size_t n, const int *pivot, double *b, size_t n_column)
{
    size_t k = 0;
    for (; k + 4 <= n_column; k += 4)
        solve_4(a, n, pivot, b + k * n);
    for (; k < n_column; k++)
        solve_1(a, n, pivot, b + k * n);
}

/* A separate function for each size keeps the unrolled copies out of each other's way. */
#define SIZES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DEFINE(size) \
    static bool factor_of_##size(double *a, int *pivot) { return factor(a, size, pivot); } \
    static void solve_of_##size(const double *a, const int *pivot, double *b, size_t n_column) \
    { \
        solve(a, size, pivot, b, n_column); \
    }
SIZES(DEFINE)

WIDE static bool factor_any(double *a, size_t n, int *pivot) { return factor(a, n, pivot); }

WIDE static void solve_any(const double *a, size_t n, const int *pivot, double *b, size_t n_column)
{
    solve(a, n, pivot, b, n_column);
}

bool dense_factor(double *a, size_t n, int *pivot)
{
    switch (n) {
#define CASE(size) \
    case size: \
        return factor_of_##size(a, pivot);
        SIZES(CASE)
#undef CASE
    default:
        return factor_any(a, n, pivot);
    }
}

void dense_solve(const double *a, size_t n, const int *pivot, double *b, size_t n_column)
{
    switch (n) {
#define CASE(size) \
    case size: \
        solve_of_##size(a, pivot, b, n_column); \
        return;
        SIZES(CASE)
#undef CASE
    default:
        solve_any(a, n, pivot, b, n_column);
    }
}

WIDE void dense_multiply(const double *a, size_t n, const double *x, double *y, size_t n_column)
{
    memset(y, 0, n * n_column * sizeof(double));
    for (size_t k = 0; k < n_column; k++)
        for (size_t j = 0; j < n; j++) {
            const double *restrict column = a + j * n;
            double *restrict out = y + k * n, factor_j = x[j + k * n];
            for (size_t i = 0; i < n; i++)
                out[i] += column[i] * factor_j;
        }
}

/* P A = L U, so A^T x = b is U^T L^T (P x) = b. */
WIDE void dense_solve_transposed(const double *a, size_t n, const int *pivot, double *b)
{
    for (size_t k = 0; k < n; k++)
        b[k] = (b[k] - dense_dot(a + k * n, b, k)) * a[k + k * n];
    for (size_t k = n; k-- > 0;)
        b[k] -= dense_dot(a + k * n + k + 1, b + k + 1, n - k - 1);
    for (size_t k = n; k-- > 0;) {
        double head = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = head;
    }
}

WIDE void dense_multiply_transposed(const double *a, size_t m, size_t n, const double *x, double *y)
{
    for (size_t j = 0; j < n; j++)
        y[j] = dense_dot(a + j * m, x, m);
}
