/* Makes and frees a model's equations; the functions of the plugin interface: the equations that are their rows, and the leaves
 * by which these are differentiated.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/equations.h"

#include "model/graph/changes.h"

#include <stdlib.h>

void equations_free(struct equations *equations)
{
    if (!equations)
        return;
    graph_free(equations->graph);
    free(equations->source);
    arena_fini(&equations->arena);
    free(equations);
}

/* The base function and the leaf of each derivative. */
static const struct { enum model_function derivative, value; enum graph_op leaf; } derivatives[] = {
    {FUNCTION_jacobian, FUNCTION_rhs, GRAPH_STATE},
    {FUNCTION_rhs_parameter, FUNCTION_rhs, GRAPH_PARAMETER},
    {FUNCTION_initial_parameter, FUNCTION_initial, GRAPH_PARAMETER},
    {FUNCTION_observe_state, FUNCTION_observe, GRAPH_STATE},
    {FUNCTION_observe_parameter, FUNCTION_observe, GRAPH_PARAMETER},
    {FUNCTION_noise_state, FUNCTION_noise, GRAPH_STATE},
    {FUNCTION_noise_parameter, FUNCTION_noise, GRAPH_PARAMETER},
};

static const struct { enum model_function value; uint8_t use; } uses[] = {
    {FUNCTION_rhs, STIFFIT_USE_RHS},
    {FUNCTION_initial, STIFFIT_USE_INITIAL},
    {FUNCTION_observe, STIFFIT_USE_OBSERVE},
    {FUNCTION_noise, STIFFIT_USE_NOISE},
};

static const char *const names[] = {
#define X(name, rows, columns) #name,
    MODEL_FUNCTIONS(X)
#undef X
};

const char *model_function_name(enum model_function function) { return names[function]; }

/* One full column, with its rows numbered. */
static bool column_init(struct graph_matrix *column, size_t n_row)
{
    *column = (struct graph_matrix){.n_row = n_row, .n_column = n_row ? 1 : 0, .n_entry = n_row};
    column->column_start = calloc(2, sizeof *column->column_start);
    column->row = malloc((n_row + 1) * sizeof *column->row);
    column->entry = malloc((n_row + 1) * sizeof *column->entry);
    if (!column->column_start || !column->row || !column->entry)
        return false;
    column->column_start[1] = (uint32_t)n_row;
    for (size_t i = 0; i < n_row; i++)
        column->row[i] = (uint32_t)i;
    return true;
}

static bool column_of_list(struct graph_matrix *column, const struct node_list *list)
{
    if (!column_init(column, list->n))
        return false;
    for (size_t i = 0; i < list->n; i++)
        column->entry[i] = list->item[i];
    return true;
}

/* Limit of visits when finding parameters; beyond it, all parameters count as movers. */
enum { MOST_VISITS = 30 * 1000 * 1000 };

/* The parameters that move the time of a switch: all, if it depends on states; otherwise those in its formula. */
static bool find_movers(const struct equations *equations, struct functions *functions)
{
    const struct graph *graph = equations->graph;
    const struct graph_matrix *switching = &functions->of[FUNCTION_switching];
    size_t n = switching->n_entry, n_node = graph_n_node(graph);
    uint8_t *needed = malloc(n_node);
    functions->switching_parameter = calloc(n * equations->n_parameter + 1, 1);
    if (!needed || !functions->switching_parameter) {
        free(needed);
        return false;
    }
    bool too_many = n * n_node > MOST_VISITS;
    for (size_t i = 0; i < n; i++) {
        bool by_state = too_many;
        if (!too_many)
            changes_mark(graph, &switching->entry[i], 1, needed, n_node);
        for (size_t k = 0; k < n_node && !too_many; k++) {
            const struct graph_node *it = graph_node(graph, (node)k);
            by_state = by_state || (needed[k] && it->op == GRAPH_STATE);
            if (needed[k] && it->op == GRAPH_PARAMETER)
                functions->switching_parameter[i + it->index * n] = 1;
        }
        for (size_t j = 0; by_state && j < equations->n_parameter; j++)
            functions->switching_parameter[i + j * n] = 1;
    }
    free(needed);
    return true;
}

