/* What the tests of the expression graph share: short names for constructors, and the value of a node at a point.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef GRAPH_CASE_H
#define GRAPH_CASE_H

#include "../graph_values.h"
#include "model/graph/derive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N_CASE_LEAF = 4, N_CASE_PARAMETER = 1000 }; /* made at first; that have values */

struct graph_case {
    struct graph *graph;
    node y[N_CASE_LEAF], p[N_CASE_LEAF], t;
    double y_at[N_CASE_LEAF], p_at[N_CASE_PARAMETER], t_at;
};

static inline int case_set_up(void **state)
{
    struct graph_case *self = calloc(1, sizeof *self);
    self->graph = graph_new();
    for (uint32_t i = 0; i < N_CASE_LEAF; i++) {
        self->y[i] = graph_leaf(self->graph, GRAPH_STATE, i);
        self->p[i] = graph_leaf(self->graph, GRAPH_PARAMETER, i);
        self->y_at[i] = 0.3 + 0.2 * i;
        self->p_at[i] = 1.1 + 0.37 * i;
    }
    self->t = graph_leaf(self->graph, GRAPH_TIME, 0);
    self->t_at = 0.71;
    *state = self;
    return 0;
}

static inline int case_tear_down(void **state)
{
    struct graph_case *self = *state;
    graph_free(self->graph);
    free(self);
    return 0;
}

static inline double case_value(const struct graph_case *self, node which)
{
    double *value = malloc(graph_n_node(self->graph) * sizeof *value);
    struct stiffit_point at = {.t = self->t_at, .y = self->y_at, .p = self->p_at};
    graph_evaluate(self->graph, &at, value);
    double it = value[which];
    free(value);
    return it;
}

/* d root / d leaf `index`; node 0 where it is not in the pattern. */
static inline node case_derivative(const struct graph_case *self, node root, enum graph_op leaf, size_t index)
{
    struct graph_matrix matrix;
    assert_int_equal(graph_jacobian(self->graph, &root, 1, leaf, N_CASE_LEAF, &matrix, NULL), STATUS_OK);
    assert_int_equal(matrix.n_row, 1);
    node found = 0;
    if (matrix.column_start[index + 1] > matrix.column_start[index])
        found = matrix.entry[matrix.column_start[index]];
    graph_matrix_fini(&matrix);
    return found;
}

static inline void assert_same(double a, double b)
{
    if (!(isnan(a) && isnan(b)) && a != b)
        fail_msg("%.17g is not %.17g", a, b);
}

/* For values that come about by a few roundings in another order. */
static inline void assert_close(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * (fabs(a) + fabs(b)) / 2) && a != b)
        fail_msg("%.17g is not %.17g to %g", a, b, tolerance);
}

/* These expect `struct graph_case *self` in scope. */
#define C(value) graph_constant(self->graph, value)
#define U(op, a) graph_unary(self->graph, GRAPH_##op, a)
#define B(op, a, b) graph_binary(self->graph, GRAPH_##op, a, b)
#define SELECT(c, a, b) graph_select(self->graph, c, a, b)

#endif
