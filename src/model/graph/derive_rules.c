/* Helpers for the chain rules in the table of operations. They make derivatives cheap to compute
 * along with the value: from the value itself, and from parts that do not depend on the
 * variable, which many variables then share.
 *
 * Slopes of the elementary functions: M. Abramowitz and I. A. Stegun (1964), Handbook of
 * Mathematical Functions, 4.1 to 4.6 and 7.1. In the comments a' is the derivative of a, v the
 * value of the operation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/intern.h"

#define LN_2 0.693147180559945309417232121458
#define LN_10 2.302585092994045684017991454684
#define TWO_OVER_SQRT_PI 1.128379167095512573896158903122

static node one(struct graph *graph) { return graph_constant(graph, 1); }

static node add(struct graph *graph, node a, node b)
{
    return graph_binary(graph, GRAPH_ADD, a, b);
}

static node subtract(struct graph *graph, node a, node b)
{
    return graph_binary(graph, GRAPH_SUBTRACT, a, b);
}

static node negate(struct graph *graph, node a) { return graph_unary(graph, GRAPH_NEGATE, a); }

static node reciprocal(struct graph *graph, node a)
{
    return graph_unary(graph, GRAPH_RECIPROCAL, a);
}

static node square(struct graph *graph, node a)
{
    return graph_binary(graph, GRAPH_MULTIPLY, a, a);
}

static bool has_product(const struct graph *graph, node a, node b)
{
    return graph_find(graph, graph_node_of(GRAPH_MULTIPLY, a, b, NODE_NONE)) != NODE_NONE ||
           graph_find(graph, graph_node_of(GRAPH_MULTIPLY, b, a, NODE_NONE)) != NODE_NONE;
}

/* x * (p * q) as (x * p) * q if the node x * p exists; otherwise NODE_NONE. */
static node regrouped(struct graph *graph, node x, node product)
{
    const struct graph_node it = *graph_node(graph, product);
    for (int i = 0; it.op == GRAPH_MULTIPLY && i < 2; i++)
        if (has_product(graph, x, it.arg[i])) {
            node there = graph_binary(graph, GRAPH_MULTIPLY, x, it.arg[i]);
            return graph_binary(graph, GRAPH_MULTIPLY, there, it.arg[1 - i]);
        }
    return NODE_NONE;
}

/* x times a value that is 0 on one side of a choice becomes a choice of 0 and x times the other
 * side: the slope x of sqrt at max(y, 0) may be anything for y < 0 and must have no effect.
 * NODE_NONE if `a` is not of that form. */
static node masked(struct graph *graph, node x, node a)
{
    const struct graph_node it = *graph_node(graph, a);
    if (simplify_is_truth(graph, a) && it.op != GRAPH_CONSTANT)
        return graph_select(graph, a, x, 0);
    if (it.op != GRAPH_SELECT || (it.arg[1] != 0 && it.arg[2] != 0))
        return NODE_NONE;
    node other = graph_binary(graph, GRAPH_MULTIPLY, x, it.arg[it.arg[1] == 0 ? 2 : 1]);
    return it.arg[1] == 0 ? graph_select(graph, it.arg[0], 0, other)
                          : graph_select(graph, it.arg[0], other, 0);
}

/* A product of the chain rule, factor * derivative. Unlike the equations' own products it is
 * regrouped, because the derivative of A*exp(u) is then the value times u'. */
static node times(struct graph *graph, node a, node b)
{
    bool minus_a = simplify_split_sign(graph, &a), minus_b = simplify_split_sign(graph, &b);
    node made = masked(graph, a, b);
    if (made == NODE_NONE && !has_product(graph, a, b)) {
        made = regrouped(graph, a, b);
        if (made == NODE_NONE)
            made = regrouped(graph, b, a);
    }
    if (made == NODE_NONE)
        made = graph_binary(graph, GRAPH_MULTIPLY, a, b);
    return minus_a != minus_b ? negate(graph, made) : made;
}

static bool is_root_of(const struct graph *graph, node root, node a)
{
    const struct graph_node *it = graph_node(graph, root);
    return it->op == GRAPH_SQRT && it->arg[0] == a;
}

