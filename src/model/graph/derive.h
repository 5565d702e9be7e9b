/* Exact derivatives of nodes, as new nodes of the same graph.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MODEL_GRAPH_DERIVE_H
#define MODEL_GRAPH_DERIVE_H

#include "model/graph/graph.h"

/* A sparse matrix of nodes, compressed by columns; rows increase within each column. A missing entry is zero for all values of
 * the leaves; an entry may be a constant. */
struct graph_matrix {
    size_t n_row, n_column;
    size_t n_entry;
    uint32_t *column_start; /* n_column + 1 */
    uint32_t *row;          /* n_entry */
    node *entry;            /* n_entry */
};

void graph_matrix_fini(struct graph_matrix *matrix); /* all zero is legal */

/* d root[i] / d leaf j for j < n_leaf of kind `leaf` (STATE, PARAMETER, COVARIATE or TIME): n_root x n_leaf. Other leaves are
 * constant. At a discontinuity the derivative is that of the branch taken, unaffected by the other one: that of sqrt(max(y, 0))
 * is 0 for y < 0. It is 0 for sign, floor, ceil and comparisons. 1 - tanh^2, and V - v of saturating terms, have the absolute
 * precision of the values. Fails as graph_status does; *matrix is then empty. */
enum status graph_jacobian(struct graph *graph, const node *root, size_t n_root, enum graph_op leaf, size_t n_leaf,
                           struct graph_matrix *matrix, struct error *error);

#endif
