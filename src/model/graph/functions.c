/* Fills in the functions of the plugin interface: which equations are their rows, and by which leaves they are derived.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/functions.h"

#include <stdlib.h>

/* What each derivative is made of. */
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

/* One full column. Rows are numbered, as a matrix wants them. */
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

/* Which parameters are below the values of `column`, even where they have no derivative, as in floor(p). */
static void mark_use(const struct graph *graph, const struct graph_matrix *column, uint8_t use, uint8_t *needed,
                     size_t n_node, struct functions *functions)
{
    for (size_t i = 0; i < n_node; i++)
        needed[i] = 0;
    for (size_t i = 0; i < column->n_entry; i++)
        needed[column->entry[i]] = 1;
    for (size_t i = n_node; i-- > 0;) {
        const struct graph_node *it = graph_node(graph, (node)i);
        if (!needed[i])
            continue;
        for (int k = 0; k < graph_n_argument(it->op); k++)
            needed[it->arg[k]] = 1;
        if (it->op == GRAPH_PARAMETER)
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
    if (status != STATUS_OK)
        functions_fini(functions);
    return status;
}

void functions_fini(struct functions *functions)
{
    for (int i = 0; i < N_MODEL_FUNCTION; i++)
        graph_matrix_fini(&functions->of[i]);
    free(functions->parameter_use);
    *functions = (struct functions){0};
}
