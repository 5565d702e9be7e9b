/* QR by Householder reflections, singular values of its triangle by Jacobi rotations, and the
 * Cholesky factor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/matrix.h"

#include "ode/wide.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_SWEEP = 40 };

/* Updated squared lengths lose digits if they shrink by more than this; they are then
 * recomputed. */
static const double SHRUNK = 0.1;
/* Sums of squares in this range have lost nothing to underflow or overflow. */
static const double SQUARE_LEAST = 1e-200, SQUARE_MOST = 1e200;

/* The loops below are inlined into functions that are WIDE. */
#define INLINE static inline __attribute__((always_inline))

/* Eight sums side by side: the additions of a single one would wait for each other. */
INLINE double dot(size_t n, const double *x, const double *y)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sum[lane] += x[i + lane] * y[i + lane];
    for (; i < n; i++)
        sum[0] += x[i] * y[i];
    return n < 8
               ? sum[0]
               : ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

WIDE double matrix_squares(size_t n, const double *x) { return dot(n, x, x); }

WIDE double matrix_dot(size_t n, const double *x, const double *y) { return dot(n, x, y); }

WIDE double matrix_product(size_t n, const double *w, const double *x, const double *y)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t lane = 0; lane < 8; lane++)
            sum[lane] += w[i + lane] * x[i + lane] * y[i + lane];
    for (; i < n; i++)
        sum[0] += w[i] * x[i] * y[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* Scaled if the squares overflow or underflow. */
INLINE double norm(size_t n, const double *x)
{
    double largest = 0, sum = dot(n, x, x);
    if (sum > SQUARE_LEAST && sum < SQUARE_MOST)
        return sqrt(sum);
    for (size_t i = 0; i < n; i++)
        largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
    if (!(largest > 0) || !isfinite(largest))
        return largest;
    sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] / largest) * (x[i] / largest);
    return largest * sqrt(sum);
}

/* x -= factor v */
INLINE void subtract(size_t n, double factor, const double *v, double *x)
{
    EACH (size_t i = 0; i < n; i++)
        x[i] -= factor * v[i];
}

INLINE void rotate(size_t n, double c, double s, double *x, double *y)
{
    EACH (size_t i = 0; i < n; i++) {
        double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
}

INLINE void reflect(size_t n, const double *v, double factor, double *x)
{
    double product = dot(n, v, x);
    if (product != 0)
        subtract(n, factor * product, v, x);
}

/* The reflection that turns column v (n) into pivot times the first unit vector; returns the
 * pivot. v becomes the reflection's vector, *factor its weight: 0 for a column of zeros, which
 * stays as it is. */
INLINE double take_reflection(size_t n, double *v, double *factor)
{
    double length = norm(n, v), pivot = v[0] > 0 ? -length : length, scale = 1 / length;
    *factor = 0;
    if (!(length > 0))
        return 0;
    /* Scaled to a unit vector first: squares of tiny entries would underflow. */
    if (isfinite(scale))
        for (size_t i = 0; i < n; i++)
            v[i] *= scale;
    else
        for (size_t i = 0; i < n; i++)
            v[i] /= length;
    double first = v[0];
    v[0] -= pivot > 0 ? 1 : -1;
    *factor = 1 / (1 + fabs(first)); /* |v|^2 = 2 (1 + |first|) */
    return pivot;
}

INLINE bool is_zero(size_t n, const double *x)
{
    size_t i = 0;
    while (i < n && x[i] == 0)
        i++;
    return i == n;
}

/* Numbers of a block of rows: a few passes of it fit into a core's cache. */
enum { BLOCK_NUMBERS = 32768 };

/* A block of rows at a time, each on top of the triangle so far, whose row j is moved to the row
 * above the block, which is no longer needed. */
WIDE double matrix_triangle(size_t m, size_t n, double *a, double *b, double *r, double *q)
{
    size_t least = n ? BLOCK_NUMBERS / n : m, size = least > n ? least : n;
    double rest = 0;
    memset(r, 0, n * n * sizeof *r);
    memset(q, 0, n * sizeof *q);
    for (size_t first = 0, end; first < m; first = end) {
        end = m - first > size ? first + size : m;
        for (size_t j = 0; j < n && (first > 0 || j < m); j++) {
            size_t top = first > 0 ? first - 1 : j;
            double *v = a + j * m + top, factor;
            if (first > 0 && is_zero(end - first, v + 1))
                continue;
            for (size_t k = j; k < n && first > 0; k++)
                a[top + k * m] = r[j + k * n];
            b[top] = first > 0 ? q[j] : b[top];
            r[j + j * n] = take_reflection(end - top, v, &factor);
            if (factor > 0) {
                for (size_t k = j + 1; k < n; k++)
                    reflect(end - top, v, factor, a + k * m + top);
                reflect(end - top, v, factor, b + top);
            }
            for (size_t k = j + 1; k < n; k++)
                r[j + k * n] = a[top + k * m];
            q[j] = b[top];
        }
        size_t left = first > 0 ? first : n;
        rest += end > left ? dot(end - left, b + left, b + left) : 0;
    }
    return rest;
}

double matrix_invert(size_t n, const double *r, const double *scale, double *x)
{
    double sum = 0;
    memset(x, 0, n * n * sizeof *x);
    for (size_t k = 0; k < n; k++) {
        double *column = x + k * n;
        for (size_t j = k + 1; j-- > 0;) {
            const double *by = r + j * n;
            column[j] = j == k ? 1 / by[j] : column[j] * x[j + j * n];
            for (size_t i = 0; i < j; i++)
                column[i] -= column[j] * by[i];
            sum += scale[j] * column[j] * scale[j] * column[j];
        }
    }
    return sum < INFINITY ? 1 / sqrt(sum) : 0;
}

static void swap_columns(size_t n, double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double old = x[i];
        x[i] = y[i];
        y[i] = old;
    }
}

