/* Events of models: timed, triggered, delayed, in order, and without end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

/* bouncing-ball: p = g, restitution, height at the beginning. */
static void ball_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double begin = 0, h = p[2], v = 0;
    for (;;) {
        double age = t - begin, fall = (v + sqrt(v * v + 2 * p[0] * h)) / p[0];
        if (age < fall) {
            out[0] = h + v * age - 0.5 * p[0] * age * age;
            out[1] = v - p[0] * age;
            return;
        }
        begin += fall;
        v = p[1] * sqrt(v * v + 2 * p[0] * h);
        h = 0;
    }
}

static void test_ball(void **state)
{
    (void)state;
    const double p[] = {9.81, 0.8, 2}, time[] = {0, 0.3, 0.6, 0.7, 1, 1.5, 2, 2.5, 3, 3.5, 4};
    const struct stiffit_model *ball = test_model("bouncing-ball");
    struct stiffit_model differences = *ball;
    struct story s = {.model = ball, .p = p, .closed = ball_closed, .n_time = 11, .time = time, .tolerance = 1e-7};
    tell(&s);
    differences.event_when_state = differences.event_when_parameter = NULL;
    differences.event_assign_state = differences.event_assign_parameter = NULL;
    s.model = &differences;
    tell(&s);
}

/* program-of-events: p = k, time of a, its delay, its factor. Of b and c, which happen at 2, c may have the priority. */
static uint8_t decay_kind[4];
static bool c_first;
static int priority_of_c(const struct stiffit_point *at, double *priority)
{
    (void)at;
    memcpy(priority, (const double[]){0, 0, c_first, 0}, 4 * sizeof *priority);
    return STIFFIT_OK;
}

static void decay_closed(const double *p, double t, int side, double *out)
{
    /* fires: a at p[1]; b and c at 2 */
    const double k = p[0], executed = p[1] + p[2];
    bool early = decay_kind[0] & STIFFIT_EVENT_EARLY_VALUES;
    double y = 1, now = 0, early_value = p[3] * exp(-k * p[1]);
    struct { double t; int what; } list[] = {{executed, 0}, {2, c_first ? 2 : 1}, {2, c_first ? 1 : 2}};
    if (executed > 2) {
        list[2].t = executed, list[2].what = 0;
        list[0].t = list[1].t = 2;
        list[0].what = c_first ? 2 : 1, list[1].what = c_first ? 1 : 2;
    }
    for (int i = 0; i < 3 && (list[i].t < t || (list[i].t == t && side >= 0)); i++) {
        y *= exp(-k * (list[i].t - now));
        now = list[i].t;
        y = list[i].what == 0 ? (early ? early_value : p[3] * y) : list[i].what == 1 ? 2 * y + now : y + 1;
    }
    y *= exp(-k * (t - now));
    out[0] = y;
}

static void test_timed(void **state)
{
    (void)state;
    const double time[] = {0, 0.5, 1.1, 1.5, 2, 2, 2, 2.4, 2.6, 3};
    const int8_t side[] = {0, 0, 0, 0, -1, 0, 1, 0, 0, 0};
    struct stiffit_model model = *test_model("program-of-events");
    model.event_kind = decay_kind;
    model.event_priority = priority_of_c;
    for (int i = 0; i < 8; i++) {
        const double p[] = {0.4, 1, i & 1 ? 0.3 : 1.45, 3};
        decay_kind[0] = (uint8_t)(STIFFIT_EVENT_TIMED | (i & 2 ? STIFFIT_EVENT_EARLY_VALUES : 0));
        decay_kind[1] = decay_kind[2] = STIFFIT_EVENT_TIMED;
        c_first = i & 4;
        struct story s = {.model = &model, .p = p, .closed = decay_closed, .n_time = 10, .time = time, .side = side,
                          .tolerance = 1e-7};
        tell(&s);
    }
}

/* delayed-rescue: the event fires when y falls to 0.02, and is executed p[1] + 0.02 later. */
static void low_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double y = 1, begin = 0;
    for (;;) {
        double next = begin + log(y / 0.02) / p[0] + p[1] + 0.02;
        if (t < next)
            break;
        y = y * exp(-p[0] * (next - begin)) + 5;
        begin = next;
    }
    out[0] = y * exp(-p[0] * (t - begin));
}

static void test_triggered_with_delay(void **state)
{
    (void)state;
    const double p[] = {2, 0.7}, time[] = {0, 1, 1.9, 2.5, 2.7, 4, 5, 6, 7, 9};
    struct story s = {.model = test_model("delayed-rescue"), .p = p, .closed = low_closed, .n_time = 10, .time = time,
                      .tolerance = 1e-7};
    tell(&s);
}

