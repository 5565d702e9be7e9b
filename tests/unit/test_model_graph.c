/* The expression graph: sharing, every rule of simplification, folding, what it does to NaN and infinity, its limits;
 * and the lines of the equations' text.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "graph_case.h"

#include "model/graph/equations.h"

#include <string.h>

static enum graph_op op_of(const struct graph_case *self, node which) { return graph_node(self->graph, which)->op; }

static void test_sharing(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1];
    assert_true(graph_is_constant(self->graph, 0, 0));
    assert_int_equal(C(0.0), 0);
    assert_int_equal(C(-0.0), 0);
    assert_int_equal(C(2.5), C(2.5));
    assert_int_not_equal(C(2.5), C(nextafter(2.5, 3)));
    assert_int_equal(C(NAN), C(NAN));
    assert_int_equal(graph_leaf(self->graph, GRAPH_STATE, 0), x);
    assert_int_not_equal(self->p[0], x);
    assert_int_equal(B(ADD, x, y), B(ADD, y, x));
    assert_int_equal(B(MULTIPLY, x, y), B(MULTIPLY, y, x));
    assert_int_equal(B(EQUAL, x, y), B(EQUAL, y, x));
    assert_int_equal(B(AND, x, y), B(AND, y, x));
    assert_int_not_equal(B(SUBTRACT, x, y), B(SUBTRACT, y, x));
    assert_int_not_equal(B(DIVIDE, x, y), B(DIVIDE, y, x));
    assert_int_not_equal(B(MIN, x, y), B(MIN, y, x)); /* they differ where one is NaN */
    assert_int_not_equal(U(SIN, x), U(COS, x));
    size_t before = graph_n_node(self->graph);
    for (int i = 0; i < 20000; i++)
        C(i * 0.1); /* the table grows several times */
    size_t after = graph_n_node(self->graph);
    for (int i = 0; i < 20000; i++)
        assert_true(graph_is_constant(self->graph, C(i * 0.1), i * 0.1));
    assert_int_equal(graph_n_node(self->graph), after);
    assert_true(after <= before + 20000);
}

/* Arguments come before their users, and every operation has as many as it should. */
static void test_order(void **state)
{
    struct graph_case *self = *state;
    node sum = 0;
    for (int i = 0; i < 1000; i++)
        sum = B(ADD, sum, B(DIVIDE, U(EXP, B(MULTIPLY, C(i), self->y[i % 4])), self->p[i % 3]));
    for (node i = 0; i < graph_n_node(self->graph); i++) {
        const struct graph_node *it = graph_node(self->graph, i);
        int n = graph_n_argument(it->op);
        for (int k = 0; n && k < 3; k++)
            assert_true(k < n ? it->arg[k] < i : it->arg[k] == NODE_NONE);
    }
    assert_string_equal(graph_operations[GRAPH_LESS_EQUAL].name, "LESS_EQUAL");
    assert_string_equal(graph_operations[GRAPH_STATE].name, "STATE");
}

static void test_nothing(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], one = C(1);
    assert_int_equal(B(ADD, x, 0), x);
    assert_int_equal(B(ADD, 0, x), x);
    assert_int_equal(B(SUBTRACT, x, 0), x);
    assert_int_equal(B(SUBTRACT, 0, x), U(NEGATE, x));
    assert_int_equal(B(MULTIPLY, x, one), x);
    assert_int_equal(B(MULTIPLY, C(-1), x), U(NEGATE, x));
    assert_int_equal(B(DIVIDE, x, one), x);
    assert_int_equal(B(POWER, x, one), x);
    assert_int_equal(B(POWER, x, 0), one);
    assert_int_equal(B(POWER, one, x), one);
    assert_int_equal(B(MULTIPLY, x, 0), 0);
    assert_int_equal(B(DIVIDE, 0, x), 0);
    assert_int_equal(B(SUBTRACT, x, x), 0);
    assert_int_equal(B(ADD, x, U(NEGATE, x)), 0);
    assert_int_equal(op_of(self, B(DIVIDE, x, x)), GRAPH_DIVIDE);
}

