/* What is held while the estimates of a distribution change: parameters or random effects, of scores
 * and of hills. Data with a normal density of the parameters have a likelihood in closed form, and
 * points of a product rule are exact for the scores, which are of second order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fit/mixed/hills.h"
#include "fit/mixed/rule.h"
#include "fit/mixed/scores.h"
#include "fit/objective/matrix.h"

enum { R = 2, N_ENTRY = 3, N_SHARED = 1, S = R + N_SHARED, M = S + N_ENTRY };
static uint32_t row[N_ENTRY] = {0, 1, 1}, column[N_ENTRY] = {0, 0, 1}, random_of[R] = {0, 1};
static const double INFORMATION[R * R] = {2.5, 0.7, 0.7, 0.9}, DATUM[R] = {0.4, -1.1};
/* Two means, a shared value that moves the data of both parameters, and the factor. */
static const double THETA[M] = {0.2, -0.3, 0.5, 0.8, -0.4, 0.6};

static void near(double found, double right, double tolerance)
{
    if (!(fabs(found - right) <= tolerance))
        fail_msg("%.15g, not %.15g", found, right);
}

static void factor_of(const double *theta, double *factor)
{
    memset(factor, 0, R * R * sizeof *factor);
    for (size_t k = 0; k < N_ENTRY; k++)
        factor[row[k] + column[k] * R] = theta[S + k];
}

/* A (p - (datum - shared)), the slopes of -log density of the data at parameters p. */
static void slopes_at(const double *theta, const double *p, double *slope)
{
    slope[R] = 0;
    for (size_t a = 0; a < R; a++) {
        slope[a] = 0;
        for (size_t c = 0; c < R; c++)
            slope[a] += INFORMATION[a + c * R] * (p[c] - DATUM[c] + theta[R]);
        slope[R] += slope[a];
    }
}

/* -log likelihood but for constants: datum - shared is normal about the mean, with the covariance
 * A^-1 + L L'. */
static double value(const double *theta)
{
    double factor[R * R], c[R * R], off[R];
    double det = INFORMATION[0] * INFORMATION[3] - INFORMATION[1] * INFORMATION[2];
    factor_of(theta, factor);
    c[0] = INFORMATION[3] / det + factor[0] * factor[0];
    c[1] = c[2] = -INFORMATION[1] / det + factor[0] * factor[1];
    c[3] = INFORMATION[0] / det + factor[1] * factor[1] + factor[3] * factor[3];
    for (size_t a = 0; a < R; a++)
        off[a] = DATUM[a] - theta[R] - theta[a];
    double all = c[0] * c[3] - c[1] * c[2];
    double square = c[3] * off[0] * off[0] - 2 * c[1] * off[0] * off[1] + c[0] * off[1] * off[1];
    return 0.5 * square / all + 0.5 * log(all);
}

/* b is normal: H = I + L'AL, about H^-1 L'A (datum - shared - mean). */
static void posterior(const double *theta, double *mode, double *cholesky)
{
    double factor[R * R], h[R * R] = {0}, by[R * R] = {0};
    uint32_t index[R] = {0, 1};
    factor_of(theta, factor);
    for (size_t c = 0; c < R; c++) /* A L */
        for (size_t a = 0; a < R; a++)
            for (size_t e = 0; e < R; e++)
                by[a + c * R] += INFORMATION[a + e * R] * factor[e + c * R];
    for (size_t c = 0; c < R; c++) {
        mode[c] = 0;
        for (size_t d = 0; d < R; d++) {
            h[c + d * R] = c == d;
            for (size_t a = 0; a < R; a++)
                h[c + d * R] += factor[a + c * R] * by[a + d * R];
        }
        for (size_t a = 0; a < R; a++)
            mode[c] += by[a + c * R] * (DATUM[a] - theta[R] - theta[a]);
    }
    assert_true(matrix_factor(R, h, R, index, cholesky));
    matrix_solve_lower(R, cholesky, mode);
    matrix_solve_upper(R, cholesky, mode);
}

static void set_place(struct effects *local, const double *theta, const double *b)
{
    double p[R];
    memcpy(local->there.b, b, R * sizeof *b);
    for (size_t a = 0; a < R; a++) {
        p[a] = theta[a];
        for (size_t c = 0; c <= a; c++)
            p[a] += local->factor[a + c * R] * b[c];
    }
    slopes_at(theta, p, local->there.slope);
}

