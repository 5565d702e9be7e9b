/* Steady states at time +infinity, and experiments that begin at one, against closed forms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

/* exchange: p = k1, k2, a0. */
static const struct dose pulse[] = {{.time = 5, .amount = 2, .count = 1, .target = 1}};

static void exchange_closed(const double *p, double t, int side, double *out)
{
    double k = p[0] + p[1], rest = p[0] / k * p[2], b = rest * (1 - exp(-k * t)), total = p[2];
    if (is_past(t, side, 5)) {
        total += 2;
        rest = p[0] / k * total;
        b = rest + (p[0] / k * p[2] * (1 - exp(-k * 5)) + 2 - rest) * exp(-k * (t - 5));
    }
    out[0] = total - b;
    out[1] = b;
}

static void test_conserved_total(void **state)
{
    (void)state;
    const double p[] = {0.3, 0.1, 4}, time[] = {0, 1, 5, 7, INFINITY};
    const struct stiffit_model *exchange = test_model("exchange");
    struct story s = {.model = exchange, .p = p, .closed = exchange_closed, .n_dose = 1, .dose = pulse, .n_time = 5,
                      .time = time, .tolerance = 1e-7};
    tell(&s);
    /* nothing but the steady state, on other scales of time */
    const double fast[] = {3e8, 1e8, 4}, slow[] = {3e-9, 1e-9, 4}, *const rates[] = {fast, slow};
    for (int i = 0; i < 2; i++) {
        struct ode_case c;
        const struct ode_options options = ODE_OPTIONS_DEFAULT;
        begin_model(&c, exchange, &options, rates[i], 1, &time[4]);
        ode_case_run(&c);
        const double k1 = rates[i][0], k2 = rates[i][1], sum = k1 + k2;
        const double expected[] = {k2 / sum * 4, k1 / sum * 4}, by_k1 = k2 / (sum * sum) * 4;
        for (size_t o = 0; o < 2; o++) {
            assert_close(c.prediction[o], expected[o], 1e-8, "steady state", i, o);
            assert_close(c.d_prediction[o], o ? by_k1 : -by_k1, 1e-6 * by_k1, "by k1", i, o);
            assert_close(c.d_prediction[o + 4], expected[o] / 4, 1e-8, "by the total", i, o);
        }
        /* without derivatives */
        c.evaluation.n_sens = 0;
        ode_case_run(&c);
        assert_close(c.prediction[0], expected[0], 1e-8, "plain", i, 0);
        ode_case_fini(&c);
    }
}

/* turnover: p = s, d. The second experiment begins where the first, with another s, comes to rest. */
static void test_begins_at_rest(void **state)
{
    (void)state;
    const double first[] = {6, 0.5}, second[] = {2, 0.5}, never[] = {INFINITY}, time[] = {0, 1, 4};
    const struct ode_options options = {.rtol = 1e-9, .n_none = 1};
    const struct stiffit_model *turnover = test_model("turnover");
    double end[2 * 3], begin[2 * 4];
    struct ode_case c;
    begin_model(&c, turnover, &options, first, 1, never);
    c.task.n_row = 0;
    c.evaluation.end = end;
    ode_case_run(&c);
    const double rest[] = {12, 12, 2, 2, -24, -24}; /* s/d; by s; by d */
    for (size_t i = 0; i < 6; i++)
        assert_close(end[i], rest[i], 1e-7 * fabs(rest[i]), "at rest", i, 0);
    ode_case_fini(&c);
    /* the fit's parameters: the second s, d, the first s */
    const uint32_t sens[] = {0, 1, ODE_NONE};
    memcpy(begin, end, 2 * sizeof *end);
    memset(begin + 2, 0, 2 * sizeof *end);
    memcpy(begin + 4, end + 4, 2 * sizeof *end);
    memcpy(begin + 6, end + 2, 2 * sizeof *end);
    begin_model(&c, turnover, &options, second, 3, time);
    double derivative[3 * 6];
    c.evaluation.n_sens = 3;
    c.evaluation.sens = sens;
    c.evaluation.begin = begin;
    c.evaluation.d_prediction = derivative;
    ode_case_run(&c);
    for (size_t i = 0; i < 3; i++) { /* of y[1]: s2/d + (s1 - s2) (t + 1/d) e^-dt */
        double s1 = 6, s2 = 2, d = 0.5, t = time[i], e = exp(-d * t), rise = (s1 - s2) / d;
        const double expected[][2] = {{s2 / d + rise * e, s2 / d + (s1 - s2) * (t + 1 / d) * e},
                                      {(1 - e) / d, 1 / d - (t + 1 / d) * e},
                                      {-(s2 + (s1 - s2) * e) / (d * d) - rise * t * e,
                                       -s2 / (d * d) - (s1 - s2) / (d * d) * e - t * (s1 - s2) * (t + 1 / d) * e},
                                      {e / d, (t + 1 / d) * e}};
        for (size_t o = 0; o < 2; o++) {
            assert_close(c.prediction[2 * i + o], expected[0][o], 1e-7 * 12, "state", i, o);
            for (size_t k = 0; k < 3; k++)
                assert_close(derivative[2 * i + o + 6 * k], expected[1 + k][o], 1e-6 * 24, "derivative", 2 * i + o, k);
        }
    }
    ode_case_fini(&c);
}

/* slow-beside-fast: rates in a ratio of 1e18. */
static void test_slow_modes(void **state)
{
    (void)state;
    const double never[] = {INFINITY}, p[] = {0.7, 0.35}, expected[] = {2, 2, 3, 1};
    const struct ode_options options = ODE_OPTIONS_DEFAULT;
    for (int bare = 0; bare < 2; bare++) {
        struct stiffit_model model = *test_model("slow-beside-fast");
        struct ode_case c;
        if (bare)
            model.jacobian = model.jacobian_sparse = NULL;
        begin_model(&c, &model, &options, p, 1, never);
        ode_case_run(&c);
        for (size_t o = 0; o < 4; o++)
            assert_close(c.prediction[o], expected[o], 1e-8 * expected[o], "state", bare, o);
        assert_close(c.d_prediction[0], 1 / 0.35, 1e-6, "by k1", bare, 0);
        assert_close(c.d_prediction[4], -0.7 / (0.35 * 0.35), 1e-6, "by k2", bare, 0);
        ode_case_fini(&c);
    }
}

static void test_no_steady_state(void **state)
{
    (void)state;
    const double p[] = {1.5}, never[] = {INFINITY};
    const struct ode_options options = ODE_OPTIONS_DEFAULT;
    struct ode_case c;
    begin_model(&c, test_model("predator-prey"), &options, p, 1, never);
    c.evaluation.max_steps = 5000;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_BUDGET);
    assert_non_null(strstr(c.evaluation.reason, "no steady state"));
    ode_case_fini(&c);
    begin_model(&c, test_model("logistic-from-nothing"), &options, p, 1, never);
    ode_case_run(&c);
    assert_close(c.prediction[0], 1, 1e-8, "grown", 0, 0);
    assert_close(c.d_prediction[0], 0, 1e-6, "by the rate", 0, 0);
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conserved_total), cmocka_unit_test(test_begins_at_rest),
                                       cmocka_unit_test(test_slow_modes),
                                       cmocka_unit_test(test_no_steady_state)};
    return RUN_WITH_ALL_ENGINES(tests);
}
