/* The life of a model's equations, and the functions of the plugin interface: which equations
 * are their rows, and by which leaves they are derived.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/functions.h"

#include "base/arena.h"

#include <math.h>
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

#define MODEL_FUNCTIONS_ROW(name, row, column, value) {#name, OF_##row, OF_##column, \
    FUNCTION_##value},
const struct model_function_info model_functions[] = {MODEL_FUNCTIONS(MODEL_FUNCTIONS_ROW)};

static const struct { enum model_function value; uint8_t use; } uses[] = {
    {FUNCTION_rhs, STIFFIT_USE_RHS},
    {FUNCTION_initial, STIFFIT_USE_INITIAL},
    {FUNCTION_observe, STIFFIT_USE_OBSERVE},
    {FUNCTION_noise, STIFFIT_USE_NOISE},
    {FUNCTION_switching_time, STIFFIT_USE_EVENT},
    {FUNCTION_lag, STIFFIT_USE_EVENT},
    {FUNCTION_bioavailability, STIFFIT_USE_EVENT},
    {FUNCTION_infusion, STIFFIT_USE_EVENT},
    {FUNCTION_event_when, STIFFIT_USE_EVENT},
    {FUNCTION_event_assign, STIFFIT_USE_EVENT},
    {FUNCTION_event_delay, STIFFIT_USE_EVENT},
    {FUNCTION_event_priority, STIFFIT_USE_EVENT},
};

const enum model_function event_functions[N_EVENT_FUNCTION] = {FUNCTION_event_assign,
                                                               FUNCTION_event_assign_state,
                                                               FUNCTION_event_assign_parameter};

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

/* Sets `bits` for each parameter j below the roots in mark[j * stride], even where they have no
 * derivative, as in floor(p). True: states are below them, too. needed: scratch, an entry per
 * node. */
static bool mark_parameters(const struct graph *graph, const node *root, size_t n_root,
                            uint8_t *needed, uint8_t bits, uint8_t *mark, size_t stride)
{
    size_t n_node = graph_n_node(graph);
    bool has_state = false;
    graph_mark(graph, root, n_root, needed, n_node);
    for (size_t i = 0; i < n_node; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        has_state = has_state || (needed[i] && it->op == GRAPH_STATE);
        if (needed[i] && it->op == GRAPH_PARAMETER)
            mark[it->index * stride] |= bits;
    }
    return has_state;
}

/* The parameters that move the time of a switch: all, if it depends on states; otherwise those
 * in its formula. From `first_kink` on, switches are kinks. */
static bool find_movers(const struct equations *equations, size_t first_kink,
                        struct functions *functions)
{
    const struct graph_matrix *switching = &functions->of[FUNCTION_switching];
    size_t n = switching->n_entry, n_node = graph_n_node(equations->graph);
    uint8_t *needed = malloc(n_node), *mover = calloc(n * equations->n_parameter + 1, 1);
    functions->switching_parameter = mover;
    for (size_t i = 0; needed && mover && i < n; i++) {
        bool is_kink = i >= first_kink;
        bool all = is_kink || n * n_node > MOST_FOR_MOVERS ||
                   mark_parameters(equations->graph, &switching->entry[i], 1, needed,
                                   STIFFIT_SWITCH_MOVES, mover + i, n);
        for (size_t j = 0; all && j < equations->n_parameter; j++)
            mover[i + j * n] = is_kink ? STIFFIT_SWITCH_KINK : STIFFIT_SWITCH_MOVES;
    }
    bool good = needed && mover;
    free(needed);
    return good;
}

/* The times of switches: none, if no switch has one. */
static bool column_of_times(struct graph *graph, struct graph_matrix *column,
                            struct node_list *time)
{
    size_t n_time = 0;
    for (size_t i = 0; i < time->n; i++) {
        n_time += time->item[i] != NODE_NONE;
        if (time->item[i] == NODE_NONE)
            time->item[i] = graph_constant(graph, NAN);
    }
    return n_time == 0 || column_of_list(column, time);
}

