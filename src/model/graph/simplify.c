/* How the constructors of graph.h simplify: they fold constants, look up the operation's rules
 * and keep the one node that is left. Rules are functions rather than table entries because each
 * builds on the others. No recursion here is deeper than a few calls: every call strips a sign
 * or a constant factor first.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A rule may change the sign of a zero. Beyond that it is exact in IEEE arithmetic unless it is
 * marked (r), for another rounding of the same value, or (d), for another value where x is NaN
 * or infinite. x, y, z are any nodes; c, d are constants. Each rule looks at a bounded number of
 * nodes, so a constructor's time does not depend on the depth.
 *
 *   Constants      f(c, ...) -> its value, if that is finite; else it is left for run time and
 *                  no other rule applies
 *   Order          of x+y, x*y, x == y, x != y, and, or: constants first, then by number
 *   Signs          go outwards and end in a sum or in one NEGATE, so that x and -x share all but
 *                  that: -(-x) -> x; x+(-y) -> x-y; x-(-y) -> x+y; (-x)-y -> -(x+y); (-x)*y,
 *                  (-x)/y, x/(-y) -> -(...); x-y -> -(y-x) where y-x is there already; sin(-x)
 *                  -> -sin(x) and so the other odd functions; cos(-x) -> cos(x), cosh, abs. A
 *                  negative constant counts as -(its size): factors are positive.
 *   Nothing        x+0, x-0, x*1, x/1, x^1 -> x; 0-x -> -x; 0*x, 0/x -> 0 (d); x-x -> 0 (d);
 *                  x^0, 1^x -> 1; never x/x -> 1
 *   Like terms     x+x -> 2*x; c*x + d*x -> (c+d)*x, the same with - and where one factor is 1
 *                  (r)
 *   Factors        c*(d*x) -> (c*d)*x; c*((d*x)*y) -> (c*d)*(x*y); (c*x)*(d*y) -> (c*d)*(x*y);
 *                  each where c*d is moderate; (c*x)*y -> c*(x*y) where x*y is there already (r)
 *   Division       x/c -> (1/c)*x where c is a power of two; 1/x -> RECIPROCAL(x); c*(1/x) ->
 *                  c/x (r); c*(d/x) -> (c*d)/x and c*((d*x)/y) -> ((c*d)*x)/y where c*d is
 *                  moderate (r)
 *   Powers         x^n for whole |n| <= 16 -> products by repeated squaring (r); x^0.5 ->
 *                  sqrt(x); x^1.5 -> x*sqrt(x) (r); negative ones the RECIPROCAL of those (r)
 *   Comparisons    x < x -> 0; not not x -> x where x is 1 or 0, else x != 0; not x == y -> x !=
 *                  y and back
 *   Logic          c and x, c or x: decided by c or by x alone; x and x, x or x -> x as 1 or 0
 *   Choices        min(x, x), max(x, x) -> x; SELECT(c, x, y) -> the one taken; SELECT(x, y, y)
 *                  -> y; SELECT(not x, y, z) -> SELECT(x, z, y); SELECT(x != 0, y, z) ->
 *                  SELECT(x, y, z); SELECT(x, 1, 0) -> x as 1 or 0; SELECT(x, SELECT(x, y, z),
 *                  w) -> SELECT(x, y, w), and so on its right
 *
 * Folding uses the mathematical library of the machine that builds the model, run time that of
 * the one that runs it. */
#include "model/graph/intern.h"

#include <assert.h>
#include <math.h>

enum { MAX_UNROLLED_POWER = 16 };

static node simplify_multiply(struct graph *graph, node a, node b);
static node simplify_divide(struct graph *graph, node a, node b);
static node simplify_subtract(struct graph *graph, node a, node b);

/* Whether this product of constants may stand before the product of what they were factors of: so
 * that the latter neither overflows nor underflows unless the whole comes close to it. */
static bool is_moderate(double product) { return fabs(product) > 1e-150 && fabs(product) < 1e150; }

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

/* Sorts constants first, then by number. */
static void order(const struct graph *graph, node *a, node *b)
{
    bool constant_a = graph_node(graph, *a)->op == GRAPH_CONSTANT,
         constant_b = graph_node(graph, *b)->op == GRAPH_CONSTANT;
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

static node simplify_negate(struct graph *graph, node a)
{
    double value;
    if (is_constant(graph, a, &value))
        return graph_constant(graph, -value);
    const struct graph_node *it = graph_node(graph, a);
    return it->op == GRAPH_NEGATE ? it->arg[0] : raw(graph, GRAPH_NEGATE, a, NODE_NONE);
}

/* a = factor * rest with a constant factor, possibly 1. */
static node split_factor(const struct graph *graph, node a, double *factor)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op == GRAPH_MULTIPLY && is_constant(graph, it->arg[0], factor))
        return it->arg[1];
    *factor = 1;
    return a;
}

