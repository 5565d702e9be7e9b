/* Objective, gradient and Gauss-Newton matrix against differences and formulas written out another way.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/objective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 9, N = 3 };

struct sample {
    double value[ROWS], sigma[ROWS], prediction[ROWS], noise[ROWS], d_prediction[ROWS * N], d_noise[ROWS * N], chain[N];
    double weight[ROWS], residual[ROWS];
    struct fit_objective objective;
};

/* Predictions and noise at x (three parameters), smooth and nonlinear; chain belongs to p = exp(x), exp(x), x. */
static void fill(struct sample *s, const double *x, bool likelihood)
{
    double p[N] = {exp(x[0]), exp(x[1]), x[2]};
    for (int i = 0; i < ROWS; i++) {
        double t = 0.3 * i, e = exp(-p[1] * t);
        s->prediction[i] = p[0] * e + p[2] * t;
        s->d_prediction[i] = e;
        s->d_prediction[i + ROWS] = -p[0] * t * e;
        s->d_prediction[i + 2 * ROWS] = t;
        s->noise[i] = 0.1 + 0.2 * p[0] * e;
        s->d_noise[i] = 0.2 * e;
        s->d_noise[i + ROWS] = -0.2 * p[0] * t * e;
        s->d_noise[i + 2 * ROWS] = 0;
        s->value[i] = 2 * exp(-0.7 * t) + 0.3 * t + 0.2 * random_normal(1, 2, (uint64_t)i);
        s->sigma[i] = i % 3 ? NAN : 0.15;
    }
    s->chain[0] = p[0];
    s->chain[1] = p[1];
    s->chain[2] = 1;
    s->objective = (struct fit_objective){ROWS, s->value, s->sigma, likelihood};
}

static struct fit_answer answer_of(struct sample *s, bool likelihood)
{
    return (struct fit_answer){N, s->prediction, s->d_prediction, likelihood ? s->noise : NULL,
                               likelihood ? s->d_noise : NULL, s->chain, s->weight, s->residual};
}

static double value_at(const double *x, bool likelihood)
{
    struct sample s;
    fill(&s, x, likelihood);
    struct fit_answer answer = answer_of(&s, likelihood);
    return fit_objective_value(&s.objective, &answer);
}

static void test_value(void **state)
{
    (void)state;
    const double x[N] = {0.4, -0.2, 0.5};
    struct sample s;
    fill(&s, x, true);
    double squares = 0, minus_log_density = 0;
    for (int i = 0; i < ROWS; i++) {
        double sigma = i % 3 ? 1 : 0.15, r = (s.prediction[i] - s.value[i]) / sigma;
        squares += r * r;
        double noise = i % 3 ? s.noise[i] : 0.15, z = (s.value[i] - s.prediction[i]) / noise;
        minus_log_density -= log(exp(-z * z / 2) / sqrt(2 * acos(-1) * noise * noise));
    }
    assert_true(fabs(value_at(x, false) - squares / 2) < 1e-12 * squares);
    assert_true(fabs(value_at(x, true) - minus_log_density) < 1e-12 * (1 + fabs(minus_log_density)));
}

/* Central differences with two steps, extrapolated: h^4 = 1e-12 against rounding of 1e-16 / h = 1e-13. */
static double difference(const double *x, int j, bool likelihood)
{
    double slope[2];
    for (int k = 0; k < 2; k++) {
        double up[N], down[N], h = k ? 5e-4 : 1e-3;
        memcpy(up, x, sizeof up);
        memcpy(down, x, sizeof down);
        up[j] += h;
        down[j] -= h;
        slope[k] = (value_at(up, likelihood) - value_at(down, likelihood)) / (2 * h);
    }
    return (4 * slope[1] - slope[0]) / 3;
}

static void test_gradient(void **state)
{
    (void)state;
    for (int likelihood = 0; likelihood < 2; likelihood++)
        for (uint64_t trial = 0; trial < 20; trial++) {
            double x[N], gradient[N];
            for (uint64_t j = 0; j < N; j++)
                x[j] = 0.5 * random_normal(3, trial, j);
            struct sample s;
            fill(&s, x, likelihood);
            struct fit_answer answer = answer_of(&s, likelihood);
            fit_objective_value(&s.objective, &answer);
            fit_objective_gradient(&s.objective, &answer, gradient);
            for (int j = 0; j < N; j++) {
                double expected = difference(x, j, likelihood);
                assert_true(fabs(gradient[j] - expected) < 1e-8 * (1 + fabs(expected) + value_at(x, likelihood)));
            }
        }
}

/* Fisher's information is the covariance of the gradient over data drawn from the model. */
static void test_curvature(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    const double x[N] = {0.4, -0.2, 0.5};
    struct sample s;
    double matrix[N * N], covariance[N * N] = {0}, gradient[N];
    fill(&s, x, true);
    struct fit_answer answer = answer_of(&s, true);
    fit_objective_value(&s.objective, &answer);
    fit_objective_curvature(&s.objective, &answer, matrix);
    for (uint64_t d = 0; d < DRAWS; d++) {
        for (uint64_t i = 0; i < ROWS; i++)
            s.value[i] = s.prediction[i] + (i % 3 ? s.noise[i] : 0.15) * random_normal(5, d, i);
        fit_objective_value(&s.objective, &answer);
        fit_objective_gradient(&s.objective, &answer, gradient);
        for (int k = 0; k < N * N; k++)
            covariance[k] += gradient[k % N] * gradient[k / N] / DRAWS;
    }
    for (int k = 0; k < N * N; k++) {
        /* products of two gradients scatter by about twice their size: five standard errors */
        double size = sqrt(matrix[k % N * (N + 1)] * matrix[k / N * (N + 1)]);
        assert_true(fabs(covariance[k] - matrix[k]) < 5 * 2 * size / sqrt(DRAWS));
    }
    /* without noise model: J'J, here written row by row */
    fill(&s, x, false);
    answer = answer_of(&s, false);
    fit_objective_value(&s.objective, &answer);
    fit_objective_curvature(&s.objective, &answer, matrix);
    for (int k = 0; k < N * N; k++) {
        double sum = 0;
        for (int i = 0; i < ROWS; i++) {
            double sigma = i % 3 ? 1 : 0.15;
            sum += s.d_prediction[i + k % N * ROWS] * s.chain[k % N] * s.d_prediction[i + k / N * ROWS] * s.chain[k / N]
                 / (sigma * sigma);
        }
        assert_true(fabs(matrix[k] - sum) < 1e-12 * fabs(sum) + 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value), cmocka_unit_test(test_gradient), cmocka_unit_test(test_curvature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
