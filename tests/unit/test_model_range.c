/* The bounds of forcing functions hold at every time of a span, and so do those of their slopes; and they shrink with the span.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "generate_case.h"

#include "model/text/text.h"

/* One rate each: every operation that may depend on time, smooth and with jumps, poles and kinks. */
static const char *const rates[] = {
    "exp(-((t - a)/b)^2)", "sin(7*t - 1)", "cos(a*t^2)", "tan(t)", "asin(sin(t)/2)", "acos(cos(t)/3)", "atan(t^2 - 5)",
    "atan2(sin(t), cos(3*t) + 0.5)", "sinh(sin(t))", "cosh(t - 3)", "tanh(9*(t - 2))", "asinh(t^2)", "acosh(2 + sin(t))",
    "atanh(0.9*sin(t))", "sqrt(t)", "cbrt(t - 3)", "exp(sin(t))", "expm1(-t)", "log(t + 1)", "log1p(t^2)", "log10(2 + sin(t))",
    "log2(1 + t)", "lgamma(t/2 + 0.1)", "lgamma(1.5 + 0.2*sin(9*t))", "lgamma(sin(t))",
    "erf(t - 3)", "erfc(3*t - 9)", "abs(sin(t))", "sign(sin(t))", "floor(t*a)", "ceil(sin(3*t))",
    "heaviside(2 - t)*t", "interp(t, 0.5, 2, 1, 3, 1.2, -1, 4, 0)", "interp(sin(9*t), -0.5, 1, 0.1, 2, 0.2, -3, 2, 2)*t^2",
    "min(sin(t), t/3 - 1)", "max(cos(t), a/5, t - 4)", "(t > 2)*t", "(sin(t) <= 0.3)*5", "1/(1 + (t - 3)^20)",
    "1/(t^2 + 1e-3)", "1/sin(t)",
    "t^2.5", "t^-2", "(1 + t)^sin(t)", "(sin(t) - 2)^3", "2^t", "t^b", "if sin(t) > a/3 and cos(t) < 0.5 then t else -t",
    "if not (t < 2 or t > 3) then exp(t) else 1", "if sin(t) then 1 else 2", "t - 2*floor(t/2)", "sin(t)*exp(-t)*t",
    "sin(t) - sin(t + 1e-3)",
    "exp(800*(t - 3))/(1 + exp(800*(t - 3)))", "sqrt(abs(sin(5*t)))", "if t == 3 then 1 else 0",
    "if sin(t) != 0.5 then t else 2",
};
enum { N_RATE = sizeof rates / sizeof *rates, N_SAMPLE = 200 };

static void make(struct generate_case *c)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    fputs("parameter a = 1, b = 1\n", out);
    for (size_t i = 0; i < N_RATE; i++)
        fprintf(out, "y%zu(0) = 0; y%zu' = %s\n", i, i, rates[i]);
    fputs("observe y0\n", out);
    assert_int_equal(fclose(out), 0);
    struct equations *equations;
    struct text_messages messages = {0};
    struct error error = {0};
    if (text_parse(text, n, "case.ode", &equations, &messages, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    free(text);
    text_messages_fini(&messages);
    case_generate(c, equations);
    case_compile(c);
}

/* Samples one span. Returns how many functions have bounds of no more than the samples' range and `slack` of their size. */
static size_t check_span(const struct generate_case *c, struct stiffit_point at, double from, double to, double slack)
{
    const struct stiffit_model *abi = &c->model.abi;
    size_t n = abi->n_forcing, n_tight = 0;
    double *bound = calloc(4 * n, sizeof *bound), *value = calloc(n, sizeof *value), *before = calloc(n, sizeof *before);
    double *low = calloc(n, sizeof *low), *high = calloc(n, sizeof *high);
    assert_true(bound && value && before && low && high);
    at.t = from;
    assert_int_equal(abi->forcing_range(&at, to, bound), STIFFIT_OK);
    for (size_t s = 0; s <= N_SAMPLE; s++) {
        at.t = s < N_SAMPLE ? from + (to - from) * ((double)s / N_SAMPLE) : to;
        assert_int_equal(abi->forcing(&at, value), STIFFIT_OK);
        for (size_t i = 0; i < n; i++) {
            double allowed = 1e-12 * (1 + fabs(value[i]));
            if (isfinite(value[i]) && !(value[i] >= bound[i] - allowed && value[i] <= bound[n + i] + allowed))
                fail_msg("function %zu is %.17g at %.17g, outside of [%.17g, %.17g] over [%.17g, %.17g]", i, value[i], at.t,
                         bound[i], bound[n + i], from, to);
            double slope = s ? (value[i] - before[i]) * N_SAMPLE / (to - from) : NAN; /* a slope somewhere in between */
            allowed = 1e-12 * N_SAMPLE / (to - from) * (1 + fabs(value[i])) + 1e-9 * fabs(slope);
            if (isfinite(slope) && !(slope >= bound[2 * n + i] - allowed && slope <= bound[3 * n + i] + allowed))
                fail_msg("function %zu has slope %.17g before %.17g, outside of [%.17g, %.17g] over [%.17g, %.17g]", i, slope,
                         at.t, bound[2 * n + i], bound[3 * n + i], from, to);
            low[i] = s ? fmin(low[i], value[i]) : value[i];
            high[i] = s ? fmax(high[i], value[i]) : value[i];
            before[i] = value[i];
        }
    }
    for (size_t i = 0; i < n; i++)
        n_tight += bound[n + i] - bound[i] <= high[i] - low[i] + slack * (fabs(low[i]) + fabs(high[i]) + 1e-3);
    free(bound);
    free(value);
    free(before);
    free(low);
    free(high);
    return n_tight;
}

static void test_bounds(void **state)
{
    (void)state;
    struct generate_case c;
    make(&c);
    double p[] = {1.3, 0.7}, *work = calloc(c.model.abi.n_work + 1, sizeof *work);
    struct stiffit_point at = {.p = p, .work = work};
    assert_true(work && c.model.abi.n_forcing >= N_RATE - 2);
    assert_non_null(c.model.abi.forcing_range);
    if (c.model.abi.prepare)
        assert_int_equal(c.model.abi.prepare(&at, work), STIFFIT_OK);
    for (uint64_t i = 0; i < 300; i++) { /* spans from 1e-6 to all */
        double length = pow(10, -6 + 6.8 * random_uniform(1, 1, i)), from = 6.3 * random_uniform(1, 2, i);
        check_span(&c, at, from, from + length, 0);
    }
    /* Over a short span, away from jumps, all bounds are nearly the range itself: terms that cancel are 1e3 times the value. */
    size_t n = c.model.abi.n_forcing, n_tight = check_span(&c, at, 2.3, 2.3 + 1e-7, 1e-3);
    if (n_tight < n)
        fail_msg("only %zu of %zu bounds are tight", n_tight, n);
    free(work);
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
