/* Priors: log-densities from PEtab's test suite (cases 0024, truncated at 0 and 10, and 0025 of version 2), which come from
 * SciPy; slopes against differences.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fit/objective/prior.h"

/* At x = 5. The ends are those of the untruncated case. */
static const struct known {
    struct fit_prior prior;
    double lower, upper, whole, truncated;
} known[] = {
    {{PRIOR_NORMAL, false, 4, 2}, -INFINITY, INFINITY, -1.73708571376462, -1.71269052620973},
    {{PRIOR_LOG_NORMAL, false, 5, 2}, 0, INFINITY, -4.65851253490362, -2.23619159741645},
    {{PRIOR_CAUCHY, false, 3, 5}, -INFINITY, INFINITY, -2.90258780340177, -2.15728237835358},
    {{PRIOR_CHI_SQUARE, false, 4, 1}, 0, INFINITY, -2.27685644868579, -2.23558885282238},
    {{PRIOR_EXPONENTIAL, false, 0, 3}, 0, INFINITY, -2.76527895533478, -2.72895309496787},
    {{PRIOR_GAMMA, false, 3, 5}, 0, INFINITY, -3.30258509299405, -2.17348344324312},
    {{PRIOR_LAPLACE, false, 3, 5}, -INFINITY, INFINITY, -2.70258509299405, -2.19557833470717},
    {{PRIOR_LOG_LAPLACE, false, 3, 5}, 0, INFINITY, -4.19013542294133, -3.35750526098019},
    {{PRIOR_RAYLEIGH, false, 0, 3}, 0, INFINITY, -1.97667555379101, -1.9728021416671},
    {{PRIOR_LOG_UNIFORM, false, 0, 1}, 3, 5, -0.93771092034198, NAN},
    {{PRIOR_UNIFORM, false, 0, 1}, 2, 8, -1.79175946922805, NAN},
};
enum { N = sizeof known / sizeof *known };

static double log_density(const struct known *it, double lower, double upper)
{
    double f = it->prior.kind == PRIOR_UNIFORM ? 0 : fit_prior_at(&it->prior, 5, 5, 1, CURVATURE_ABOVE).f;
    double x = it->prior.kind == PRIOR_LOG_LAPLACE ? log(5) : 5, r = fabs(x - it->prior.location) / it->prior.scale;
    double rounding = fit_prior_has_kink(&it->prior) ? hypot(r, LOSS_KINK) - r : 0;
    return rounding - f - fit_prior_constant(&it->prior, lower, upper);
}

static void has_the_suite_s_log_densities(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        double whole = log_density(&known[i], known[i].lower, known[i].upper), truncated = log_density(&known[i], 0, 10);
        print_message("%d: %.15g %.15g\n", (int)known[i].prior.kind, whole, truncated);
        assert_true(fabs(whole - known[i].whole) < 2e-14); /* the suite gives 14 decimals */
        assert_true(isnan(known[i].truncated) || fabs(truncated - known[i].truncated) < 1e-13);
    }
}

/* On a logarithmic scale, where dp/dtheta = p, and on a linear one. */
static void has_the_slopes_of_its_values(void **state)
{
    (void)state;
    const double h = 1e-6;
    for (int i = 0; i < N; i++)
        for (int is_log = 0; is_log < 2; is_log++) {
            const struct fit_prior *prior = &known[i].prior;
            double theta = is_log ? log(2.5) : 2.5, value[2];
            for (int k = 0; k < 2; k++) {
                double at = theta + (k ? h : -h);
                value[k] = fit_prior_at(prior, at, is_log ? exp(at) : at, 1, CURVATURE_ABOVE).f;
            }
            for (int c = CURVATURE_ABOVE; c <= CURVATURE_EXPECTED; c++) {
                struct prior_terms terms = fit_prior_at(prior, theta, 2.5, is_log ? 2.5 : 1, (enum fit_curvature)c);
                double slope = (value[1] - value[0]) / (2 * h), error = terms.row * terms.rhs - slope;
                assert_true(fabs(error) < 1e-7 * (1 + fabs(slope))); /* h^2 and rounding / h */
                assert_true(terms.row > 0 || prior->kind == PRIOR_UNIFORM);
            }
        }
}

static void is_not_finite_where_there_is_no_density(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        enum prior_kind kind = known[i].prior.kind;
        bool positive = kind != PRIOR_NORMAL && kind != PRIOR_CAUCHY && kind != PRIOR_LAPLACE && kind != PRIOR_UNIFORM;
        assert_int_equal(!isfinite(fit_prior_at(&known[i].prior, -1, -1, 1, CURVATURE_ABOVE).f), positive);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(has_the_suite_s_log_densities),
                                       cmocka_unit_test(has_the_slopes_of_its_values),
                                       cmocka_unit_test(is_not_finite_where_there_is_no_density)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
