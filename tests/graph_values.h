/* A plain interpreter of the expression graph: what generated code, listings and derivatives are held against.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_GRAPH_VALUES_H
#define TESTS_GRAPH_VALUES_H

#include "model/graph/graph.h"

#include <math.h>
#include <stiffit/model.h>

/* The value of DIRECTION `index`, which has no place in a point. */
static inline double graph_direction(uint32_t index) { return 0.875 - 0.375 * (index * 7 % 5); }

static inline double graph_leaf_value(const struct graph_node *leaf, const struct stiffit_point *at)
{
    switch (leaf->op) {
    case GRAPH_CONSTANT: return leaf->value;
    case GRAPH_TIME: return at->t;
    case GRAPH_STATE: return at->y ? at->y[leaf->index] : NAN;
    case GRAPH_PARAMETER: return at->p[leaf->index];
    case GRAPH_DIRECTION: return graph_direction(leaf->index);
    case GRAPH_INPUT: return at->input ? at->input[leaf->index] : NAN;
    case GRAPH_TABLE: return leaf->index;
    default: return at->covariate ? at->covariate[leaf->index] : NAN;
    }
}

/* The values of all nodes at one point; value: one entry per node. */
static inline void graph_evaluate(const struct graph *graph, const struct stiffit_point *at, double *value)
{
    size_t n_node = graph_n_node(graph);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        double argument[3] = {0};
        int n = graph_n_argument(it->op);
        for (int k = 0; k < n; k++)
            argument[k] = value[it->arg[k]];
        value[i] = n ? graph_apply(graph, it->op, argument) : graph_leaf_value(it, at);
    }
}

#endif
