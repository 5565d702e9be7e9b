/* Derivatives: first and second ones of every operation against differences in long double, at edges against their
 * limits, branches, patterns, what they cost, and the functions of a whole model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "graph_case.h"

#include "model/graph/functions.h"

#include <string.h>

/* --- every operation, against functions of the C library in long double
 * ---------------------------------------------- */

typedef long double real;

/* Differences are too coarse near the pole of LGAMMA at -2. */
#define UNARY(X) \
    X(NEGATE, -a) X(RECIPROCAL, 1 / a) X(SQRT, sqrtl(a)) X(CBRT, cbrtl(a)) X(EXP, expl(a)) X(EXPM1, expm1l(a)) \
    X(LOG, logl(a)) \
    X(LOG1P, log1pl(a)) X(LOG10, log10l(a)) X(LOG2, log2l(a)) X(SIN, sinl(a)) X(COS, cosl(a)) X(TAN, tanl(a)) \
    X(ASIN, asinl(a)) X(ACOS, acosl(a)) X(ATAN, atanl(a)) X(SINH, sinhl(a)) X(COSH, coshl(a)) X(TANH, tanhl(a)) \
    X(ASINH, asinhl(a)) X(ACOSH, acoshl(a)) X(ATANH, atanhl(a)) X(ERF, erfl(a)) X(ERFC, erfcl(a)) \
    X(LGAMMA, a > -1.8L ? lgammal(a) : NAN) X(ABS, fabsl(a)) \
    X(SIGN, (a > 0) - (a < 0)) X(HEAVISIDE, a >= 0) X(FLOOR, floorl(a)) X(CEIL, ceill(a)) X(NOT, a == 0)
#define BINARY(X) \
    X(ADD, a + b) X(SUBTRACT, a - b) X(MULTIPLY, a *b) X(DIVIDE, a / b) X(POWER, powl(a, b)) X(POWER_LOG, powl(a, \
    b) * logl(a)) \
    X(ATAN2, atan2l(a, b)) X(MIN, b < a ? b : a) X(MAX, b > a ? b : a) X(LESS, a < b) X(LESS_EQUAL, a <= b) X(EQUAL, \
    a == b) \
    X(NOT_EQUAL, a != b) X(AND, a != 0 && b != 0) X(OR, a != 0 || b != 0)

#define X(name, expression) static real f_##name(real a, real b) { (void)b; return expression; }
UNARY(X) BINARY(X)
#undef X

static const struct operation { enum graph_op op; real (*f)(real a, real b); } operations[] = {
#define X(name, expression) {GRAPH_##name, f_##name},
    UNARY(X) BINARY(X)
#undef X
};

/* Six-point difference of f(a + s da, b + s db) at s = 0: error h^6/140 of the seventh derivative, and 1e-19/h
 * rounding. */
static real slope(real (*f)(real a, real b), real a, real b, real da, real db, real h)
{
    static const real weight[3] = {45, -9, 1};
    real sum = 0;
    for (int i = 1; i <= 3; i++)
        sum += weight[i - 1] * (f(a + i * h * da, b + i * h * db) - f(a - i * h * da, b - i * h * db));
    return sum / (60 * h);
}

static real slope_of_slope(real (*f)(real a, real b), real a, real b, real da, real db)
{
    const real h = 2e-3L;
    static const real weight[3] = {45, -9, 1};
    real sum = 0;
    for (int i = 1; i <= 3; i++)
        sum += weight[i - 1] * (slope(f, a + i * h * da, b + i * h * db, da, db, h) -
                                slope(f, a - i * h * da, b - i * h * db, da, db, h));
    return sum / (60 * h);
}

/* The derivative along a direction in the space of y0 and y1. */
static node along_direction(struct graph_case *self, node root, const double *along)
{
    node sum = 0;
    for (size_t i = 0; i < 2; i++)
        if (along[i] != 0)
            sum = B(ADD, sum, B(MULTIPLY, C(along[i]), case_derivative(self, root, GRAPH_STATE, i)));
    return sum;
}