static node scale(struct graph *graph, double factor, node a)
{
    return graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, factor), a);
}

/* a' b + a b' and its parts. What was a^2 or a^1.5 in the text gets the slope of the power,
 * which is finite at 0. */
static node product_rule(struct graph *graph, node a, node b, node da, node db)
{
    if (a == b)
        return scale(graph, 2, times(graph, a, da));
    if (is_root_of(graph, b, a))
        return scale(graph, 1.5, times(graph, b, da));
    if (is_root_of(graph, a, b))
        return scale(graph, 1.5, times(graph, a, db));
    if (db == NODE_NONE)
        return times(graph, b, da);
    if (da == NODE_NONE)
        return times(graph, a, db);
    return add(graph, times(graph, b, da), times(graph, a, db));
}

/* derivative / b, as a choice if it is 0 on one side of one. A back end can share 1/b between
 * all divisions by b. */
static node divided(struct graph *graph, node derivative, node b)
{
    bool minus = simplify_split_sign(graph, &derivative);
    node made = masked(graph, reciprocal(graph, b), derivative);
    if (made == NODE_NONE)
        made = graph_binary(graph, GRAPH_DIVIDE, derivative, b);
    return minus ? negate(graph, made) : made;
}

enum { N_WAY = 3 };

/* One of up to N_WAY ways to write `a` as *factor times *rest: whole, or as a product or
 * quotient. */
static bool factor_of(struct graph *graph, node a, int way, node *factor, node *rest)
{
    const struct graph_node it = *graph_node(graph, a);
    if (way == 0) {
        *factor = a;
        *rest = one(graph);
    } else if (it.op == GRAPH_MULTIPLY) {
        *factor = it.arg[way - 1];
        *rest = it.arg[2 - way];
    } else if (it.op == GRAPH_DIVIDE) {
        *factor = way == 1 ? it.arg[0] : reciprocal(graph, it.arg[1]);
        *rest = way == 1 ? reciprocal(graph, it.arg[1]) : it.arg[0];
    } else {
        return false;
    }
    return graph_node(graph, *factor)->op != GRAPH_CONSTANT;
}

/* a - v b, written as (x - v y) w if a = x w and b = y w. */
static node minus_multiple(struct graph *graph, node a, node v, node b)
{
    node left = a, right = b, w, x, y, other;
    bool minus_a = simplify_split_sign(graph, &left), minus_b = simplify_split_sign(graph, &right);
    for (int i = 0; i < N_WAY * N_WAY; i++) {
        if (!factor_of(graph, left, i / N_WAY, &w, &x) ||
            !factor_of(graph, right, i % N_WAY, &other, &y) || other != w)
            continue;
        x = minus_a ? negate(graph, x) : x;
        y = minus_b ? negate(graph, y) : y;
        node difference = subtract(graph, x, times(graph, v, y));
        const struct graph_node *factor = graph_node(graph, w);
        return factor->op == GRAPH_RECIPROCAL ? divided(graph, difference, factor->arg[0])
                                              : times(graph, w, difference);
    }
    return subtract(graph, a, times(graph, v, b));
}

/* Whether it may be infinite although a quotient by it is 0: exp() in sums and products. */
static bool may_overflow(const struct graph *graph, node a, int depth)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op == GRAPH_EXP)
        return true;
    bool passes = it->op == GRAPH_ADD || it->op == GRAPH_SUBTRACT || it->op == GRAPH_MULTIPLY;
    return passes && depth > 0 &&
           (may_overflow(graph, it->arg[0], depth - 1) ||
            may_overflow(graph, it->arg[1], depth - 1));
}

/* The derivative `made` of a quotient v by b. For v = 0 it is `rest`, which omits the term v b',
 * because b' may be infinite if b is, as in 1/(1 + exp(u)) at large u. */
static node quenched(struct graph *graph, node v, node b, node made, node rest)
{
    if (!may_overflow(graph, b, 3))
        return made;
    bool minus = rest == 0 && simplify_split_sign(graph, &made);
    made = graph_select(graph, v, made, rest);
    return minus ? negate(graph, made) : made;
}

