/* Replicates and the intervals that are made of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

#include "fit/refits/bootstrap.h"
#include "fit/objective/distribution.h"

enum { N = 8, M = 20000 };

static const double deviation[N] = {1, -2, 0.5, 0.5, 0.1, -0.3, 0.1, 0.5};

/* Rows 0 to 3 are of one observable, 4 to 7 of the other. */
static struct fit_case *two_observables(double sigma)
{
    struct fit_case *self = case_new(test_model("mean-twice"), N);
    for (size_t i = 0; i < N; i++) {
        self->row_observable[i] = i >= N / 2;
        self->sigma[i] = sigma;
        self->value[i] = (i >= N / 2 ? 10 + self->time[i] : 1) + deviation[i];
    }
    return self;
}

static enum outcome draw(struct fit_case *self, enum bootstrap_kind kind, uint32_t replicate, double *value)
{
    struct fit_record record = {.n_evaluation = 0};
    arena_reset(&self->arena);
    enum outcome outcome = fit_bootstrap_values(&self->problem, &self->options, &self->host, &self->arena, kind, replicate,
                                                value, &record);
    assert_int_equal(record.n_evaluation, 1);
    assert_true(outcome == OUTCOME_converged || record.reason[0]);
    return outcome;
}

/* The mean and variance of row i over M replicates against those wanted: within 5 standard errors (kurtosis below 4). */
static void expect_moments(struct fit_case *self, enum bootstrap_kind kind, size_t i, double mean, double variance)
{
    double sum = 0, squares = 0, value[N], exact = i >= N / 2 ? 10 + self->time[i] : 1;
    for (uint32_t b = 0; b < M; b++) {
        assert_int_equal(draw(self, kind, b, value), OUTCOME_converged);
        sum += (value[i] - exact) / M;
        squares += pow(value[i] - exact, 2) / M;
    }
    assert_true(fabs(sum - mean) < 5 * sqrt(variance / M));
    assert_true(fabs(squares - variance) < 5 * variance * sqrt(3.0 / M));
}

static void residuals_are_centred_and_rescaled(void **state)
{
    (void)state;
    struct fit_case *self = two_observables(NAN);
    double squares = 0, centred[2] = {0}, mean[2] = {0};
    for (size_t i = 0; i < N; i++) {
        squares += deviation[i] * deviation[i];
        mean[i / 4] += deviation[i] / 4;
    }
    for (size_t i = 0; i < N; i++)
        centred[i / 4] += pow(deviation[i] - mean[i / 4], 2);
    double c2 = squares / (N - 1) * N / (centred[0] + centred[1]);
    expect_moments(self, BOOTSTRAP_AUTO, 1, 0, c2 * centred[0] / 4);
    expect_moments(self, BOOTSTRAP_RESIDUAL, 6, 0, c2 * centred[1] / 4);
    expect_moments(self, BOOTSTRAP_PARAMETRIC, 6, 0, squares / (N - 1));
    case_free(self);
    self = two_observables(0.2);
    expect_moments(self, BOOTSTRAP_AUTO, 3, 0, 0.04);
    case_free(self);
}

static void draws_are_pure_functions(void **state)
{
    (void)state;
    struct fit_case *self = two_observables(NAN);
    double first[N], again[N], other[N];
    draw(self, BOOTSTRAP_PARAMETRIC, 7, first);
    draw(self, BOOTSTRAP_PARAMETRIC, 8, other);
    draw(self, BOOTSTRAP_PARAMETRIC, 7, again);
    assert_memory_equal(first, again, sizeof first);
    for (size_t i = 0; i < N; i++)
        assert_true(first[i] != other[i]);
    self->problem.dataset = 1;
    draw(self, BOOTSTRAP_PARAMETRIC, 7, other);
    assert_true(first[0] != other[0]);
    case_free(self);
}

static bool fail_all(struct fit_case *self, struct evaluation *evaluation)
{
    (void)self;
    evaluation->outcome = EVALUATION_ODE_FAILED;
    return true;
}

static void failures(void **state)
{
    (void)state;
    double value[N];
    struct fit_case *self = two_observables(NAN);
    self->spoil = fail_all;
    assert_int_equal(draw(self, BOOTSTRAP_AUTO, 0, value), OUTCOME_ode_failed);
    self->spoil = NULL;
    self->task.n_row = self->task.n_time = 1;
    assert_int_equal(draw(self, BOOTSTRAP_AUTO, 0, value), OUTCOME_bad_data);
    case_free(self);
}

/* R: quantile(c(0.3, 1.2, 2.9, 3.1, 7.7), c(0.2, 0.35, 0.5, 0.8), type = 6) is 0.48, 1.37, 2.9, 6.78. */
static void quantiles_are_rs_type_6(void **state)
{
    (void)state;
    static const double x[5] = {0.3, 1.2, 2.9, 3.1, 7.7}, p[4] = {0.2, 0.35, 0.5, 0.8}, q[4] = {0.48, 1.37, 2.9, 6.78};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(fit_interval_quantile(x, 5, p[i]) - q[i]) < 1e-12);
    assert_true(isnan(fit_interval_quantile(x, 5, 0.1)) && isnan(fit_interval_quantile(x, 5, 0.9)));
    assert_true(isnan(fit_interval_quantile(x, 0, 0.5)));
    assert_true(fit_interval_quantile(x, 5, 1.0 / 6) == 0.3); /* (n + 1) p = 1 but for rounding */
}

/* 39 replicates with t = -19 ... 19, so that the outer ones are the limits. */
static void studentised_intervals(void **state)
{
    (void)state;
    double estimate[39], error[39], scratch[39];
    for (int b = 0; b < 39; b++) {
        error[b] = 0.5 + b;
        estimate[b] = 2 + (b - 19) * error[b];
    }
    struct fit_interval interval = fit_interval_studentised(2, 0.1, estimate, error, 39, 0.95, scratch);
    assert_true(fabs(interval.lower - (2 - 1.9)) < 1e-12 && fabs(interval.upper - (2 + 1.9)) < 1e-12);
    error[3] = NAN; /* 38 are too few for the tails */
    assert_true(isnan(fit_interval_studentised(2, 0.1, estimate, error, 39, 0.95, scratch).lower));
    interval = fit_interval_studentised(2, 0.1, estimate, error, 39, 0.5, scratch);
    assert_true(isfinite(interval.lower) && interval.lower < 2 && interval.upper > 2);
    error[5] = error[7] = error[9] = NAN; /* more than a tenth: no fair sample */
    assert_true(isnan(fit_interval_studentised(2, 0.1, estimate, error, 39, 0.5, scratch).lower));
    assert_true(isnan(fit_interval_studentised(2, NAN, estimate, error, 39, 0.5, scratch).lower));
    interval = fit_interval_percentile(estimate, 39, 0.95);
    assert_true(interval.lower == estimate[0] && interval.upper == estimate[38] && interval.lower < interval.upper);
    assert_true(fabs(fit_interval_deviation((const double[]){1, 2, 4}, 3) - sqrt(7.0 / 3)) < 1e-15);
    assert_true(isnan(fit_interval_deviation(estimate, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_centred_and_rescaled), cmocka_unit_test(draws_are_pure_functions),
        cmocka_unit_test(failures),                           cmocka_unit_test(quantiles_are_rs_type_6),
        cmocka_unit_test(studentised_intervals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
