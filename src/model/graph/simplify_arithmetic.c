/* The rules of sums, products, quotients and powers. They are functions rather than table entries because each builds
 * on the others. No recursion here is deeper than a few calls: every call strips a sign or a constant factor first.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/simplify.h"

#include <math.h>

static node raw(struct graph *graph, enum graph_op op, node a, node b)
{
    return graph_intern(graph, graph_node_of(op, a, b, NODE_NONE));
}

static bool is_constant(const struct graph *graph, node a, double *value)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op != GRAPH_CONSTANT)
        return false;
    *value = it->value;
    return true;
}

/* Constants first, then by number. */
static void order(const struct graph *graph, node *a, node *b)
{
    bool constant_a = graph_node(graph, *a)->op == GRAPH_CONSTANT, constant_b = graph_node(graph,
        *b)->op == GRAPH_CONSTANT;
    if (constant_a == constant_b ? *b < *a : constant_b) {
        node first = *b;
        *b = *a;
        *a = first;
    }
}

bool simplify_split_sign(struct graph *graph, node *a)
{
    const struct graph_node *it = graph_node(graph, *a);
    if (it->op == GRAPH_NEGATE) {
        *a = it->arg[0];
        return true;
    }
    if (it->op == GRAPH_CONSTANT && it->value < 0) {
        *a = graph_constant(graph, -it->value);
        return true;
    }
    return false;
}

node simplify_negate(struct graph *graph, node a)
{
    double value;
    if (is_constant(graph, a, &value))
        return graph_constant(graph, -value);
    const struct graph_node *it = graph_node(graph, a);
    return it->op == GRAPH_NEGATE ? it->arg[0] : raw(graph, GRAPH_NEGATE, a, NODE_NONE);
}

/* a = factor * rest, where factor is a constant; 1 * a at worst. */
static node split_factor(const struct graph *graph, node a, double *factor)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op == GRAPH_MULTIPLY && is_constant(graph, it->arg[0], factor))
        return it->arg[1];
    *factor = 1;
    return a;
}

/* a + sign * b as like terms; NODE_NONE where they are not. Two plain constants are not folded here. */
static node like_terms(struct graph *graph, node a, node b, double sign)
{
    double factor_a, factor_b;
    node rest = split_factor(graph, a, &factor_a);
    if (rest != split_factor(graph, b, &factor_b) || graph_node(graph, rest)->op == GRAPH_CONSTANT)
        return NODE_NONE;
    double sum = factor_a + sign * factor_b;
    return isfinite(sum) ? simplify_multiply(graph, graph_constant(graph, sum), rest) : NODE_NONE;
}

node simplify_add(struct graph *graph, node a, node b)
{
    bool minus_a = simplify_split_sign(graph, &a), minus_b = simplify_split_sign(graph, &b);
    if (minus_a != minus_b)
        return minus_a ? simplify_subtract(graph, b, a) : simplify_subtract(graph, a, b);
    if (minus_a)
        return simplify_negate(graph, simplify_add(graph, a, b));
    order(graph, &a, &b);
    if (a == 0)
        return b;
    node like = like_terms(graph, a, b, 1);
    return like != NODE_NONE ? like : raw(graph, GRAPH_ADD, a, b);
}

node simplify_subtract(struct graph *graph, node a, node b)
{
    bool minus_a = simplify_split_sign(graph, &a), minus_b = simplify_split_sign(graph, &b);
    if (minus_a && minus_b)
        return simplify_subtract(graph, b, a);
    if (minus_a)
        return simplify_negate(graph, simplify_add(graph, a, b));
    if (minus_b)
        return simplify_add(graph, a, b);
    if (b == 0)
        return a;
    if (a == 0)
        return simplify_negate(graph, b);
    if (a == b)
        return 0;
    node like = like_terms(graph, a, b, -1);
    if (like != NODE_NONE)
        return like;
    node opposite = graph_find(graph, graph_node_of(GRAPH_SUBTRACT, b, a, NODE_NONE));
    if (opposite != NODE_NONE && graph_find(graph, graph_node_of(GRAPH_SUBTRACT, a, b, NODE_NONE)) == NODE_NONE)
        return simplify_negate(graph, opposite);
    return raw(graph, GRAPH_SUBTRACT, a, b);
}

/* The product of two nodes whose factors are dealt with. */
static node plain_product(struct graph *graph, node a, node b)
{
    order(graph, &a, &b);
    return raw(graph, GRAPH_MULTIPLY, a, b);
}

/* factor * a with a constant factor > 0, a without a factor of its own. */
static node scaled(struct graph *graph, double factor, node a)
{
    return factor == 1 ? a : raw(graph, GRAPH_MULTIPLY, graph_constant(graph, factor), a);
}

