/* What the files of model/graph share below the public constructors: looking a node up and making it as it is, without
 * simplification.
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

#endif