static bool find_changes(const struct equations *equations, struct functions *functions)
{
    struct switches switches = {0};
    struct node_list forcing = {0};
    const struct graph_matrix *rhs = &functions->of[FUNCTION_rhs];
    node *condition = malloc((equations->n_event + 1u) * sizeof *condition);
    size_t n_condition = 0;
    for (uint32_t i = 0; condition && i < equations->n_event; i++)
        if (!(equations->event[i].kind & STIFFIT_EVENT_TIMED))
            condition[n_condition++] = equations->event[i].condition;
    bool good = condition &&
                changes_find_switches(equations->graph, rhs->entry, rhs->n_entry, condition,
                                      n_condition, &switches) &&
                changes_find_forcing(equations->graph, rhs->entry, rhs->n_entry, condition,
                                     n_condition, &forcing) &&
                column_of_list(&functions->of[FUNCTION_switching], &switches.list) &&
                column_of_times(equations->graph, &functions->of[FUNCTION_switching_time],
                                &switches.time) &&
                column_of_list(&functions->of[FUNCTION_forcing], &forcing) &&
                find_movers(equations, switches.first_kink, functions);
    free(condition);
    free(switches.list.item);
    free(switches.time.item);
    free(forcing.item);
    return good;
}

#define DOSING_WORDS(id, word, noun, function) {word, noun},
const struct dosing_words dosing_words[N_DOSING] = {DOSING_LIST(DOSING_WORDS)};
#define DOSING_FUNCTION(id, word, noun, function) FUNCTION_##function,
static const enum model_function dosing_function[N_DOSING] = {DOSING_LIST(DOSING_FUNCTION)};

/* Lags are 0 and the others 1 where nothing else is said. */
static bool fill_dosing(const struct equations *equations, struct graph_matrix *of)
{
    for (uint32_t i = 0; i < equations->n_dosing; i++) {
        const struct equation_dosing *dosing = &equations->dosing[i];
        struct graph_matrix *column = &of[dosing_function[dosing->kind]];
        bool is_first = column->n_row == 0;
        if (is_first && !column_init(column, equations->n_state))
            return false;
        for (uint32_t k = 0; is_first && k < equations->n_state; k++)
            column->entry[k] = graph_constant(equations->graph, dosing->kind != DOSING_LAG);
        column->entry[dosing->state] = dosing->value;
    }
    return true;
}

