/* What can be derived from a model's graph: exact derivatives of nodes, as new nodes of the same
 * graph; conditions at which the rates may jump (unless it is proved that they do not);
 * inputs that depend on time alone; and states that stay non-negative.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "model/graph/graph.h"

/* A sparse matrix of nodes, compressed by columns; rows increase within each column. A missing
 * entry is zero for all values of the leaves; an entry may be a constant. */
struct graph_matrix {
    size_t n_row, n_column;
    size_t n_entry;
    uint32_t *column_start; /* n_column + 1 */
    uint32_t *row;          /* n_entry */
    node *entry;            /* n_entry */
};

void graph_matrix_fini(struct graph_matrix *matrix); /* all zero is legal */
/* a with the only column of b after its last one; both have the same rows. False: out of memory. */
bool graph_matrix_append(const struct graph_matrix *a, const struct graph_matrix *b,
                         struct graph_matrix *joined);

/* d root[i] / d leaf j for j < n_leaf of kind `leaf` (STATE, PARAMETER, COVARIATE or TIME):
 * n_root x n_leaf. Other leaves are constant. At a discontinuity the derivative is that of the
 * branch taken, unaffected by the other one: that of sqrt(max(y, 0)) is 0 for y < 0. It is 0 for
 * sign, floor, ceil and comparisons. 1 - tanh^2, and V - v of saturating terms, have the
 * absolute precision of the values. Fails as graph_status does; *matrix is then empty. */
enum status graph_jacobian(struct graph *graph, const node *root, size_t n_root, enum graph_op leaf,
                           size_t n_leaf, struct graph_matrix *matrix, struct error *error);
/* graph_jacobian with an effort of at most `most` steps (a step makes a few nodes at most). If
 * that does not suffice, is_done is false and *matrix empty. */
struct graph_effort {
    uint64_t most;
    bool is_done;
};
enum status graph_jacobian_within(struct graph *graph, const node *root, size_t n_root,
                                  enum graph_op leaf, size_t n_leaf, struct graph_effort *effort,
                                  struct graph_matrix *matrix, struct error *error);

/* What the functions of lanes compute beside values and rhs_parameter (struct stiffit_lanes). */
struct lane_functions {
    bool are_there; /* else the model is too large or unsuitable: the matrices are empty */
    struct graph_matrix by_state, curve_state, curve_parameter;
};
void lane_functions_fini(struct lane_functions *lanes);

/* Nodes, each once. Zero-initialise; free item. */
struct node_list {
    node *item;
    size_t n, room;
};

/* Functions that are negative on one side of a condition and not on the other: for conditions on
 * states, inputs, or time and parameters, at which the roots are not proved to be continuous;
 * for conditions linear in time, also those below `condition` (of events); and for the parts of
 * those, such as the two comparisons of a window. From `first_kink` on, they are at the points of
 * tables, where a root has a kink. `time` has the time of each that is linear in time, else
 * NODE_NONE. */
struct switches {
    struct node_list list, time;
    size_t first_kink;
};
/* May add nodes. False: out of memory. */
bool changes_find_switches(struct graph *graph, const node *root, size_t n_root,
                           const node *condition, size_t n_condition, struct switches *switches);
/* The largest parts of the roots that depend on time and on no state, and where their inner
 * functions turn: steps at the zeros of what is linear in time and inside of something steep, as
 * (t - t_on)/width in exp(); and comparisons in `condition` (of events) of what is not linear in
 * time. May add nodes. */
bool changes_find_forcing(struct graph *graph, const node *root, size_t n_root,
                          const node *condition, size_t n_condition, struct node_list *list);

/* The times at which values that are linear in time are 0: expressions of parameters and
 * covariates; NODE_NONE where a value is not linear in time, or depends on states or inputs. May
 * add nodes. False: out of memory. */
bool timing_solve(struct graph *graph, const node *g, size_t n_g, node *time);
/* Numbers that are negative exactly where the conditions are false; NODE_NONE: nothing of the
 * kind, as for a == b unless it holds at one known time. May add nodes. False: out of memory. */
bool timing_triggers(struct graph *graph, const node *condition, size_t n_condition, node *trigger);

/* Whether values stay continuous where a condition changes: a proof, or nothing. */
struct continuity;

/* Of `root` (n_root nodes), which is kept. NULL: out of memory. */
struct continuity *continuity_new(const struct graph *graph, const node *root, size_t n_root);
void continuity_free(struct continuity *continuity);
/* True: wherever a = b, all roots have the same limits from a < b and from a > b, as far as this
 * surface is concerned and wherever they are defined. False: they may differ. */
bool continuity_at(struct continuity *continuity, node a, node b);

/* Proofs that states stay non-negative. */
struct signs;

/* A leaf that must not be negative, or must be positive. */
struct sign_need {
    enum graph_op leaf;
    uint32_t index;
    bool is_positive;
};

/* NULL: out of memory. No nodes may be added meanwhile. */
struct signs *signs_new(const struct graph *graph);
void signs_free(struct signs *signs); /* NULL is legal */
/* What a proof that `rate` is not negative where state `state` is 0 needs of leaves: n_need
 * needs, valid until the next call. NULL: there is no proof. */
const struct sign_need *signs_prove(struct signs *signs, node rate, uint32_t state, size_t *n_need);
