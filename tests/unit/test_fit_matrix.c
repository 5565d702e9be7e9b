/* QR and singular values: against matrices whose factors are known beforehand, and by what defines them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "fit/objective/matrix.h"

enum { MOST = 40 };

static double element(uint64_t stream, uint64_t i)
{
    return random_normal(11, stream, i);
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Largest |A'A - R'R| over the products of the columns' norms: what Q' does not change. */
static double gram_error(size_t m, size_t n, const double *a, const double *r)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double size = sqrt(dot(m, a + i * m, a + i * m)) * sqrt(dot(m, a + j * m, a + j * m));
            if (size > 0)
                most = fmax(most, fabs(dot(m, a + i * m, a + j * m) - dot(n, r + i * n, r + j * n)) / size);
        }
    return most;
}

/* The first n_sparse rows are zero but for their last column. */
static void triangle_of(size_t m, size_t n, size_t n_sparse, double *rest_size)
{
    double *a = malloc(2 * m * n * sizeof *a), *keep = a + m * n, *b = malloc(2 * m * sizeof *b), *right = b + m;
    double *r = malloc((n + 1) * n * sizeof *r), *q = r + n * n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++)
            a[i + j * m] = keep[i + j * m] = i < n_sparse && j + 1 < n ? 0 : element(j, i);
    for (size_t i = 0; i < m; i++)
        b[i] = right[i] = element(999, i);
    double rest = matrix_triangle(m, n, a, b, r, q);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++)
            assert_true(r[i + j * n] == 0);
    /* Householder's error grows with m n, far below this */
    assert_true(gram_error(m, n, keep, r) < 1e-13);
    /* A'b = R'q, and |b|^2 = |q|^2 + rest */
    for (size_t j = 0; j < n; j++) {
        double by_hand = dot(m, keep + j * m, right);
        double size = sqrt(dot(m, keep + j * m, keep + j * m)) * sqrt(dot(m, right, right));
        assert_true(fabs(by_hand - dot(n, r + j * n, q)) <= 1e-13 * size);
    }
    assert_true(fabs(dot(m, right, right) - dot(n, q, q) - rest) <= 1e-13 * dot(m, right, right));
    *rest_size = rest;
    free(a);
    free(b);
    free(r);
}

/* The last ones have several blocks of rows, the last block with fewer rows than columns. */
static void test_triangle(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 0}, {5, 1, 0}, {7, 3, 0}, {12, 12, 0}, {40, 25, 0}, {3, 5, 0}, {1, 4, 0},
                                       {12, 5, 7}, {20000, 7, 0}, {1000, 100, 0}, {1000, 100, 500}};
    double rest;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        triangle_of(shapes[k][0], shapes[k][1], shapes[k][2], &rest);
        assert_true(shapes[k][0] > shapes[k][1] ? rest > 0 : rest == 0);
    }
}

/* Columns of very different sizes: whole ones whose squares would vanish or overflow. The product of two such columns
 * cannot be looked at, so each is compared with itself: the norm of R's column is that of A's. */
static void test_triangle_scales(void **state)
{
    (void)state;
    enum { M = 9, N = 4 };
    static const double scale[N] = {1e-200, 1, 1e200, 0};
    double a[M * N], b[M] = {1}, r[N * N], q[N];
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < M; i++)
            a[i + j * M] = element(j, i) * scale[j];
    matrix_triangle(M, N, a, b, r, q);
    for (size_t j = 0; j < N; j++) {
        double column = 0, sum = 0;
        for (size_t i = 0; i < M; i++)
            column = hypot(column, element(j, i) * scale[j]);
        for (size_t i = 0; i < N; i++)
            sum = hypot(sum, r[i + j * N]);
        assert_true(fabs(sum - column) <= 1e-14 * column);
    }
    assert_true(r[3 + 3 * N] == 0);
    for (size_t i = 0; i < N; i++)
        assert_true(isfinite(q[i]));
}

/* A = U diag(s) V' from chosen s, U and V the Q of random matrices (by reflections that this test makes itself). */
static void random_orthogonal(size_t n, uint64_t stream, double *q)
{
    memset(q, 0, n * n * sizeof *q);
    for (size_t i = 0; i < n; i++)
        q[i + i * n] = 1;
    for (uint64_t k = 0; k < n; k++) {
        double v[MOST], size = 0;
        for (size_t i = 0; i < n; i++) {
            v[i] = element(stream + k, i);
            size += v[i] * v[i];
        }
        for (size_t j = 0; j < n; j++) {
            double sum = 2 / size * dot(n, v, q + j * n);
            for (size_t i = 0; i < n; i++)
                q[i + j * n] -= sum * v[i];
        }
    }
}

