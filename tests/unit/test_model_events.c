/* The functions of inputs, doses, switches and events that the compiler makes from text: values against formulas written by
 * hand, derivatives against difference quotients of those values.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "generate_case.h"

#include "model/text/text.h"

#include <float.h>

static const char text[] =
    "parameter ka = 1, ke = 0.1, tlag = 0.5, F = 0.8, V = 10, e = 0.9, t1 = 3\n"
    "covariate w\n"
    "input T linear, D\n"
    "lag(depot) = tlag*w^2 + 0.1*t*D\n"
    "bioavailability(c) = F/(1 + F*t)\n"
    "depot(0) = 0; depot' = -ka*depot*(1 + T)\n"
    "c(0) = T; c' = ka*depot - ke*c + (if t >= t1 and t < 2*t1 + tlag then 1 else 0) + (if c*c > V then D else 0)\n"
    "h(0) = 1; h' = if 3*t - w*V < t1 then h else -h\n"
    "event bounce when h < 0: h = -e*h\n"
    "event dose at 2*t1 + w*tlag priority F: depot = depot + 10*F, c = 2*c + depot*T\n"
    "event full when c > V*t or t > 10 and not h < ke*c delay tlag*c + t^2 can lapse early values priority c - h: c = 0\n"
    "observe c, a = T*c\n";

enum { DEPOT, C, H, N_STATE };
enum { KA, KE, TLAG, F, V, E, T1, N_PARAMETER };
enum { BOUNCE, DOSE, FULL, N_EVENT };

struct place {
    struct stiffit_point at;
    double y[N_STATE], p[N_PARAMETER], w[1], input[2], work[100];
};

static void set_place(struct place *x, const struct stiffit_model *abi, const double y[N_STATE], double t)
{
    static const double p[] = {1.1, 0.2, 0.5, 0.8, 10, 0.9, 3};
    *x = (struct place){.w = {2}, .input = {0.25, 7}};
    memcpy(x->y, y, sizeof x->y);
    memcpy(x->p, p, sizeof x->p);
    x->at = (struct stiffit_point){.t = t, .y = x->y, .p = x->p, .covariate = x->w, .input = x->input, .work = x->work};
    assert_true(abi->n_work <= 100);
}

/* With what depends on the parameters. */
static void call(const struct stiffit_model *abi, stiffit_function *function, struct place *x, double *out)
{
    assert_non_null(function);
    if (abi->prepare)
        assert_int_equal(abi->prepare(&x->at, x->work), STIFFIT_OK);
    assert_int_equal(function(&x->at, out), STIFFIT_OK);
}

static void expect(const char *what, const double *got, const double *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - wanted[i]) <= 1e-13 * fabs(wanted[i])) && !(isnan(got[i]) && isnan(wanted[i])))
            fail_msg("%s, number %zu: %.17g is not %.17g", what, i, got[i], wanted[i]);
}