/* The operation on y0 and y1, which move along (0.7, 0.4), (1, 0) or (0, 1). */
static void check_operation(struct graph_case *self, const struct operation *it, double a, double b,
                            const double *along)
{
    node value = graph_operation(self->graph, it->op, self->y);
    node first = along_direction(self, value, along), second = along_direction(self, first, along);
    self->y_at[0] = a;
    self->y_at[1] = b;
    double expected = (double)slope(it->f, a, b, along[0], along[1], 1e-3L), got = case_value(self, first);
    /* Seventh derivatives here are below 1e6: 1e-14 from the formula, and some roundings of the value in double. */
    if (!(fabs(got - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%s(%g, %g): derivative %.17g, by differences %.17g", graph_operations[it->op].name, a, b, got, expected);
    expected = (double)slope_of_slope(it->f, a, b, along[0], along[1]);
    got = case_value(self, second);
    if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected)))) /* 1e-19 / h^2, and h^6 of the eighth */
        fail_msg("%s(%g, %g): second derivative %.17g, by differences %.17g", graph_operations[it->op].name, a, b, got,
                 expected);
}

static void test_every_operation(void **state)
{
    struct graph_case *self = *state;
    static const double along[][2] = {{1, 0}, {0, 1}, {0.7, 0.4}};
    static const double points[][2] = {{0.4, 0.8}, {0.55, 1.7}, {0.62, -1.3}, {-0.45, 0.6}, {2.1, 1.1}, {2.4, 3.2},
                                       {-1.9, -0.7}};
    int n_checked = 0, checked[N_GRAPH_OP] = {0};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
            double a = points[k][0], b = points[k][1];
            if (!isfinite((double)operations[i].f(a, b))) /* not defined there */
                continue;
            checked[operations[i].op]++;
            for (size_t j = 0; j < 3; j++, n_checked++)
                check_operation(self, &operations[i], a, b, along[j]);
        }
    checked[GRAPH_INTERP] = checked[GRAPH_INTERP_SLOPE] = 2; /* test_tables */
    checked[GRAPH_POLYGAMMA] = checked[GRAPH_LGAMMA]; /* as its first and second derivatives */
    for (int op = GRAPH_ADD; op < GRAPH_SELECT; op++)
        assert_true(checked[op] >= 2);
    assert_true(n_checked > 600);
}

/* Values, slopes and that there is no second derivative; beyond the ends nothing changes. */
static void test_tables(void **state)
{
    struct graph_case *self = *state;
    const double x[] = {-1, 0, 0.5, 3}, y[] = {2, 1, 5, 4};
    node table = graph_table(self->graph, x, y, 4), squared = B(MULTIPLY, self->y[0], self->y[0]);
    node value = B(INTERP, squared, table), first = case_derivative(self, value, GRAPH_STATE, 0);
    node second = case_derivative(self, first, GRAPH_STATE, 0);
    assert_int_equal(graph_table(self->graph, x, y, 4), table);
    assert_int_not_equal(graph_table(self->graph, x, y, 3), table);
    const struct { double at, value, slope; } is[] = {{0.2, 1.32, 8}, {0.5, 3, 8}, {1, 4.8, -0.4}, {1.5, 4.3, -0.4}, {2, 4, 0}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        self->y_at[0] = is[i].at;
        assert_close(case_value(self, value), is[i].value, 1e-15);
        assert_close(case_value(self, first), 2 * is[i].at * is[i].slope, 1e-15);
        assert_close(case_value(self, second), 2 * is[i].slope, 1e-15);
    }
    self->y_at[0] = NAN;
    assert_true(isnan(case_value(self, value)) && isnan(case_value(self, first)));
    /* at the points themselves: the values, and the slopes to the right, but at the last one to the left */
    const double at[] = {-1, 0, 0.5, 3}, slope[] = {-1, 8, -0.4, -0.4};
    for (size_t i = 0; i < 4; i++) {
        assert_same(graph_node(self->graph, B(INTERP, C(at[i]), table))->value, y[i]);
        assert_close(graph_node(self->graph, B(INTERP_SLOPE, C(at[i]), table))->value, slope[i], 1e-15);
    }
}

/* Constant exponents and bases take other rules. */
static void test_powers(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0];
    for (double n = -17.5; n <= 18; n += 0.5) {
        node first = case_derivative(self, B(POWER, x, C(n)), GRAPH_STATE, 0);
        node second = case_derivative(self, first, GRAPH_STATE, 0);
        for (double at = 0.2; at < 3; at += 0.31) {
            self->y_at[0] = at;
            assert_close(case_value(self, first), n * pow(at, n - 1), 40 * 1.2e-16); /* as many roundings */
            assert_close(case_value(self, second), n * (n - 1) * pow(at, n - 2), 60 * 1.2e-16);
        }
    }
    node two = B(POWER, C(2), x), first = case_derivative(self, two, GRAPH_STATE, 0);
    assert_close(case_value(self, first), exp2(self->y_at[0]) * log(2), 1e-15);
    assert_close(case_value(self, case_derivative(self, first, GRAPH_STATE, 0)),
                 exp2(self->y_at[0]) * log(2) * log(2), 1e-15);
}