/* y = A x */
static void multiply(size_t m, size_t n, const double *a, const double *x, double *y)
{
    for (size_t i = 0; i < m; i++) {
        y[i] = 0;
        for (size_t j = 0; j < n; j++)
            y[i] += a[i + j * m] * x[j];
    }
}

static void known(size_t m, size_t n, const double *s, double tolerance)
{
    double u[MOST * MOST], v[MOST * MOST], a[MOST * MOST], keep[MOST * MOST], found[MOST], right[MOST * MOST];
    double b[MOST], side[MOST], image[MOST], other[MOST];
    random_orthogonal(m, 1000, u);
    random_orthogonal(n, 2000, v);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += u[i + k * m] * s[k] * v[j + k * n];
            a[i + j * m] = keep[i + j * m] = sum;
        }
    for (size_t i = 0; i < m; i++)
        b[i] = side[i] = element(98, i);
    matrix_singular(m, n, a, b, found, right);
    for (size_t k = 0; k < n; k++) {
        assert_true(fabs(found[k] - s[k]) <= tolerance * s[0]);
        assert_true(k == 0 || found[k] <= found[k - 1]);
    }
    /* Columns of AV = U diag(s) are at right angles and as long as s, and U'b is what b has along them; formed here, they
     * have errors of some roundings of A. */
    for (size_t i = 0; i < n; i++) {
        multiply(m, n, keep, right + i * n, image);
        assert_true(fabs(sqrt(dot(m, image, image)) - found[i]) <= tolerance * s[0]);
        assert_true(fabs(dot(m, image, side) - found[i] * b[i]) <= tolerance * s[0] * sqrt(dot(m, side, side)));
        for (size_t j = 0; j < n; j++) {
            assert_true(fabs(dot(n, right + i * n, right + j * n) - (i == j)) < 1e-13);
            multiply(m, n, keep, right + j * n, other);
            assert_true(i == j || fabs(dot(m, image, other)) <= tolerance * s[0] * s[0]);
        }
    }
}

static void test_singular_values(void **state)
{
    (void)state;
    static const double even[] = {4, 3, 2, 1}, same[] = {2, 2, 2}, wide[] = {1e8, 1, 1e-4, 1e-7};
    double many[30];
    for (int i = 0; i < 30; i++)
        many[i] = pow(10, -i / 3.0);
    /* errors of forming A in the test and of some hundred rotations, relative to the largest */
    known(4, 4, even, 1e-13);
    known(9, 4, even, 1e-13);
    known(3, 3, same, 1e-13);
    known(6, 4, wide, 1e-13);
    known(2, 1, even, 1e-13);
    known(30, 30, many, 1e-13);
}

/* Columns that differ in size only: one-sided Jacobi keeps the relative accuracy of the smallest singular value
 * (Demmel & Veselic 1992, Theorem 4.1). B = A D with A's singular values known; two columns, so that the values follow
 * from trace and determinant, both without cancellation here. */
static void test_relative_accuracy(void **state)
{
    (void)state;
    double a[] = {1, 1, 0, 1e-12, 0, 1e-12}, s[2], v[4];
    matrix_singular(3, 2, a, NULL, s, v);
    /* A'A = [2, 1e-12; 1e-12, 2e-24]: s1^2 = 2 + 0.5e-24 + ..., s1 s2 = sqrt(4e-24 - 1e-24) */
    assert_true(fabs(s[0] / sqrt(2.0) - 1) < 1e-15);
    assert_true(fabs(s[1] / (sqrt(3.0) * 1e-12 / sqrt(2.0)) - 1) < 4 * DBL_EPSILON);
}

