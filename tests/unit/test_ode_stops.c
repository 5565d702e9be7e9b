/* Doses, infusions and inputs during an evaluation, against closed forms.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

/* oral-with-lag: p = ka, ke, tlag, F; both states are dosed. Lags are asked for without states. */
static const struct stiffit_model *oral;
static int stateless_lag(const struct stiffit_point *at, double *lag)
{
    assert_null(at->y);
    return oral->lag(at, lag);
}

static const struct dose oral_doses[] = {{.time = 0, .amount = 100, .interval = 12, .count = 4, .target = 0},
                                         {.time = 5, .amount = 30, .count = 1, .target = 1},
                                         {.time = 12, .amount = 20, .count = 1, .target = 1}};

static void oral_closed(const double *p, double t, int side, double *out)
{
    double ka = p[0], ke = p[1];
    out[0] = out[1] = 0;
    for (size_t i = 0; i < 3; i++)
        for (uint32_t k = 0; k < oral_doses[i].count; k++) {
            const struct dose *dose = &oral_doses[i];
            double begin = dose->time + k * dose->interval + (dose->target == 0 ? p[2] : 0), age = t - begin;
            if (!is_past(t, side, begin))
                continue;
            if (dose->target == 1) {
                out[1] += dose->amount * exp(-ke * age);
                continue;
            }
            out[0] += p[3] * dose->amount * exp(-ka * age);
            out[1] += p[3] * dose->amount * ka / (ka - ke) * (exp(-ke * age) - exp(-ka * age));
        }
}

static void test_oral(void **state)
{
    (void)state;
    const double p[] = {1.2, 0.15, 0.7, 0.8};
    const double time[] = {0, 0.5, 1, 3, 5, 5, 5, 8, 12, 12, 12.5, 13, 24.2, 25, 40, 60};
    const int8_t side[] = {0, 0, 0, 0, -1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    oral = test_model("oral-with-lag");
    struct story s = {.model = oral, .p = p, .closed = oral_closed, .n_dose = 3, .dose = oral_doses, .n_time = 16,
                      .time = time, .side = side, .tolerance = 1e-7};
    tell(&s);
    /* without derivatives and masks */
    struct stiffit_model differences = *oral;
    differences.lag = stateless_lag;
    differences.lag_parameter = NULL;
    differences.parameter_use = NULL;
    s.model = &differences;
    tell(&s);
}

/* A lag of 0 moves a dose, too: from above. */
static void test_dose_at_start(void **state)
{
    (void)state;
    const double p[] = {1.2, 0.15, 0, 0.8}, time[] = {0, 0, 0, 2};
    const int8_t side[] = {-1, 0, 1, 0};
    struct ode_case c;
    double value[2], derivative[2];
    struct story s = {.model = test_model("oral-with-lag"), .p = p, .closed = oral_closed, .n_dose = 3, .dose = oral_doses,
                      .n_time = 4, .time = time, .side = side, .tolerance = 1e-7};
    begin(&c, &s, &tight);
    ode_case_run(&c);
    compare(&s, &c, false);
    for (size_t i = 0; i < 4; i++)
        assert_close(c.prediction[i], 0, 0, "before the dose", i, 0);
    assert_close(c.prediction[4], 80, 0, "depot behind the dose", 0, 0);
    /* by the lag, one-sided: the closed form at lags 0, h and 2 h */
    double at_h[2], at_2h[2], moved[4], h = 1e-4;
    memcpy(moved, p, sizeof p);
    oral_closed(p, 2, 0, value);
    moved[2] = h;
    oral_closed(moved, 2, 0, at_h);
    moved[2] = 2 * h;
    oral_closed(moved, 2, 0, at_2h);
    for (size_t o = 0; o < 2; o++) {
        derivative[o] = (4 * at_h[o] - 3 * value[o] - at_2h[o]) / (2 * h);
        assert_close(c.d_prediction[6 + o + 2 * c.n_row], derivative[o], 1e-6 * fabs(derivative[o]), "by the lag", o, 0);
    }
    ode_case_fini(&c);
}

/* dripping, with overlapping infusions: p = k, lag, F. The second begins while the first runs, and a third repeats itself
 * faster than it ends. */
static const struct dose drip_doses[] = {{.time = 0, .amount = 10, .duration = 2, .count = 1},
                                         {.time = 1, .amount = 6, .duration = 3, .count = 1},
                                         {.time = 6, .amount = 4, .duration = 1.5, .interval = 1, .count = 3}};

static void drip_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double k = p[0];
    out[0] = 2 * exp(-k * t);
    for (size_t i = 0; i < 3; i++)
        for (uint32_t n = 0; n < drip_doses[i].count; n++) {
            const struct dose *dose = &drip_doses[i];
            double age = t - dose->time - n * dose->interval - p[1], rate = p[2] * dose->amount / dose->duration;
            double runs = fmin(age, dose->duration);
            if (age > 0)
                out[0] += rate / k * (1 - exp(-k * runs)) * exp(-k * (age - runs));
        }
}

