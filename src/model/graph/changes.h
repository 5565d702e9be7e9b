/* What makes the rates change: conditions at which they may jump, unless proved continuous, and inputs that depend on time.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_CHANGES_H
#define MODEL_GRAPH_CHANGES_H

#include "model/graph/graph.h"

/* Nodes without repetition. Zero-initialise; free item. */
struct node_list {
    node *item;
    size_t n, room;
};

/* Functions that are negative on exactly one side of a condition, for conditions on states, or on time and parameters, at which
 * the roots are not proved to be continuous. May add nodes. False: out of memory. */
bool changes_find_switches(struct graph *graph, const node *root, size_t n_root, struct node_list *list);
/* The largest parts of the roots that depend on time and on no state, and places where their inner functions turn: steps at the
 * zeros of arguments of steep functions that are linear in time, such as (t - t_on)/width in exp(). May add nodes. */
bool changes_find_forcing(struct graph *graph, const node *root, size_t n_root, struct node_list *list);

/* Marks the root and all nodes below it; needed: one entry per node. */
void changes_mark(const struct graph *graph, const node *root, size_t n_root, uint8_t *needed, size_t n_node);

/* Whether values are continuous where a condition changes: proved, or unknown. */
struct continuity;

/* For the n_root nodes of `root`, which must outlive it. NULL: out of memory. */
struct continuity *continuity_new(const struct graph *graph, const node *root, size_t n_root);
void continuity_free(struct continuity *continuity);
/* True: wherever a = b, all roots have the same limits from a < b and from a > b, as far as this surface is concerned and
 * wherever they are defined. False: they may differ. */
bool continuity_at(struct continuity *continuity, node a, node b);

#endif
