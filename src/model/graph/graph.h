/* The expression graph of a model: every equation and every derivative is a node in it, and
 * equal expressions are one node. Separate from what writes equations (model/text) and from what
 * prints them (model/generate).
 *
 * Nodes are numbered in order of creation, so arguments have smaller numbers than their node,
 * and every pass over the graph is a loop over numbers, never a recursion, however deep an
 * expression is. A node never changes. Constructors simplify (see simplify.c) and share, so the
 * returned node may be an old one, or have another operation than requested.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "model/graph/operations.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t node; /* the number of a node */

#define NODE_NONE UINT32_MAX

/* Leaves: name. The index distinguishes leaves of a kind; TIME has index 0. DIRECTION is in no
 * equation, only in second derivatives: a change of the states and then of time (struct
 * stiffit_lanes). INPUT varies in time as the data say, with INPUT_SLOPE, which is also in
 * second derivatives only. TABLE stands for the points of a table, of which it is the number. */
#define GRAPH_LEAVES(X) X(CONSTANT) X(TIME) X(STATE) X(PARAMETER) X(COVARIATE) X(DIRECTION) \
    X(INPUT) X(INPUT_SLOPE) X(TABLE)

enum graph_op {
#define X(name) GRAPH_##name,
    GRAPH_LEAVES(X)
#undef X
#define X(name, ...) GRAPH_##name,
    GRAPH_OPERATIONS(X, X)
#undef X
    N_GRAPH_OP
};

/* Facts. A step jumps where an argument (or the difference of both) is 0; a point only there
 * itself. A gentle operation cannot rise and fall near the zero of an argument. A choice has the
 * value of one of its arguments. */
enum {
    IS_ODD = 1, IS_EVEN = 2, IS_TRUTH = 4, /* 1 or 0 */
    IS_STEP = 8, IS_POINT = 16, HAS_KINK = 32, IS_GENTLE = 64, IS_CHOICE = 128, COMMUTES = 256
};

enum graph_cost {
    COST_SIGN,
    COST_ADD,
    COST_MULTIPLY,
    COST_DIVIDE,
    COST_ROOT,
    COST_CALL,
    COST_CHOICE,
    COST_PRODUCT_CALL
};

/* How C writes it: a function's name or an operator. The last two kinds are true or false in C. */
enum c_kind { C_CALL, C_SUM, C_PRODUCT, C_NEGATIVE, C_RECIPROCAL, C_CHOICE, C_COMPARISON, C_LOGIC };

/* Functions of numbers, of lanes (struct stiffit_lanes), and of ranges of numbers, which need no
 * c_helper. */
enum c_form { C_SCALAR, C_LANES, N_C_FORM, C_RANGE = N_C_FORM };

/* How tightly operators bind, as in man 5 stiffit-model. */
enum binding { BIND_ANY, BIND_OR = 2, BIND_AND, BIND_NOT, BIND_COMPARISON, BIND_SUM,
               BIND_QUOTIENT, /* LaTeX only: a / b next to a factor without a sign between them */
               BIND_PRODUCT, BIND_SIGN, BIND_POWER, BIND_PRIMARY };

/* An operation is printed as piece[0], argument, piece[1], argument, ...; NULL ends it. An
 * argument that binds less tightly than `least` gets parentheses. */
struct form {
    const char *piece[4];
    uint8_t bind, least[3];
    bool plain_right; /* a sign at the beginning of the second argument needs parentheses */
};

/* A row of the table of operations, or a leaf, which has only a name. */
struct graph_operation {
    const char *name; /* "ADD" */
    int n_argument;
    unsigned facts;
    enum graph_cost cost;
    enum c_kind c_kind;
    const char *c;                  /* its name in C */
    /* its definition, or NULL: the C library's function, in lanes called for each */
    const char *c_helper[N_C_FORM];
    const char *range;              /* its definition in ranges; "": in emit_range.c's prelude */
    struct form text, latex;
};
extern const struct graph_operation graph_operations[N_GRAPH_OP];

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
/* Limits the number of nodes to `n_node`, if this is below the built-in limit (30 million, about
 * 1 GiB). */
void graph_set_limit(struct graph *graph, size_t n_node);

/* Constructors. If memory is out or the graph too large, they return node 0 (the constant 0,
 * always there), and the graph stays failed: check once at the end with graph_status
 * (STATUS_NO_MEMORY, or STATUS_BAD_MODEL "too large"). */
node graph_constant(struct graph *graph, double value);
node graph_leaf(struct graph *graph, enum graph_op leaf, uint32_t index);
node graph_unary(struct graph *graph, enum graph_op op, node a);
node graph_binary(struct graph *graph, enum graph_op op, node a, node b);
node graph_select(struct graph *graph, node condition, node a, node b);
/* The leaf for a table of n >= 2 points, whose x increase; equal tables are one. */
node graph_table(struct graph *graph, const double *x, const double *y, size_t n);
/* Any operation with its arguments in `arg` (as many as it has). */
node graph_operation(struct graph *graph, enum graph_op op, const node *arg);
enum status graph_status(const struct graph *graph, struct error *error);

size_t graph_n_node(const struct graph *graph);
/* Valid until the next constructor. */
const struct graph_node *graph_node(const struct graph *graph, node which);
bool graph_is_constant(const struct graph *graph, node which, double value);

/* 0 for leaves */
static inline int graph_n_argument(enum graph_op op) { return graph_operations[op].n_argument; }

/* The points of a table, and the slopes between them (the last one is 0). */
struct graph_table {
    size_t n;
    const double *x, *y, *slope;
};
size_t graph_n_table(const struct graph *graph);
struct graph_table graph_table_of(const struct graph *graph, size_t i_table);

/* What a node depends on: a bit 1 << leaf for each kind of leaf below it but TABLE, which never
 * changes. depends: one entry per node, filled from `first` on. */
void graph_dependence(const struct graph *graph, size_t first, uint8_t *depends);
/* Marks the roots and all below them; needed: n_node entries, filled. */
void graph_mark(const struct graph *graph, const node *root, size_t n_root, uint8_t *needed,
                size_t n_node);

/* One operation on numbers, of which a table is its index in the graph (NULL: it has none). */
double graph_apply(const struct graph *graph, enum graph_op op, const double *argument);
