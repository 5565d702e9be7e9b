/* Switches of the right-hand side, by states and by time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

/* pulse-by-clock: p = w, level, a, b. */
static void pulse_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double half = acos(p[1]) / p[0], period = 2 * acos(-1) / p[0], high = 0;
    for (int k = 0; k * period - half < t; k++)
        high += fmin(t, k * period + half) - fmax(0, k * period - half);
    out[0] = p[2] * high + p[3] * (t - high);
}

static void test_switches(void **state)
{
    (void)state;
    const double p[] = {2, 0.4, 3, -1}, time[] = {0, 0.4, 0.7, 1.5, 2.2, 3, 4.5, 7, 11};
    struct story s = {.model = test_model("pulse-by-clock"), .p = p, .closed = pulse_closed, .n_time = 9, .time = time,
                      .tolerance = 1e-7};
    tell(&s);
}

/* The same level a little below the top of the cosine: whether it is reached depends on the integration. */
static void test_grazing(void **state)
{
    (void)state;
    const struct ode_options loose = {.rtol = 1e-7};
    const double p[] = {2, 1 - 1e-6, 3, -1}, time[] = {1, 4};
    struct story s = {.model = test_model("pulse-by-clock"), .p = p, .closed = pulse_closed, .n_time = 2, .time = time};
    struct ode_case c;
    begin(&c, &s, &loose);
    ode_case_run(&c);
    assert_true(c.evaluation.crosses);
    ode_case_fini(&c);
}

static void test_sliding(void **state)
{
    (void)state;
    const double p[] = {1, 2}, time[] = {0.4, 0.8};
    struct story s = {.model = test_model("sliding"), .p = p, .n_time = 2, .time = time};
    struct ode_case c;
    const struct ode_options loose = {.rtol = 1e-5};
    begin(&c, &s, &loose);
    engine_evaluate(c.engine, &c.evaluation);
    assert_true(c.evaluation.outcome != EVALUATION_OK || c.evaluation.crosses);
    ode_case_fini(&c);
}

/* switched-inflow: p = T, a, b, k. */
static void late_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double before = fmin(t, p[0]);
    out[0] = p[1] / p[3] * (1 - exp(-p[3] * before));
    if (t > p[0])
        out[0] = p[2] / p[3] + (out[0] - p[2] / p[3]) * exp(-p[3] * (t - p[0]));
}

static void test_switching_times(void **state)
{
    (void)state;
    const double p[] = {2.3, 4, -1, 0.6}, time[] = {0, 1, 2.2, 2.4, 5, 9}, at_switch[] = {1, 2.3, 5};
    const struct stiffit_model *late = test_model("switched-inflow");
    struct stiffit_model located = *late;
    struct story s = {.model = late, .p = p, .closed = late_closed, .n_time = 6, .time = time, .tolerance = 1e-7};
    tell(&s);
    located.switching_time = NULL;
    s.model = &located;
    tell(&s);
    s.model = late; /* a measurement's time: the derivative from the left */
    s.time = at_switch;
    s.n_time = 3;
    struct ode_case c;
    begin(&c, &s, &tight);
    ode_case_run(&c);
    compare(&s, &c, false);
    ode_case_fini(&c);
}

/* A state at rest until a switch: no step, however long, passes it. */
static void test_rest_before_switch(void **state)
{
    (void)state;
    const double p[] = {1.2, 0, 0.7, 1e-3}, time[] = {0.5, 1, 1.5, 2, 3};
    struct story s = {.model = test_model("switched-inflow"), .p = p, .closed = late_closed, .n_time = 5, .time = time,
                      .tolerance = 1e-7};
    tell(&s);
}

/* slow-sign: a slow state x' = a, x(0) = c - b is exactly c for many times, and y' = d sign(x - c) has the value of neither
 * side there. p = a, b, c, d. */
static double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static void sign_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double root = p[1] / p[0];
    out[0] = -p[3] * sign_of(p[1]) * (t < root ? t : 2 * root - t);
}

static void test_third_value(void **state)
{
    (void)state;
    const double time[] = {0.5, 1.5, 3}, rate[] = {0.01, 0.02, -0.01, -0.02, 1e-4, -1e-4};
    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++) {
        const double p[] = {rate[i], 1.1 * rate[i], 1, 3};
        struct story s = {.model = test_model("slow-sign"), .p = p, .closed = sign_closed, .n_time = 3, .time = time,
                          .tolerance = 1e-7};
        tell(&s);
    }
}

/* full-at-level: p = r, L, x at the beginning. */
static void full_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double turn = (p[1] - p[2]) / p[0], rising = fmin(t, turn);
    out[0] = t < turn ? p[2] + p[0] * t : p[1] + 1;
    out[1] = p[2] * rising + 0.5 * p[0] * rising * rising + (t < turn ? 0 : (p[1] + 1) * (t - turn));
}

static void test_trigger_at_switch(void **state)
{
    (void)state;
    const double time[] = {0.5, 3, 4};
    for (int i = 0; i < 20; i++) { /* by rounding, the switch is passed with the event, or by it */
        const double p[] = {1 + 0.013 * i, 2 + 0.1 * i, 1};
        struct story s = {.model = test_model("full-at-level"), .p = p, .closed = full_closed, .n_time = 3, .time = time,
                          .tolerance = 1e-7};
        tell(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_switches), cmocka_unit_test(test_grazing),
                                       cmocka_unit_test(test_sliding), cmocka_unit_test(test_switching_times),
                                       cmocka_unit_test(test_rest_before_switch), cmocka_unit_test(test_third_value),
                                       cmocka_unit_test(test_trigger_at_switch)};
    return RUN_WITH_ALL_ENGINES(tests);
}