static void test_signs(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1], minus_x = U(NEGATE, x), minus_y = U(NEGATE, y);
    assert_int_equal(U(NEGATE, minus_x), x);
    assert_int_equal(B(ADD, x, minus_y), B(SUBTRACT, x, y));
    assert_int_equal(B(ADD, minus_x, minus_y), U(NEGATE, B(ADD, x, y)));
    assert_int_equal(B(SUBTRACT, x, minus_y), B(ADD, x, y));
    assert_int_equal(B(SUBTRACT, minus_x, y), U(NEGATE, B(ADD, x, y)));
    assert_int_equal(B(ADD, x, C(-3)), B(SUBTRACT, x, C(3)));
    assert_int_equal(B(MULTIPLY, minus_x, y), U(NEGATE, B(MULTIPLY, x, y)));
    assert_int_equal(B(MULTIPLY, minus_x, minus_y), B(MULTIPLY, x, y));
    assert_int_equal(B(MULTIPLY, C(-3), x), U(NEGATE, B(MULTIPLY, C(3), x)));
    assert_int_equal(B(DIVIDE, minus_x, y), U(NEGATE, B(DIVIDE, x, y)));
    assert_int_equal(B(DIVIDE, minus_x, minus_y), B(DIVIDE, x, y));
    assert_int_equal(B(DIVIDE, C(-1), x), U(NEGATE, U(RECIPROCAL, x)));
    assert_int_equal(U(SIN, minus_x), U(NEGATE, U(SIN, x)));
    assert_int_equal(U(COS, minus_x), U(COS, x));
    assert_int_equal(U(ABS, minus_x), U(ABS, x));
    assert_int_equal(U(ABS, U(ABS, x)), U(ABS, x));
    assert_int_equal(op_of(self, U(EXP, minus_x)), GRAPH_EXP);
    /* The difference that came first is the one that is shared. */
    node difference = B(SUBTRACT, y, x);
    assert_int_equal(B(SUBTRACT, x, y), B(SUBTRACT, x, y));
    node late = B(SUBTRACT, self->p[1], self->p[0]);
    assert_int_equal(B(SUBTRACT, self->p[0], self->p[1]), U(NEGATE, late));
    assert_int_equal(B(MULTIPLY, self->p[2], U(NEGATE, difference)), U(NEGATE, B(MULTIPLY, self->p[2], difference)));
}

static void test_factors(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1];
    assert_int_equal(B(ADD, x, x), B(MULTIPLY, C(2), x));
    assert_int_equal(B(ADD, B(MULTIPLY, C(2), x), x), B(MULTIPLY, C(3), x));
    assert_int_equal(B(SUBTRACT, x, B(MULTIPLY, C(3), x)), B(MULTIPLY, C(-2), x));
    assert_int_equal(B(SUBTRACT, B(MULTIPLY, C(3), x), B(MULTIPLY, C(2), x)), x);
    assert_int_equal(B(MULTIPLY, C(2), B(MULTIPLY, C(3), x)), B(MULTIPLY, C(6), x));
    assert_int_equal(B(MULTIPLY, B(MULTIPLY, C(2), x), B(MULTIPLY, C(0.5), y)), B(MULTIPLY, x, y));
    assert_int_equal(B(MULTIPLY, C(2), B(MULTIPLY, B(MULTIPLY, C(3), self->p[0]), y)),
                     B(MULTIPLY, C(6), B(MULTIPLY, self->p[0], y)));
    /* 2 p can be had before the integration: it stays together unless p y is there. */
    node two_p = B(MULTIPLY, C(2), self->p[1]);
    assert_int_equal(graph_node(self->graph, B(MULTIPLY, two_p, x))->arg[0] == two_p ||
                     graph_node(self->graph, B(MULTIPLY, two_p, x))->arg[1] == two_p, 1);
    node there = B(MULTIPLY, self->p[1], y);
    assert_int_equal(B(MULTIPLY, two_p, y), B(MULTIPLY, C(2), there));
    /* A product that overflows or loses digits is left alone. */
    node small = B(MULTIPLY, C(1e-200), x), smaller = B(MULTIPLY, C(1e-200), small);
    self->y_at[0] = 1e300;
    assert_close(case_value(self, smaller), 1e-100, 1e-15);
    node large = B(MULTIPLY, C(1e200), B(MULTIPLY, C(1e200), x));
    self->y_at[0] = 1e-300;
    assert_close(case_value(self, large), 1e100, 1e-15);
    assert_int_equal(B(DIVIDE, x, C(4)), B(MULTIPLY, C(0.25), x));
    assert_int_equal(op_of(self, B(DIVIDE, x, C(3))), GRAPH_DIVIDE);
    assert_int_equal(B(DIVIDE, C(1), x), U(RECIPROCAL, x));
    assert_int_equal(B(MULTIPLY, C(3), U(RECIPROCAL, x)), B(DIVIDE, C(3), x));
    assert_int_equal(B(MULTIPLY, C(2), B(DIVIDE, C(3), x)), B(DIVIDE, C(6), x));
    assert_int_equal(B(MULTIPLY, C(4), B(DIVIDE, C(0.25), x)), U(RECIPROCAL, x));
    assert_int_equal(B(MULTIPLY, C(0.5), B(DIVIDE, B(MULTIPLY, C(2), x), y)), B(DIVIDE, x, y));
}