/* QR that always takes the longest remaining column next; x receives the transpose of R, `order`
 * the columns' numbers. */
WIDE static void pivoted_triangle(size_t m, size_t n, double *a, double *b, double *x,
                                  double *order)
{
    /* remaining lengths of the columns; x is not needed until the end */
    double *left = x + (n - 1) * n;
    for (size_t j = 0; j < n; j++) {
        order[j] = (double)j;
        left[j] = norm(m, a + j * m);
    }
    for (size_t j = 0; j < n; j++) {
        size_t longest = j;
        for (size_t k = j + 1; k < n; k++)
            longest = left[k] > left[longest] ? k : longest;
        if (longest != j) {
            swap_columns(m, a + j * m, a + longest * m);
            swap_columns(1, &order[j], &order[longest]);
            swap_columns(1, &left[j], &left[longest]);
        }
        double *v = a + j * m + j, factor;
        x[j + j * n] = take_reflection(m - j, v, &factor);
        for (size_t k = j + 1; k < n && factor > 0; k++) {
            double *rest = a + k * m + j;
            reflect(m - j, v, factor, rest);
            double part = rest[0] / left[k], square = 1 - part * part;
            left[k] = square > SHRUNK ? left[k] * sqrt(square) : norm(m - j - 1, rest + 1);
        }
        if (b && factor > 0)
            reflect(m - j, v, factor, b + j);
    }
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < n; k++)
            x[k + j * n] = k < j ? 0 : k == j ? x[k + j * n] : a[j + k * m];
}

/* Makes columns i and j of x orthogonal; `square` has their squared lengths. True: they were
 * not. Rotates b too. */
INLINE bool orthogonalise(size_t n, double *x, double *square, double *b, size_t i, size_t j)
{
    double *p = x + i * n, *q = x + j * n, gamma = dot(n, p, q);
    if (!(fabs(gamma) > DBL_EPSILON * sqrt((double)n) * sqrt(square[i]) *
                            sqrt(square[j]))) /* rounding of the sum */
        return false;
    double zeta = (square[j] - square[i]) / (2 * gamma);
    double root = fabs(zeta) < 1e100 ? sqrt(1 + zeta * zeta) : fabs(zeta);
    double t = copysign(1, zeta) / (fabs(zeta) + root), c = 1 / sqrt(1 + t * t), s = c * t;
    rotate(n, c, s, p, q);
    for (int side = 0; side < 2; side++) {
        double *of = &square[side ? j : i], now = *of + (side ? t : -t) * gamma;
        *of = now > SHRUNK * *of ? now : dot(n, side ? q : p, side ? q : p);
    }
    if (b) {
        double old = b[i];
        b[i] = c * old - s * b[j];
        b[j] = s * old + c * b[j];
    }
    return true;
}

static void sort_columns(size_t n, double *x, double *length, double *b)
{
    for (size_t i = 0; i + 1 < n; i++) {
        size_t largest = i;
        for (size_t j = i + 1; j < n; j++)
            if (length[j] > length[largest])
                largest = j;
        if (largest == i)
            continue;
        swap_columns(1, &length[i], &length[largest]);
        swap_columns(n, x + i * n, x + largest * n);
        if (b)
            swap_columns(1, &b[i], &b[largest]);
    }
}