/* A quotient by what has overflowed is 0 and stays so; one whose numerator is 0 has a slope all the same. */
static void test_overflown_quotients(void **state)
{
    struct graph_case *self = *state;
    node y = self->y[0], e = B(ADD, C(1), graph_unary(self->graph, GRAPH_EXP, B(MULTIPLY, C(1000), y)));
    node quotients[] = {B(DIVIDE, C(1), e), B(DIVIDE, self->p[0], e), B(DIVIDE, y, e), B(DIVIDE, B(SUBTRACT, y, C(0.25)), e)};
    for (size_t i = 0; i < 4; i++) {
        self->y_at[0] = 1;
        assert_true(case_value(self, case_derivative(self, quotients[i], GRAPH_STATE, 0)) == 0);
    }
    self->y_at[0] = 0.25; /* (y - 1/4)/(1 + exp(250)) */
    assert_close(case_value(self, case_derivative(self, quotients[3], GRAPH_STATE, 0)), 1 / (1 + exp(250)), 1e-15);
    self->y_at[0] = 0; /* y/(1 + exp(1000 y)) */
    assert_close(case_value(self, case_derivative(self, quotients[2], GRAPH_STATE, 0)), 0.5, 1e-15);
}

/* Limits at 0: a Hill term of a substance that is not there yet. */
static void test_powers_of_nothing(void **state)
{
    struct graph_case *self = *state;
    node power = B(POWER, self->y[0], self->p[0]);
    node by_base = case_derivative(self, power, GRAPH_STATE, 0), by_exponent = case_derivative(self, power,
        GRAPH_PARAMETER, 0);
    node twice = case_derivative(self, by_exponent, GRAPH_PARAMETER, 0);
    self->y_at[0] = 0;
    self->p_at[0] = 1.5;
    assert_same(case_value(self, by_base), 0);
    assert_same(case_value(self, by_exponent), 0);
    assert_same(case_value(self, twice), 0);
    assert_same(case_value(self, case_derivative(self, by_exponent, GRAPH_STATE, 0)), 0);
    self->p_at[0] = 1;
    assert_same(case_value(self, by_base), 1);
    self->p_at[0] = 0.5;
    assert_same(case_value(self, by_base), INFINITY);
    assert_same(case_value(self, case_derivative(self, B(POWER, self->y[0], C(1.5)), GRAPH_STATE, 0)), 0);
    assert_same(case_value(self, case_derivative(self, B(POWER, self->y[0], C(2.5)), GRAPH_STATE, 0)), 0);
    /* By the exponent again where the base is not 0. */
    self->y_at[0] = 1.3;
    self->p_at[0] = 2.2;
    assert_close(case_value(self, twice), pow(1.3, 2.2) * log(1.3) * log(1.3), 1e-14);
}

/* A base that is 0 because a factor of it is stays 0: its infinite slope must not come through as a NaN. */
static void test_products_that_are_nothing(void **state)
{
    struct graph_case *self = *state;
    node base = B(MULTIPLY, self->p[0], self->y[0]), ratio = B(DIVIDE, self->y[0], self->p[0]);
    const node roots[] = {U(SQRT, base), U(CBRT, base), B(POWER, base, self->p[1]), B(POWER, base, C(0.7)),
                          U(SQRT, ratio), B(POWER, ratio, self->p[1]), B(POWER, U(NEGATE, ratio), C(0.7))};
    self->p_at[0] = 2;
    self->p_at[1] = 0.8;
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        node slope = case_derivative(self, roots[i], GRAPH_PARAMETER, 0);
        self->y_at[0] = 0;
        assert_true(case_value(self, slope) == 0);
        self->y_at[0] = i == 6 ? -1e-300 : 1e-300;
        assert_true(case_value(self, slope) != 0);
        self->y_at[0] = 0;
        assert_true(isinf(case_value(self, case_derivative(self, roots[i], GRAPH_STATE, 0))));
    }
}