/* (a' - v b') / b; if a' = 0, all variables share v / b. */
static node quotient_rule(struct graph *graph, node value, node b, node da, node db)
{
    if (db == NODE_NONE)
        return divided(graph, da, b);
    if (da == NODE_NONE)
        return quenched(graph, value, b,
                        negate(graph,
                               times(graph, graph_binary(graph, GRAPH_DIVIDE, value, b), db)),
                        0);
    node whole = divided(graph, minus_multiple(graph, da, value, db), b);
    return may_overflow(graph, b, 3) ? quenched(graph, value, b, whole, divided(graph, da, b))
                                     : whole;
}

/* Whether it may be 0; false only in obvious cases. */
static bool may_vanish(const struct graph *graph, node a)
{
    for (;;) {
        const struct graph_node *it = graph_node(graph, a);
        switch (it->op) {
        case GRAPH_CONSTANT: return it->value == 0;
        case GRAPH_EXP: case GRAPH_RECIPROCAL: return false;
        case GRAPH_NEGATE: case GRAPH_DIVIDE: a = it->arg[0]; break;
        case GRAPH_SELECT:
            if (it->arg[1] != 0 && it->arg[2] != 0)
                return true;
            a = it->arg[it->arg[1] == 0 ? 2 : 1]; /* 0 is masked anyway */
            break;
        default: return true;
        }
    }
}

/* `made`, which is slope * da with a slope by `a` that is infinite at a = 0. If `a` is 0 because
 * of a factor, as in (dose/K)^h or sqrt(k*t), it stays 0 whatever the other factors: there da =
 * 0, and the product is 0, too. */
static node steep(struct graph *graph, node a, node da, node made)
{
    enum graph_op op = graph_node(graph, a)->op;
    if (op == GRAPH_ADD || op == GRAPH_SUBTRACT || op == GRAPH_EXP || !may_vanish(graph, da))
        return made;
    simplify_split_sign(graph, &da);
    bool minus = simplify_split_sign(graph, &made);
    made = graph_select(graph, da, made, 0);
    return minus ? negate(graph, made) : made;
}

/* Whether the slope of a^b at a = 0 is infinite, if this can be decided. */
static bool is_steep_power(const struct graph *graph, node b)
{
    const struct graph_node *it = graph_node(graph, b);
    return it->op != GRAPH_CONSTANT || it->value < 1;
}

/* a^b: b a^(b-1) a' + a^b log(a) b'. A constant base has a constant logarithm. */
static node power_rule(struct graph *graph, node value, node a, node b, node da, node db)
{
    node by_base = NODE_NONE, by_exponent = NODE_NONE;
    if (da != NODE_NONE) {
        node lower = graph_binary(graph, GRAPH_POWER, a, subtract(graph, b, one(graph)));
        node slope = graph_binary(graph, GRAPH_MULTIPLY, b, lower);
        by_base = times(graph, slope, da);
        if (is_steep_power(graph, b))
            by_base = steep(graph, a, da, by_base);
    }
    if (db != NODE_NONE) {
        struct graph_node base = *graph_node(graph, a);
        bool is_positive = base.op == GRAPH_CONSTANT && base.value > 0;
        node slope = is_positive ? graph_binary(graph, GRAPH_MULTIPLY,
                                                graph_unary(graph, GRAPH_LOG, a), value)
                                 : graph_binary(graph, GRAPH_POWER_LOG, a, b);
        by_exponent = times(graph, slope, db);
    }
    return by_exponent == NODE_NONE ? by_base
           : by_base == NODE_NONE   ? by_exponent
                                    : add(graph, by_base, by_exponent);
}

/* w = a^b log a: (b a^(b-1) log a + a^(b-1)) a' + w log(a) b'. At a = 0 < b both w and w log(a)
 * have the limit 0. */