static bool fill_events(const struct equations *equations, struct graph_matrix *of)
{
    uint32_t n = equations->n_event, n_state = equations->n_state;
    bool has_delay = false, has_priority = false;
    for (uint32_t i = 0; i < n; i++) {
        has_delay |= equations->event[i].delay != NODE_NONE;
        has_priority |= equations->event[i].priority != NODE_NONE;
    }
    if (n == 0)
        return true;
    if (!column_init(&of[FUNCTION_event_when], n) ||
        !column_init(&of[FUNCTION_event_assign], (size_t)n * n_state) ||
        (has_delay && !column_init(&of[FUNCTION_event_delay], n)) ||
        (has_priority && !column_init(&of[FUNCTION_event_priority], n)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct equation_event *event = &equations->event[i];
        node *assigned = of[FUNCTION_event_assign].entry + (size_t)i * n_state;
        of[FUNCTION_event_when].entry[i] = event->when;
        if (has_delay)
            of[FUNCTION_event_delay].entry[i] = event->delay != NODE_NONE ? event->delay : 0;
        if (has_priority)
            of[FUNCTION_event_priority].entry[i] =
                event->priority != NODE_NONE ? event->priority : 0;
        for (uint32_t k = 0; k < n_state; k++)
            assigned[k] = graph_leaf(equations->graph, GRAPH_STATE, k);
        for (uint32_t k = 0; k < event->n_assignment; k++)
            assigned[event->assignment[k].state] = event->assignment[k].value;
    }
    return true;
}

static bool fill_values(const struct equations *equations, struct graph_matrix *of)
{
    bool has_noise = false;
    for (uint32_t i = 0; i < equations->n_observable; i++)
        has_noise |= equations->observable[i].noise != NODE_NONE;
    if (!column_init(&of[FUNCTION_initial], equations->n_state) ||
        !column_init(&of[FUNCTION_rhs], equations->n_state) ||
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
            of[FUNCTION_noise].entry[i] =
                noise != NODE_NONE ? noise : graph_constant(equations->graph, 1);
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
        mark_parameters(equations->graph, value->entry, value->n_entry, needed, uses[i].use,
                        functions->parameter_use, 1);
    }
    free(needed);
    return is_done;
}

/* One derivative of a function whose values are there. */
static enum status derive_function(const struct equations *equations, struct functions *functions,
                                   enum model_function f, struct error *error)
{
    const struct graph_matrix *value = &functions->of[model_functions[f].value];
    enum function_axis by = model_functions[f].column;
    struct graph_matrix by_state, by_time = {0},
                                  *out = by == OF_STATE_TIME ? &by_state : &functions->of[f];
    /* Without states the rates have a Jacobian of no rows; functions that are not there have no
     * derivatives. */
    bool is_absent = value->n_row == 0 && model_functions[f].row >= OF_NOISE;
    size_t n_leaf = is_absent            ? 0
                    : by == OF_PARAMETER ? equations->n_parameter
                                         : equations->n_state;
    enum status status =
        graph_jacobian(equations->graph, value->entry, value->n_row,
                       by == OF_PARAMETER ? GRAPH_PARAMETER : GRAPH_STATE, n_leaf, out, error);
    if (status != STATUS_OK || by != OF_STATE_TIME || is_absent) {
        if (by == OF_STATE_TIME)
            graph_matrix_fini(&by_state);
        return status;
    }
    status = graph_jacobian(equations->graph, value->entry, value->n_row, GRAPH_TIME, 1, &by_time,
                            error);
    if (status == STATUS_OK && !graph_matrix_append(&by_state, &by_time, &functions->of[f]))
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while deriving the model's functions");
    graph_matrix_fini(&by_state);
    graph_matrix_fini(&by_time);
    return status;
}

enum status functions_derive(const struct equations *equations, struct functions *functions,
                             struct error *error)
{
    struct graph *graph = equations->graph;
    *functions = (struct functions){0};
    enum status status = graph_status(graph, error);
    if (status != STATUS_OK)
        return status;
    if (!fill_values(equations, functions->of))
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while deriving the model's functions");
    int f = FUNCTION_jacobian;
    for (; f <= FUNCTION_noise_parameter && status == STATUS_OK; f++)
        status = derive_function(equations, functions, (enum model_function)f, error);
    if (status == STATUS_OK &&
        (!find_changes(equations, functions) || !fill_dosing(equations, functions->of) ||
         !fill_events(equations, functions->of) || !find_use(equations, functions)))
        status = error_set(error, STATUS_NO_MEMORY,
                           "out of memory while looking for switches and inputs");
    for (; f < N_MODEL_FUNCTION && status == STATUS_OK; f++)
        status = derive_function(equations, functions, (enum model_function)f, error);
    const struct graph_matrix *forcing = &functions->of[FUNCTION_forcing];
    if (status == STATUS_OK && forcing->n_row > 0)
        status = graph_jacobian(graph, forcing->entry, forcing->n_row, GRAPH_TIME, 1,
                                &functions->forcing_slope, error);
    bool suit = false;
    if (status == STATUS_OK && !lane_functions_suit(graph, &functions->of[FUNCTION_rhs], &suit))
        status =
            error_set(error, STATUS_NO_MEMORY, "out of memory while looking for rounded states");
    if (status == STATUS_OK && suit)
        status = lane_functions_derive(equations, functions, error);
    if (status != STATUS_OK)
        functions_fini(functions);
    return status;
}

void functions_fini(struct functions *functions)
{
    for (int i = 0; i < N_MODEL_FUNCTION; i++)
        graph_matrix_fini(&functions->of[i]);
    graph_matrix_fini(&functions->forcing_slope);
    lane_functions_fini(&functions->lanes);
    free(functions->parameter_use);
    free(functions->switching_parameter);
    *functions = (struct functions){0};
}
