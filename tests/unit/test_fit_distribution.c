/* Quantiles and distribution functions against mpmath at 30 digits: incomplete beta and gamma functions, where those give up
 * (a million degrees of freedom) the integral of the density, and bisection for the quantile. No library's own quantiles:
 * SciPy 1.10's t.ppf is good to 1e-9 only.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "fit/objective/distribution.h"

/* What distribution.h promises. */
static const double PROMISED = 1e-9;

struct known {
    double p, a, b, quantile;
};

static const struct known normal[] = {
    {1e-6, 0, 0, -4.75342430882289895}, {0.001, 0, 0, -3.09023230616781354}, {0.025, 0, 0, -1.95996398454005424},
    {0.3, 0, 0, -5.24400512708040784e-1}, {0.5, 0, 0, 0.0}, {0.9, 0, 0, 1.28155156554460047},
    {0.95, 0, 0, 1.64485362695147271}, {0.975, 0, 0, 1.95996398454005424}, {0.995, 0, 0, 2.57582930354890076},
    {0.999999, 0, 0, 4.75342430882289895},
};

static const struct known student[] = {
    {1e-6, 1, 0, -3.18309886182743474e+5}, {0.025, 1, 0, -1.27062047361747046e+1}, {0.9, 1, 0, 3.07768353717525340},
    {0.975, 1, 0, 1.27062047361747046e+1}, {0.995, 1, 0, 6.36567411628715810e+1},
    {0.999999, 1, 0, 3.18309886182743474e+5}, {1e-6, 2, 0, -7.07105720525933803e+2},
    {0.025, 2, 0, -4.30265272974946385}, {0.9, 2, 0, 1.88561808316412673}, {0.975, 2, 0, 4.30265272974946385},
    {0.995, 2, 0, 9.92484320091829311}, {0.999999, 2, 0, 7.07105720525933803e+2},
    {1e-6, 3, 0, -1.03299467780419343e+2}, {0.025, 3, 0, -3.18244630528370959}, {0.9, 3, 0, 1.63774435369621011},
    {0.975, 3, 0, 3.18244630528370959}, {0.995, 3, 0, 5.84090930973335726}, {0.999999, 3, 0, 1.03299467780419343e+2},
    {1e-6, 7.5, 0, -1.30521697598153028e+1}, {0.025, 7.5, 0, -2.33303962686497461},
    {0.9, 7.5, 0, 1.40521184641595292}, {0.975, 7.5, 0, 2.33303962686497461}, {0.995, 7.5, 0, 3.42142268812404438},
    {0.999999, 7.5, 0, 1.30521697598153028e+1}, {1e-6, 30, 0, -5.87111712041888265},
    {0.025, 30, 0, -2.04227245630123831}, {0.9, 30, 0, 1.31041502539139558}, {0.975, 30, 0, 2.04227245630123831},
    {0.995, 30, 0, 2.74999565356722533}, {0.999999, 30, 0, 5.87111712041888265},
    {1e-6, 1000, 0, -4.78160862045835056}, {0.025, 1000, 0, -1.96233908082640849},
    {0.9, 1000, 0, 1.28239872146092444}, {0.975, 1000, 0, 1.96233908082640849}, {0.995, 1000, 0, 2.58075469806595108},
    {0.999999, 1000, 0, 4.78160862045835056}, {1e-6, 1e6, 0, -4.75345234827968080},
    {0.025, 1e6, 0, -1.95996635681410704}, {0.9, 1e6, 0, 1.28155241212993848}, {0.975, 1e6, 0, 1.95996635681410704},
    {0.995, 1e6, 0, 2.57583422010533415}, {0.999999, 1e6, 0, 4.75345234827968080},
};

