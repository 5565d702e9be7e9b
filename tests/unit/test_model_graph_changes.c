/* Which conditions are proved to make no jump, which switches and inputs a model has, and that no proof is wrong.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_case.h"

#include "base/random.h"
#include "model/graph/functions.h"

/* Switches and inputs of x' = `rate`, with u = (x - a)/(b - a) and step(s) = s < 0, 0 < 1, 1. */
static void count(const char *rate, size_t *n_switching, size_t *n_forcing)
{
    struct text_case self;
    struct functions functions;
    char text[2000];
    snprintf(text, sizeof text,
             "parameter a = 1, b = 2, k = 3\nconstant c = 1.5, d = 2.5\ncovariate w\n"
             "ramp(s) = if s < 0 then 0 else if s < 1 then 3*s^2 - 2*s^3 else 1\n"
             "u = (x - a)/(b - a)\nx(0) = 1; y(0) = 2\ny' = -y\nx' = %s\nobserve x\n", rate);
    text_read_good(&self, text);
    assert_int_equal(functions_derive(self.equations, &functions, NULL), STATUS_OK);
    *n_switching = functions.of[FUNCTION_switching].n_row;
    *n_forcing = functions.of[FUNCTION_forcing].n_row;
    functions_fini(&functions);
    text_end(&self);
}

static void test_proved(void **state)
{
    (void)state;
    static const char *const rates[] = {
        "-k*x", "max(x, a) + min(x, y)*abs(x - y)", "max(0, x - a)^k",
        "if x > 0 then x else 0", "if x > a then k*(x - a) else 0", "if x < a then k*x else k*a",
        "if x < a then x/a else 1", "if x < a then b*x else b*a + c*(x - a)", "if x - a > 0 then k*(x - a) else 0",
        "if x < a then 0 else (x - a)/(k + x - a)", "ramp(u)", "ramp((x - 1)/3)", "ramp(x - y)",
        "if x < c then 0 else if x < d then (x - c)/(d - c) else 1", "if x >= a and x >= 0 then x else x",
        "if x*y > a then x*y - a else 0", "if x < y then exp(x - y) else 1", "heaviside(x - a)*(x - a)", "sign(x)*x",
        "if x^2 > a then sqrt(x^2 - a) else 0", "if 2*x + 3*y > k then (2*x + 3*y - k)*exp(y) else 0",
        "if x == 1 then 5 else x", "if t^2 > 5 then k else 0",
        "if sin(t) > w then k*x else 0", "if k > a then k*x else a*x",
        "if not x > 0 then 0 else x", "if x > 0 or y > 100 then x*0 else 0",
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        size_t n_switching, n_forcing;
        count(rates[i], &n_switching, &n_forcing);
        if (n_switching != 0)
            fail_msg("%s has %zu switches", rates[i], n_switching);
    }
}

/* The limits of both sides differ, or nothing is known of one. */
static void test_jumps(void **state)
{
    (void)state;
    static const struct { const char *rate; size_t n; } is[] = {
        {"if x > 1 then -a*x else -0.2*a*x", 1}, {"if x > a then k else 0", 1}, {"heaviside(x - a)", 1}, {"sign(x)*k", 1},
        {"floor(x)", 1}, {"x - ceil(x)", 1}, {"atan2(x, y)", 1}, {"atan2(x, 0*y)", 1}, {"(x > a)*k", 1},
        {"if t > a then k else 0", 1},
        {"if t > 5 then k else 0", 1},
        {"if 2*(t - w) > -t/3 then k*x else 0", 1}, {"if sin(t/a) > w then k*x else 0", 1},
        {"heaviside(t - a)*x", 1}, {"if x < 0 then 1 else 2", 1}, {"if x > 0 and y > 0 then x else 0", 1},
        {"if x > 0 then x*(1/x) else 0", 1}, {"if x > 0 then x*exp(1/x) else 0", 1}, {"if x > 0 then x/x else 0", 1},
        {"if x > 0 then x*log(x) else 0", 1}, /* it is continuous, but that takes more than algebra */
        {"if x > 0 then exp(-a/x) else 0", 1}, {"if x > 0 then x^k else 0", 1},
        {"if x > a then if y > b then x - a else 1 else 0", 2}, /* y only matters where x > a; and it jumps there */
        {"if x < a then 0 else if x < b then (x - a)/(b - a) else 1", 1}, /* at x = a: that may be above b */
        {"if x < 1 then x else 1 + 1e-13*x", 1}, {"if x < 1 then x else 1 + 1e-12", 1},
        {"if exp(x) > a then exp(x) - b else 0", 1}, {"if x > 1 then 0 else floor(y - x)", 2},
        {"min(x, 1)*(x > 1)", 1}, {"if x > 0 then 1e300*x*1e300 else 1e-300", 1},
    };
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        size_t n_switching, n_forcing;
        count(is[i].rate, &n_switching, &n_forcing);
        if (n_switching != is[i].n)
            fail_msg("%s has %zu switches, not %zu", is[i].rate, n_switching, is[i].n);
    }
}

