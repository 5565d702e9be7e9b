/* The dense LU: the same code is compiled once for each small size, with unrolled loops, and
 * once for any size.
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

/* m <= 4 right-hand sides at once: each entry of the factors is read only once. */
INLINE void solve_few(const double *restrict a, size_t n, const int *restrict pivot,
                      double *restrict b, size_t m)
{
    double head[4];
    for (size_t k = 0; k < n; k++)
        for (size_t c = 0; c < m; c++) {
            double *swapped = b + c * n + pivot[k], value = *swapped;
            *swapped = b[k + c * n];
            b[k + c * n] = value;
        }
    for (size_t k = 0; k < n; k++) {
        for (size_t c = 0; c < m; c++)
            head[c] = b[k + c * n];
        for (size_t i = k + 1; i < n; i++)
            for (size_t c = 0; c < m; c++)
                b[i + c * n] -= a[i + k * n] * head[c];
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t c = 0; c < m; c++)
            head[c] = b[k + c * n] *= a[k + k * n];
        for (size_t i = 0; i < k; i++)
            for (size_t c = 0; c < m; c++)
                b[i + c * n] -= a[i + k * n] * head[c];
    }
}

INLINE void solve(const double *a, size_t n, const int *pivot, double *b, size_t n_column)
{
    for (; n_column >= 4; n_column -= 4, b += 4 * n)
        solve_few(a, n, pivot, b, 4);
    if (n_column == 3)
        solve_few(a, n, pivot, b, 3);
    else if (n_column == 2)
        solve_few(a, n, pivot, b, 2);
    else if (n_column == 1)
        solve_few(a, n, pivot, b, 1);
}

/* A separate function for each size, so that each unrolled copy is optimised by itself. */
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