static const struct known fisher[] = {
    {1e-6, 1, 1, 2.46740110027639837e-12}, {0.05, 1, 1, 6.19395865710819400e-3}, {0.5, 1, 1, 1.00000000000000000},
    {0.95, 1, 1, 1.61447638797588496e+2}, {0.99, 1, 1, 4.05218069547682912e+3},
    {0.999999, 1, 1, 4.05284734568684419e+11}, {1e-6, 1, 35, 1.59339423170527705e-12},
    {0.05, 1, 35, 3.98893558251665068e-3}, {0.5, 1, 35, 4.64529592483498253e-1}, {0.95, 1, 35, 4.12133820034490053},
    {0.99, 1, 35, 7.41911688780124006}, {0.999999, 1, 35, 3.49840618420364587e+1},
    {1e-6, 2, 9, 1.00000061111156379e-6}, {0.05, 2, 9, 5.15867418432651687e-2}, {0.5, 2, 9, 7.49380678092524614e-1},
    {0.95, 2, 9, 4.25649472909374900}, {0.99, 2, 9, 8.02151730993206069}, {0.999999, 2, 9, 9.24495610514347675e+1},
    {1e-6, 5, 35, 2.47530310063854522e-3}, {0.05, 5, 35, 2.23337298100782045e-1},
    {0.5, 5, 35, 8.87312192991833577e-1}, {0.95, 5, 35, 2.48514322137300799}, {0.99, 5, 35, 3.59191355895147616},
    {0.999999, 5, 35, 1.17857614812949857e+1}, {1e-6, 10, 4, 1.85969882936317704e-2},
    {0.05, 10, 4, 2.87517456307527040e-1}, {0.5, 10, 4, 1.11257336081126773}, {0.95, 10, 4, 5.96437055223803401},
    {0.99, 10, 4, 1.45459008033233811e+1}, {0.999999, 10, 4, 1.54825988459594007e+3},
    {1e-6, 60, 1000, 3.50670835730836030e-1}, {0.05, 60, 1000, 7.14575749036815942e-1},
    {0.5, 60, 1000, 9.89571326168977492e-1}, {0.95, 60, 1000, 1.33183797517921098},
    {0.99, 60, 1000, 1.49528541476368704}, {0.999999, 60, 1000, 2.19211170929650688},
    {1e-6, 3, 1000000, 8.06034554417820617e-5}, {0.05, 3, 1000000, 1.17282067908046654e-1},
    {0.5, 3, 1000000, 7.88658500101777657e-1}, {0.95, 3, 1000000, 2.60491817697615385},
    {0.99, 3, 1000000, 3.78164180363371263}, {0.999999, 3, 1000000, 1.02217681815604867e+1},
};

static const struct known chi_square[] = {
    {1e-6, 1, 0, 1.57079632679571909e-12}, {0.05, 1, 0, 3.93214000001952273e-3}, {0.5, 1, 0, 4.54936423119572752e-1},
    {0.95, 1, 0, 3.84145882069412596}, {0.99, 1, 0, 6.63489660102121514}, {0.999999, 1, 0, 2.39281269769348288e+1},
    {1e-6, 2, 0, 2.00000100000066667e-6}, {0.05, 2, 0, 1.02586588775101067e-1}, {0.5, 2, 0, 1.38629436111989062},
    {0.95, 2, 0, 5.99146454710798199}, {0.99, 2, 0, 9.21034037197618274}, {0.999999, 2, 0, 2.76310211159285482e+1},
    {1e-6, 5, 0, 1.28961602064970966e-2}, {0.05, 5, 0, 1.14547622606176925}, {0.5, 5, 0, 4.35146019109552732},
    {0.95, 5, 0, 1.10704976935163542e+1}, {0.99, 5, 0, 1.50862724693889901e+1},
    {0.999999, 5, 0, 3.58881868796728704e+1}, {1e-6, 33.5, 0, 7.70286528262457829},
    {0.05, 33.5, 0, 2.12650254722713858e+1}, {0.5, 33.5, 0, 3.28357435635167016e+1},
    {0.95, 33.5, 0, 4.80015092823238070e+1}, {0.99, 33.5, 0, 5.54187616121164199e+1},
    {0.999999, 33.5, 0, 8.75985194133675824e+1}, {1e-6, 100, 0, 4.65013307158931830e+1},
    {0.05, 100, 0, 7.79294651650172595e+1}, {0.5, 100, 0, 9.93341292359884558e+1},
    {0.95, 100, 0, 1.24342113404004082e+2}, {0.99, 100, 0, 1.35806723171026781e+2},
    {0.999999, 100, 0, 1.82126777119547577e+2}, {1e-6, 1e4, 0, 9.34210190723289160e+3},
    {0.05, 1e4, 0, 9.76852513566753677e+3}, {0.5, 1e4, 0, 9.99933334123514483e+3},
    {0.95, 1e4, 0, 1.02337488976779364e+4}, {0.99, 1e4, 0, 1.03319335779294486e+4},
    {0.999999, 1e4, 0, 1.06866898298668976e+4}, {1e-6, 1e6, 0, 9.93292033737391296e+5},
    {0.05, 1e6, 0, 9.97674963276473819e+5}, {0.5, 1e6, 0, 9.99999333333412346e+5},
    {0.95, 1e6, 0, 1.00232731078121906e+6}, {0.99, 1e6, 0, 1.00329289368641262e+6},
    {0.999999, 1e6, 0, 1.00673675963629056e+6},
};