/* a + sign * b as like terms; NODE_NONE if they are not. Does not fold two constants. */
static node like_terms(struct graph *graph, node a, node b, double sign)
{
    double factor_a, factor_b;
    node rest = split_factor(graph, a, &factor_a);
    if (rest != split_factor(graph, b, &factor_b) || graph_node(graph, rest)->op == GRAPH_CONSTANT)
        return NODE_NONE;
    double sum = factor_a + sign * factor_b;
    return isfinite(sum) ? simplify_multiply(graph, graph_constant(graph, sum), rest) : NODE_NONE;
}

static node simplify_add(struct graph *graph, node a, node b)
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

static node simplify_subtract(struct graph *graph, node a, node b)
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
    if (opposite != NODE_NONE &&
        graph_find(graph, graph_node_of(GRAPH_SUBTRACT, a, b, NODE_NONE)) == NODE_NONE)
        return simplify_negate(graph, opposite);
    return raw(graph, GRAPH_SUBTRACT, a, b);
}

/* The product of two nodes whose constant factors have been removed. */
static node plain_product(struct graph *graph, node a, node b)
{
    order(graph, &a, &b);
    return raw(graph, GRAPH_MULTIPLY, a, b);
}

/* factor * a with a constant factor > 0; a has no constant factor. */
static node scaled(struct graph *graph, double factor, node a)
{
    return factor == 1 ? a : raw(graph, GRAPH_MULTIPLY, graph_constant(graph, factor), a);
}

/* c * a for a constant node c: merges c with a's constant factors. */
static node multiply_constant(struct graph *graph, node c, node a)
{
    double value = graph_node(graph, c)->value, factor;
    node rest = split_factor(graph, a, &factor);
    if (rest != a && is_moderate(value * factor))
        return scaled(graph, value * factor, rest);
    const struct graph_node it = *graph_node(graph, a); /* a copy: constructors move the nodes */
    if (it.op == GRAPH_RECIPROCAL)
        return raw(graph, GRAPH_DIVIDE, c, it.arg[0]);
    if (it.op == GRAPH_DIVIDE && is_constant(graph, it.arg[0], &factor) &&
        is_moderate(value * factor))
        return simplify_divide(graph, graph_constant(graph, value * factor), it.arg[1]);
    if (it.op == GRAPH_DIVIDE) {
        node top = it.arg[0], below = it.arg[1];
        rest = split_factor(graph, top, &factor);
        if (rest != top && is_moderate(value * factor))
            return raw(graph, GRAPH_DIVIDE, scaled(graph, value * factor, rest), below);
        return plain_product(graph, c, a);
    }
    if (it.op == GRAPH_MULTIPLY) {
        node left = it.arg[0], right = it.arg[1];
        for (int side = 0; side < 2; side++) {
            node inner = side ? right : left, other = side ? left : right;
            rest = split_factor(graph, inner, &factor);
            if (rest != inner && is_moderate(value * factor))
                return scaled(graph, value * factor, plain_product(graph, rest, other));
        }
    }
    return plain_product(graph, c, a);
}

static node simplify_multiply(struct graph *graph, node a, node b)
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
    if (rest_a != a && rest_b != b && is_moderate(factor_a * factor_b))
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

static node simplify_reciprocal(struct graph *graph, node a)
{
    bool minus = simplify_split_sign(graph, &a);
    double value;
    node made = is_constant(graph, a, &value) && isfinite(1 / value)
                    ? graph_constant(graph, 1 / value)
                    : raw(graph, GRAPH_RECIPROCAL, a, NODE_NONE);
    return minus ? simplify_negate(graph, made) : made;
}

static node simplify_divide(struct graph *graph, node a, node b)
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
    if (is_constant(graph, b, &value) && isnormal(value) && isnormal(1 / value) &&
        frexp(value, &exponent) == 0.5)
        return simplify_multiply(graph, graph_constant(graph, 1 / value), a);
    return raw(graph, GRAPH_DIVIDE, a, b);
}

/* a^n, n from 1 to MAX_UNROLLED_POWER, by the bits of n from the lowest: powers of a share their
 * squares. */
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

static node simplify_power(struct graph *graph, node a, node b)
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

bool simplify_is_truth(const struct graph *graph, node a)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op == GRAPH_CONSTANT)
        return it->value == 0 || it->value == 1;
    return graph_operations[it->op].facts & IS_TRUTH;
}

static node as_truth(struct graph *graph, node a)
{
    return simplify_is_truth(graph, a) ? a : graph_binary(graph, GRAPH_NOT_EQUAL, a, 0);
}

static node simplify_not(struct graph *graph, node a)
{
    struct graph_node it = *graph_node(graph, a);
    switch (it.op) {
    case GRAPH_NOT: return as_truth(graph, it.arg[0]);
    case GRAPH_EQUAL: return graph_binary(graph, GRAPH_NOT_EQUAL, it.arg[0], it.arg[1]);
    case GRAPH_NOT_EQUAL: return graph_binary(graph, GRAPH_EQUAL, it.arg[0], it.arg[1]);
    default: return NODE_NONE;
    }
}