static void test_powers(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], square = B(MULTIPLY, x, x);
    assert_int_equal(B(POWER, x, C(2)), square);
    assert_int_equal(B(POWER, x, C(3)), B(MULTIPLY, x, square));
    assert_int_equal(B(POWER, x, C(4)), B(MULTIPLY, square, square));
    assert_int_equal(B(POWER, x, C(-1)), U(RECIPROCAL, x));
    assert_int_equal(B(POWER, x, C(-2)), U(RECIPROCAL, square));
    assert_int_equal(B(POWER, x, C(0.5)), U(SQRT, x));
    assert_int_equal(B(POWER, x, C(-0.5)), U(RECIPROCAL, U(SQRT, x)));
    assert_int_equal(B(POWER, x, C(1.5)), B(MULTIPLY, x, U(SQRT, x)));
    assert_int_equal(op_of(self, B(POWER, x, C(17))), GRAPH_POWER);
    assert_int_equal(op_of(self, B(POWER, x, C(2.5))), GRAPH_POWER);
    assert_int_equal(op_of(self, B(POWER, C(2), x)), GRAPH_POWER);
    for (double n = -16.5; n <= 16; n += 0.5)
        for (double at = 0.1; at < 4; at += 0.37) {
            self->y_at[0] = at;
            /* At most 15 multiplications and a root or a division, half an ulp each. */
            assert_close(case_value(self, B(POWER, x, C(n))), pow(at, n), 20 * 1.2e-16);
        }
    self->y_at[0] = -1.7;
    assert_close(case_value(self, B(POWER, x, C(7))), pow(-1.7, 7), 20 * 1.2e-16);
    assert_close(case_value(self, B(POWER, U(NEGATE, x), C(-4))), pow(1.7, -4), 20 * 1.2e-16);
}

static void test_choices(void **state)
{
    struct graph_case *self = *state;
    node x = self->y[0], y = self->y[1], c = B(LESS, x, y), one = C(1);
    assert_int_equal(SELECT(c, x, x), x);
    assert_int_equal(SELECT(one, x, y), x);
    assert_int_equal(SELECT(C(-0.1), x, y), x);
    assert_int_equal(SELECT(0, x, y), y);
    assert_int_equal(SELECT(U(NOT, c), x, y), SELECT(c, y, x));
    assert_int_equal(SELECT(c, one, 0), c);
    assert_int_equal(SELECT(x, one, 0), B(NOT_EQUAL, x, 0));
    assert_int_equal(SELECT(c, 0, one), U(NOT, c));
    assert_int_equal(SELECT(B(NOT_EQUAL, x, 0), x, y), SELECT(x, x, y));
    assert_int_equal(SELECT(c, SELECT(c, x, y), one), SELECT(c, x, one));
    assert_int_equal(SELECT(c, one, SELECT(c, x, y)), SELECT(c, one, y));
    assert_int_equal(B(MIN, x, x), x);
    assert_int_equal(B(MAX, x, x), x);
    assert_int_equal(B(LESS, x, x), 0);
    assert_int_equal(op_of(self, B(EQUAL, x, x)), GRAPH_EQUAL); /* 0 where x is NaN */
    assert_int_equal(op_of(self, B(LESS_EQUAL, x, x)), GRAPH_LESS_EQUAL);
    assert_int_equal(U(NOT, U(NOT, c)), c);
    assert_int_equal(U(NOT, U(NOT, x)), B(NOT_EQUAL, x, 0));
    assert_int_equal(U(NOT, B(EQUAL, x, y)), B(NOT_EQUAL, x, y));
    assert_int_equal(op_of(self, U(NOT, c)), GRAPH_NOT); /* not x >= y: x may be NaN */
    assert_int_equal(B(AND, c, 0), 0);
    assert_int_equal(B(AND, c, C(7)), c);
    assert_int_equal(B(AND, C(7), x), B(NOT_EQUAL, x, 0));
    assert_int_equal(B(OR, c, C(7)), one);
    assert_int_equal(B(OR, 0, c), c);
    assert_int_equal(B(OR, x, x), B(NOT_EQUAL, x, 0));
}