/* c * a for a constant node c: merges c with the factors in a. */
static node multiply_constant(struct graph *graph, node c, node a)
{
    double value = graph_node(graph, c)->value, factor;
    node rest = split_factor(graph, a, &factor);
    if (rest != a && isnormal(value * factor))
        return scaled(graph, value * factor, rest);
    const struct graph_node it = *graph_node(graph, a); /* a copy: constructors move the nodes */
    if (it.op == GRAPH_RECIPROCAL)
        return raw(graph, GRAPH_DIVIDE, c, it.arg[0]);
    if (it.op == GRAPH_DIVIDE && is_constant(graph, it.arg[0], &factor) && isnormal(value * factor))
        return simplify_divide(graph, graph_constant(graph, value * factor), it.arg[1]);
    if (it.op == GRAPH_DIVIDE) {
        node top = it.arg[0], below = it.arg[1];
        rest = split_factor(graph, top, &factor);
        if (rest != top && isnormal(value * factor))
            return raw(graph, GRAPH_DIVIDE, scaled(graph, value * factor, rest), below);
        return plain_product(graph, c, a);
    }
    if (it.op == GRAPH_MULTIPLY) {
        node left = it.arg[0], right = it.arg[1];
        for (int side = 0; side < 2; side++) {
            node inner = side ? right : left, other = side ? left : right;
            rest = split_factor(graph, inner, &factor);
            if (rest != inner && isnormal(value * factor))
                return scaled(graph, value * factor, plain_product(graph, rest, other));
        }
    }
    return plain_product(graph, c, a);
}

node simplify_multiply(struct graph *graph, node a, node b)
{
    bool minus_a = simplify_split_sign(graph, &a), minus_b = simplify_split_sign(graph, &b);
    if (minus_a != minus_b)
        return simplify_negate(graph, simplify_multiply(graph, a, b));
    order(graph, &a, &b);
    double factor_a, factor_b;
    if (a == 0)
        return 0;
    if (is_constant(graph, a, &factor_a))
        return factor_a == 1 ? b : multiply_constant(graph, a, b);
    node rest_a = split_factor(graph, a, &factor_a), rest_b = split_factor(graph, b, &factor_b);
    if (rest_a != a && rest_b != b && isnormal(factor_a * factor_b))
        return scaled(graph, factor_a * factor_b, plain_product(graph, rest_a, rest_b));
    if ((rest_a != a) != (rest_b != b)) {
        node left = rest_a, right = rest_b;
        order(graph, &left, &right);
        node there = graph_find(graph, graph_node_of(GRAPH_MULTIPLY, left, right, NODE_NONE));
        if (there != NODE_NONE)
            return scaled(graph, factor_a * factor_b, there); /* one of them is 1 */
    }
    return plain_product(graph, a, b);
}

node simplify_divide(struct graph *graph, node a, node b)
{
    bool minus_a = simplify_split_sign(graph, &a), minus_b = simplify_split_sign(graph, &b);
    if (minus_a != minus_b)
        return simplify_negate(graph, simplify_divide(graph, a, b));
    double value;
    int exponent;
    if (a == 0)
        return 0;
    if (graph_is_constant(graph, a, 1))
        return simplify_reciprocal(graph, b);
    if (is_constant(graph, b, &value) && isnormal(value) && isnormal(1 / value) && frexp(value, &exponent) == 0.5)
        return simplify_multiply(graph, graph_constant(graph, 1 / value), a);
    return raw(graph, GRAPH_DIVIDE, a, b);
}

node simplify_reciprocal(struct graph *graph, node a)
{
    bool minus = simplify_split_sign(graph, &a);
    double value;
    node made = is_constant(graph, a, &value) && isfinite(1 / value) ? graph_constant(graph, 1 / value)
                                                                     : raw(graph, GRAPH_RECIPROCAL, a, NODE_NONE);
    return minus ? simplify_negate(graph, made) : made;
}

/* a^n, n from 1 to MAX_UNROLLED_POWER, by the bits of n from below: powers of a share their squares. */
static node whole_power(struct graph *graph, node a, int n)
{
    node square = a, product = NODE_NONE;
    for (; n; n >>= 1) {
        if (n & 1)
            product = product == NODE_NONE ? square : simplify_multiply(graph, product, square);
        if (n > 1)
            square = simplify_multiply(graph, square, square);
    }
    return product;
}

node simplify_power(struct graph *graph, node a, node b)
{
    double power;
    if (graph_is_constant(graph, a, 1))
        return a;
    if (!is_constant(graph, b, &power))
        return raw(graph, GRAPH_POWER, a, b);
    if (power == 0)
        return graph_constant(graph, 1);
    node made = NODE_NONE;
    double size = fabs(power);
    if (size <= MAX_UNROLLED_POWER && size == floor(size))
        made = whole_power(graph, a, (int)size);
    else if (size == 0.5 || size == 1.5)
        made = graph_unary(graph, GRAPH_SQRT, a);
    else
        return raw(graph, GRAPH_POWER, a, b);
    if (size == 1.5)
        made = simplify_multiply(graph, a, made);
    return power < 0 ? graph_unary(graph, GRAPH_RECIPROCAL, made) : made;
}
