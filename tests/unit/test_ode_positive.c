/* States that a step carries through zero although the equations do not: elimination by Michaelis and Menten, whose time is
 * known in closed form, K log(y/y0) + y - y0 = -V t; beside it states that do fall below zero.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_case.h"

static const struct ode_options usual = ODE_OPTIONS_DEFAULT;
static const double times[] = {0.2, 0.6, 0.9, 1.5, 3};
enum { N_TIME = sizeof times / sizeof *times };

static int observe(const struct stiffit_point *at, double *h)
{
    h[0] = at->y[0];
    return 0;
}

static int elimination_rhs(const struct stiffit_point *at, double *f)
{
    f[0] = -at->p[0] * at->y[0] / (at->p[1] + at->y[0]);
    return 0;
}
static int elimination_initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[2];
    return 0;
}
static const char *const drug[] = {"drug"}, *const both[] = {"y", "v"};
static const struct stiffit_model elimination = {STIFFIT_MODEL_HEADER, .name = "elimination", .n_state = 1, .n_parameter = 3,
    .n_observable = 1, .state_name = drug, .rhs = elimination_rhs, .initial = elimination_initial,
    .observe = observe};

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

/* A swing: y = cos(w t), which is below zero half of the time. */
static int swing_rhs(const struct stiffit_point *at, double *f)
{
    f[0] = at->p[0] * at->y[1];
    f[1] = -at->p[0] * at->y[0];
    return 0;
}
static int swing_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    y[1] = 0;
    return 0;
}

/* Pushed down for a short while, with a slope of zero before and after: y = 1 - 3 erf-like step. */
static int push_rhs(const struct stiffit_point *at, double *f)
{
    double z = at->p[0] * (at->t - 1);
    f[0] = -2 * at->p[0] * exp(-z * z) / sqrt(M_PI);
    return 0;
}
static int push_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    return 0;
}

static void test_below(void **state)
{
    (void)state;
    static const struct stiffit_model swing = {STIFFIT_MODEL_HEADER, .name = "swing", .n_state = 2, .n_parameter = 1,
        .n_observable = 1, .state_name = both, .rhs = swing_rhs, .initial = swing_initial,
        .observe = observe};
    static const struct stiffit_model push = {STIFFIT_MODEL_HEADER, .name = "push", .n_state = 1, .n_parameter = 1,
        .n_observable = 1, .state_name = both, .rhs = push_rhs, .initial = push_initial, .observe = observe};
    static const double rtols[] = {1e-2, 3e-4, 1e-7};
    for (size_t k = 0; k < sizeof rtols / sizeof *rtols; k++) {
        struct ode_options options = usual;
        options.rtol = rtols[k];
        struct ode_case c;
        double p[1] = {40};
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