static node simplify_logic(struct graph *graph, enum graph_op op, node a, node b)
{
    bool is_and = op == GRAPH_AND;
    if (a == b)
        return as_truth(graph, a);
    for (int side = 0; side < 2; side++) {
        node decides = side ? b : a, other = side ? a : b;
        const struct graph_node *it = graph_node(graph, decides);
        if (it->op == GRAPH_CONSTANT)
            return (it->value != 0) == is_and ? as_truth(graph, other)
                                              : graph_constant(graph, !is_and);
    }
    return NODE_NONE;
}

static node simplify_select(struct graph *graph, node condition, node a, node b)
{
    struct graph_node it = *graph_node(graph, condition);
    if (it.op == GRAPH_CONSTANT)
        return it.value != 0 ? a : b;
    /* Conditions nest only as NOT of something that is neither NOT nor a comparison with 0. */
    if (it.op == GRAPH_NOT)
        return graph_select(graph, it.arg[0], b, a);
    if (it.op == GRAPH_NOT_EQUAL && it.arg[0] == 0)
        return graph_select(graph, it.arg[1], a, b);
    const struct graph_node *left = graph_node(graph, a), *right = graph_node(graph, b);
    if (left->op == GRAPH_SELECT && left->arg[0] == condition)
        a = left->arg[1];
    if (right->op == GRAPH_SELECT && right->arg[0] == condition)
        b = right->arg[2];
    if (a == b)
        return a;
    if (graph_is_constant(graph, a, 1) && b == 0)
        return as_truth(graph, condition);
    if (a == 0 && graph_is_constant(graph, b, 1))
        return graph_unary(graph, GRAPH_NOT, condition);
    return graph_intern(graph, graph_node_of(GRAPH_SELECT, condition, a, b));
}

static node simplify_power_log(struct graph *graph, node a, node b)
{
    if (graph_is_constant(graph, a, 1))
        return 0;
    return b == 0 ? graph_unary(graph, GRAPH_LOG, a) : NODE_NONE;
}

/* Functions are simplified by their facts. */
static node simplify_function(struct graph *graph, enum graph_op op, node a, node b)
{
    unsigned facts = graph_operations[op].facts;
    if (facts & (IS_ODD | IS_EVEN) && simplify_split_sign(graph, &a)) {
        node made = graph_unary(graph, op, a);
        return facts & IS_ODD ? simplify_negate(graph, made) : made;
    }
    bool is_idempotent = op == GRAPH_ABS && graph_node(graph, a)->op == GRAPH_ABS;
    return is_idempotent || (facts & IS_CHOICE && a == b) ? a : NODE_NONE;
}

/* The rules of one operation; NODE_NONE if none applies and the node is made as it is. */
static node simplify(struct graph *g, enum graph_op op, const node *arg)
{
    int n = graph_n_argument(op);
    node a = arg[0], b = n > 1 ? arg[1] : NODE_NONE, c = n > 2 ? arg[2] : NODE_NONE;
    switch (op) {
#define X(name, n_argument, value, facts, cost, kind, text, helper, range, plain, latex, \
    simplified, derivative) \
    case GRAPH_##name: return simplified;
#define F(name, ...) case GRAPH_##name: return simplify_function(g, op, a, b);
        GRAPH_OPERATIONS(X, F)
#undef X
#undef F
    default: return NODE_NONE;
    }
}

/* Whether all arguments are constants; *value is then the result. */
static bool fold(const struct graph *graph, enum graph_op op, const node *arg, double *value)
{
    double argument[3] = {0, 0, 0};
    for (int i = 0; i < graph_n_argument(op); i++) {
        const struct graph_node *it = graph_node(graph, arg[i]);
        if (it->op != GRAPH_CONSTANT && it->op != GRAPH_TABLE)
            return false;
        argument[i] = it->op == GRAPH_TABLE ? it->index : it->value;
    }
    *value = graph_apply(graph, op, argument);
    return true;
}

node graph_operation(struct graph *graph, enum graph_op op, const node *arg)
{
    int n = graph_n_argument(op);
    assert(n > 0);
    if (graph_status(graph, NULL) != STATUS_OK)
        return 0;
    double value;
    struct graph_node as_is =
        graph_node_of(op, arg[0], n > 1 ? arg[1] : NODE_NONE, n > 2 ? arg[2] : NODE_NONE);
    if (fold(graph, op, arg, &value))
        return isfinite(value) ? graph_constant(graph, value) : graph_intern(graph, as_is);
    node made = simplify(graph, op, arg);
    if (made != NODE_NONE)
        return made;
    if (graph_operations[op].facts & COMMUTES)
        order(graph, &as_is.arg[0], &as_is.arg[1]);
    return graph_intern(graph, as_is);
}

node graph_unary(struct graph *graph, enum graph_op op, node a)
{
    assert(graph_n_argument(op) == 1);
    return graph_operation(graph, op, (node[]){a});
}

node graph_binary(struct graph *graph, enum graph_op op, node a, node b)
{
    assert(graph_n_argument(op) == 2);
    return graph_operation(graph, op, (node[]){a, b});
}

node graph_select(struct graph *graph, node condition, node a, node b)
{
    return graph_operation(graph, GRAPH_SELECT, (node[]){condition, a, b});
}
