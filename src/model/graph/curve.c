/* Second derivatives of the rates in one direction, for integrators that differentiate their own
 * steps: with g = (d rhs / d y) v + (d rhs / d t) w for a direction (v, w), d g / d y and d g /
 * d p. They are made from g as the first ones are from the rates. A model can do without them,
 * so there is a limit to their size.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/functions.h"
#include "model/graph/intern.h"

#include <stdlib.h>
#include <string.h>

/* Models beyond these limits have no lanes. Sparse networks of 100 states are fitted in half the
 * time of CVODES, of 150 in 0.85 of it, and of 200 in 1.5 times as long. The compiler needs some
 * 0.35 ms for each of the MAX_NODE new nodes (gcc 12 at -O3), so lanes add at most about 2 s to
 * `model build`; mass action needs fewer nodes (50 states: 1,600) than saturating terms and
 * powers (5,600). */
enum {
    MAX_STATE = 128,
    MAX_GRAPH = 200 * 1000,
    MAX_WORK = 400 * 1000,
    MAX_NODE = 5000,
    NODES_PER_STEP = 16
};

bool graph_matrix_append(const struct graph_matrix *a, const struct graph_matrix *b,
                         struct graph_matrix *joined)
{
    size_t n = a->n_entry + b->n_entry;
    *joined = (struct graph_matrix){.n_row = a->n_row, .n_column = a->n_column + 1, .n_entry = n};
    joined->column_start = malloc((a->n_column + 2) * sizeof *joined->column_start);
    joined->row = malloc((n + 1) * sizeof *joined->row);
    joined->entry = malloc((n + 1) * sizeof *joined->entry);
    if (!joined->column_start || !joined->row || !joined->entry)
        return false;
    memcpy(joined->column_start, a->column_start, (a->n_column + 1) * sizeof *a->column_start);
    joined->column_start[a->n_column + 1] = (uint32_t)n;
    const struct graph_matrix *const part[] = {a, b};
    for (size_t i = 0, at = 0; i < 2; at += part[i++]->n_entry) {
        if (part[i]->n_entry == 0)
            continue;
        memcpy(joined->row + at, part[i]->row, part[i]->n_entry * sizeof *joined->row);
        memcpy(joined->entry + at, part[i]->entry, part[i]->n_entry * sizeof *joined->entry);
    }
    return true;
}

/* g, one node per row of the matrix; column j is multiplied with direction j. */
static void fill_directional(struct graph *graph, const struct graph_matrix *matrix, node *g)
{
    for (size_t i = 0; i < matrix->n_row; i++)
        g[i] = 0;
    for (size_t j = 0; j < matrix->n_column; j++)
        for (size_t k = matrix->column_start[j]; k < matrix->column_start[j + 1]; k++) {
            node direction = graph_leaf(graph, GRAPH_DIRECTION, (uint32_t)j),
                 *sum = &g[matrix->row[k]];
            *sum = graph_binary(graph, GRAPH_ADD, *sum,
                                graph_binary(graph, GRAPH_MULTIPLY, matrix->entry[k], direction));
        }
}

bool lane_functions_suit(const struct graph *graph, const struct graph_matrix *rates, bool *suit)
{
    size_t n_node = graph_n_node(graph);
    uint8_t *needed = malloc(2 * n_node), *depends = needed + n_node;
    if (!needed)
        return false;
    graph_mark(graph, rates->entry, rates->n_entry, needed, n_node);
    graph_dependence(graph, 0, depends);
    *suit = true;
    for (size_t i = 0; *suit && i < n_node; i++) {
        enum graph_op op = graph_node(graph, (node)i)->op;
        *suit = !(needed[i] && (op == GRAPH_FLOOR || op == GRAPH_CEIL) &&
                  depends[i] & (1 << GRAPH_STATE | 1 << GRAPH_INPUT));
    }
    free(needed);
    return true;
}

static bool is_worth_it(const struct equations *equations)
{
    size_t n_node = graph_n_node(equations->graph);
    return equations->n_state > 0 && equations->n_state <= MAX_STATE && n_node <= MAX_GRAPH &&
           n_node + NODES_PER_STEP * MAX_WORK < graph_limit(equations->graph);
}

