/* The life of a model's equations, and the functions of the plugin interface: which equations are their rows, and by which
 * leaves they are derived; switches and inputs are found by one pass each over what the right-hand sides need.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/equations.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

void equations_free(struct equations *equations)
{
    if (!equations)
        return;
    graph_free(equations->graph);
    free(equations->source);
    arena_fini(&equations->arena);
    free(equations);
}

const struct model_function_info model_functions[] = {
#define X(name, row, column, value) {#name, OF_##row, OF_##column, FUNCTION_##value},
    MODEL_FUNCTIONS(X)
#undef X
};

static const struct { enum model_function value; uint8_t use; } uses[] = {
    {FUNCTION_rhs, STIFFIT_USE_RHS},
    {FUNCTION_initial, STIFFIT_USE_INITIAL},
    {FUNCTION_observe, STIFFIT_USE_OBSERVE},
    {FUNCTION_noise, STIFFIT_USE_NOISE},
};

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

static bool column_of_list(struct graph_matrix *column, const struct node_list *list)
{
    if (!column_init(column, list->n))
        return false;
    if (list->n)
        memcpy(column->entry, list->item, list->n * sizeof *list->item);
    return true;
}

/* Visits of nodes that finding parameters may take; with more, all may move all. */
enum { MOST_FOR_MOVERS = 30 * 1000 * 1000 };

/* Sets `bits` for each parameter j below the roots in mark[j * stride], even where they have no derivative, as in floor(p).
 * True: states are below them, too. needed: scratch, an entry per node. */
static bool mark_parameters(const struct graph *graph, const node *root, size_t n_root, uint8_t *needed, uint8_t bits,
                            uint8_t *mark, size_t stride)
{
    size_t n_node = graph_n_node(graph);
    bool has_state = false;
    changes_mark(graph, root, n_root, needed, n_node);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        has_state = has_state || (needed[i] && it->op == GRAPH_STATE);
        if (needed[i] && it->op == GRAPH_PARAMETER)
            mark[it->index * stride] |= bits;
    }
    return has_state;
}

/* The parameters that move the time of a switch: all, if it depends on states; otherwise those in its formula. */
static bool find_movers(const struct equations *equations, struct functions *functions)
{
    const struct graph_matrix *switching = &functions->of[FUNCTION_switching];
    size_t n = switching->n_entry, n_node = graph_n_node(equations->graph);
    uint8_t *needed = malloc(n_node), *mover = calloc(n * equations->n_parameter + 1, 1);
    functions->switching_parameter = mover;
    for (size_t i = 0; needed && mover && i < n; i++) {
        bool all = n * n_node > MOST_FOR_MOVERS ||
                   mark_parameters(equations->graph, &switching->entry[i], 1, needed, 1, mover + i, n);
        for (size_t j = 0; all && j < equations->n_parameter; j++)
            mover[i + j * n] = 1;
    }
    bool good = needed && mover;
    free(needed);
    return good;
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

static bool find_use(const struct equations *equations, struct functions *functions)
{
    uint8_t *needed = malloc(graph_n_node(equations->graph));
    functions->parameter_use = calloc(equations->n_parameter + 1u, 1);
    bool is_done = needed && functions->parameter_use;
    for (size_t i = 0; is_done && i < sizeof uses / sizeof *uses; i++) {
        const struct graph_matrix *value = &functions->of[uses[i].value];
        mark_parameters(equations->graph, value->entry, value->n_entry, needed, uses[i].use, functions->parameter_use, 1);
    }
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
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION && status == STATUS_OK; f++) {
        const struct graph_matrix *value = &functions->of[model_functions[f].value];
        bool by_state = model_functions[f].column == OF_STATE, is_absent = model_functions[f].row == OF_NOISE && !value->n_row;
        size_t n_leaf = is_absent ? 0 : by_state ? equations->n_state : equations->n_parameter;
        status = graph_jacobian(graph, value->entry, value->n_row, by_state ? GRAPH_STATE : GRAPH_PARAMETER, n_leaf,
                                &functions->of[f], error);
    }
    if (status == STATUS_OK && !find_changes(equations, functions))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while looking for switches and inputs");
    if (status == STATUS_OK)
        status = lane_functions_derive(equations, functions, error);
    if (status != STATUS_OK)
        functions_fini(functions);
    return status;
}