/* --- branches
 * ------------------------------------------------------------------------------------------------------- */

static void test_branches(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1];
    /* sqrt has no derivative where it is not taken; nothing of that may come through. */
    node guarded = SELECT(B(LESS, 0, x), U(SQRT, x), B(MULTIPLY, C(3), x));
    node derivative = case_derivative(self, guarded, GRAPH_STATE, 0);
    self->y_at[0] = 4;
    assert_same(case_value(self, derivative), 0.25);
    self->y_at[0] = -4;
    assert_same(case_value(self, derivative), 3);
    self->y_at[0] = 0;
    assert_same(case_value(self, derivative), 3);
    node largest = case_derivative(self, B(MAX, U(LOG, x), y), GRAPH_STATE, 1);
    self->y_at[0] = 0;
    assert_same(case_value(self, largest), 1);
    /* A tank that has run dry: sqrt has no slope there, the flow has. */
    node flow = B(MULTIPLY, self->p[0], U(SQRT, B(MAX, x, 0))), by_level = case_derivative(self, flow, GRAPH_STATE, 0);
    node hill = B(POWER, B(MAX, x, 0), self->p[1]), by_x = case_derivative(self, hill, GRAPH_STATE, 0);
    self->p_at[1] = 0.5;
    self->y_at[0] = -1;
    assert_same(case_value(self, by_level), 0);
    assert_same(case_value(self, by_x), 0);
    self->y_at[0] = 4;
    assert_close(case_value(self, by_level), self->p_at[0] / 4, 1e-15);
    assert_close(case_value(self, by_x), 0.25, 1e-15);
    node size = case_derivative(self, U(ABS, B(MULTIPLY, C(2), x)), GRAPH_STATE, 0);
    for (int i = -1; i <= 1; i++) {
        self->y_at[0] = i;
        assert_same(case_value(self, size), i < 0 ? -2 : 2);
    }
    /* A choice that does not matter to the derivative is none. */
    assert_true(graph_is_constant(self->graph, case_derivative(self, SELECT(B(LESS, y, C(1)), x, B(ADD, x, y)),
                                                               GRAPH_STATE, 0), 1));
    assert_int_equal(case_derivative(self, SELECT(x, y, C(2)), GRAPH_STATE, 0), 0);
}

/* --- patterns and cost
 * ---------------------------------------------------------------------------------------------- */

static void test_pattern(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1], z = self->y[2];
    const node root[4] = {B(MULTIPLY, x, z), B(SUBTRACT, B(ADD, x, y), x), U(FLOOR, x), z};
    struct graph_matrix matrix;
    assert_int_equal(graph_jacobian(self->graph, root, 4, GRAPH_STATE, 4, &matrix, NULL), STATUS_OK);
    const uint32_t start[] = {0, 1, 2, 4, 4}, row[] = {0, 1, 0, 3};
    assert_int_equal(matrix.n_row, 4);
    assert_int_equal(matrix.n_column, 4);
    assert_int_equal(matrix.n_entry, 4);
    assert_memory_equal(matrix.column_start, start, sizeof start);
    assert_memory_equal(matrix.row, row, sizeof row);
    assert_int_equal(matrix.entry[0], z);
    assert_true(graph_is_constant(self->graph, matrix.entry[1], 1));
    assert_int_equal(matrix.entry[2], x);
    assert_true(graph_is_constant(self->graph, matrix.entry[3], 1));
    graph_matrix_fini(&matrix);
    assert_int_equal(graph_jacobian(self->graph, root, 4, GRAPH_TIME, 1, &matrix, NULL), STATUS_OK);
    assert_int_equal(matrix.n_entry, 0);
    graph_matrix_fini(&matrix);
    assert_int_equal(graph_jacobian(self->graph, NULL, 0, GRAPH_STATE, 4, &matrix, NULL), STATUS_OK);
    assert_int_equal(matrix.column_start[4], 0);
    graph_matrix_fini(&matrix);
    graph_matrix_fini(&matrix);
}