static bool find_changes(const struct equations *equations, struct functions *functions)
{
    struct node_list switches = {0}, forcing = {0};
    const struct graph_matrix *rhs = &functions->of[FUNCTION_rhs];
    bool good = changes_find_switches(equations->graph, rhs->entry, rhs->n_entry, &switches) &&
                changes_find_forcing(equations->graph, rhs->entry, rhs->n_entry, &forcing) &&
                column_of_list(&functions->of[FUNCTION_switching], &switches) &&
                column_of_list(&functions->of[FUNCTION_forcing], &forcing) && find_movers(equations, functions);
    free(switches.item);
    free(forcing.item);
    return good;
}

static bool fill_values(const struct equations *equations, struct graph_matrix *of)
{
    bool has_noise = false;
    for (uint32_t i = 0; i < equations->n_observable; i++)
        has_noise |= equations->observable[i].noise != NODE_NONE;
    if (!column_init(&of[FUNCTION_initial], equations->n_state) || !column_init(&of[FUNCTION_rhs],
                                                                                equations->n_state) ||
        !column_init(&of[FUNCTION_observe], equations->n_observable) ||
        !column_init(&of[FUNCTION_noise], has_noise ? equations->n_observable : 0))
        return false;
    for (uint32_t i = 0; i < equations->n_state; i++) {
        of[FUNCTION_initial].entry[i] = equations->state[i].initial;
        of[FUNCTION_rhs].entry[i] = equations->state[i].rhs;
    }
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        of[FUNCTION_observe].entry[i] = equations->observable[i].value;
        node noise = equations->observable[i].noise;
        if (has_noise)
            of[FUNCTION_noise].entry[i] = noise != NODE_NONE ? noise : graph_constant(equations->graph, 1);
    }
    return true;
}

/* Marks the parameters that the values of `column` depend on, even without a derivative, as in floor(p). */
static void mark_use(const struct graph *graph, const struct graph_matrix *column, uint8_t use, uint8_t *needed,
                     size_t n_node, struct functions *functions)
{
    changes_mark(graph, column->entry, column->n_entry, needed, n_node);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        if (needed[i] && it->op == GRAPH_PARAMETER)
            functions->parameter_use[it->index] |= use;
    }
}

static bool find_use(const struct equations *equations, struct functions *functions)
{
    size_t n_node = graph_n_node(equations->graph);
    uint8_t *needed = malloc(n_node);
    functions->parameter_use = calloc(equations->n_parameter + 1u, 1);
    bool is_done = needed && functions->parameter_use;
    for (size_t i = 0; is_done && i < sizeof uses / sizeof *uses; i++)
        mark_use(equations->graph, &functions->of[uses[i].value], uses[i].use, needed, n_node, functions);
    free(needed);
    return is_done;
}

enum status functions_derive(const struct equations *equations, struct functions *functions, struct error *error)
{
    struct graph *graph = equations->graph;
    *functions = (struct functions){0};
    enum status status = graph_status(graph, error);
    if (status != STATUS_OK)
        return status;
    if (!fill_values(equations, functions->of) || !find_use(equations, functions)) {
        functions_fini(functions);
        return error_set(error, STATUS_NO_MEMORY, "out of memory while deriving the model's functions");
    }
    for (size_t i = 0; i < sizeof derivatives / sizeof *derivatives && status == STATUS_OK; i++) {
        const struct graph_matrix *value = &functions->of[derivatives[i].value];
        size_t n_leaf = derivatives[i].leaf == GRAPH_STATE ? equations->n_state : equations->n_parameter;
        bool is_absent = derivatives[i].value == FUNCTION_noise && value->n_row == 0;
        status = graph_jacobian(graph, value->entry, value->n_row, derivatives[i].leaf, is_absent ? 0 : n_leaf,
                                &functions->of[derivatives[i].derivative], error);
    }
    if (status == STATUS_OK && !find_changes(equations, functions))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while looking for switches and inputs");
    if (status == STATUS_OK)
        status = graph_status(graph, error);
    if (status != STATUS_OK)
        functions_fini(functions);
    return status;
}

void functions_fini(struct functions *functions)
{
    for (int i = 0; i < N_MODEL_FUNCTION; i++)
        graph_matrix_fini(&functions->of[i]);
    free(functions->parameter_use);
    free(functions->switching_parameter);
    *functions = (struct functions){0};
}