void functions_fini(struct functions *functions)
{
    for (int i = 0; i < N_MODEL_FUNCTION; i++)
        graph_matrix_fini(&functions->of[i]);
    lane_functions_fini(&functions->lanes);
    free(functions->parameter_use);
    free(functions->switching_parameter);
    *functions = (struct functions){0};
}

enum { AS_IT_IS = 2, AS_STEP = 4 }; /* beside 1: needed */
enum { ON_TIME = 1 << GRAPH_TIME, ON_STATE = 1 << GRAPH_STATE, ON_PARAMETER = 1 << GRAPH_PARAMETER };
#define PI 3.141592653589793238462643383280

/* Facts about the nodes that were there before any was added. */
struct survey {
    struct graph *graph;
    const node *root;
    size_t n_root, n_node;
    uint8_t *needed, *depends, *course; /* n_node */
    struct node_list *list;
    struct arena arena;
};

/* How a value depends on time, if it depends on time alone. */
enum course { CONSTANT, PROPORTIONAL, LINEAR, CURVED };

void changes_mark(const struct graph *graph, const node *root, size_t n_root, uint8_t *needed, size_t n_node)
{
    memset(needed, 0, n_node);
    for (size_t i = 0; i < n_root; i++)
        needed[root[i]] = 1;
    for (size_t i = n_node; i-- > 0;) {
        const struct graph_node *it = graph_node(graph, (node)i);
        for (int k = 0; needed[i] && k < graph_n_argument(it->op); k++)
            needed[it->arg[k]] = 1;
    }
}

static bool survey_init(struct survey *survey, struct graph *graph, const node *root, size_t n_root, struct node_list *list)
{
    size_t n = graph_n_node(graph);
    *survey = (struct survey){.graph = graph, .root = root, .n_root = n_root, .n_node = n, .list = list};
    survey->needed = arena_calloc(&survey->arena, n, 1);
    survey->depends = arena_calloc(&survey->arena, n, 1);
    survey->course = arena_calloc(&survey->arena, n, 1);
    if (!survey->needed || !survey->depends || !survey->course)
        return false;
    changes_mark(graph, root, n_root, survey->needed, n);
    graph_dependence(graph, 0, survey->depends);
    return true;
}

static bool add(struct node_list *list, node which)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 8;
        node *item = realloc(list->item, room * sizeof *item);
        if (!item)
            return false;
        list->item = item;
        list->room = room;
    }
    list->item[list->n++] = which;
    return true;
}

/* Something that changes its sign where the operation jumps; NODE_NONE: it does not jump, or nowhere but at single points,
 * as x == 0 does. a - b and b - a: a difference is negative exactly where a < b, and not where a <= b is false. */
static node switch_of(struct survey *survey, struct continuity *continuity, const struct graph_node *it)
{
    struct graph *graph = survey->graph;
    node a = it->arg[0], b = it->arg[1];
    switch (it->op) {
    case GRAPH_LESS: return continuity_at(continuity, a, b) ? NODE_NONE : graph_binary(graph, GRAPH_SUBTRACT, a, b);
    case GRAPH_LESS_EQUAL: return continuity_at(continuity, a, b) ? NODE_NONE : graph_binary(graph, GRAPH_SUBTRACT, b, a);
    case GRAPH_SIGN: case GRAPH_HEAVISIDE: return continuity_at(continuity, a, 0) ? NODE_NONE : a;
    case GRAPH_FLOOR: case GRAPH_CEIL:
        return graph_unary(graph, GRAPH_SIN, graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, PI), a));
    case GRAPH_ATAN2: /* from -pi to pi */
        return graph_select(graph, graph_binary(graph, GRAPH_LESS, b, 0), a, graph_constant(graph, 1));
    default: return NODE_NONE;
    }
}

