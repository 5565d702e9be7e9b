/* The constructors: they fold constants, look up the operation's rules and keep the one node that is left. The rules of
 * arithmetic are in simplify_arithmetic.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/simplify.h"

#include <assert.h>
#include <math.h>

/* f(-x) = -f(x) and f(-x) = f(x). */
static bool is_odd(enum graph_op op)
{
    switch (op) {
    case GRAPH_SIN: case GRAPH_TAN: case GRAPH_ASIN: case GRAPH_ATAN: case GRAPH_SINH: case GRAPH_TANH:
    case GRAPH_ASINH: case GRAPH_ATANH: case GRAPH_ERF: case GRAPH_CBRT: case GRAPH_SIGN:
        return true;
    default:
        return false;
    }
}

static bool is_even(enum graph_op op) { return op == GRAPH_COS || op == GRAPH_COSH || op == GRAPH_ABS; }

bool simplify_is_truth(const struct graph *graph, node a)
{
    const struct graph_node *it = graph_node(graph, a);
    if (it->op == GRAPH_CONSTANT)
        return it->value == 0 || it->value == 1;
    return (it->op >= GRAPH_LESS && it->op <= GRAPH_NOT) || it->op == GRAPH_HEAVISIDE;
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
            return (it->value != 0) == is_and ? as_truth(graph, other) : graph_constant(graph, !is_and);
    }
    return NODE_NONE;
}

static node simplify_select(struct graph *graph, node condition, node a, node b)
{
    struct graph_node it = *graph_node(graph, condition);
    if (it.op == GRAPH_CONSTANT)
        return it.value != 0 ? a : b;
    /* Conditions nest in each other only as NOT of something that is neither NOT nor a comparison with 0. */
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

node simplify_choice(struct graph *graph, enum graph_op op, const node *arg)
{
    switch (op) {
    case GRAPH_MIN: case GRAPH_MAX: return arg[0] == arg[1] ? arg[0] : NODE_NONE;
    case GRAPH_LESS: return arg[0] == arg[1] ? 0 : NODE_NONE;
    case GRAPH_AND: case GRAPH_OR: return simplify_logic(graph, op, arg[0], arg[1]);
    case GRAPH_NOT: return simplify_not(graph, arg[0]);
    case GRAPH_SELECT: return simplify_select(graph, arg[0], arg[1], arg[2]);
    default: return NODE_NONE;
    }
}

static node simplify_function(struct graph *graph, enum graph_op op, node a)
{
    if (is_odd(op) || is_even(op)) {
        bool minus = simplify_split_sign(graph, &a);
        if (minus) {
            node made = graph_unary(graph, op, a);
            return is_odd(op) ? simplify_negate(graph, made) : made;
        }
    }
    if (op == GRAPH_ABS && graph_node(graph, a)->op == GRAPH_ABS)
        return a;
    return NODE_NONE;
}

static node simplify_power_log(struct graph *graph, node a, node b)
{
    if (graph_is_constant(graph, a, 1))
        return 0;
    return b == 0 ? graph_unary(graph, GRAPH_LOG, a) : NODE_NONE;
}

/* The rules of one operation; NODE_NONE where none applies and the node is to be made as it is. */
static node simplify(struct graph *graph, enum graph_op op, const node *arg)
{
    switch (op) {
    case GRAPH_ADD: return simplify_add(graph, arg[0], arg[1]);
    case GRAPH_SUBTRACT: return simplify_subtract(graph, arg[0], arg[1]);
    case GRAPH_MULTIPLY: return simplify_multiply(graph, arg[0], arg[1]);
    case GRAPH_DIVIDE: return simplify_divide(graph, arg[0], arg[1]);
    case GRAPH_POWER: return simplify_power(graph, arg[0], arg[1]);
    case GRAPH_POWER_LOG: return simplify_power_log(graph, arg[0], arg[1]);
    case GRAPH_NEGATE: return simplify_negate(graph, arg[0]);
    case GRAPH_RECIPROCAL: return simplify_reciprocal(graph, arg[0]);
    default: break;
    }
    node made = simplify_choice(graph, op, arg);
    return made == NODE_NONE && graph_n_argument(op) == 1 ? simplify_function(graph, op, arg[0]) : made;
}

/* Are all arguments constants? Then *value is the operation on them. */
static bool fold(const struct graph *graph, enum graph_op op, const node *arg, double *value)
{
    double argument[3] = {0, 0, 0};
    for (int i = 0; i < graph_n_argument(op); i++) {
        const struct graph_node *it = graph_node(graph, arg[i]);
        if (it->op != GRAPH_CONSTANT)
            return false;
        argument[i] = it->value;
    }
    *value = graph_apply(op, argument);
    return true;
}

node graph_operation(struct graph *graph, enum graph_op op, const node *arg)
{
    int n = graph_n_argument(op);
    assert(n > 0);
    if (graph_status(graph, NULL) != STATUS_OK)
        return 0;
    double value;
    struct graph_node as_is = graph_node_of(op, arg[0], n > 1 ? arg[1] : NODE_NONE, n > 2 ? arg[2] : NODE_NONE);
    if (fold(graph, op, arg, &value))
        return isfinite(value) ? graph_constant(graph, value) : graph_intern(graph, as_is);
    node made = simplify(graph, op, arg);
    if (made != NODE_NONE)
        return made;
    bool commutes = op == GRAPH_EQUAL || op == GRAPH_NOT_EQUAL || op == GRAPH_AND || op == GRAPH_OR;
    bool constant_last = commutes && graph_node(graph, arg[1])->op == GRAPH_CONSTANT;
    bool constant_first = commutes && graph_node(graph, arg[0])->op == GRAPH_CONSTANT;
    if (commutes && (constant_last || (!constant_first && arg[1] < arg[0]))) {
        as_is.arg[0] = arg[1];
        as_is.arg[1] = arg[0];
    }
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
