/* States that a step carries through zero although the equations do not: elimination by Michaelis and Menten, whose time is
 * known in closed form, K log(y/y0) + y - y0 = -V t; beside it states that do fall below zero.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

static const struct ode_options usual = ODE_OPTIONS_DEFAULT;
static const double times[] = {0.2, 0.6, 0.9, 1.5, 3};
enum { N_TIME = sizeof times / sizeof *times };

/* How long y takes from y0 down to it. */
static double time_of(const double *p, double y) { return (p[2] - y - p[1] * log(y / p[2])) / p[0]; }

static void test_pole(void **state)
{
    (void)state;
    static const double michaelis[] = {1, 1e-2, 1e-4, 1e-6, 1e-7, 1e-9, 1e-16, 1e-25, 1e-36, 1e-300}, units[] = {1, 1e-12, 1e8};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (size_t k = 0; k < sizeof michaelis / sizeof *michaelis; k++)
            for (int plain = 0; plain < 2; plain++) {
                double p[3] = {units[u], michaelis[k] * units[u], units[u]};
                struct ode_case c;
                const struct stiffit_model elimination = without_derivatives(test_model("elimination"));
                ode_case_init(&c, &elimination, &usual, 1, p, NULL, 0, N_TIME, times);
                if (plain)
                    c.evaluation.n_sens = 0;
                engine_evaluate(c.engine, &c.evaluation);
                if (c.evaluation.outcome == EVALUATION_OK) {
                    for (size_t i = 0; i < N_TIME; i++) {
                        double y = c.prediction[i];
                        /* what is left after t = y0/V is below its tolerance, 1e-13 of y0, and some steps of errors */
                        if (times[i] < 1 || k == 0)
                            assert_close(time_of(p, y), times[i], 1e-5, "time", k, i);
                        else
                            assert_close(y / units[u], 0, 0.02, "rest", k, i);
                    }
                } else {
                    assert_int_equal(c.evaluation.outcome, EVALUATION_ODE_FAILED);
                    assert_true(c.evaluation.reason[0] != 0);
                }
                assert_true(c.evaluation.outcome == EVALUATION_OK || michaelis[k] < (plain ? 1e-9 : 1e-7));
                assert_true(c.evaluation.outcome != EVALUATION_OK || michaelis[k] > 1e-30);
                ode_case_fini(&c);
            }
}

/* swing: y = cos(w t) is below zero half of the time. push: y = 1 - 3 erf-like step. */
static void test_below(void **state)
{
    (void)state;
    const struct stiffit_model swing = without_derivatives(test_model("swing"));
    const struct stiffit_model push = without_derivatives(test_model("push"));
    static const double rtols[] = {1e-2, 3e-4, 1e-7};
    for (size_t k = 0; k < sizeof rtols / sizeof *rtols; k++) {
        struct ode_options options = usual;
        options.rtol = rtols[k];
        struct ode_case c;
        double p[3] = {40, 1, 0};
        ode_case_init(&c, &swing, &options, 1, p, NULL, 0, N_TIME, times);
        ode_case_run(&c);
        assert_int_equal(c.evaluation.outcome, EVALUATION_OK);
        ode_case_fini(&c);
        p[0] = 5;
        ode_case_init(&c, &push, &options, 1, p, NULL, 0, N_TIME, times);
        ode_case_run(&c);
        assert_int_equal(c.evaluation.outcome, EVALUATION_OK);
        assert_close(c.prediction[N_TIME - 1], -1, 300 * rtols[k], "pushed", k, 0); /* -erf(10) - erf(5) + 1 */
        ode_case_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pole), cmocka_unit_test(test_below)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
