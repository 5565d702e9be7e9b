/* Events of models: timed, triggered, delayed, in order, and without end.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode_stops_case.h"

/* A ball that bounces: p = g, restitution, height at the beginning. */

static int ball_rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = at->y[1];
    ydot[1] = -at->p[0];
    return STIFFIT_OK;
}
static int ball_initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[2];
    y[1] = 0;
    return STIFFIT_OK;
}
static int ball_when(const struct stiffit_point *at, double *when)
{
    when[0] = -at->y[0];
    return STIFFIT_OK;
}
static int ball_assign(const struct stiffit_point *at, double *y)
{
    y[0] = at->y[0];
    y[1] = -at->p[1] * at->y[1];
    return STIFFIT_OK;
}
static int ball_when_state(const struct stiffit_point *at, double *by)
{
    (void)at;
    by[0] = -1;
    by[1] = by[2] = 0;
    return STIFFIT_OK;
}
static int ball_when_parameter(const struct stiffit_point *at, double *by)
{
    (void)at;
    by[0] = by[1] = by[2] = 0;
    return STIFFIT_OK;
}
static int ball_assign_state(const struct stiffit_point *at, double *by)
{
    const double out[] = {1, 0, 0, -at->p[1], 0, 0};
    memcpy(by, out, sizeof out);
    return STIFFIT_OK;
}
static int ball_assign_parameter(const struct stiffit_point *at, double *by)
{
    const double out[] = {0, 0, 0, -at->y[1], 0, 0};
    memcpy(by, out, sizeof out);
    return STIFFIT_OK;
}
static const struct stiffit_model ball = {
    MODEL(2, 3, 2), .rhs = ball_rhs, .initial = ball_initial, .observe = observe_2, .n_event = 1, .event_when = ball_when,
    .event_assign = ball_assign, .event_when_state = ball_when_state, .event_when_parameter = ball_when_parameter,
    .event_assign_state = ball_assign_state, .event_assign_parameter = ball_assign_parameter};

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
    struct stiffit_model differences = ball;
    struct story s = {.model = &ball, .p = p, .closed = ball_closed, .n_time = 11, .time = time, .tolerance = 1e-7};
    tell(&s);
    differences.event_when_state = differences.event_when_parameter = NULL;
    differences.event_assign_state = differences.event_assign_parameter = NULL;
    s.model = &differences;
    tell(&s);
}

/* Events that are executed once: y' = -k y, y(0) = 1, in a story of up to 4 events. p = k, T, delay, factor. */

static double program_priority[4];
static int decay_rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->p[0] * at->y[0];
    return STIFFIT_OK;
}
static int decay_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 1;
    return STIFFIT_OK;
}
/* a at p[1], b at 2, c at 2, d when y < 0.02 */
static int decay_when(const struct stiffit_point *at, double *when)
{
    when[0] = at->p[1];
    when[1] = when[2] = 2;
    when[3] = 0.02 - at->y[0];
    return STIFFIT_OK;
}
static int decay_assign(const struct stiffit_point *at, double *y)
{
    const double y0 = at->y[0], result[] = {at->p[3] * y0, 2 * y0 + at->t, y0 + 1, y0 + 5};
    y[0] = result[at->event];
    return STIFFIT_OK;
}
static int decay_delay(const struct stiffit_point *at, double *delay)
{
    delay[0] = at->p[2];
    delay[1] = delay[2] = 0;
    delay[3] = at->p[2] + at->y[0];
    return STIFFIT_OK;
}
static int decay_priority(const struct stiffit_point *at, double *priority)
{
    (void)at;
    memcpy(priority, program_priority, sizeof program_priority);
    return STIFFIT_OK;
}
static uint8_t decay_kind[4];
static const struct stiffit_model decay = {
    MODEL(1, 4, 1), .rhs = decay_rhs, .initial = decay_initial, .observe = observe_1, .n_event = 4, .event_kind = decay_kind,
    .event_when = decay_when, .event_assign = decay_assign, .event_delay = decay_delay, .event_priority = decay_priority};

static void decay_closed(const double *p, double t, int side, double *out)
{
    /* fires: a at p[1]; b and c at 2 */
    const double k = p[0], executed = p[1] + p[2];
    bool early = decay_kind[0] & STIFFIT_EVENT_EARLY_VALUES, c_first = program_priority[2] > program_priority[1];
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
    for (int i = 0; i < 8; i++) {
        const double p[] = {0.4, 1, i & 1 ? 0.3 : 1.45, 3};
        decay_kind[0] = (uint8_t)(STIFFIT_EVENT_TIMED | (i & 2 ? STIFFIT_EVENT_EARLY_VALUES : 0));
        decay_kind[1] = decay_kind[2] = STIFFIT_EVENT_TIMED;
        program_priority[2] = i & 4 ? 1 : 0;
        struct story s = {.model = &decay, .p = p, .closed = decay_closed, .n_time = 10, .time = time, .side = side,
                          .tolerance = 1e-7};
        tell(&s);
    }
}

