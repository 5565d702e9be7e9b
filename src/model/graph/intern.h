/* Shared by the files of model/graph below the public constructors: finding and making nodes,
 * the constructors' rules for simplification, and the chain rule.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/graph.h"

/* The one node that equals `wanted` (with unused arguments NODE_NONE), old or new. Node 0 and a
 * failed graph if there is no room. */
node graph_intern(struct graph *graph, struct graph_node wanted);
/* The node that equals `wanted`, if there is one; otherwise NODE_NONE. */
node graph_find(const struct graph *graph, struct graph_node wanted);

/* Fails the graph for good; the first reason is kept. */
void graph_fail(struct graph *graph, enum status status);
size_t graph_limit(const struct graph *graph); /* the largest number of nodes */

static inline struct graph_node graph_node_of(enum graph_op op, node a, node b, node c)
{
    struct graph_node made = {.op = op};
    made.arg[0] = a;
    made.arg[1] = b;
    made.arg[2] = c;
    return made;
}

/* simplify.c. Removes a sign: true if *a was negative; *a is then its opposite. */
bool simplify_split_sign(struct graph *graph, node *a);
/* Whether it is 1 or 0 unless it is NaN. */
bool simplify_is_truth(const struct graph *graph, node a);

/* derive_rules.c. The derivative of operation `which` (not ADD, SUBTRACT or NEGATE) from those
 * of its arguments. NODE_NONE means zero, in arguments and result. */
node derive_operation(struct graph *graph, node which, const node derivative[3]);

/* gamma.c: the logarithm of |Gamma| and the polygamma functions. C has no polygamma functions, and
 * its lgamma writes a global variable. */

/* log |Gamma(x)|; infinite at 0, -1, -2, ... and at both infinities. */
double gamma_log(double x);
/* The derivative of order n, 0 to 8, of digamma, which is that of gamma_log. */
double gamma_polygamma(double n, double x);
