/* Losses against differences and integrals, and the tails of censored measurements against mpmath.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/loss.h"
#include "fit/prior.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool is_near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

/* mpmath, 60 digits: -log Phi(z), phi(z)/Phi(z), and the latter times (z + the latter). */
static void test_censored_table(void **state)
{
    static const double table[][4] = {
        {-1000000.0, 500000000014.734449, 1000000.000001, 0.999999999999},
        {-300.0, 45006.6227321186634, 300.003333259263374, 0.99998888962956105},
        {-40.0, 804.608442013753788, 40.0249688472072637, 0.999377331621408611},
        {-12.0, 75.4106730015687959, 12.0822141752542843, 0.993329273664154136},
        {-6.0, 20.7367689499747057, 6.15848260454459892, 0.976012363210833229},
        {-4.001, 10.3643275703383382, 4.22656048057765945, 0.953345013189638749},
        {-4.0, 10.3601014865272908, 4.22560714448947107, 0.953327161602577369},
        {-3.9, 9.94230439169135632, 4.13036532090811214, 0.951492932618735222},
        {-2.0, 3.78318433368203195, 2.37321553282284087, 0.885720899585918743},
        {-0.5, 1.17591176159361861, 1.14107777036806448, 0.731519592844121054},
        {0.0, 0.693147180559945309, 0.797884560802865356, 0.636619772367581343},
        {0.5, 0.368946415288656393, 0.509160433837033486, 0.513824564303632897},
        {2.0, 0.0230129093289634885, 0.0552478626789899591, 0.11354805168857645},
        {6.0, 9.86587645524375732e-10, 6.07588285581767645e-9, 3.64552971718224111e-8},
        {12.0, 1.776482112077679e-33, 2.14638373566306035e-32, 2.57566048279567241e-31},
        {30.0, 4.90671392714818706e-198, 1.47364613487854752e-196, 4.42093840463564256e-195},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct censored_terms terms = fit_loss_censored(table[i][0]);
        /* exp(-z^2/2) at z = 30 has a condition of 450, the sum z + h at z = -4 one of 19: some 100 roundings each */
        assert_true(is_near(terms.loss, table[i][1], 1e-13));
        assert_true(is_near(terms.hazard, table[i][2], 1e-13));
        assert_true(is_near(terms.curvature, table[i][3], 1e-13));
    }
    struct censored_terms sure = fit_loss_censored(1e5);
    assert_true(sure.loss == 0 && sure.hazard == 0 && sure.curvature == 0);
}

/* Of every distribution, and of two more tuning constants. */
static const struct fit_loss *all_losses(size_t *n)
{
    static struct fit_loss loss[N_ERROR + 2];
    static const double more[N_ERROR] = {[ERROR_HUBER] = 0.3, [ERROR_STUDENT] = 1};
    for (int error = 0; error < N_ERROR; error++)
        loss[error] = fit_loss_of((enum error_kind)error, NULL);
    loss[N_ERROR] = fit_loss_of(ERROR_HUBER, more);
    loss[N_ERROR + 1] = fit_loss_of(ERROR_STUDENT, more);
    *n = N_ERROR + 2;
    return loss;
}

