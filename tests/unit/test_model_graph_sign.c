/* Proofs that states stay non-negative: rates as in models, with what their proofs rest on; and random rates, none of
 * which may be negative at random points where the needs hold and all else has any sign.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "graph_case.h"

#include <stdio.h>
#include <string.h>

#define N(x) graph_constant(g, x)
#define ADD(a, b) graph_binary(g, GRAPH_ADD, a, b)
#define SUB(a, b) graph_binary(g, GRAPH_SUBTRACT, a, b)
#define MUL(a, b) graph_binary(g, GRAPH_MULTIPLY, a, b)
#define DIV(a, b) graph_binary(g, GRAPH_DIVIDE, a, b)
#define POW(a, b) graph_binary(g, GRAPH_POWER, a, b)
#define NOT_PROVED "not proved"

/* The needs of a proof for state 0, as "y1 p0 p2+". */
static void say(struct graph *g, node rate, char *text, size_t size)
{
    struct signs *signs = signs_new(g);
    size_t n = 0, used = 0;
    const struct sign_need *need = signs_prove(signs, rate, 0, &n);
    snprintf(text, size, "%s", need ? "" : NOT_PROVED);
    static const struct {
        enum graph_op leaf;
        char letter;
    } kinds[] = {{GRAPH_STATE, 'y'}, {GRAPH_PARAMETER, 'p'}, {GRAPH_TIME, 't'}};
    for (size_t i = 0; i < 3 * n; i++)
        if (need[i % n].leaf == kinds[i / n].leaf)
            used += (size_t)snprintf(text + used, size - used, "%s%c%u%s", used ? " " : "", kinds[i / n].letter,
                                     (unsigned)need[i % n].index, need[i % n].is_positive ? "+" : "");
    signs_free(signs);
}

static void test_models(void **state)
{
    struct graph_case *self = *state;
    struct graph *g = self->graph;
    const node *y = self->y, *p = self->p;
    node own = y[0], other = y[1];
    const struct {
        node rate;
        const char *needs;
    } cases[] = {
        {SUB(MUL(p[0], other), DIV(MUL(p[1], own), ADD(p[2], own))), "y1 p0"},
        {SUB(N(0), MUL(p[0], own)), ""},
        {SUB(p[0], MUL(p[1], other)), NOT_PROVED},
        {SUB(N(0), p[0]), NOT_PROVED},
        {SUB(N(0), DIV(p[0], own)), NOT_PROVED},
        {MUL(SUB(p[0], own), other), "y1 p0"},
        {MUL(SUB(own, p[0]), SUB(own, other)), "y1 p0"},
        /* 0^n is 0 for n > 0 only */
        {SUB(other, MUL(p[0], POW(own, p[1]))), "y1 p1+"},
        {SUB(POW(SUB(other, p[3]), N(2)), MUL(p[0], POW(own, N(2)))), ""},
        {POW(SUB(other, p[3]), N(3)), NOT_PROVED},
        {SUB(graph_unary(g, GRAPH_EXP, SUB(p[0], other)), graph_unary(g, GRAPH_TANH, own)), ""},
        {graph_binary(g, GRAPH_MAX, SUB(p[0], other), N(0)), ""},
        {graph_binary(g, GRAPH_MIN, p[0], self->t), "p0 t0"},
        {graph_select(g, graph_binary(g, GRAPH_LESS, other, p[0]), p[1], MUL(own, p[2])), "p1"},
        {graph_select(g, graph_binary(g, GRAPH_LESS, own, p[0]), N(-1), N(1)), NOT_PROVED},
        {graph_unary(g, GRAPH_SIN, other), NOT_PROVED},
        {graph_unary(g, GRAPH_SIN, MUL(own, other)), ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        say(g, cases[i].rate, text, sizeof text);
        if (strcmp(text, cases[i].needs) != 0)
            fail_msg("rate %zu: \"%s\", not \"%s\"", i, text, cases[i].needs);
    }
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) * 0x1p-53;
}