static void test_values(const struct stiffit_model *abi)
{
    struct place x;
    double out[100], y[] = {4, 6, -0.5}, t = 5;
    set_place(&x, abi, y, t);
    const double *p = x.p, w = x.w[0], T = x.input[0], D = x.input[1];
    assert_int_equal(abi->n_input, 2);
    assert_string_equal(abi->input_name[0], "T");
    assert_int_equal(abi->input_linear[0], 1);
    assert_int_equal(abi->input_linear[1], 0);
    assert_int_equal(abi->n_event, N_EVENT);
    assert_string_equal(abi->event_name[FULL], "full");
    assert_int_equal(abi->event_kind[BOUNCE], 0);
    assert_int_equal(abi->event_kind[DOSE], STIFFIT_EVENT_TIMED);
    assert_int_equal(abi->event_kind[FULL], STIFFIT_EVENT_CAN_LAPSE | STIFFIT_EVENT_EARLY_VALUES);
    static const uint8_t assigned[] = {0, 0, 1, 1, 1, 0, 0, 1, 0};
    assert_memory_equal(abi->event_assigned, assigned, sizeof assigned);
    for (int j = 0; j < N_PARAMETER; j++)
        assert_int_equal(abi->parameter_use[j] & STIFFIT_USE_EVENT, j == KA ? 0 : STIFFIT_USE_EVENT);
    call(abi, abi->rhs, &x, out);
    expect("rhs", out, (double[]){-p[KA] * y[0] * (1 + T), p[KA] * y[0] - p[KE] * y[1] + 1 + D, -0.5}, 3);
    call(abi, abi->initial, &x, out);
    expect("initial", out, (double[]){0, T, 1}, 3);
    call(abi, abi->observe, &x, out);
    expect("observe", out, (double[]){y[1], T * y[1]}, 2);
    call(abi, abi->lag, &x, out);
    expect("lag", out, (double[]){p[TLAG] * w * w + 0.1 * t * D, 0, 0}, 3);
    call(abi, abi->bioavailability, &x, out);
    expect("bioavailability", out, (double[]){1, p[F] / (1 + p[F] * t), 1}, 3);
    call(abi, abi->event_when, &x, out);
    double full = fmax(y[1] - p[V] * t, fmin(t - 10, y[2] - p[KE] * y[1]));
    expect("event_when", out, (double[]){0.5, 2 * p[T1] + w * p[TLAG], full}, 3);
    call(abi, abi->event_delay, &x, out);
    expect("event_delay", out, (double[]){0, 0, p[TLAG] * y[1] + t * t}, 3);
    call(abi, abi->event_priority, &x, out);
    expect("event_priority", out, (double[]){0, p[F], y[1] - y[2]}, 3);
    const double after[N_EVENT][N_STATE] = {
        {4, 6, 0.45}, {4 + 10 * p[F], 12 + 4 * T /* from before the event */, -0.5}, {4, 0, -0.5}};
    for (x.at.event = 0; x.at.event < N_EVENT; x.at.event++) {
        call(abi, abi->event_assign, &x, out);
        expect("event_assign", out, after[x.at.event], N_STATE);
    }
    x.at.event = N_EVENT;
    assert_int_equal(abi->event_assign(&x.at, out), STIFFIT_FATAL);
}

/* The order of switches is the compiler's affair: each one that is timed changes its sign at its time, and nowhere else. */
static void test_switches(const struct stiffit_model *abi)
{
    enum { N = 7, N_WATCHED = 3 };
    struct place x;
    double out[100], time[100], y[] = {4, 6, -0.5};
    set_place(&x, abi, y, 0);
    const double wanted[N] = {3, 6.5, (3 + 20) / 3.0, 10, NAN, NAN, NAN};
    /* Of c*c > V, and the parts of the event full: c > V*t and h < ke*c. */
    const double watched[N_WATCHED] = {36 - x.p[V], 6 - 2 * x.p[V], -0.5 - 6 * x.p[KE]};
    bool seen[N_WATCHED] = {false};
    assert_int_equal(abi->n_switching, N);
    call(abi, abi->switching_time, &x, time);
    for (size_t i = 0; i < N; i++) {
        bool found = false;
        for (size_t k = 0; k < N; k++)
            found |= fabs(time[k] - wanted[i]) < 1e-14 * wanted[i] || (isnan(time[k]) && isnan(wanted[i]));
        if (!found)
            fail_msg("no switch is at %g", wanted[i]);
    }
    for (size_t k = 0; k < N; k++) {
        double before, after;
        x.at.t = time[k] - 1e-6;
        call(abi, abi->switching, &x, out);
        before = out[k];
        x.at.t = time[k] + 1e-6;
        call(abi, abi->switching, &x, out);
        after = out[k];
        if (!isnan(time[k])) {
            assert_true((before < 0) != (after < 0));
            continue;
        }
        x.at.t = 2;
        call(abi, abi->switching, &x, out);
        for (size_t i = 0; i < N_WATCHED; i++)
            seen[i] |= fabs(fabs(out[k]) - fabs(watched[i])) < 1e-14 * 36; /* or its negative */
    }
    for (size_t i = 0; i < N_WATCHED; i++)
        assert_true(seen[i]);
}