bool changes_find_switches(struct graph *graph, const node *root, size_t n_root, struct node_list *list)
{
    struct survey survey;
    struct continuity *continuity = continuity_new(graph, root, n_root);
    bool good = survey_init(&survey, graph, root, n_root, list) && continuity;
    for (size_t i = 0; good && i < survey.n_node; i++) {
        unsigned on = survey.depends[i];
        if (!survey.needed[i] || !(on & ON_STATE || (on & ON_TIME && on & ON_PARAMETER)))
            continue;
        struct graph_node it = *graph_node(graph, (node)i);
        node found = switch_of(&survey, continuity, &it);
        good = found == NODE_NONE || add(list, found);
    }
    continuity_free(continuity);
    arena_fini(&survey.arena);
    return good;
}

/* Once for each mark. */
static bool add_marked(struct survey *survey, node of, uint8_t mark, node which)
{
    if (survey->needed[of] & mark)
        return true;
    survey->needed[of] |= mark;
    return add(survey->list, which);
}

static bool is_input(const struct survey *survey, node which)
{
    return survey->depends[which] & ON_TIME && !(survey->depends[which] & ON_STATE);
}

static enum course course_of(const struct survey *survey, node which)
{
    const struct graph_node *it = graph_node(survey->graph, which);
    if (!is_input(survey, which))
        return CONSTANT;
    if (it->op == GRAPH_TIME)
        return PROPORTIONAL;
    enum course a = survey->course[it->arg[0]], b = graph_n_argument(it->op) > 1 ? survey->course[it->arg[1]] : CONSTANT;
    enum course most = a > b ? a : b;
    switch (it->op) {
    case GRAPH_ADD: case GRAPH_SUBTRACT: return most == PROPORTIONAL && a != b ? LINEAR : most;
    case GRAPH_NEGATE: return a;
    case GRAPH_MULTIPLY: return a && b ? CURVED : most;
    case GRAPH_DIVIDE: return b ? CURVED : a;
    default: return CURVED;
    }
}

/* Whether the operation may go up and down within a short time around the zero of argument k, which is linear in time. */
static bool is_steep(const struct graph_node *it)
{
    return it->op == GRAPH_MULTIPLY ? it->arg[0] == it->arg[1] : !(graph_operations[it->op].facts & (IS_GENTLE | IS_STEP));
}

/* What is to be seen of a node and its arguments. */
static bool look_at(struct survey *survey, node which)
{
    struct graph_node it = *graph_node(survey->graph, which);
    bool within = is_input(survey, which), is_step = graph_operations[it.op].facts & IS_STEP;
    bool good = !within || !is_step || add_marked(survey, which, AS_IT_IS, which);
    for (int k = 0; good && k < graph_n_argument(it.op); k++) {
        node a = it.arg[k];
        if (!within && survey->course[a] == CURVED)
            good = add_marked(survey, a, AS_IT_IS, a);
        else if (within && survey->course[a] == LINEAR && is_steep(&it))
            good = add_marked(survey, a, AS_STEP, graph_unary(survey->graph, GRAPH_HEAVISIDE, a));
    }
    return good;
}

bool changes_find_forcing(struct graph *graph, const node *root, size_t n_root, struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, root, n_root, list);
    for (size_t i = 0; good && i < survey.n_node; i++)
        survey.course[i] = (uint8_t)course_of(&survey, (node)i);
    for (size_t i = 0; good && i < n_root; i++)
        good = survey.course[root[i]] != CURVED || add_marked(&survey, root[i], AS_IT_IS, root[i]);
    for (size_t i = 0; good && i < survey.n_node; i++)
        good = !survey.needed[i] || look_at(&survey, (node)i);
    arena_fini(&survey.arena);
    return good;
}
