/* Observed information of a normal distribution behind data that say which of a few points its
 * variables are at, with what likelihoods: then the likelihood is a finite sum, whose second
 * derivatives differences give.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "fit/mixed/louis.h"

enum { R = 3, N_ENTRY = 4, N = R + N_ENTRY, N_POINT = 5 };
/* The last variable is independent of the others. */
static const uint32_t row[N_ENTRY] = {0, 1, 1, 2}, column[N_ENTRY] = {0, 0, 1, 2};
static const double POINT[N_POINT][R] = {
    {0.3, -0.2, 0.5}, {-1.1, 0.4, 0.2}, {0.8, 1.5, -0.7}, {0.1, -0.9, -1.2}, {1.4, 0.2, 0.9}};
static const double LIKELIHOOD[N_POINT] = {0.3, 1.2, 0.7, 0.4, 0.9};
static const double THETA[N] = {0.2, 0.1, -0.3, 0.9, 0.4, 1.2, 0.7};

static void factor_of(const double *theta, double *factor)
{
    for (size_t k = 0; k < R * R; k++)
        factor[k] = 0;
    for (size_t k = 0; k < N_ENTRY; k++)
        factor[row[k] + column[k] * R] = theta[R + k];
}

/* b = L^-1 (x - mean), and the density of point k times its likelihood. */
static double at(const double *theta, size_t k, double *b)
{
    double factor[R * R], squares = 0, determinant = 1;
    factor_of(theta, factor);
    for (size_t a = 0; a < R; a++) {
        double sum = POINT[k][a] - theta[a];
        for (size_t c = 0; c < a; c++)
            sum -= factor[a + c * R] * b[c];
        b[a] = sum / factor[a + a * R];
        squares += b[a] * b[a];
        determinant *= factor[a + a * R];
    }
    return LIKELIHOOD[k] * exp(-0.5 * squares) / determinant;
}

static double value(const double *theta)
{
    double sum = 0, b[R];
    for (size_t k = 0; k < N_POINT; k++)
        sum += at(theta, k, b);
    return -log(sum);
}

/* By central differences, extrapolated: errors of about 1e-8. */
static double second(size_t i, size_t j)
{
    double result[2];
    for (int fine = 0; fine < 2; fine++) {
        double h = fine ? 1e-3 : 2e-3, sum = 0;
        for (int k = 0; k < 4; k++) {
            double theta[N], si = k & 1 ? 1 : -1, sj = k & 2 ? 1 : -1;
            for (size_t l = 0; l < N; l++)
                theta[l] = THETA[l];
            theta[i] += si * h;
            theta[j] += sj * h;
            sum += si * sj * value(theta);
        }
        result[fine] = sum / (4 * h * h);
    }
    return (4 * result[1] - result[0]) / 3;
}

static void observed_information(void **state)
{
    (void)state;
    double inverse[R * R], factor[R * R], total = 0, first[R] = {0}, both[R * R] = {0},
        mean[N] = {0}, products[N][N] = {{0}};
    struct louis louis = {.r = R, .n_entry = N_ENTRY, .row = row, .column = column,
                          .inverse = inverse};
    factor_of(THETA, factor);
    louis_init(&louis, factor);
    for (size_t k = 0; k < N_POINT; k++) {
        double b[R], score[N], weight = at(THETA, k, b);
        louis_score(&louis, b, score);
        total += weight;
        for (size_t a = 0; a < R; a++) {
            first[a] += weight * b[a];
            for (size_t c = 0; c < R; c++)
                both[a + c * R] += weight * b[a] * b[c];
        }
        for (size_t i = 0; i < N; i++) {
            mean[i] += weight * score[i];
            for (size_t j = 0; j < N; j++)
                products[i][j] += weight * score[i] * score[j];
        }
    }
    for (size_t k = 0; k < R * R; k++)
        both[k] /= total;
    for (size_t k = 0; k < R; k++)
        first[k] /= total;
    for (size_t i = 0; i < N; i++) {
        double theta[N], h = 1e-5;
        for (size_t l = 0; l < N; l++)
            theta[l] = THETA[l];
        theta[i] += h;
        double above = value(theta);
        theta[i] -= 2 * h;
        /* Fisher's identity. */
        assert_true(fabs((above - value(theta)) / (2 * h) + mean[i] / total) < 1e-8);
        for (size_t j = 0; j < N; j++) {
            double found = louis_information(&louis, i, j, first, both) - products[i][j] / total
                           + mean[i] / total * mean[j] / total;
            assert_true(fabs(found - second(i, j)) < 1e-6);
        }
    }
}

/* A variable without variance leaves what is said of the others. */
static void zero_variance(void **state)
{
    (void)state;
    static const uint32_t entry[2] = {0, 1};
    double with[4] = {0}, alone[1], first[2] = {0.3, 0.1}, both[4] = {1.4, 0.2, 0.2, 1};
    struct louis two = {.r = 2, .n_entry = 2, .row = entry, .column = entry, .inverse = with};
    struct louis one = {.r = 1, .n_entry = 1, .row = entry, .column = entry, .inverse = alone};
    louis_init(&two, (double[]){0.5, 0, 0, 0});
    louis_init(&one, (double[]){0.5});
    double score_two[4], score_one[2];
    louis_score(&two, (double[]){0.7, -0.2}, score_two);
    louis_score(&one, (double[]){0.7}, score_one);
    assert_true(score_two[0] == score_one[0] && score_two[2] == score_one[1]);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            assert_true(louis_information(&two, 2 * i, 2 * j, first,
                                          both) == louis_information(&one, i, j, first, both));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(observed_information),
                                       cmocka_unit_test(zero_variance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