/* Derivatives use what the values have. */
static void test_normal_forms(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], p = self->p[0], q = self->p[1], t = self->t;
    node two_p_x = B(MULTIPLY, B(MULTIPLY, C(2), p), x);
    assert_int_equal(case_derivative(self, two_p_x, GRAPH_STATE, 0), B(MULTIPLY, C(2), p));
    assert_int_equal(case_derivative(self, two_p_x, GRAPH_PARAMETER, 0), B(MULTIPLY, C(2), x));
    assert_int_equal(case_derivative(self, B(POWER, x, C(3)), GRAPH_STATE, 0), B(MULTIPLY, C(3), B(MULTIPLY, x, x)));
    node decay = B(MULTIPLY, p, U(EXP, U(NEGATE, B(MULTIPLY, q, t))));
    assert_int_equal(case_derivative(self, decay, GRAPH_TIME, 0), U(NEGATE, B(MULTIPLY, decay, q)));
    assert_int_equal(case_derivative(self, decay, GRAPH_PARAMETER, 1), U(NEGATE, B(MULTIPLY, decay, t)));
    node below = B(ADD, q, x), rate = B(DIVIDE, B(MULTIPLY, p, x), below);
    assert_int_equal(case_derivative(self, rate, GRAPH_PARAMETER, 0), B(DIVIDE, x, below));
    assert_int_equal(case_derivative(self, rate, GRAPH_PARAMETER, 1), U(NEGATE, B(DIVIDE, rate, below)));
    assert_int_equal(case_derivative(self, rate, GRAPH_STATE, 0), B(DIVIDE, B(SUBTRACT, p, rate), below));
}

/* A variable costs what it is in, not the length of the sum around it. */
static void test_long_sum(void **state)
{
    struct graph_case *self = *state;
    enum { N_TERM = 100000, N_LEAF = N_CASE_PARAMETER };
    node sum = 0;
    for (uint32_t i = 0; i < N_TERM; i++) {
        node term = B(MULTIPLY, graph_leaf(self->graph, GRAPH_PARAMETER, i % N_LEAF), U(SIN, B(MULTIPLY,
            C(1 + 1e-5 * i), self->t)));
        sum = i % 3 ? B(ADD, sum, term) : U(NEGATE, B(SUBTRACT, term, sum));
    }
    struct graph_matrix matrix;
    size_t before = graph_n_node(self->graph);
    assert_int_equal(graph_jacobian(self->graph, &sum, 1, GRAPH_PARAMETER, N_LEAF, &matrix, NULL), STATUS_OK);
    assert_int_equal(matrix.n_entry, N_LEAF);
    assert_true(graph_n_node(self->graph) < before + N_TERM + 10);
    double expected = 0;
    for (uint32_t i = 7; i < N_TERM; i += N_LEAF)
        expected += (i % 3 ? 1 : -1) * sin((1 + 1e-5 * i) * self->t_at);
    /* The condition of this sum of 100 terms is a few hundred. */
    assert_close(case_value(self, matrix.entry[7]), expected, 1e-12);
    graph_matrix_fini(&matrix);
}

/* Work without bound is an error, not a hang: here many entries that are all the same node. */
static void test_too_much_work(void **state)
{
    struct graph_case *self = *state;
    enum { N_LEAF = 100, N_ROOT = 1000 };
    node sum = 0, root[N_ROOT];
    for (uint32_t i = 0; i < N_LEAF; i++)
        sum = B(ADD, sum, graph_leaf(self->graph, GRAPH_STATE, i));
    for (uint32_t i = 0; i < N_ROOT; i++)
        root[i] = sum = B(ADD, sum, self->p[i % 2]);
    struct graph_matrix matrix;
    assert_int_equal(graph_jacobian(self->graph, root, N_ROOT, GRAPH_STATE, N_LEAF, &matrix, NULL), STATUS_OK);
    assert_int_equal(matrix.n_entry, N_ROOT * N_LEAF);
    graph_matrix_fini(&matrix);
    graph_set_limit(self->graph, 2 * graph_n_node(self->graph));
    struct error error;
    assert_int_equal(graph_jacobian(self->graph, root, N_ROOT, GRAPH_STATE, N_LEAF, &matrix, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "too large"));
    assert_null(matrix.row);
}

/* --- the functions of a model
 * --------------------------------------------------------------------------------------- */