static void test_infusions(void **state)
{
    (void)state;
    const double p[] = {0.7, 0.31, 0.9}, time[] = {0, 0.2, 0.5, 1.7, 2.2, 3, 4, 4.5, 6.5, 7, 7.6, 8.1, 9, 10, 15};
    struct story s = {.model = test_model("dripping"), .p = p, .closed = drip_closed, .n_dose = 3, .dose = drip_doses,
                      .n_time = 15, .time = time, .tolerance = 1e-7};
    tell(&s);
}

/* two-inputs: y' = k u, z' = k v, u constant between its knots, v linear; observables y, z, u, v. */
static const double u_time[] = {-1, 1, 2, 2.25, 7}, u_value[] = {1, 3, -1, 0, 5};
static const double v_time[] = {0.5, 2, 3, 3.001, 4}, v_value[] = {1, 4, 4, 100, 0};
static const struct input inputs[] = {{5, u_time, u_value}, {5, v_time, v_value}};

static void input_closed(const double *p, double t, int side, double *out)
{
    memset(out, 0, 4 * sizeof *out);
    for (size_t k = 0; k < 5; k++) {
        double end = k < 4 ? u_time[k + 1] : 1e9, begin = k ? u_time[k] : -1e9;
        out[0] += p[0] * u_value[k] * fmax(0, fmin(t, end) - fmax(0, begin));
        if ((side < 0 ? t > begin && t <= end : t >= begin && t < end))
            out[2] = u_value[k];
    }
    out[3] = t < v_time[0] ? v_value[0] : v_value[4];
    out[1] = p[0] * v_value[0] * fmin(t, v_time[0]);
    for (size_t k = 0; k < 4; k++) {
        double to = fmin(t, v_time[k + 1]), slope = (v_value[k + 1] - v_value[k]) / (v_time[k + 1] - v_time[k]);
        double at = v_value[k] + slope * (to - v_time[k]);
        if (to > v_time[k])
            out[1] += p[0] * 0.5 * (v_value[k] + at) * (to - v_time[k]);
        if (t >= v_time[k] && t < v_time[k + 1])
            out[3] = at;
    }
}

static void test_inputs(void **state)
{
    (void)state;
    const double p[] = {1.3}, time[] = {0, 0.4, 1, 1, 1, 1.5, 2, 2, 2.1, 2.5, 3, 3.0005, 3.001, 3.5, 4, 6};
    const int8_t side[] = {0, 0, -1, 0, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct story s = {.model = test_model("two-inputs"), .p = p, .closed = input_closed, .input = inputs, .n_time = 16,
                      .time = time, .side = side, .tolerance = 1e-7};
    tell(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_oral), cmocka_unit_test(test_dose_at_start),
                                       cmocka_unit_test(test_infusions), cmocka_unit_test(test_inputs)};
    return RUN_WITH_ALL_ENGINES(tests);
}