static node power_log_rule(struct graph *graph, node value, node a, node b, node da, node db)
{
    node by_base = NODE_NONE, by_exponent = NODE_NONE;
    if (da != NODE_NONE) {
        node less = subtract(graph, b, one(graph));
        node slope = add(graph, graph_binary(graph, GRAPH_POWER, a, less),
                         graph_binary(graph, GRAPH_MULTIPLY, b,
                                      graph_binary(graph, GRAPH_POWER_LOG, a, less)));
        by_base = times(graph, slope, da);
    }
    if (db != NODE_NONE) {
        node slope = graph_binary(graph, GRAPH_MULTIPLY, value, graph_unary(graph, GRAPH_LOG, a));
        slope = graph_select(graph, graph_binary(graph, GRAPH_EQUAL, a, 0), value, slope);
        by_exponent = times(graph, slope, db);
    }
    return by_exponent == NODE_NONE ? by_base
           : by_base == NODE_NONE   ? by_exponent
                                    : add(graph, by_base, by_exponent);
}

/* The angle of (x, y), y first: (x y' - y x') / (x^2 + y^2). */
static node angle_rule(struct graph *graph, node y, node x, node dy, node dx)
{
    node b = add(graph, square(graph, x), square(graph, y));
    if (dx == NODE_NONE)
        return times(graph, graph_binary(graph, GRAPH_DIVIDE, x, b), dy);
    if (dy == NODE_NONE)
        return negate(graph, times(graph, graph_binary(graph, GRAPH_DIVIDE, y, b), dx));
    return divided(graph, subtract(graph, times(graph, x, dy), times(graph, y, dx)), b);
}

/* (a - 1)(a + 1) and (1 - a)(1 + a): exact near |a| = 1, where a^2 - 1 cancels. */
static node beyond_one(struct graph *graph, node a)
{
    return graph_binary(graph, GRAPH_MULTIPLY, subtract(graph, a, one(graph)),
                        add(graph, a, one(graph)));
}

static node within_one(struct graph *graph, node a)
{
    return graph_binary(graph, GRAPH_MULTIPLY, subtract(graph, one(graph), a),
                        add(graph, one(graph), a));
}

static node one_plus_square(struct graph *graph, node a)
{
    return add(graph, one(graph), square(graph, a));
}

static node over(struct graph *graph, double c, node a)
{
    return graph_binary(graph, GRAPH_DIVIDE, graph_constant(graph, c), a);
}

static node root(struct graph *graph, node a) { return graph_unary(graph, GRAPH_SQRT, a); }

/* exp(-a^2) 2/sqrt(pi): the slope of erf. */
static node bell(struct graph *graph, node a)
{
    return scale(graph, TWO_OVER_SQRT_PI,
                 graph_unary(graph, GRAPH_EXP, negate(graph, square(graph, a))));
}

/* The derivative of the polygamma function of order n at a is that of order n + 1. */
static node polygamma_rule(struct graph *graph, node n, node a, node da)
{
    node next = graph_binary(graph, GRAPH_POLYGAMMA, add(graph, n, one(graph)), a);
    return da == NODE_NONE ? NODE_NONE : times(graph, next, da);
}

/* The derivative of the branch taken: a choice, not a mask, so that no NaN comes from the other
 * branch. */
static node choose(struct graph *graph, node condition, node da, node db)
{
    return graph_select(graph, condition, da == NODE_NONE ? 0 : da, db == NODE_NONE ? 0 : db);
}

node derive_operation(struct graph *g, node which, const node derivative[3])
{
    const struct graph_node it = *graph_node(g, which);
    node a = it.arg[0], b = it.arg[1], da = derivative[0], db = derivative[1];
    int n = graph_n_argument(it.op);
    if (da == NODE_NONE && (n < 2 || db == NODE_NONE) && (n < 3 || derivative[2] == NODE_NONE))
        return NODE_NONE;
    node v = which, dc = derivative[2];
    switch (it.op) {
#define X(name, n_argument, value, facts, cost, kind, c, helper, range, text, latex, simplified, \
    rule) \
    case GRAPH_##name: return rule;
#define F(name, n_argument, word, value, facts, cost, c, helper, range, latex, \
    rule) case GRAPH_##name: return rule;
        GRAPH_OPERATIONS(X, F)
#undef X
#undef F
    default: return NODE_NONE;
    }
}
