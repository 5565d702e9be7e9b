/* Constrained optima against SciPy's L-BFGS-B, computed while the test runs (tests/e2e/fit_bounded_oracle.py).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit_case.h"

enum { ROWS = 12 };

static const char *const models[] = {"decay-above", "two-decays", "rosenbrock"};

static const struct {
    int model;
    bool log;
    double start[4], lower[4], upper[4];
} problems[] = {
    {0, true, {1, 1, 1}, {0, 0.1, 0.4}, {INFINITY, 5, 2}},
    {0, true, {1, 1, 0.1}, {0, 0.1, 0.05}, {2.5, 5, 2}},
    {0, false, {1, 1, 0}, {0, 0.1, 0.05}, {2.5, 5, 0.1 + 0.2}},
    {0, false, {5, 0.2, 1}, {4, 0.1, -INFINITY}, {INFINITY, 0.3, INFINITY}},
    {0, true, {1, 1, 1}, {0, 0.1, 0}, {INFINITY, 5, INFINITY}},
    {1, true, {1, 3, 1, 0.1}, {0.1, 1, 0.1, 0.01}, {1.5, 10, 10, 0.25}},
    {1, true, {1, 3, 1, 0.1}, {0.1, 2.5, 0.1, 0.01}, {10, 10, 10, 1}},
    {1, false, {1, 3, 1, 0.1}, {0.1, 1, 0.1, 0.35}, {10, 10, 10, 0.9}},
    {2, false, {-1.2, 1}, {-2, -INFINITY}, {0.5, INFINITY}},
    {2, false, {-1.2, 1}, {-2, 0.7}, {0.8, 2}},
    {2, false, {0.2, 3}, {-2, 1.5}, {3, 5}},
    {2, false, {-1.2, 1}, {-INFINITY, -INFINITY}, {INFINITY, INFINITY}},
};

static struct fit_case *make(size_t k)
{
    struct fit_case *self = case_new(test_model(models[problems[k].model]), problems[k].model == 2 ? 2 : ROWS);
    for (size_t i = 0; i < self->task.n_row; i++) {
        double t = self->time[i] = 0.5 * (double)i, wave = sin(5 * (double)i);
        self->value[i] = problems[k].model == 0   ? 3 * exp(-0.7 * t) + 0.2 + 0.1 * wave
                         : problems[k].model == 1 ? 2 * exp(-2 * t) + exp(-0.3 * t) + 0.05 * wave
                                                  : 0;
    }
    for (size_t j = 0; j < self->problem.n_parameter; j++) {
        self->start[j] = problems[k].start[j];
        self->lower[j] = problems[k].lower[j];
        self->upper[j] = problems[k].upper[j];
        self->scale[j] = problems[k].log ? SCALE_LOG : SCALE_LIN;
    }
    return self;
}

static void compare(size_t k, FILE *oracle)
{
    struct fit_case *self = make(k);
    size_t n = 0;
    double f;
    assert_int_equal(fscanf(oracle, "%zu %lf", &n, &f), 2);
    assert_int_equal(n, self->problem.n_parameter);
    /* Where the residuals stay large, Gauss-Newton's steps converge linearly: what f_tolerance leaves of the objective is
     * its square root in the parameters. */
    self->options.f_tolerance = 1e-12;
    const struct fit_record *result = case_run(self);
    printf("problem %2zu: %2d evaluations, objective %.10g, SciPy %.10g\n", k, (int)result->n_evaluation,
           result->objective, f);
    assert_int_equal(result->outcome, OUTCOME_converged);
    /* SciPy stops at 1e-9 or better; the last term is for Rosenbrock's optimum of 0 */
    assert_true(fabs(result->objective - f) <= 2e-9 * f + 1e-15);
    for (size_t j = 0; j < n; j++) {
        double p, *bound = NULL;
        assert_int_equal(fscanf(oracle, "%lf", &p), 1);
        /* SciPy's number went through exp(log()): within rounding of the bound */
        if (fabs(p - self->lower[j]) <= 1e-14 * fabs(p))
            bound = &self->lower[j];
        if (fabs(p - self->upper[j]) <= 1e-14 * fabs(p))
            bound = &self->upper[j];
        if (bound)
            assert_true(result->parameter[j] == *bound);
        assert_int_equal(result->at_bound[j], bound == &self->lower[j] ? -1 : bound == &self->upper[j] ? 1 : 0);
        /* sqrt(1e-12) deviations, which are under a third of the values, ten times */
        assert_true(fabs(result->parameter[j] - p) <= 1e-5 * fabs(p) + 1e-8);
    }
    case_free(self);
}

static void test_scipy(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import scipy.optimize' 2>/dev/null")) {
        print_message("no SciPy for /usr/bin/python3: skipped\n");
        skip();
    }
    FILE *oracle = popen("/usr/bin/python3 tests/e2e/fit_bounded_oracle.py", "r");
    assert_non_null(oracle);
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
        compare(k, oracle);
    assert_int_equal(pclose(oracle), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scipy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
