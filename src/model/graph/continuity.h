/* Whether values stay continuous where a condition changes: a proof, or nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_CONTINUITY_H
#define MODEL_GRAPH_CONTINUITY_H

#include "model/graph/graph.h"

struct continuity;

/* Of `root` (n_root nodes), which is kept. NULL: out of memory. */
struct continuity *continuity_new(const struct graph *graph, const node *root, size_t n_root);
void continuity_free(struct continuity *continuity);
/* True: wherever a = b, all roots have the same limits from a < b and from a > b, as far as this surface is concerned and
 * wherever they are defined. False: they may differ. */
bool continuity_at(struct continuity *continuity, node a, node b);

#endif