/* Adds df/du du/dt for the linear inputs u to df/dt, the only column of by_time. */
static enum status add_inputs(const struct equations *equations, const struct graph_matrix *rhs,
                              struct graph_matrix *by_time, struct graph_effort *effort,
                              struct error *error)
{
    struct graph *graph = equations->graph;
    struct graph_matrix by_input;
    size_t n = rhs->n_row;
    node *sum = calloc(n, sizeof *sum), *entry = malloc(n * sizeof *entry);
    uint32_t *row = malloc(n * sizeof *row);
    enum status status =
        graph_jacobian_within(graph, rhs->entry, n, GRAPH_INPUT, equations->n_input, effort,
                              &by_input, error);
    bool good = sum && entry && row;
    for (size_t k = 0; good && k < by_time->n_entry; k++)
        sum[by_time->row[k]] = by_time->entry[k];
    for (uint32_t j = 0; good && effort->is_done && j < equations->n_input; j++)
        for (size_t k = by_input.column_start[j];
             k < by_input.column_start[j + 1] && equations->input[j].is_linear; k++) {
            node slope = graph_leaf(graph, GRAPH_INPUT_SLOPE, j), *to = &sum[by_input.row[k]];
            *to = graph_binary(graph, GRAPH_ADD, *to,
                               graph_binary(graph, GRAPH_MULTIPLY, by_input.entry[k], slope));
        }
    graph_matrix_fini(&by_input);
    if (good && effort->is_done) {
        free(by_time->row);
        free(by_time->entry);
        by_time->n_entry = 0;
        for (size_t i = 0; i < n; i++)
            if (sum[i] != 0) { /* node 0 is the number 0 */
                row[by_time->n_entry] = (uint32_t)i;
                entry[by_time->n_entry++] = sum[i];
            }
        by_time->row = row;
        by_time->entry = entry;
        by_time->column_start[1] = (uint32_t)by_time->n_entry;
    } else {
        free(row);
        free(entry);
    }
    free(sum);
    return good ? status
                : error_set(error, STATUS_NO_MEMORY,
                            "out of memory while deriving the model's functions");
}

/* Whether every entry of `part` has its place in `whole`. A second derivative may keep an entry
 * whose first derivative was seen to be 0, if the rules of simplification recognise only the
 * latter; lanes have no place for it. */
static bool is_within(const struct graph_matrix *part, const struct graph_matrix *whole)
{
    for (size_t j = 0; j < part->n_column; j++) {
        size_t at = whole->column_start[j], end = whole->column_start[j + 1];
        for (size_t k = part->column_start[j]; k < part->column_start[j + 1]; k++, at++) {
            while (at < end && whole->row[at] < part->row[k])
                at++;
            if (at == end || whole->row[at] != part->row[k])
                return false;
        }
    }
    return true;
}

static enum status derive(const struct equations *equations, const struct functions *functions,
                          struct lane_functions *lanes, node *g, struct error *error)
{
    const struct graph_matrix *rhs = &functions->of[FUNCTION_rhs];
    struct graph *graph = equations->graph;
    struct graph_matrix by_time;
    size_t before = graph_n_node(graph);
    struct graph_effort effort = {MAX_WORK, false};
    enum status status = graph_jacobian_within(graph, rhs->entry, rhs->n_row, GRAPH_TIME, 1,
                                               &effort, &by_time, error);
    if (status == STATUS_OK && effort.is_done && equations->n_input)
        status = add_inputs(equations, rhs, &by_time, &effort, error);
    if (status == STATUS_OK && effort.is_done &&
        !graph_matrix_append(&functions->of[FUNCTION_jacobian], &by_time, &lanes->by_state))
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while deriving the model's functions");
    graph_matrix_fini(&by_time);
    if (status != STATUS_OK || !effort.is_done)
        return status;
    fill_directional(graph, &lanes->by_state, g);
    const struct { enum graph_op leaf; size_t n_leaf; struct graph_matrix *matrix; } part[] = {
        {GRAPH_STATE, equations->n_state, &lanes->curve_state},
        {GRAPH_PARAMETER, equations->n_parameter, &lanes->curve_parameter}};
    for (size_t i = 0; i < 2 && status == STATUS_OK && effort.is_done; i++)
        status = graph_jacobian_within(graph, g, rhs->n_row, part[i].leaf, part[i].n_leaf, &effort,
                                       part[i].matrix, error);
    lanes->are_there = status == STATUS_OK && effort.is_done &&
                       graph_n_node(graph) - before <= MAX_NODE &&
                       is_within(&lanes->curve_parameter, &functions->of[FUNCTION_rhs_parameter]);
    return status;
}

enum status lane_functions_derive(const struct equations *equations, struct functions *functions,
                                  struct error *error)
{
    struct lane_functions *lanes = &functions->lanes;
    if (!is_worth_it(equations))
        return graph_status(equations->graph, error);
    node *g = malloc(equations->n_state * sizeof *g);
    enum status status = g ? derive(equations, functions, lanes, g, error)
                           : error_set(error, STATUS_NO_MEMORY,
                                       "out of memory while deriving the model's functions");
    free(g);
    if (!lanes->are_there)
        lane_functions_fini(lanes);
    return status;
}

void lane_functions_fini(struct lane_functions *lanes)
{
    graph_matrix_fini(&lanes->by_state);
    graph_matrix_fini(&lanes->curve_state);
    graph_matrix_fini(&lanes->curve_parameter);
    lanes->are_there = false;
}