static void test_folding(void **state)
{
    struct graph_case *self = *state;
    assert_int_equal(U(EXP, C(2)), C(exp(2)));
    assert_int_equal(B(ATAN2, C(1), C(-2)), C(atan2(1, -2)));
    assert_int_equal(B(LESS, C(1), C(2)), C(1));
    assert_int_equal(SELECT(C(3), C(1), C(2)), C(1));
    assert_int_equal(B(POWER, C(3), C(-2)), C(1.0 / 9));
    /* What is not finite stays an operation with the same value at run time. */
    const node not_finite[] = {B(DIVIDE, 0, 0), U(LOG, C(-1)), B(DIVIDE, C(1), 0), U(EXP, C(1000)),
                               B(MULTIPLY, C(1e300), C(1e300)), B(POWER, C(-8), C(0.3)), U(RECIPROCAL, 0)};
    const double expected[] = {NAN, NAN, INFINITY, INFINITY, INFINITY, NAN, INFINITY};
    for (size_t i = 0; i < sizeof not_finite / sizeof *not_finite; i++) {
        assert_true(graph_n_argument(op_of(self, not_finite[i])) > 0);
        assert_same(case_value(self, not_finite[i]), expected[i]);
        assert_int_equal(B(MULTIPLY, 0, not_finite[i]), 0);
        assert_same(case_value(self, B(ADD, self->p[0], not_finite[i])), expected[i]);
    }
}

