/* What the files of model/graph share below the public constructors: looking a node up, making it as it is, the rules by which
 * constructors simplify, and the chain rule.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_INTERN_H
#define MODEL_GRAPH_INTERN_H

#include "model/graph/graph.h"

/* The one node that is exactly `wanted` (with unused arguments NODE_NONE): the old one, or a new one. Node 0 and a
 * failed graph when there is no room. */
node graph_intern(struct graph *graph, struct graph_node wanted);
/* The same without making it: NODE_NONE where there is none. */
node graph_find(const struct graph *graph, struct graph_node wanted);

/* Fails the graph for good; the first reason stays. */
void graph_fail(struct graph *graph, enum status status);
size_t graph_limit(const struct graph *graph); /* nodes that it may have */

static inline struct graph_node graph_node_of(enum graph_op op, node a, node b, node c)
{
    struct graph_node made = {.op = op};
    made.arg[0] = a;
    made.arg[1] = b;
    made.arg[2] = c;
    return made;
}

/* simplify.c. Takes a sign off: true if *a was negative, and *a is then its opposite. */
bool simplify_split_sign(struct graph *graph, node *a);
/* Is it 1 or 0 wherever it is not NaN? */
bool simplify_is_truth(const struct graph *graph, node a);

/* derive_rules.c. The derivative of operation `which`, none of ADD, SUBTRACT and NEGATE, given those of its arguments:
 * NODE_NONE where they are zero, and so is what comes back. */
node derive_operation(struct graph *graph, node which, const node derivative[3]);

#endif