static double normal_quantile(double p, double a, double b) { (void)a, (void)b; return distribution_normal_quantile(p); }
static double normal_value(double x, double a, double b) { (void)a, (void)b; return distribution_normal(x); }
static double t_quantile(double p, double a, double b) { (void)b; return distribution_t_quantile(p, a); }
static double t_value(double x, double a, double b) { (void)b; return distribution_t(x, a); }
static double chi_quantile(double p, double a, double b) { (void)b; return distribution_chi_square_quantile(p, a); }
static double chi_value(double x, double a, double b) { (void)b; return distribution_chi_square(x, a); }

typedef double function(double x, double a, double b);

static int n_off(const struct known *known, size_t n, function *quantile, function *value)
{
    int off = 0;
    for (size_t i = 0; i < n; i++) {
        const struct known *k = &known[i];
        double q = quantile(k->p, k->a, k->b), p = value(k->quantile, k->a, k->b);
        /* Upper tails are 1 minus something here: no more than their rounding errors can be asked of them. */
        double error = fabs(q - k->quantile) / fmax(fabs(k->quantile), 1e-300), error_p = fabs(p - k->p) / fmin(k->p, 1 - k->p);
        if (k->quantile == 0 ? q == 0 : error <= PROMISED)
            error = 0;
        if (error > 0 || !(error_p <= PROMISED)) {
            printf("p %g, %g and %g degrees: quantile %.17g, not %.17g; value off by %.1e\n", k->p, k->a, k->b, q, k->quantile,
                   error_p);
            off++;
        }
    }
    return off;
}

#define OFF(table, quantile, value) n_off(table, sizeof table / sizeof *table, quantile, value)

static void test_normal(void **state) { (void)state; assert_int_equal(OFF(normal, normal_quantile, normal_value), 0); }
static void test_student(void **state) { (void)state; assert_int_equal(OFF(student, t_quantile, t_value), 0); }
static void test_chi(void **state) { (void)state; assert_int_equal(OFF(chi_square, chi_quantile, chi_value), 0); }

static void test_fisher(void **state)
{
    (void)state;
    assert_int_equal(OFF(fisher, distribution_f_quantile, distribution_f), 0);
}

/* What follows from the definitions, to rounding: t of 1 degree is Cauchy's, chi-square of 2 degrees exponential, the
 * square of a t is an F, symmetry. */
static void test_relations(void **state)
{
    (void)state;
    for (int i = 1; i < 40; i++) {
        double p = i / 40.0, tail = fmin(p, 1 - p);
        double cauchy = p == 0.5 ? 0 : copysign(1 / tan(acos(-1) * tail), p - 0.5);
        assert_true(fabs(distribution_t_quantile(p, 1) - cauchy) <= 1e-12 * fabs(cauchy));
        assert_true(fabs(distribution_chi_square_quantile(p, 2) + 2 * log1p(-p)) <= -2e-11 * log1p(-p));
        assert_true(fabs(distribution_normal_quantile(p) + distribution_normal_quantile(1 - p)) < 1e-14);
        double t = distribution_t_quantile(0.5 + 0.5 * p, 7), f = distribution_f_quantile(p, 1, 7);
        assert_true(fabs(t * t - f) <= 1e-11 * f);
        assert_true(fabs(distribution_t(-1.3, i) + distribution_t(1.3, i) - 1) < 1e-14);
    }
}

static void test_borders(void **state)
{
    (void)state;
    assert_true(distribution_normal_quantile(0) == -INFINITY && distribution_normal_quantile(1) == INFINITY);
    assert_true(distribution_t_quantile(0, 3) == -INFINITY && distribution_t_quantile(1, 3) == INFINITY);
    assert_true(distribution_f_quantile(0, 3, 4) == 0 && distribution_f_quantile(1, 3, 4) == INFINITY);
    assert_true(distribution_chi_square_quantile(0, 3) == 0 && distribution_chi_square_quantile(1, 3) == INFINITY);
    static const double wrong[] = {-0.1, 1.1, NAN};
    for (int i = 0; i < 3; i++) {
        assert_true(isnan(distribution_normal_quantile(wrong[i])) && isnan(distribution_t_quantile(wrong[i], 3)));
        assert_true(isnan(distribution_f_quantile(wrong[i], 3, 4)));
        assert_true(isnan(distribution_chi_square_quantile(wrong[i], 3)));
    }
    assert_true(distribution_normal(-INFINITY) == 0 && distribution_normal(INFINITY) == 1);
    assert_true(distribution_chi_square(0, 3) == 0 && distribution_chi_square(-1, 3) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal), cmocka_unit_test(test_student), cmocka_unit_test(test_fisher),
        cmocka_unit_test(test_chi), cmocka_unit_test(test_relations), cmocka_unit_test(test_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