/* counting-clock: y[1] counts how often sin(y[0]) has risen to 0.5. */
static void assert_counts(double delay, double begin_at, unsigned kind, size_t n_time, const double *time, const int8_t *side,
                          const double *counts)
{
    const double p[] = {1, delay, begin_at};
    const uint8_t clock_kind[] = {(uint8_t)kind};
    struct stiffit_model model = *test_model("counting-clock");
    struct story s = {.model = &model, .p = p, .n_time = n_time, .time = time, .side = side};
    struct ode_case c;
    model.event_kind = clock_kind;
    begin(&c, &s, &tight);
    ode_case_run(&c);
    for (size_t i = 0; i < n_time; i++)
        assert_close(c.prediction[2 * i + 1], counts[i], 0, "count", i, kind);
    ode_case_fini(&c);
}

static void test_delay_and_lapse(void **state)
{
    (void)state;
    /* true from pi/6 = 0.5236 to 5 pi/6 = 2.618, and 2 pi later; 2.2 ends after it has become false */
    const double time[] = {0.5, 1.5, 2.7, 2.75, 7.5, 9}, at_start[] = {0, 0, 0};
    const int8_t sides[] = {-1, 0, 1};
    assert_counts(0, 0, 0, 6, time, NULL, (const double[]){0, 1, 1, 1, 2, 2});
    assert_counts(1, 0, 0, 6, time, NULL, (const double[]){0, 0, 1, 1, 1, 2});
    assert_counts(1, 0, STIFFIT_EVENT_CAN_LAPSE, 6, time, NULL, (const double[]){0, 0, 1, 1, 1, 2});
    assert_counts(2.2, 0, 0, 6, time, NULL, (const double[]){0, 0, 0, 1, 1, 1});
    assert_counts(2.2, 0, STIFFIT_EVENT_CAN_LAPSE, 6, time, NULL, (const double[]){0, 0, 0, 0, 0, 0});
    /* The trigger holds at the beginning: only an event that was false before fires. */
    assert_counts(0, 1, 0, 3, at_start, sides, (const double[]){0, 0, 0});
    assert_counts(0, 1, STIFFIT_EVENT_INITIALLY_FALSE, 3, at_start, sides, (const double[]){0, 1, 1});
}

/* answered-dose: a dose makes a trigger true, and its event answers at the same time. */
static const struct dose answer_dose[] = {{.time = 1, .amount = 4, .count = 1}};
static void answer_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double at = 1 + p[1];
    out[0] = exp(-p[0] * t);
    if (is_past(t, side, at))
        out[0] = 0.5 * (exp(-p[0] * at) + 4) * exp(-p[0] * (t - at));
}

static void test_caused_by_dose(void **state)
{
    (void)state;
    const double p[] = {0.5, 0.25}, time[] = {1, 1.25, 1.5, 3};
    const int8_t side[] = {0, -1, 0, 0};
    struct story s = {.model = test_model("answered-dose"), .p = p, .closed = answer_closed, .n_dose = 1,
                      .dose = answer_dose, .n_time = 4, .time = time, .side = side, .tolerance = 1e-7};
    const double elsewhere[] = {1, 1.5, 3};
    s.time = elsewhere;
    s.side = NULL;
    s.n_time = 3;
    tell(&s);
}

static void test_endless(void **state)
{
    (void)state;
    const double p[] = {1}, time[] = {0.25, 1};
    struct story s = {.model = test_model("endless-events"), .p = p, .n_time = 2, .time = time};
    struct ode_case c;
    begin(&c, &s, &tight);
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_MODEL_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "the event"));
    assert_non_null(strstr(c.evaluation.reason, "for ever at t = 0.5"));
    ode_case_fini(&c);
}

/* The adjoint method does not go through stops. */
static bool weigh(void *context, const struct evaluation *evaluation)
{
    (void)context, (void)evaluation;
    return false;
}
static void test_adjoint(void **state)
{
    (void)state;
    if (teller == ENGINE_LANES) /* they have none */
        return;
    const double p[] = {9.81, 0.8, 2}, time[] = {1};
    double by[2], gradient[3];
    const struct evaluation_adjoint adjoint = {.weigh = weigh, .by_prediction = by, .gradient = gradient};
    struct story s = {.model = test_model("bouncing-ball"), .p = p, .n_time = 1, .time = time};
    struct ode_case c;
    begin(&c, &s, &tight);
    c.evaluation.adjoint = &adjoint;
    engine_evaluate(c.engine, &c.evaluation);
    assert_int_equal(c.evaluation.outcome, EVALUATION_ODE_FAILED);
    assert_non_null(strstr(c.evaluation.reason, "adjoint"));
    ode_case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball), cmocka_unit_test(test_timed), cmocka_unit_test(test_triggered_with_delay),
        cmocka_unit_test(test_delay_and_lapse), cmocka_unit_test(test_caused_by_dose), cmocka_unit_test(test_endless),
        cmocka_unit_test(test_adjoint)};
    return RUN_WITH_ALL_ENGINES(tests);
}