static void test_slopes(void **state)
{
    size_t n;
    const struct fit_loss *loss = all_losses(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (double r = -20.03; r < 20; r += 0.37) {
            double h = 1e-5;
            double slope = (fit_loss_at(&loss[i], r + h).rho - fit_loss_at(&loss[i], r - h).rho) / (2 * h);
            struct loss_terms terms = fit_loss_at(&loss[i], r);
            /* rounding 1e-16 * 200 / h, and h^2 against a rounded kink */
            assert_true(fabs(terms.weight * r - slope) < 1e-7 * (1 + fabs(slope)));
            assert_true(terms.weight > 0 && terms.rho >= 0);
        }
}

/* The constants are integrals over the density exp(-rho) / Z: r = sinh(u) reaches 1e13, and the trapezoidal rule is exact there
 * but for Huber's corners (step^2) and what rounding Laplace's kink changes (its width squared). */
static void test_constants(void **state)
{
    size_t n;
    const struct fit_loss *loss = all_losses(&n);
    (void)state;
    for (size_t i = 0; i < n; i++) {
        double mass = 0, location = 0, scale = 0, mean = 0, step = 1e-4;
        for (long k = -300000; k <= 300000; k++) {
            double u = (double)k * step, r = sinh(u);
            struct loss_terms terms = fit_loss_at(&loss[i], r);
            double weight = step * cosh(u) * exp(-terms.rho), slope = terms.weight * r;
            mass += weight;
            location += weight * slope * slope;
            scale += weight * (1 - slope * r) * (1 - slope * r);
            mean += weight * slope * r;
        }
        double tolerance = loss[i].has_kink ? 2e-2 : 1e-7;
        assert_true(fabs(log(mass) - loss[i].log_constant) < (loss[i].has_kink ? 5e-4 : 1e-7));
        assert_true(is_near(loss[i].location_information, location / mass, tolerance));
        assert_true(is_near(loss[i].scale_information, scale / mass, tolerance));
        /* so that a sum of rho' r is expected to be the number of rows */
        assert_true(is_near(mean / mass, 1, tolerance));
    }
}

/* Second derivatives are differences of slopes; those that stand for them from above never are less. */
static void test_curvatures(void **state)
{
    (void)state;
    for (int error = 0; error < N_ERROR; error++)
        for (double r = -3.01; r < 3; r += 0.07) {
            struct fit_loss loss = fit_loss_of((enum error_kind)error, NULL);
            bool is_laplace = loss.has_kink;
            double h = 1e-6, weight = fit_loss_at(&loss, r).weight;
            double slope = (fit_loss_at(&loss, r + h).weight * (r + h) - fit_loss_at(&loss, r - h).weight * (r - h)) / (2 * h);
            double above = fit_loss_root(CURVATURE_ABOVE, is_laplace ? LOSS_KINK : 0, weight, NAN);
            double kinks = fit_loss_root(CURVATURE_KINKS, is_laplace ? LOSS_KINK : 0, weight, NAN);
            /* the differences' own error, next to slopes of 1 */
            assert_true(fabs(slope - (is_laplace ? kinks * kinks : fit_loss_second(&loss, r))) < 1e-7 + 1e-5 * fabs(slope));
            assert_true(is_near(above * above, weight, 1e-14) && weight > slope - 1e-8 * fabs(slope) - 1e-9);
            assert_true(is_laplace || kinks == above);
            assert_true(fit_loss_root(CURVATURE_EXPECTED, is_laplace ? LOSS_KINK : 0, weight, 0.49) == 0.7);
        }
}

/* The table's words stand in its literals in their order, and what it says of growth is what the functions do. */
static void test_table(void **state)
{
    char words[200] = "";
    (void)state;
    for (int error = 0; error < N_ERROR; error++) {
        struct fit_loss loss = fit_loss_of((enum error_kind)error, NULL);
        double once = fit_loss_at(&loss, 5).rho, twice = fit_loss_at(&loss, 10).rho;
        bool is_square = is_near(twice, 4 * once, 1e-14), is_linear = is_near(twice, 2 * once, 1e-5); /* the rounded kink */
        assert_int_equal(error_row[error].growth, is_square ? GROWTH_SQUARE : is_linear ? GROWTH_LINEAR : GROWTH_OTHER);
        assert_int_equal(error_kind_of(error_kind_word[error]), error);
        assert_int_equal(error_kind_of(error_kind_text_word[error]), error);
        snprintf(words + strlen(words), 40, "%s%s", error ? ", " : "", error_kind_word[error]);
    }
    assert_string_equal(words, ERROR_WORDS);
}

/* The quantile's slope is one over the density. */
static void test_quantiles(void **state)
{
    size_t n;
    const struct fit_loss *loss = all_losses(&n);
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (double u = 0.013; u < 1; u += 0.0371) {
            double h = 1e-6, r = fit_loss_quantile(&loss[i], u);
            double slope = (fit_loss_quantile(&loss[i], u + h) - fit_loss_quantile(&loss[i], u - h)) / (2 * h);
            /* the rounded kink is higher than |r| by at most its width, which is 1e-2 */
            double tolerance = loss[i].has_kink ? 2e-2 : 1e-6;
            assert_true(is_near(slope, exp(fit_loss_at(&loss[i], r).rho + loss[i].log_constant), tolerance));
        }
}

/* -log of SciPy's densities, differences of which are free of the constant; slopes by differences. */
static void test_priors(void **state)
{
    const struct fit_prior normal = {PRIOR_NORMAL, false, 2, 0.5}, lognormal = {PRIOR_LOG_NORMAL, false, 0.7, 0.4};
    const struct fit_prior laplace = {PRIOR_LAPLACE, true, -1, 0.3};
    (void)state;
    /* scipy.stats.norm(2, 0.5), lognorm(0.4, scale=exp(0.7)), laplace(-1, 0.3): logpdf(3) - logpdf(1.2) and so on */
    double p3 = fit_prior_at(&normal, log(3), 3, 3, CURVATURE_ABOVE).f;
    double p1 = fit_prior_at(&normal, log(1.2), 1.2, 1.2, CURVATURE_ABOVE).f;
    assert_true(is_near(p3 - p1, 2 - 1.28, 1e-14));
    p3 = fit_prior_at(&lognormal, log(3), 3, 3, CURVATURE_ABOVE).f;
    p1 = fit_prior_at(&lognormal, log(1.2), 1.2, 1.2, CURVATURE_ABOVE).f;
    double d3 = log(3) - 0.7, d1 = log(1.2) - 0.7;
    assert_true(is_near(p3 - p1, log(3 / 1.2) + (d3 * d3 - d1 * d1) / 0.32, 1e-13));
    p3 = fit_prior_at(&laplace, 0.5, NAN, NAN, CURVATURE_ABOVE).f;
    p1 = fit_prior_at(&laplace, -1.3, NAN, NAN, CURVATURE_ABOVE).f;
    assert_true(fabs(p3 - p1 - 4) < 1e-4); /* the kink's width squared, over 2 |r| */
    assert_true(isnan(fit_prior_at(&lognormal, 0, -1, 1, CURVATURE_ABOVE).f));
    for (int k = 0; k < 3; k++) {
        const struct fit_prior *prior = k == 0 ? &normal : k == 1 ? &lognormal : &laplace;
        double theta = 0.4, h = 1e-5;
        double up = fit_prior_at(prior, theta + h, exp(theta + h), 0, CURVATURE_ABOVE).f;
        double down = fit_prior_at(prior, theta - h, exp(theta - h), 0, CURVATURE_ABOVE).f;
        struct prior_terms terms = fit_prior_at(prior, theta, exp(theta), exp(theta), CURVATURE_ABOVE);
        assert_true(fabs(terms.row * terms.rhs - (up - down) / (2 * h)) < 1e-8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_censored_table), cmocka_unit_test(test_slopes), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_table), cmocka_unit_test(test_quantiles), cmocka_unit_test(test_priors),
        cmocka_unit_test(test_curvatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
