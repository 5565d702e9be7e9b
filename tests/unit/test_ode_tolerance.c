/* Tolerances that follow the states' sizes: units, states that start at zero or decay far, and evaluations without derivatives
 * beside those with. Answers are known in closed form, or come from models/NAME/reference.csv, which is independent.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_case.h"
#include "ode_case.h"

static const struct ode_options usual = ODE_OPTIONS_DEFAULT;

/* chain-of-decays: the last states start at 0: y0 = u exp(-k t), y1 = k t y0, y2 = k t/2 y1, with the unit u = p[1]. */
enum { CHAIN = 3 };

/* 1e-5 of each value's largest: some hundred steps at rtol 1e-7. */
static void test_units(void **state)
{
    (void)state;
    static const double units[] = {1e-20, 1e-12, 1e-6, 1, 1e12}, times[] = {0.1, 1, 3, 8};
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        for (int plain = 0; plain < 2; plain++) {
            double unit = units[k], p[2] = {2, unit};
            struct ode_case c;
            const struct stiffit_model chain = without_derivatives(test_model("chain-of-decays"));
            ode_case_init(&c, &chain, &usual, 1, p, NULL, 0, 4, times);
            if (plain)
                c.evaluation.n_sens = 0;
            ode_case_run(&c);
            for (size_t t = 0; t < 4; t++) {
                double x = 2 * times[t], exact[CHAIN] = {exp(-x), x * exp(-x), x * x / 2 * exp(-x)};
                for (size_t i = 0; i < CHAIN; i++)
                    assert_close(c.prediction[t * CHAIN + i] / unit, exact[i], 1e-5 * 0.27, "state over its unit", k, i);
                if (!plain) /* by k: of exp(-k t) -t exp(-k t) */
                    assert_close(c.d_prediction[t * CHAIN] / unit, -times[t] * exp(-x), 1e-5 * 0.2, "slope", k, t);
            }
            ode_case_fini(&c);
        }
}

/* One state of an evaluation is small beside the other: each has its own tolerance. y0 = 1e6 exp(-t/9), fed from it
 * y1' = 1e-20 y0 - 3 y1. */
static void test_small_state(void **state)
{
    (void)state;
    const struct stiffit_model model = without_derivatives(test_model("small-beside-large"));
    static const double times[] = {0.5, 2, 20}, p[] = {1.0 / 9};
    struct ode_case c;
    ode_case_init(&c, &model, &usual, 1, p, NULL, 0, 3, times);
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++) {
        double exact = 1e-14 / (3 - p[0]) * (exp(-p[0] * times[i]) - exp(-3 * times[i]));
        assert_close(c.prediction[i], exact, 1e-5 * exact, "small state", i, 0);
    }
    ode_case_fini(&c);
}

/* log-of-decay: a state that decays by 20 decades, and its logarithm: -k t; sensitivity by k: -t. One of the two is
 * measured. */
static void begin_decay(struct ode_case *c, uint32_t observable, size_t n_time, const double *times)
{
    static const double p[] = {1};
    const struct stiffit_model decay = without_derivatives(test_model("log-of-decay"));
    ode_case_init(c, &decay, &usual, 1, p, NULL, 0, n_time, times);
    c->n_row = c->task.n_row = n_time;
    for (uint32_t i = 0; i < n_time; i++) {
        c->row_time[i] = i;
        c->row_observable[i] = observable;
    }
}
static bool sum_weigh(void *context, const struct evaluation *evaluation)
{
    double *by_prediction = context;
    for (size_t i = 0; i < evaluation->task->n_row; i++)
        by_prediction[i] = 1;
    return true;
}

/* Relative errors of rtol a step add up to some 1e-5 in the logarithm. */
static void test_logarithm(void **state)
{
    (void)state;
    static const double times[] = {0, 1, 10, 30, 46};
    double by_prediction[5], gradient;
    struct evaluation_adjoint adjoint = {.weigh = sum_weigh, .context = by_prediction, .by_prediction = by_prediction,
                                         .gradient = &gradient};
    for (int kind = 0; kind < 3; kind++) { /* with sensitivities, without, backward */
        struct ode_case c;
        begin_decay(&c, 0, 5, times);
        if (kind == 1)
            c.evaluation.n_sens = 0;
        if (kind == 2)
            c.evaluation.adjoint = &adjoint;
        ode_case_run(&c);
        for (size_t i = 0; i < 5; i++) {
            assert_close(c.prediction[i], -times[i], 2e-5, "logarithm", i, (size_t)kind);
            if (kind == 0)
                assert_close(c.d_prediction[i], -times[i], 2e-4, "its slope", i, 0);
        }
        if (kind == 2)
            assert_close(gradient, -87, 1e-3, "gradient", 0, 0);
        ode_case_fini(&c);
    }
}