static void test_functions(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1], k = self->p[0], x0 = self->p[1], s = self->p[2];
    node flow = B(MULTIPLY, k, x);
    struct equation_state states[2] = {{.initial = x0, .rhs = U(NEGATE, flow)}, {.initial = 0, .rhs = flow}};
    struct equation_parameter parameters[4] = {{0}};
    struct equation_observable observables[2] = {{.value = B(ADD, x, U(FLOOR, self->p[3])), .noise = NODE_NONE},
                                                 {.value = y, .noise = B(MULTIPLY, s, y)}};
    struct equations equations = {.state = states, .parameter = parameters, .observable = observables, .n_state = 2,
                                  .n_parameter = 4, .n_observable = 2, .graph = self->graph};
    struct functions functions;
    assert_int_equal(functions_derive(&equations, &functions, NULL), STATUS_OK);
    const struct { enum model_function function; size_t n_row, n_column, n_entry; } shapes[] = {
        {FUNCTION_initial, 2, 1, 2}, {FUNCTION_rhs, 2, 1, 2}, {FUNCTION_observe, 2, 1, 2}, {FUNCTION_noise, 2, 1, 2},
        {FUNCTION_jacobian, 2, 2, 2}, {FUNCTION_rhs_parameter, 2, 4, 2}, {FUNCTION_initial_parameter, 2, 4, 1},
        {FUNCTION_observe_state, 2, 2, 2}, {FUNCTION_observe_parameter, 2, 4, 0}, {FUNCTION_noise_state, 2, 2, 1},
        {FUNCTION_noise_parameter, 2, 4, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct graph_matrix *of = &functions.of[shapes[i].function];
        assert_int_equal(of->n_row, shapes[i].n_row);
        assert_int_equal(of->n_column, shapes[i].n_column);
        assert_int_equal(of->n_entry, shapes[i].n_entry);
        assert_int_equal(of->column_start[of->n_column], of->n_entry);
    }
    assert_int_equal(functions.of[FUNCTION_jacobian].entry[0], U(NEGATE, k));
    assert_int_equal(functions.of[FUNCTION_jacobian].entry[1], k);
    assert_true(graph_is_constant(self->graph, functions.of[FUNCTION_noise].entry[0], 1));
    assert_int_equal(functions.of[FUNCTION_noise_parameter].row[0], 1);
    assert_int_equal(functions.of[FUNCTION_noise_parameter].entry[0], y);
    const uint8_t use[4] = {STIFFIT_USE_RHS, STIFFIT_USE_INITIAL, STIFFIT_USE_NOISE, STIFFIT_USE_OBSERVE};
    assert_memory_equal(functions.parameter_use, use, sizeof use);
    functions_fini(&functions);
    functions_fini(&functions);
    assert_string_equal(model_functions[FUNCTION_rhs_parameter].name, "rhs_parameter");
}

/* No states, no noise: observables of time alone. */
static void test_functions_without_states(void **state)
{
    struct graph_case *self = *state;
    struct equation_parameter parameters[1] = {{0}};
    struct equation_observable observables[1] = {{.value = B(MULTIPLY, self->p[0], self->t), .noise = NODE_NONE}};
    struct equations equations = {.parameter = parameters, .observable = observables, .n_parameter = 1,
                                  .n_observable = 1,
                                  .graph = self->graph};
    struct functions functions;
    assert_int_equal(functions_derive(&equations, &functions, NULL), STATUS_OK);
    for (int i = 0; i < N_MODEL_FUNCTION; i++) {
        bool is_observe = i == FUNCTION_observe || i == FUNCTION_observe_parameter;
        assert_int_equal(functions.of[i].n_entry, is_observe ? 1 : 0);
    }
    assert_int_equal(functions.of[FUNCTION_noise].n_row, 0);
    assert_int_equal(functions.of[FUNCTION_noise_parameter].n_row, 0);
    assert_int_equal(functions.of[FUNCTION_noise_parameter].n_column, 0);
    assert_int_equal(functions.of[FUNCTION_rhs_parameter].n_column, 1);
    assert_int_equal(functions.of[FUNCTION_observe_parameter].entry[0], self->t);
    assert_int_equal(functions.parameter_use[0], STIFFIT_USE_OBSERVE);
    functions_fini(&functions);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, case_set_up, case_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_operation), TEST(test_tables), TEST(test_powers), TEST(test_powers_of_nothing),
        TEST(test_overflown_quotients),
        TEST(test_products_that_are_nothing), TEST(test_branches),
        TEST(test_pattern),
        TEST(test_normal_forms), TEST(test_long_sum), TEST(test_too_much_work), TEST(test_functions),
        TEST(test_functions_without_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
