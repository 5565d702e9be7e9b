/* The expression graph of a model: every equation and every derivative is a node in it, and equal expressions are one
 * node. Separate from what writes equations (model/text) and from what prints them (model/generate).
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes are numbered in the order in which they were made, so that the arguments of a node have smaller numbers than
 * itself: every pass over the graph is a loop over numbers, never a recursion, whatever the depth of an expression. A
 * node never changes. Constructors simplify (simplify.h says how) and share; so the node that comes back may be an
 * old one, or have another operation than the one asked for. */
#ifndef MODEL_GRAPH_GRAPH_H
#define MODEL_GRAPH_GRAPH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stiffit/model.h>

typedef uint32_t node; /* the number of a node */

#define NODE_NONE UINT32_MAX

/* Leaves: name. Their index says which one; TIME has index 0. DIRECTION i is component i of a direction in the space of
 * states, for directional second derivatives. */
#define GRAPH_LEAVES(X) X(CONSTANT) X(TIME) X(STATE) X(PARAMETER) X(COVARIATE) X(DIRECTION)

/* Operations: name, arguments. Comparisons and logic give 1 or 0; a condition is true where it is not 0 (a NaN is
 * true, as in C). SELECT(c, a, b) is a where c is true, else b; both are evaluated. MIN and MAX are NaN where an argument
 * is. SIGN is (a > 0) - (a < 0), HEAVISIDE is a >= 0, and both are NaN where a is. POWER_LOG(a, b) is a^b log(a), and 0
 * where a = 0 and b > 0 (its limit). RECIPROCAL is 1/a. */
#define GRAPH_OPERATIONS(X) \
    X(ADD, 2) X(SUBTRACT, 2) X(MULTIPLY, 2) X(DIVIDE, 2) X(POWER, 2) X(POWER_LOG, 2) X(NEGATE, 1) X(RECIPROCAL, 1) \
    X(SQRT, 1) X(CBRT, 1) X(EXP, 1) X(EXPM1, 1) X(LOG, 1) X(LOG1P, 1) X(LOG10, 1) X(LOG2, 1) \
    X(SIN, 1) X(COS, 1) X(TAN, 1) X(ASIN, 1) X(ACOS, 1) X(ATAN, 1) X(ATAN2, 2) \
    X(SINH, 1) X(COSH, 1) X(TANH, 1) X(ASINH, 1) X(ACOSH, 1) X(ATANH, 1) X(ERF, 1) X(ERFC, 1) \
    X(ABS, 1) X(SIGN, 1) X(HEAVISIDE, 1) X(FLOOR, 1) X(CEIL, 1) X(MIN, 2) X(MAX, 2) \
    X(LESS, 2) X(LESS_EQUAL, 2) X(EQUAL, 2) X(NOT_EQUAL, 2) X(AND, 2) X(OR, 2) X(NOT, 1) X(SELECT, 3)

enum graph_op {
#define X(name) GRAPH_##name,
    GRAPH_LEAVES(X)
#undef X
#define X(name, n_argument) GRAPH_##name,
    GRAPH_OPERATIONS(X)
#undef X
    N_GRAPH_OP
};

struct graph_node {
    enum graph_op op;
    union {
        double value;   /* of a CONSTANT */
        uint32_t index; /* of the other leaves */
        node arg[3];    /* of an operation; unused ones are NODE_NONE */
    };
};

struct graph;

struct graph *graph_new(void); /* NULL when memory is out */
void graph_free(struct graph *graph); /* NULL is legal */
/* At most `n_node` nodes from now on; it can only lower the built-in limit (30 million, about 1 GiB). */
void graph_set_limit(struct graph *graph, size_t n_node);

/* Constructors. When memory is out or the graph is too large they give node 0 (the constant 0, always there) and the
 * graph stays failed: check once at the end with graph_status (STATUS_NO_MEMORY, or STATUS_BAD_MODEL "too large"). */
node graph_constant(struct graph *graph, double value);
node graph_leaf(struct graph *graph, enum graph_op leaf, uint32_t index);
node graph_unary(struct graph *graph, enum graph_op op, node a);
node graph_binary(struct graph *graph, enum graph_op op, node a, node b);
node graph_select(struct graph *graph, node condition, node a, node b);
/* Any operation with its arguments in `arg` (as many as it has). */
node graph_operation(struct graph *graph, enum graph_op op, const node *arg);
enum status graph_status(const struct graph *graph, struct error *error);

size_t graph_n_node(const struct graph *graph);
/* Valid until the next constructor. */
const struct graph_node *graph_node(const struct graph *graph, node which);
bool graph_is_constant(const struct graph *graph, node which, double value);

int graph_n_argument(enum graph_op op); /* 0 for leaves */
const char *graph_op_name(enum graph_op op);

/* What a node depends on: a bit 1 << leaf for each kind of leaf below it. depends: one entry per node, filled. */
void graph_dependence(const struct graph *graph, uint8_t *depends);

/* The values of all nodes at one point; value: one entry per node. `direction` may be NULL where no node asks for it. A
 * plain interpreter: for tests, starts and tables, not for integration. */
void graph_evaluate(const struct graph *graph, const struct stiffit_point *at, const double *direction, double *value);
/* One operation on numbers: what the interpreter and the folding of constants share. */
double graph_apply(enum graph_op op, const double *argument);

#endif