static void scores_are_slopes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rule rule;
    assert_true(rule_init(&rule, 1, &arena));
    const struct rule_level level = {.rule = &rule, .r = R, .level = 1};
    double factor[R * R], b[R], slope[S], mode[R], cholesky[R * R], t[R], score[M];
    factor_of(THETA, factor);
    posterior(THETA, mode, cholesky);
    struct effects local = {.arena = &arena, .r = R, .s = S, .m = M, .random = random_of,
                            .row = row, .column = column, .factor = factor,
                            .there = {.b = b, .slope = slope}};
    for (int mask = 0; mask < 4; mask++) {
        bool is_curve[R] = {mask & 1, (mask & 2) != 0};
        double mean[M] = {0};
        struct scores scores;
        assert_true(scores_init(&scores, &local, is_curve));
        for (size_t k = 0; k < rule_size(&level); k++) {
            double weight = exp(rule_point(&level, k, t));
            matrix_solve_upper(R, cholesky, t);
            for (size_t a = 0; a < R; a++)
                t[a] += mode[a];
            set_place(&local, THETA, t);
            scores_at(&scores, &local, score);
            for (size_t j = 0; j < M; j++)
                mean[j] += weight * score[j];
        }
        for (size_t j = 0; j < M; j++) {
            double theta[M], side[2], h = 1e-4;
            for (int i = 0; i < 2; i++) {
                memcpy(theta, THETA, sizeof theta);
                theta[j] += i ? h : -h;
                side[i] = value(theta);
            }
            /* differences are right to h^2 times third derivatives */
            near(-mean[j], (side[1] - side[0]) / (2 * h), 1e-6);
        }
    }
    arena_fini(&arena);
}

/* The covariance of the parameters on a hill, L H^-1 L'. */
static void covariance_of(const double *factor, const struct hill *hill, double *covariance)
{
    for (size_t a = 0; a < R; a++)
        for (size_t c = 0; c < R; c++) {
            double one[R], other[R];
            for (size_t e = 0; e < R; e++) {
                one[e] = factor[a + e * R];
                other[e] = factor[c + e * R];
            }
            matrix_solve_lower(R, hill->factor, one);
            matrix_solve_lower(R, hill->factor, other);
            covariance[a + c * R] = matrix_dot(R, one, other);
        }
}

static double mass_of(const struct hill *hill)
{
    return *hill->f + log(hill->factor[0]) + log(hill->factor[3]);
}

static void hills_stay_in_place(void **state)
{
    (void)state;
    const double mean[2][R] = {{0.2, -0.3}, {0.5, 0.1}};
    const double factor[2][R * R] = {{0.8, -0.4, 0, 0.6}, {0.5, 0.3, 0, 0.9}};
    const struct hills_frame from = {mean[0], factor[0]}, to = {mean[1], factor[1]};
    for (int mask = 0; mask < 4; mask++) {
        double numbers[7] = {1.7, 0.9, -0.5, 3, 0.8, 0, 2}, before[R * R], after[R * R], p[2][R];
        double scratch[3 * R * R];
        const bool stays[R] = {mask & 1, (mask & 2) != 0};
        struct hill hill = hills_at(R, numbers, 0);
        double mass = mass_of(&hill), b[R];
        covariance_of(factor[0], &hill, before);
        memcpy(b, hill.centre, sizeof b);
        assert_true(hills_move(R, &from, &to, stays, &hill, scratch));
        covariance_of(factor[1], &hill, after);
        for (int i = 0; i < 2; i++)
            for (size_t a = 0; a < R; a++) {
                const double *at = i ? hill.centre : b;
                p[i][a] = mean[i][a];
                for (size_t c = 0; c <= a; c++)
                    p[i][a] += factor[i][a + c * R] * at[c];
            }
        near(mass_of(&hill), mass, 1e-12);
        for (size_t a = 0; a < R; a++)
            if (stays[a])
                near(hill.centre[a], b[a], 1e-12);
            else
                near(p[1][a], p[0][a], 1e-12);
        for (size_t k = 0; k < R * R; k++)
            if (mask == 0)
                near(after[k], before[k], 1e-12);
    }
}

/* A lattice that is matched has the first two moments of standard normal variables. */
static void lattices_have_moments(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rule rule;
    assert_true(rule_init(&rule, 1, &arena));
    for (int narrow = 0; narrow < 2; narrow++) {
        const struct rule_level level = {.rule = &rule, .r = 5, .level = 0, .is_lattice = true,
                                         .is_narrow = narrow, .dataset = 3};
        double total = 0, first[5] = {0}, second[25] = {0}, t[5];
        struct rule_match match;
        assert_true(rule_match_init(&match, &level, &arena));
        for (size_t k = 0; k < rule_size(&level); k++) {
            double weight = exp(rule_matched_point(&level, &match, k, t));
            total += weight;
            for (size_t a = 0; a < 5; a++) {
                first[a] += weight * t[a];
                for (size_t c = 0; c < 5; c++)
                    second[c + a * 5] += weight * t[a] * t[c];
            }
        }
        near(total, 1, 1e-12);
        for (size_t k = 0; k < 25; k++)
            near(second[k], k % 6 == 0, 1e-12);
        for (size_t a = 0; a < 5; a++)
            near(first[a], 0, 1e-12);
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_slopes),
        cmocka_unit_test(hills_stay_in_place),
        cmocka_unit_test(lattices_have_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
