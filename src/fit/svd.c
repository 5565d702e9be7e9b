/* QR by Householder's reflections and the singular values of the small rest by Jacobi's rotations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/svd.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_SWEEP = 40 };

/* Scaled, so that nothing overflows or vanishes on the way. */
static double norm(size_t n, const double *x)
{
    double largest = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    if (!(largest > 0) || !isfinite(largest))
        return largest;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] / largest) * (x[i] / largest);
    return largest * sqrt(sum);
}

/* Four sums side by side, because one would wait for itself. */
static double dot(size_t n, const double *x, const double *y)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t lane = 0; lane < 4; lane++)
            sum[lane] += x[i + lane] * y[i + lane];
    for (; i < n; i++)
        sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void reflect(size_t n, const double *v, double factor, double *x)
{
    double sum = factor * dot(n, v, x);
    for (size_t i = 0; i < n; i++)
        x[i] -= sum * v[i];
}

double svd_triangle(size_t m, size_t n, double *a, double *b, double *r, double *q)
{
    memset(r, 0, n * n * sizeof *r);
    memset(q, 0, n * sizeof *q);
    for (size_t j = 0; j < n && j < m; j++) {
        double *v = a + j * m + j, length = norm(m - j, v), head = v[0];
        if (length > 0) {
            /* v scaled to a unit vector first: squares of tiny columns would vanish. */
            double pivot = head > 0 ? -length : length;
            for (size_t i = 0; i < m - j; i++)
                v[i] /= length;
            double first = v[0];
            v[0] -= pivot / length;
            /* |v|^2 = 2 (1 + |first|) */
            double factor = 1 / (1 + fabs(first));
            for (size_t k = j + 1; k < n; k++)
                reflect(m - j, v, factor, a + k * m + j);
            reflect(m - j, v, factor, b + j);
            r[j + j * n] = pivot;
        }
        for (size_t k = j + 1; k < n; k++)
            r[j + k * n] = a[j + k * m];
        q[j] = b[j];
    }
    double rest = 0;
    for (size_t i = n; i < m; i++)
        rest += b[i] * b[i];
    return rest;
}

static void rotate(size_t n, double *x, double *y, double c, double s)
{
    for (size_t i = 0; i < n; i++) {
        double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
}

/* Makes columns i and j orthogonal; true if they were not. */
static bool orthogonalise(size_t m, size_t n, double *a, double *v, size_t i, size_t j)
{
    double *x = a + i * m, *y = a + j * m;
    double alpha = dot(m, x, x), beta = dot(m, y, y), gamma = dot(m, x, y);
    if (!(fabs(gamma) > DBL_EPSILON * sqrt(alpha) * sqrt(beta)))
        return false;
    double zeta = (beta - alpha) / (2 * gamma);
    double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta)), c = 1 / sqrt(1 + t * t), s = c * t;
    rotate(m, x, y, c, s);
    rotate(n, v + i * n, v + j * n, c, s);
    return true;
}

static void swap_columns(size_t n, double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double old = x[i];
        x[i] = y[i];
        y[i] = old;
    }
}

static void sort_columns(size_t m, size_t n, double *a, double *s, double *v)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (s[j] > s[largest])
                largest = j;
        if (largest == i)
            continue;
        swap_columns(1, &s[i], &s[largest]);
        swap_columns(m, a + i * m, a + largest * m);
        swap_columns(n, v + i * n, v + largest * n);
    }
}

void svd_jacobi(size_t m, size_t n, double *a, double *s, double *v)
{
    memset(v, 0, n * n * sizeof *v);
    for (size_t j = 0; j < n; j++)
        v[j + j * n] = 1;
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < MAX_SWEEP; sweep++) {
        rotated = false;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t j = i + 1; j < n; j++)
                rotated |= orthogonalise(m, n, a, v, i, j);
    }
    for (size_t j = 0; j < n; j++)
        s[j] = norm(m, a + j * m);
    sort_columns(m, n, a, s, v);
}