static void test_rank(void **state)
{
    (void)state;
    /* Hilbert-like columns that depend on each other: the third is the sum of the others, the fourth zero. */
    double a[5 * 4], s[4], v[16];
    for (size_t i = 0; i < 5; i++) {
        a[i] = element(1, i);
        a[i + 5] = element(2, i);
        a[i + 10] = a[i] + a[i + 5];
        a[i + 15] = 0;
    }
    matrix_singular(5, 4, a, NULL, s, v);
    assert_true(s[1] > 1e-3 && s[2] < 1e-15 * s[0] * 4 && s[3] == 0);
    for (int i = 0; i < 16; i++)
        assert_true(isfinite(v[i]));
    double zero[6] = {0};
    matrix_singular(3, 2, zero, NULL, s, v);
    assert_true(s[0] == 0 && s[1] == 0 && v[0] == 1 && v[3] == 1);
}

/* The residual of the least-squares solution is at right angles to all columns; a column that others make up gets 0. */
static void test_least(void **state)
{
    enum { M = 9, N = 5 };
    (void)state;
    for (uint64_t trial = 0; trial < 40; trial++) {
        bool is_flat = trial % 2;
        double a[M * N], keep[M * N], b[M], right[M], image[M], r[N * N], place[N];
        for (size_t j = 0; j < N; j++)
            for (size_t i = 0; i < M; i++)
                a[i + j * M] = pow(1e3, (double)j) * element(900 + 7 * trial + (is_flat && j == 3 ? 1 : j), i);
        memcpy(keep, a, sizeof a);
        for (size_t i = 0; i < M; i++)
            b[i] = right[i] = element(77 + trial, i);
        matrix_least(M, N, a, b, r, place);
        multiply(M, N, keep, b, image);
        for (size_t i = 0; i < M; i++)
            image[i] -= right[i];
        double size = dot(M, right, right);
        for (size_t j = 0; j < N; j++) /* some roundings of sums of M terms */
            assert_true(fabs(dot(M, image, keep + j * M)) <= 1e-14 * sqrt(dot(M, keep + j * M, keep + j * M) * size));
        assert_true(dot(M, image, image) < size);
        assert_true(is_flat ? b[1] == 0 && b[3] != 0 : b[1] != 0);
    }
    double zero[6] = {0}, b[3] = {1, 2, 3}, r[4], place[2];
    matrix_least(3, 2, zero, b, r, place);
    assert_true(b[0] == 0 && b[1] == 0);
}

/* R X = I, and the limit against the singular values of R with columns of length 1. Columns and rows may have any size. */
static void test_inverse(void **state)
{
    enum { N = 6 };
    (void)state;
    for (uint64_t trial = 0; trial < 60; trial++) {
        double r[N * N] = {0}, x[N * N], unit[N * N], scale[N], s[N], v[N * N];
        double bend = pow(10, -(double)(trial % 6)); /* the last column is nearly one of the others */
        for (size_t j = 0; j < N; j++)
            for (size_t i = 0; i <= j; i++)
                r[i + j * N] = j < N - 1 ? element(500 + 7 * trial + j, i) + (i == j ? 2 : 0) : i < N - 1 ? r[i + N] : bend;
        for (size_t j = 0; j < N; j++) {
            scale[j] = sqrt(dot(N, r + j * N, r + j * N));
            double size = trial % 2 ? pow(1e50, (double)j - 3) : 1;
            for (size_t i = 0; i < N; i++) {
                unit[i + j * N] = r[i + j * N] / scale[j];
                r[i + j * N] *= size;
            }
            scale[j] *= size;
        }
        double least = matrix_invert(N, r, scale, x);
        matrix_singular(N, N, unit, NULL, s, v);
        /* products of N terms of size 1 in units of the columns' lengths, divided by the least singular value */
        for (size_t j = 0; j < N; j++)
            for (size_t i = 0; i < N; i++) {
                double sum = 0;
                for (size_t k = 0; k < N; k++)
                    sum += x[i + k * N] * scale[i] * (r[k + j * N] / scale[j]);
                assert_true(fabs(sum - (i == j)) < 1e-14 / s[N - 1]);
            }
        assert_true(least <= s[N - 1] * (1 + 1e-9) && least >= s[N - 1] / sqrt(N) * (1 - 1e-9));
        r[2 + 2 * N] = 0;
        assert_true(matrix_invert(N, r, scale, x) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle), cmocka_unit_test(test_triangle_scales), cmocka_unit_test(test_singular_values),
        cmocka_unit_test(test_relative_accuracy), cmocka_unit_test(test_rank),
        cmocka_unit_test(test_least), cmocka_unit_test(test_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
