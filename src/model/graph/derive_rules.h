/* The chain rule of each operation, apart from the sweep that applies it to whole graphs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_DERIVE_RULES_H
#define MODEL_GRAPH_DERIVE_RULES_H

#include "model/graph/graph.h"

/* The derivative of operation `which`, none of ADD, SUBTRACT and NEGATE, given those of its arguments: NODE_NONE
 * where they are zero, and so is what comes back. */
node derive_operation(struct graph *graph, node which, const node derivative[3]);

#endif