/* A sigma says what is accurate enough: next to 1, exp(-46) is 0, and nothing is done twice; next to 1e-22 it is not, nor next
 * to a sigma of its logarithm. */
static void test_sigma_decides(void **state)
{
    (void)state;
    static const double times[] = {1, 46}, sigma[] = {1e-22, 1e-22}, wide[] = {1, 1};
    static const bool is_log[] = {true, true};
    int64_t n_step[3];
    for (int k = 0; k < 3; k++) {
        struct ode_case c;
        begin_decay(&c, 1, 2, times);
        c.task.row_sigma = k ? wide : sigma;
        c.task.row_is_log = k == 2 ? is_log : NULL;
        ode_case_run(&c);
        n_step[k] = c.evaluation.n_step;
        if (k != 1)
            assert_close(c.prediction[1], exp(-46), 2e-5 * exp(-46), "far tail", 1, 0);
        ode_case_fini(&c);
    }
    assert_true(n_step[1] < n_step[0] && n_step[1] < n_step[2]);
}

/* States at rest at zero, all of them or one: nothing divides by their size. */
static void test_rest(void **state)
{
    (void)state;
    static const double times[] = {1, 5}, p[] = {2, 0};
    struct ode_case c;
    const struct stiffit_model chain = without_derivatives(test_model("chain-of-decays"));
    ode_case_init(&c, &chain, &usual, 1, p, NULL, 0, 2, times);
    ode_case_run(&c);
    for (size_t i = 0; i < c.n_row; i++) {
        assert_true(c.prediction[i] == 0);
        assert_true(c.d_prediction[i] == 0);
    }
    for (size_t t = 0; t < 2; t++)
        assert_close(c.d_prediction[c.n_row + t * CHAIN], exp(-2 * times[t]), 1e-6, "slope by the unit", t, 0);
    ode_case_fini(&c);
}

/* Hare and lynx (Lotka & Volterra), whose errors grow with every period: predictions without derivatives are as good as those
 * with, up to a factor of 4 (0.5 to 2 here; 8 to 11 by their own step sizes alone). */
/* The constant of motion, 0.02 x - 0.8 log x + 0.02 y - 0.5 log y. */
static double constant_of(const double *y) { return 0.02 * y[0] - 0.8 * log(y[0]) + 0.02 * y[1] - 0.5 * log(y[1]); }

static void test_plain_beside_derivatives(void **state)
{
    (void)state;
    const struct stiffit_model hare = without_derivatives(test_model("hare-lynx-one"));
    static const double p[] = {0.02}, begin[] = {30, 4}, rtol[] = {1e-5, 1e-7, 1e-9};
    double times[60];
    for (size_t i = 0; i < 60; i++)
        times[i] = (double)(i + 1);
    for (size_t k = 0; k < 3; k++) {
        double drift[2] = {0, 0};
        for (int plain = 0; plain < 2; plain++) {
            struct ode_options options = {.rtol = rtol[k], .atol = 1e-3 * rtol[k]};
            struct ode_case c;
            ode_case_init(&c, &hare, &options, 1, p, NULL, 0, 60, times);
            if (plain)
                c.evaluation.n_sens = 0;
            ode_case_run(&c);
            for (size_t t = 0; t < 60; t++)
                drift[plain] = fmax(drift[plain], fabs(constant_of(c.prediction + 2 * t) - constant_of(begin)));
            ode_case_fini(&c);
        }
        print_message("rtol %g: drift %.2e with derivatives, %.2e without\n", rtol[k], drift[0], drift[1]);
        assert_true(drift[1] < 4 * drift[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units), cmocka_unit_test(test_small_state), cmocka_unit_test(test_logarithm),
        cmocka_unit_test(test_sigma_decides), cmocka_unit_test(test_rest), cmocka_unit_test(test_plain_beside_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