/* One function's derivatives: out[i + j*n_row], by states, then by time, or by parameters. */
static void compare_differences(const char *what, const struct stiffit_model *abi, stiffit_function *function,
                                stiffit_function *derivative, struct place *x, size_t n_row, bool by_parameter)
{
    double low[100], high[100], exact[200];
    call(abi, derivative, x, exact);
    for (size_t j = 0; j < (by_parameter ? N_PARAMETER : N_STATE + 1); j++) {
        double *variable = by_parameter ? &x->p[j] : j == N_STATE ? &x->at.t : &x->y[j];
        double at = *variable, h = 1e-6 * fmax(1, fabs(at));
        *variable = at - h;
        call(abi, function, x, low);
        *variable = at + h;
        call(abi, function, x, high);
        *variable = at;
        for (size_t i = 0; i < n_row; i++) {
            double quotient = (high[i] - low[i]) / (2 * h), got = exact[i + j * n_row];
            /* third derivatives times h^2, and rounding */
            double allowed = 1e-8 * (1 + fabs(quotient)) + 4 * DBL_EPSILON * (fabs(low[i]) + fabs(x->p[V]) + 100) / h;
            if (!(fabs(got - quotient) <= allowed) && !isnan(low[i]))
                fail_msg("%s, row %zu, column %zu: %.12g is not %.12g", what, i, j, got, quotient);
            if (isnan(low[i]))
                assert_true(got == 0); /* a switch without a time */
        }
    }
    call(abi, function, x, low); /* at->work as it was */
}

static void test_derivatives(const struct stiffit_model *abi)
{
    /* so that each part of the composed condition is the one that counts; and after the switches */
    static const struct { double y[N_STATE], t; } places[] = {
        {{4, 6, -0.5}, 5}, {{4, 120, 30}, 11}, {{4, 6, 30}, 11}, {{1, 2, 30}, 9.5}, {{1, 2, 0.6}, 20}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        struct place x;
        set_place(&x, abi, places[k].y, places[k].t);
        const struct { const char *name; stiffit_function *of, *by_state, *by_parameter; size_t n; } functions[] = {
            {"switching_time", abi->switching_time, NULL, abi->switching_time_parameter, abi->n_switching},
            {"switching", abi->switching, abi->switching_state, abi->switching_slope, abi->n_switching},
            {"lag", abi->lag, NULL, abi->lag_parameter, N_STATE},
            {"bioavailability", abi->bioavailability, NULL, abi->bioavailability_parameter, N_STATE},
            {"event_when", abi->event_when, abi->event_when_state, abi->event_when_parameter, N_EVENT},
            {"event_delay", abi->event_delay, abi->event_delay_state, abi->event_delay_parameter, N_EVENT},
        };
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            if (functions[i].by_state)
                compare_differences(functions[i].name, abi, functions[i].of, functions[i].by_state, &x, functions[i].n, false);
            compare_differences(functions[i].name, abi, functions[i].of, functions[i].by_parameter, &x, functions[i].n, true);
        }
        for (x.at.event = 0; x.at.event < N_EVENT; x.at.event++) {
            compare_differences("event_assign", abi, abi->event_assign, abi->event_assign_state, &x, N_STATE, false);
            compare_differences("event_assign", abi, abi->event_assign, abi->event_assign_parameter, &x, N_STATE, true);
        }
    }
}

static void test_model_text(void **state)
{
    (void)state;
    struct generate_case c;
    struct equations *equations;
    struct text_messages messages = {0};
    struct error error = {0};
    if (text_parse(text, sizeof text - 1, "case.ode", &equations, &messages, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    case_generate(&c, equations);
    case_compile(&c);
    assert_non_null(c.model.abi.lanes);
    test_values(&c.model.abi);
    test_switches(&c.model.abi);
    test_derivatives(&c.model.abi);
    case_fini(&c);
    text_messages_fini(&messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