static void test_forcing(void **state)
{
    (void)state;
    static const struct { const char *rate; size_t n; } is[] = {
        {"-k*x", 0}, {"t*x", 0}, {"k*(t - 5)*x", 0}, {"sin(t)*x", 1}, {"exp(-k*t)", 1},
        {"k/(1 + exp(-(t - a)/b))*x", 2},  /* the whole, and a step at t = a */
        {"exp(-((t - a)/b)^2) - x", 2}, {"(if t > 5 then k else 0)*x", 2}, {"if t > 5 and x > 1 then k else x", 1},
        {"sin(2*3.14*(t - a))*x", 1}, {"max(0, t - 5)*x", 2}, {"tanh(t - 1) - tanh(t - 2)", 3},
        {"if t - 24*floor(t/24) < 1 then k else -x", 2}, /* the condition and floor() */
    };
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        size_t n_switching, n_forcing;
        count(is[i].rate, &n_switching, &n_forcing);
        if (n_forcing != is[i].n)
            fail_msg("%s has %zu inputs, not %zu", is[i].rate, n_forcing, is[i].n);
    }
}

/* The values at (x, y) of the condition and of its only switch. */
static void side_of(enum graph_op op, double x, double y, double *condition, double *switching)
{
    struct graph *graph = graph_new();
    node a = graph_leaf(graph, GRAPH_STATE, 0), b = graph_leaf(graph, GRAPH_STATE, 1);
    struct equations equations = {.n_state = 2, .graph = graph, .state = calloc(2, sizeof(struct equation_state)),
                                  .observable = calloc(1, sizeof(struct equation_observable))};
    node root = graph_n_argument(op) == 1 ? graph_unary(graph, op, a) : graph_binary(graph, op, a, b);
    equations.state[0].rhs = root;
    equations.state[1].rhs = a;
    struct functions functions;
    assert_int_equal(functions_derive(&equations, &functions, NULL), STATUS_OK);
    assert_int_equal(functions.of[FUNCTION_switching].n_row, 1);
    double *value = calloc(graph_n_node(graph), sizeof *value);
    graph_evaluate(graph, &(struct stiffit_point){.y = (double[]){x, y}}, value);
    *condition = value[root];
    *switching = value[functions.of[FUNCTION_switching].entry[0]];
    free(value);
    functions_fini(&functions);
    free(equations.state);
    free(equations.observable);
    graph_free(graph);
}

/* A switch is negative on one side and not on the other, whatever the rounding. */
static void test_sides(void **state)
{
    (void)state;
    for (int k = 0; k < 400; k++) {
        double a = random_normal(1, 1, (uint64_t)k) * pow(10, k % 37 - 18), b = k % 4 == 0 ? a : nextafter(a, k % 3 - 1.0);
        enum graph_op op = k % 2 ? GRAPH_LESS : GRAPH_LESS_EQUAL;
        double condition, switching;
        side_of(op, a, b, &condition, &switching);
        assert_int_equal(switching < 0, condition == (op == GRAPH_LESS));
    }
}

/* Those of whole numbers change between the same two numbers, or are 0 in between. */
static void test_whole_numbers(void **state)
{
    (void)state;
    for (int k = -300; k < 300; k++)
        for (int i = 0; i < 2; i++) {
            double whole = k * pow(3, abs(k) % 11), at[] = {nextafter(whole, -INFINITY), whole, nextafter(whole, INFINITY)};
            double value[3], switching[3];
            for (int j = 0; j < 3; j++)
                side_of(i ? GRAPH_FLOOR : GRAPH_CEIL, at[j], 0, &value[j], &switching[j]);
            if (!(value[0] != value[2] && (switching[0] < 0) != (switching[2] < 0) && switching[1] == 0))
                fail_msg("at %g: %g, %g, %g", whole, switching[0], switching[1], switching[2]);
        }
}

/* Random pieces in a tree of conditions, polynomials in x and y: where no switch is left, the rates agree to rounding on both
 * sides of every surface, at points that the proof has not seen. */
static double piece(int which, double x, double y)
{
    switch (which) {
    case 0: return 0;
    case 1: return x - 1;
    case 2: return (x - 1) * y;
    case 3: return x * x - 1;
    case 4: return y;
    case 5: return x * y;
    default: return (x * x - 1) / (x + 1);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    static const char *const text[] = {"0", "(x - 1)", "(x - 1)*y", "(x^2 - 1)", "y", "x*y", "(x^2 - 1)/(x + 1)"};
    enum { N = sizeof text / sizeof *text };
    int n_proved = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            size_t n_switching, n_forcing;
            char rate[200];
            snprintf(rate, sizeof rate, "if x > 1 then %s else %s", text[i], text[j]);
            count(rate, &n_switching, &n_forcing);
            bool is_continuous = true;
            for (double y = -3; y < 4; y += 0.7)
                is_continuous = is_continuous && fabs(piece(i, 1, y) - piece(j, 1, y)) < 1e-12;
            assert_int_equal(n_switching, is_continuous ? 0 : 1); /* of rational functions everything is known */
            n_proved += is_continuous;
        }
    assert_true(n_proved >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proved), cmocka_unit_test(test_jumps), cmocka_unit_test(test_forcing),
        cmocka_unit_test(test_sides), cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
