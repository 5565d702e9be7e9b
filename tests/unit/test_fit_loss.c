/* Losses against differences and integrals, and the tails of censored measurements against mpmath.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/objective/loss.h"
#include "fit/objective/prior.h"

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
        struct censored_terms terms = fit_loss_censored(table[i][0], INFINITY);
        /* exp(-z^2/2) at z = 30 has a condition of 450, the sum z + h at z = -4 one of 19: some 100 roundings each */
        assert_true(is_near(terms.loss, table[i][1], 1e-13));
        assert_true(is_near(terms.hazard, table[i][2], 1e-13));
        assert_true(is_near(terms.curvature, table[i][3], 1e-13));
    }
    struct censored_terms sure = fit_loss_censored(1e5, INFINITY);
    assert_true(sure.loss == 0 && sure.hazard == 0 && sure.curvature == 0);
}

/* mpmath, 400 digits, of z and a width: -log P = -log(Phi(z) - Phi(z - width)) and its derivatives, named as in the struct. */
static void test_interval_table(void **state)
{
    static const double table[][9] = {
        {-1000000.0, 1e-06, 500000000015.19312, 1000000.000000418, 0.99999999999992067,
         -1000000.0, -0.58197670686910938, -3.386968873383611e-7, 0.9206735942079046},
        {-1000000.0, 1e-09, 500000000021.6427, 1000000.0000000005, 1.0,
         -1000000.0, -0.99950008333333194, -4.9983333333888892e-10, 0.99999991666667083},
        {-300.0, 0.01, 45006.673796933557, 300.00280935406712, 0.99999440306117126,
         -300.0, -0.15718029045456257, -0.0011302278162858223, 0.49626223310011382},
        {-40.0, 0.02, 805.20448948859808, 40.008680369905277, 0.99996770775038975,
         -40.0, -0.65267756271763303, -0.0073880685810892338, 0.94839112207422329},
        {-12.0, 1e-12, 100.54995964913922, 12.0000000000005, 1.0, -12.0, -0.999999999994, -4.9999999999799999e-13, 1.0},
        {-12.0, 0.1, 75.763424322442962, 12.040196366082874, 0.99922407584300071,
         -12.0, -0.51525193500224062, -0.030813938095964645, 0.88893939787626438},
        {-4.0, 0.5, 10.473583157636277, 4.1680795895783142, 0.98323135698692035,
         -4.0, -0.28266225024084916, -0.093821370110659919, 0.71588801075313104},
        {-4.0, 30.0, 10.360101486527291, 4.2256071444894711, 0.95332716160257737,
         -4.0, -3.5905062580738075e-246, -1.0690514387805862e-244, 3.6623163832352836e-243},
        {-0.5, 2.5, 1.1802965106326771, 1.1316649249513497, 0.75090096568492433,
         -0.5, -0.036067925795455209, -0.067386970847900957, 0.27181033873710053},
        {0.5, 1.0, 0.95991633369562232, 0.0, 0.9194108453991883,
         0.5, -0.9194108453991883, -0.45970542269959415, 1.3050217253372443},
        {0.5, 1e-08, 19.464619274657038, -0.499999995, 0.99999999999999999,
         0.49999999, -0.99999999750000002, 4.9999999916666668e-9, 1.0},
        {1.25, 2.0, 0.40388205087032923, -0.17745138198386969, 0.71165803998811177,
         -0.75, -0.54708051053222427, 0.58677044551489617, 1.6669983613347598},
        {1.5, 2.5, 0.25548914412237306, -0.14518744715252617, 0.58431499384261063,
         -1.0, -0.41804815187941688, 0.56637688386092124, 1.7424448268376093},
        {2.0, 40.0, 0.023012909328963488, 0.055247862678989959, 0.11354805168857645,
         2.0, -4.4910563321740369e-313, -1.7041201935908984e-311, 6.8264056249045361e-310},
        {6.0, 12.5, 1.0267476514033947e-9, 5.8089271943113026e-9, 3.8190508971491217e-8,
         6.0, -3.3369457718797661e-9, -2.1690147497834405e-8, 2.7112684397636621e-7},
        {7.0, 3.0, 10.360101526936586, -4.2256070268200867, 0.95332750310053271,
         4.0, -8.6526958673969615e-7, 2.4005978613569005e-6, 1.8170662070225077e-5},
        {40.25, 0.25, 804.60848574485686, -40.024957920957957, 0.99938006127680923,
         40.0, -0.00044032513996974402, 9.9091684953269607e-5, 0.0044309656071744386},
        {300.0, 0.0625, 44987.874476900463, -299.9408339533558, 0.99998888502725228,
         299.9375, -1.3512705472714545e-7, 7.9949336228796734e-9, 2.5336322943932981e-6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double *expected = &table[i][2];
        struct censored_terms terms = fit_loss_censored(table[i][0], table[i][1]);
        const double found[] = {terms.loss, terms.hazard, terms.curvature, terms.about, terms.spread, terms.mixed,
                                terms.spread_curvature};
        for (int k = 0; k < 7; k++) {
            /* The last three are differences of numbers up to 1, or of lengths up to the interval's: relative to these. */
            double size = k == 1 ? fmax(fabs(expected[k]), 0.1) : k < 4 ? fabs(expected[k]) : k == 5 ? fmin(table[i][1], 1) : 1;
            if (!(fabs(found[k] - expected[k]) <= 1e-13 * size))
                fail_msg("z = %g, width %g, %d: %.17g, not %.17g", table[i][0], table[i][1], k, found[k], expected[k]);
        }
    }
}

/* A narrow interval is a density times its width, a wide one a limit, and neither overflows. */
static void test_interval_limits(void **state)
{
    (void)state;
    for (double z = -20.3; z < 20; z += 0.7) {
        struct censored_terms narrow = fit_loss_censored(z, 1e-9), wide = fit_loss_censored(z, 1e3),
                              limit = fit_loss_censored(z, INFINITY);
        /* the middle is half a width away: z^2/2 changes by z width/2 */
        assert_true(fabs(narrow.loss - (0.5 * z * z + 0.5 * log(2 * acos(-1)) + log(1e9))) < 1.1e-8);
        assert_true(fabs(narrow.hazard + z) < 1e-9 && fabs(narrow.curvature - 1) < 1e-9);
        assert_true(is_near(wide.loss, limit.loss, 1e-13) && is_near(wide.hazard, limit.hazard, 1e-13));
        assert_true(is_near(wide.curvature, limit.curvature, 1e-12) && fabs(wide.spread) + fabs(wide.mixed) < 1e-15);
    }
    for (int k = 0; k < 2; k++) {
        struct censored_terms far = fit_loss_censored(k ? 1e150 : -1e150, 1);
        assert_true(isfinite(far.loss) && isfinite(far.hazard) && isfinite(far.curvature) && isfinite(far.spread_curvature));
    }
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
            double above = fit_loss_root(&loss, CURVATURE_ABOVE, weight);
            double kinks = fit_loss_root(&loss, CURVATURE_KINKS, weight);
            /* the differences' own error, next to slopes of 1 */
            assert_true(fabs(slope - (is_laplace ? kinks * kinks : fit_loss_second(&loss, r))) < 1e-7 + 1e-5 * fabs(slope));
            assert_true(is_near(above * above, weight, 1e-14) && weight > slope - 1e-8 * fabs(slope) - 1e-9);
            if (error == ERROR_HUBER) /* continuous, where the second derivative jumps from 1 to 0 */
                assert_true(is_near(kinks * kinks, fmin(1, pow(loss.tuning / fabs(r), 3)), 1e-14));
            assert_true(is_laplace || error == ERROR_HUBER || kinks == above);
            loss.location_information = 0.49;
            assert_true(fit_loss_root(&loss, CURVATURE_EXPECTED, weight) == 0.7);
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
        cmocka_unit_test(test_censored_table), cmocka_unit_test(test_interval_table),
        cmocka_unit_test(test_interval_limits), cmocka_unit_test(test_slopes), cmocka_unit_test(test_constants),
        cmocka_unit_test(test_table), cmocka_unit_test(test_quantiles), cmocka_unit_test(test_priors),
        cmocka_unit_test(test_curvatures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