/* Replaces the columns from `first` on by unit vectors orthogonal to all others. */
static void complete(size_t n, double *x, size_t first)
{
    size_t axis = 0;
    for (size_t j = first; j < n; j++)
        for (bool found = false; !found; axis++) {
            double *column = x + j * n;
            memset(column, 0, n * sizeof *column);
            column[axis % n] = 1;
            for (int twice = 0; twice < 2; twice++)
                for (size_t k = 0; k < j; k++)
                    subtract(n, dot(n, x + k * n, column), x + k * n, column);
            /* at least one of n axes keeps 1 / sqrt(n) of its length */
            double length = norm(n, column);
            found = axis + 1 >= n || length * length * (double)n > 0.5;
            for (size_t i = 0; i < n; i++)
                column[i] /= length;
        }
}

/* Rotates until the columns of x are orthogonal; `length` receives their lengths. */
WIDE static void rotate_columns(size_t n, double *x, double *length, double *b)
{
    bool rotated = true;
    for (int sweep = 0; rotated && sweep < MAX_SWEEP; sweep++) {
        rotated = false;
        for (size_t j = 0; j < n; j++)
            length[j] = dot(n, x + j * n, x + j * n);
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t j = i + 1; j < n; j++)
                rotated |= orthogonalise(n, x, length, b, i, j);
    }
    for (size_t j = 0; j < n; j++)
        length[j] = norm(n, x + j * n);
}

void matrix_singular(size_t m, size_t n, double *a, double *b, double *s, double *v)
{
    size_t rank = 0;
    double *order = s, *length = a, *row = a + n; /* a is no longer needed */
    pivoted_triangle(m, n, a, b, v, order);
    rotate_columns(n, v, length, b);
    sort_columns(n, v, length, b);
    for (; rank < n && length[rank] > 0; rank++)
        for (size_t i = 0; i < n; i++)
            v[i + rank * n] /= length[rank];
    complete(n, v, rank);
    for (size_t j = 0; j < n && n > 1; j++) {
        double *column = v + j * n;
        memcpy(row, column, n * sizeof *row);
        for (size_t i = 0; i < n; i++)
            column[(size_t)order[i]] = row[i];
    }
    memcpy(s, length, n * sizeof *s);
}

void matrix_least(size_t m, size_t n, double *a, double *b, double *r, double *order)
{
    double *x = a; /* no longer needed */
    pivoted_triangle(m, n, a, b, r, order);
    double least = n > 0 ? DBL_EPSILON * (double)n * fabs(r[0]) : 0;
    for (size_t j = n; j-- > 0;) {
        const double *row = r + j * n;
        double sum = b[j];
        for (size_t k = j + 1; k < n; k++)
            sum -= row[k] * x[k];
        x[j] = fabs(row[j]) > least ? sum / row[j] : 0;
    }
    for (size_t j = 0; j < n; j++)
        b[(size_t)order[j]] = x[j];
}

bool matrix_factor(size_t n, const double *matrix, size_t k, const uint32_t *index, double *factor)
{
    for (size_t j = 0; j < k; j++)
        for (size_t i = j; i < k; i++)
            factor[i + j * k] = matrix[index[i] + index[j] * n];
    for (size_t j = 0; j < k; j++) {
        double diagonal = factor[j + j * k];
        for (size_t l = 0; l < j; l++) {
            double a = factor[j + l * k];
            for (size_t i = j; i < k; i++)
                factor[i + j * k] -= factor[i + l * k] * a;
        }
        /* After j subtractions the diagonal has an error of about j * 1e-16 of its original
         * value. */
        if (!(factor[j + j * k] > 1e-15 * diagonal))
            return false;
        double root = sqrt(factor[j + j * k]);
        for (size_t i = j; i < k; i++)
            factor[i + j * k] /= root;
    }
    return true;
}

void matrix_solve_lower(size_t k, const double *factor, double *x)
{
    for (size_t j = 0; j < k; j++) {
        x[j] /= factor[j + j * k];
        for (size_t i = j + 1; i < k; i++)
            x[i] -= factor[i + j * k] * x[j];
    }
}

void matrix_solve_upper(size_t k, const double *factor, double *x)
{
    for (size_t j = k; j-- > 0;) {
        for (size_t i = j + 1; i < k; i++)
            x[j] -= factor[i + j * k] * x[i];
        x[j] /= factor[j + j * k];
    }
}

void matrix_inverse(size_t k, const double *factor, double *inverse)
{
    memset(inverse, 0, k * k * sizeof *inverse);
    for (size_t j = 0; j < k; j++) {
        inverse[j + j * k] = 1;
        matrix_solve_lower(k, factor, inverse + j * k);
        matrix_solve_upper(k, factor, inverse + j * k);
    }
}

void matrix_transpose(size_t n, double *matrix)
{
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < c; d++) {
            double other = matrix[c + d * n];
            matrix[c + d * n] = matrix[d + c * n];
            matrix[d + c * n] = other;
        }
}