/* A leaf or a number, or a random operation on two of the nodes so far. */
static node random_node(struct graph_case *self, uint64_t *seed, const node *made, size_t n)
{
    struct graph *g = self->graph;
    static const enum graph_op often[] = {GRAPH_ADD, GRAPH_SUBTRACT, GRAPH_MULTIPLY, GRAPH_DIVIDE, GRAPH_POWER, GRAPH_NEGATE};
    size_t which = (size_t)(uniform(seed) * 10), kind = (size_t)(uniform(seed) * 12);
    if (n < 4 || kind < 2)
        return which < 4 ? self->y[which] : which < 8 ? self->p[which - 4] : N(floor(5 * uniform(seed)) - 2);
    enum graph_op op = kind < 10 ? often[(size_t)(uniform(seed) * 6)]
                                 : (enum graph_op)(GRAPH_ADD + (size_t)(uniform(seed) * (N_GRAPH_OP - GRAPH_ADD)));
    if (op == GRAPH_INTERP || op == GRAPH_INTERP_SLOPE || op == GRAPH_POLYGAMMA) /* a table, an order */
        op = GRAPH_ADD;
    node arg[3];
    for (int k = 0; k < 3; k++)
        arg[k] = made[(size_t)(uniform(seed) * (double)n)];
    return graph_operation(g, op, arg);
}

static double of_any_sign(uint64_t *seed)
{
    double x = uniform(seed) - 0.5;
    return uniform(seed) < 0.1 ? 0 : 8 * x * fabs(x);
}

/* Random numbers of any sign for leaves, but for those that a proof needs. */
static void set_leaves(struct graph_case *self, uint64_t *seed, const struct sign_need *need, size_t n_need)
{
    for (int i = 0; i < N_CASE_LEAF; i++) {
        self->y_at[i] = of_any_sign(seed);
        self->p_at[i] = of_any_sign(seed);
    }
    self->t_at = of_any_sign(seed);
    for (size_t i = 0; i < n_need; i++) {
        double *at = need[i].leaf == GRAPH_STATE       ? &self->y_at[need[i].index]
                     : need[i].leaf == GRAPH_PARAMETER ? &self->p_at[need[i].index]
                                                       : &self->t_at;
        *at = fabs(*at) + (need[i].is_positive ? 1e-3 : 0);
    }
    self->y_at[0] = 0;
}

static void test_random(void **state)
{
    struct graph_case *self = *state;
    enum { N_RATE = 2400, N_NODE = 14, N_POINT = 40 };
    uint64_t seed = 20261128;
    int n_proved = 0, n_positive = 0;
    for (int r = 0; r < N_RATE; r++) {
        node made[N_NODE];
        for (size_t i = 0; i < N_NODE; i++)
            made[i] = random_node(self, &seed, made, i);
        if (r % 200 != 199) /* one proof for a few hundred nodes: signs_new takes all of the graph */
            continue;
        struct signs *signs = signs_new(self->graph);
        for (size_t i = 0; i < graph_n_node(self->graph); i++) {
            size_t n_need;
            const struct sign_need *need = signs_prove(signs, (node)i, 0, &n_need);
            n_proved += need != NULL;
            for (int k = 0; need && k < N_POINT / 10; k++) {
                set_leaves(self, &seed, need, n_need);
                double value = case_value(self, (node)i);
                n_positive += value > 0;
                if (value < 0 && isfinite(value)) /* at other states' zeros rates may be infinite */
                    fail_msg("node %zu of rate %d, %s, is %g at a point where its %zu needs hold", i, r,
                             graph_operations[graph_node(self->graph, (node)i)->op].name, value, n_need);
            }
        }
        signs_free(signs);
        graph_free(self->graph);
        self->graph = graph_new();
        for (uint32_t i = 0; i < N_CASE_LEAF; i++) {
            self->y[i] = graph_leaf(self->graph, GRAPH_STATE, i);
            self->p[i] = graph_leaf(self->graph, GRAPH_PARAMETER, i);
        }
    }
    print_message("%d proofs, %d positive rates\n", n_proved, n_positive);
    assert_true(n_proved > 1000 && n_positive > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_models, case_set_up, case_tear_down),
                                       cmocka_unit_test_setup_teardown(test_random, case_set_up, case_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