/* Event d fires when y falls to 0.02, and is executed p[2] + 0.02 later. a, b and c never happen. */
static int low_when(const struct stiffit_point *at, double *when)
{
    when[0] = when[1] = when[2] = INFINITY;
    when[3] = 0.02 - at->y[0];
    return STIFFIT_OK;
}
static void low_closed(const double *p, double t, int side, double *out)
{
    (void)side;
    double y = 1, begin = 0;
    for (;;) {
        double next = begin + log(y / 0.02) / p[0] + p[2] + 0.02;
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
    const double p[] = {2, 1, 0.7, 3}, time[] = {0, 1, 1.9, 2.5, 2.7, 4, 5, 6, 7, 9};
    struct stiffit_model model = decay;
    model.event_when = low_when;
    decay_kind[0] = decay_kind[1] = decay_kind[2] = STIFFIT_EVENT_TIMED;
    decay_kind[3] = 0;
    struct story s = {.model = &model, .p = p, .closed = low_closed, .n_time = 10, .time = time, .tolerance = 1e-7};
    tell(&s);
}

/* A clock x' = 1 (y[0]) beside a counter (y[1]): event a counts up while the trigger sin(x) >= level. */

static int clock_rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = at->p[0];
    ydot[1] = 0;
    return STIFFIT_OK;
}
static int clock_initial(const struct stiffit_point *at, double *y)
{
    y[0] = at->p[2];
    y[1] = 0;
    return STIFFIT_OK;
}
static int clock_when(const struct stiffit_point *at, double *when)
{
    when[0] = sin(at->y[0]) - 0.5;
    return STIFFIT_OK;
}
static int clock_assign(const struct stiffit_point *at, double *y)
{
    y[0] = at->y[0];
    y[1] = at->y[1] + 1;
    return STIFFIT_OK;
}
static int clock_delay(const struct stiffit_point *at, double *delay)
{
    delay[0] = at->p[1];
    return STIFFIT_OK;
}
static uint8_t clock_kind[1];
static const struct stiffit_model clock_model = {
    MODEL(2, 3, 2), .rhs = clock_rhs, .initial = clock_initial, .observe = observe_2, .n_event = 1, .event_kind = clock_kind,
    .event_when = clock_when, .event_assign = clock_assign, .event_delay = clock_delay};

static void assert_counts(double delay, double begin_at, unsigned kind, size_t n_time, const double *time, const int8_t *side,
                          const double *counts)
{
    const double p[] = {1, delay, begin_at};
    struct story s = {.model = &clock_model, .p = p, .n_time = n_time, .time = time, .side = side};
    struct ode_case c;
    clock_kind[0] = (uint8_t)kind;
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

/* A dose makes a trigger true, and its event answers at the same time: y -> y / 2 when y >= 3. */
static int answer_when(const struct stiffit_point *at, double *when)
{
    when[0] = at->y[0] - 3;
    return STIFFIT_OK;
}
static int answer_assign(const struct stiffit_point *at, double *y)
{
    y[0] = at->y[0] / 2;
    return STIFFIT_OK;
}
static const struct stiffit_model answer = {MODEL(1, 4, 1), .rhs = decay_rhs, .initial = decay_initial, .observe = observe_1,
                                            .n_event = 1, .event_when = answer_when, .event_assign = answer_assign,
                                            .lag = lag_by_second};
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
    const double p[] = {0.5, 0.25, 1, 1}, time[] = {1, 1.25, 1.5, 3};
    const int8_t side[] = {0, -1, 0, 0};
    struct story s = {.model = &answer, .p = p, .closed = answer_closed, .n_dose = 1, .dose = answer_dose, .n_time = 4,
                      .time = time, .side = side, .tolerance = 1e-7};
    const double elsewhere[] = {1, 1.5, 3};
    s.time = elsewhere;
    s.side = NULL;
    s.n_time = 3;
    tell(&s);
}

/* Two events that cause each other. */
static int endless_when(const struct stiffit_point *at, double *when)
{
    when[0] = at->y[0] - 1;
    when[1] = -at->y[0];
    return STIFFIT_OK;
}
static int endless_assign(const struct stiffit_point *at, double *y)
{
    y[0] = at->event ? 1 : 0;
    return STIFFIT_OK;
}
static int rise_rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = at->p[0];
    return STIFFIT_OK;
}
static int rise_initial(const struct stiffit_point *at, double *y)
{
    (void)at;
    y[0] = 0.5;
    return STIFFIT_OK;
}
static const struct stiffit_model endless = {MODEL(1, 1, 1), .rhs = rise_rhs, .initial = rise_initial, .observe = observe_1,
                                             .n_event = 2, .event_when = endless_when, .event_assign = endless_assign};

static void test_endless(void **state)
{
    (void)state;
    const double p[] = {1}, time[] = {0.25, 1};
    struct story s = {.model = &endless, .p = p, .n_time = 2, .time = time};
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
    struct story s = {.model = &ball, .p = p, .n_time = 1, .time = time};
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
    return RUN_WITH_BOTH_ENGINES(tests);
}