/* Every operation, as it stands in the header. */
static void test_meaning(void **state)
{
    struct graph_case *self = *state;
    const double nan = NAN;
    const struct { enum graph_op op; double a, b, c, value; } is[] = {
        {GRAPH_MIN, 1, 2, 0, 1}, {GRAPH_MIN, 2, 1, 0, 1}, {GRAPH_MIN, nan, 1, 0, nan}, {GRAPH_MIN, 1, nan, 0, nan},
        {GRAPH_MAX, 1, 2, 0, 2}, {GRAPH_MAX, 2, 1, 0, 2}, {GRAPH_MAX, nan, 1, 0, nan}, {GRAPH_MAX, 1, nan, 0, nan},
        {GRAPH_SIGN, -3, 0, 0, -1}, {GRAPH_SIGN, 0, 0, 0, 0}, {GRAPH_SIGN, 1e-300, 0, 0, 1},
        {GRAPH_SIGN, nan, 0, 0, nan}, {GRAPH_HEAVISIDE, -1e-300, 0, 0, 0}, {GRAPH_HEAVISIDE, 0, 0, 0, 1},
        {GRAPH_HEAVISIDE, nan, 0, 0, nan},
        {GRAPH_SELECT, 1, 2, 3, 2}, {GRAPH_SELECT, 0, 2, 3, 3}, {GRAPH_SELECT, -1, 2, nan, 2}, {GRAPH_SELECT, nan,
            2, 3, 2},
        {GRAPH_POWER_LOG, 2, 3, 0, 5.545177444479562}, {GRAPH_POWER_LOG, 0, 0.1, 0, 0}, {GRAPH_POWER_LOG, 0, 0, 0,
                                                                                         -INFINITY},
        {GRAPH_POWER_LOG, 1, 5, 0, 0}, {GRAPH_POWER_LOG, -1, 2, 0, nan},
        {GRAPH_RECIPROCAL, -4, 0, 0, -0.25}, {GRAPH_RECIPROCAL, 0, 0, 0, INFINITY}, {GRAPH_NEGATE, 4, 0, 0, -4},
        {GRAPH_SUBTRACT, 1, 3, 0, -2}, {GRAPH_DIVIDE, 1, 8, 0, 0.125}, {GRAPH_POWER, 2, 10, 0, 1024}, {GRAPH_CBRT,
            -27, 0, 0, -3},
        {GRAPH_ATAN2, -1, -1, 0, -2.356194490192345}, {GRAPH_FLOOR, -0.5, 0, 0, -1}, {GRAPH_CEIL, -0.5, 0, 0, 0},
        {GRAPH_LOG2, 8, 0, 0, 3}, {GRAPH_LOG10, 1000, 0, 0, 3}, {GRAPH_ABS, -2, 0, 0, 2},
        {GRAPH_LGAMMA, 0.5, 0, 0, 0.5723649429247001}, {GRAPH_LGAMMA, -0.5, 0, 0, 1.2655121234846454},
        {GRAPH_LGAMMA, -3, 0, 0, INFINITY},
        {GRAPH_POLYGAMMA, 0, 1, 0, -0.5772156649015329}, {GRAPH_POLYGAMMA, 1, 1, 0, 1.6449340668482264},
        {GRAPH_POLYGAMMA, 2, -0.5, 0, -0.8287966442343200}, {GRAPH_POLYGAMMA, 3, 0.5, 0, 97.40909103400244},
        {GRAPH_LESS, 1, 1, 0, 0}, {GRAPH_LESS, 1, 2, 0, 1}, {GRAPH_LESS, 1, nan, 0, 0}, {GRAPH_LESS_EQUAL, 1, 1, 0, 1},
        {GRAPH_EQUAL, nan, nan, 0, 0}, {GRAPH_EQUAL, 2, 2, 0, 1}, {GRAPH_NOT_EQUAL, nan, nan, 0, 1}, {GRAPH_AND,
            0.5, -1, 0, 1},
        {GRAPH_AND, 0.5, 0, 0, 0}, {GRAPH_OR, 0, 0, 0, 0}, {GRAPH_OR, 0, 3, 0, 1}, {GRAPH_NOT, 0, 0, 0, 1},
        {GRAPH_NOT, nan, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        const double argument[3] = {is[i].a, is[i].b, is[i].c};
        double alone = graph_apply(self->graph, is[i].op, argument);
        assert_close(isnan(alone) ? -12345 : alone, isnan(is[i].value) ? -12345 : is[i].value, 1e-15);
        node made = graph_operation(self->graph, is[i].op, self->y);
        for (int k = 0; k < 3; k++)
            self->y_at[k] = argument[k];
        assert_same(case_value(self, made), alone);
    }
}

static void test_dependence(void **state)
{
    struct graph_case *self = *state;
    node mixed = B(ADD, B(MULTIPLY, self->p[0], self->t), C(2)), covariate = graph_leaf(self->graph, GRAPH_COVARIATE, 0);
    node above = B(MULTIPLY, U(SIN, self->y[0]), self->p[1]);
    uint8_t *depends = calloc(graph_n_node(self->graph), 1);
    graph_dependence(self->graph, 0, depends);
    assert_int_equal(depends[mixed], 1u << GRAPH_PARAMETER | 1u << GRAPH_TIME | 1u << GRAPH_CONSTANT);
    assert_int_equal(depends[above], 1u << GRAPH_STATE | 1u << GRAPH_PARAMETER);
    assert_int_equal(depends[covariate], 1u << GRAPH_COVARIATE);
    free(depends);
    assert_close(case_value(self, above), self->p_at[1] * sin(self->y_at[0]), 1e-15);
}

static void test_limit(void **state)
{
    struct graph_case *self = *state;
    graph_set_limit(self->graph, graph_n_node(self->graph) + 10);
    assert_int_equal(graph_status(self->graph, NULL), STATUS_OK);
    node sum = self->y[0];
    for (int i = 0; i < 100; i++)
        sum = U(EXP, B(ADD, sum, self->y[1]));
    struct error error = {0};
    assert_int_equal(sum, 0);
    assert_int_equal(graph_status(self->graph, &error), STATUS_BAD_MODEL);
    assert_non_null(strstr(error.message, "too large"));
    assert_int_equal(B(ADD, self->y[0], self->y[1]), 0); /* it stays failed */
    struct graph_matrix matrix;
    assert_int_equal(graph_jacobian(self->graph, self->y, 4, GRAPH_STATE, 4, &matrix, NULL), STATUS_BAD_MODEL);
    assert_null(matrix.entry);
}

/* Expressions of any depth: nothing recurses. The second one would, if factors were merged all the way down. */
static void test_depth(void **state)
{
    struct graph_case *self = *state;
    node deep = self->y[0], small = self->y[0], large = self->y[1];
    for (int i = 0; i < 300000; i++) {
        deep = U(SIN, B(ADD, deep, self->p[0]));
        small = B(MULTIPLY, C(1e-200), small);
        large = B(MULTIPLY, C(1e200), large);
    }
    node product = B(MULTIPLY, small, large);
    assert_int_equal(graph_status(self->graph, NULL), STATUS_OK);
    assert_true(product < graph_n_node(self->graph));
    node derivative = case_derivative(self, deep, GRAPH_STATE, 0);
    assert_true(isfinite(case_value(self, derivative)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, case_set_up, case_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sharing), TEST(test_order), TEST(test_nothing), TEST(test_signs), TEST(test_factors),
        TEST(test_powers),
        TEST(test_choices), TEST(test_folding), TEST(test_meaning), TEST(test_dependence), TEST(test_limit),
        TEST(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
