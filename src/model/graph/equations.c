/* The life of a model's equations, and the functions of the plugin interface: which equations are their rows, and by which
 * leaves they are derived; switches and inputs are found by one pass each over what the right-hand sides need.
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

#define MODEL_FUNCTIONS_ROW(name, row, column, value) {#name, OF_##row, OF_##column, FUNCTION_##value},
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

const enum model_function event_functions[N_EVENT_FUNCTION] = {FUNCTION_event_assign, FUNCTION_event_assign_state,
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

/* The times of switches: none, if no switch has one. */
static bool column_of_times(struct graph *graph, struct graph_matrix *column, struct node_list *time)
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
    struct node_list switches = {0}, time = {0}, forcing = {0};
    const struct graph_matrix *rhs = &functions->of[FUNCTION_rhs];
    node *condition = malloc((equations->n_event + 1u) * sizeof *condition);
    size_t n_condition = 0;
    for (uint32_t i = 0; condition && i < equations->n_event; i++)
        if (!(equations->event[i].kind & STIFFIT_EVENT_TIMED))
            condition[n_condition++] = equations->event[i].condition;
    bool good = condition && changes_find_switches(equations->graph, rhs->entry, rhs->n_entry, condition, n_condition,
                                                   &switches, &time) &&
                changes_find_forcing(equations->graph, rhs->entry, rhs->n_entry, &forcing) &&
                column_of_list(&functions->of[FUNCTION_switching], &switches) &&
                column_of_times(equations->graph, &functions->of[FUNCTION_switching_time], &time) &&
                column_of_list(&functions->of[FUNCTION_forcing], &forcing) && find_movers(equations, functions);
    free(condition);
    free(switches.item);
    free(time.item);
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
    if (!column_init(&of[FUNCTION_event_when], n) || !column_init(&of[FUNCTION_event_assign], (size_t)n * n_state) ||
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
            of[FUNCTION_event_priority].entry[i] = event->priority != NODE_NONE ? event->priority : 0;
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

/* One derivative of a function whose values are there. */
static enum status derive_function(const struct equations *equations, struct functions *functions, enum model_function f,
                                   struct error *error)
{
    const struct graph_matrix *value = &functions->of[model_functions[f].value];
    enum function_axis by = model_functions[f].column;
    struct graph_matrix by_state, by_time = {0}, *out = by == OF_STATE_TIME ? &by_state : &functions->of[f];
    /* Without states the rates have a Jacobian of no rows; functions that are not there have no derivatives. */
    bool is_absent = value->n_row == 0 && model_functions[f].row >= OF_NOISE;
    size_t n_leaf = is_absent ? 0 : by == OF_PARAMETER ? equations->n_parameter : equations->n_state;
    enum status status = graph_jacobian(equations->graph, value->entry, value->n_row, by == OF_PARAMETER ? GRAPH_PARAMETER
                                        : GRAPH_STATE, n_leaf, out, error);
    if (status != STATUS_OK || by != OF_STATE_TIME || is_absent) {
        if (by == OF_STATE_TIME)
            graph_matrix_fini(&by_state);
        return status;
    }
    status = graph_jacobian(equations->graph, value->entry, value->n_row, GRAPH_TIME, 1, &by_time, error);
    if (status == STATUS_OK && !graph_matrix_append(&by_state, &by_time, &functions->of[f]))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while deriving the model's functions");
    graph_matrix_fini(&by_state);
    graph_matrix_fini(&by_time);
    return status;
}

enum status functions_derive(const struct equations *equations, struct functions *functions, struct error *error)
{
    struct graph *graph = equations->graph;
    *functions = (struct functions){0};
    enum status status = graph_status(graph, error);
    if (status != STATUS_OK)
        return status;
    if (!fill_values(equations, functions->of))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while deriving the model's functions");
    int f = FUNCTION_jacobian;
    for (; f <= FUNCTION_noise_parameter && status == STATUS_OK; f++)
        status = derive_function(equations, functions, (enum model_function)f, error);
    if (status == STATUS_OK && (!find_changes(equations, functions) || !fill_dosing(equations, functions->of) ||
                                !fill_events(equations, functions->of) || !find_use(equations, functions)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while looking for switches and inputs");
    for (; f < N_MODEL_FUNCTION && status == STATUS_OK; f++)
        status = derive_function(equations, functions, (enum model_function)f, error);
    const struct graph_matrix *forcing = &functions->of[FUNCTION_forcing];
    if (status == STATUS_OK && forcing->n_row > 0)
        status = graph_jacobian(graph, forcing->entry, forcing->n_row, GRAPH_TIME, 1, &functions->forcing_slope, error);
    bool suit = false;
    if (status == STATUS_OK && !lane_functions_suit(graph, &functions->of[FUNCTION_rhs], &suit))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory while looking for rounded states");
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

enum { AS_IT_IS = 2, AS_STEP = 4, WATCHED = 8 }; /* bits in addition to 1, which means: needed */
enum { ON_TIME = 1 << GRAPH_TIME, ON_MOVING = 1 << GRAPH_STATE | 1 << GRAPH_INPUT, ON_PARAMETER = 1 << GRAPH_PARAMETER };
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
    if (!array_grow(&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    list->item[list->n++] = which;
    return true;
}

static bool is_continuous(struct continuity *continuity, node a, node b)
{
    return continuity && continuity_at(continuity, a, b);
}

/* Changes its sign with the whole number `whole`, and is a sine of the rest in between. Rounding does not move the change, as
 * it does for sin(pi a): the right-hand side must jump between the same two numbers. */
static node alternate(struct graph *graph, node whole, node rest)
{
    node two = graph_constant(graph, 2), half = graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, 0.5), whole);
    node even = graph_binary(graph, GRAPH_MULTIPLY, two, graph_unary(graph, GRAPH_FLOOR, half));
    node odd = graph_binary(graph, GRAPH_SUBTRACT, whole, even);
    node sign = graph_binary(graph, GRAPH_SUBTRACT, graph_constant(graph, 1), graph_binary(graph, GRAPH_MULTIPLY, two, odd));
    node angle = graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, PI), rest);
    return graph_binary(graph, GRAPH_MULTIPLY, sign, graph_unary(graph, GRAPH_SIN, angle));
}

/* Something that changes its sign where the operation jumps; NODE_NONE: it does not jump, or nowhere but at single points, as
 * x == 0 does; continuity NULL: it may jump everywhere. a - b and b - a: a difference is negative exactly where a < b, and not where a <= b is false. */
static node switch_of(struct survey *survey, struct continuity *continuity, const struct graph_node *it)
{
    struct graph *graph = survey->graph;
    node a = it->arg[0], b = it->arg[1];
    switch (it->op) {
    case GRAPH_LESS: return is_continuous(continuity, a, b) ? NODE_NONE : graph_binary(graph, GRAPH_SUBTRACT, a, b);
    case GRAPH_LESS_EQUAL: return is_continuous(continuity, a, b) ? NODE_NONE : graph_binary(graph, GRAPH_SUBTRACT, b, a);
    case GRAPH_SIGN: case GRAPH_HEAVISIDE: return is_continuous(continuity, a, 0) ? NODE_NONE : a;
    case GRAPH_FLOOR: b = graph_unary(graph, it->op, a); return alternate(graph, b, graph_binary(graph, GRAPH_SUBTRACT, a, b));
    case GRAPH_CEIL: b = graph_unary(graph, it->op, a); return alternate(graph, b, graph_binary(graph, GRAPH_SUBTRACT, b, a));
    case GRAPH_ATAN2: /* from -pi to pi; where b is 0, from -pi/2 to pi/2 */
        return graph_select(graph, graph_binary(graph, GRAPH_LESS_EQUAL, b, 0), a, graph_constant(graph, 1));
    default: return NODE_NONE;
    }
}

/* The switches below the roots. */
static bool list_switches(struct graph *graph, const node *root, size_t n_root, struct continuity *continuity,
                          struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, root, n_root, list);
    for (size_t i = 0; good && i < survey.n_node; i++) {
        if (!survey.needed[i] || !(survey.depends[i] & (ON_MOVING | ON_TIME)))
            continue;
        struct graph_node it = *graph_node(graph, (node)i);
        node found = switch_of(&survey, continuity, &it);
        good = found == NODE_NONE || add(list, found);
    }
    arena_fini(&survey.arena);
    return good;
}

/* Something that changes its sign where the truth of a condition, or its trigger's slope, may change; NODE_NONE: nothing. */
static node part_of(struct survey *survey, const struct graph_node *it)
{
    node a = it->arg[0], b = it->arg[1];
    switch (it->op) {
    case GRAPH_EQUAL: case GRAPH_NOT_EQUAL: case GRAPH_MIN: case GRAPH_MAX:
        return graph_binary(survey->graph, GRAPH_SUBTRACT, a, b);
    case GRAPH_ABS: return a;
    default: return switch_of(survey, NULL, it);
    }
}

/* A condition that is one comparison, or its negation, is watched itself. */
static node watched_itself(const struct graph *graph, node condition)
{
    while (graph_node(graph, condition)->op == GRAPH_NOT)
        condition = graph_node(graph, condition)->arg[0];
    return condition;
}

static bool has(const struct node_list *list, node which)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->item[i] == which)
            return true;
    return false;
}

/* The parts of conditions: a condition may be true for less than a step, but then its parts change their signs. Those of one
 * condition are listed with those of others, each once if it moves. */
static bool list_parts(struct graph *graph, const node *condition, size_t n_condition, struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, condition, n_condition, list);
    for (size_t i = 0; good && i < n_condition; i++)
        survey.needed[watched_itself(graph, condition[i])] |= WATCHED;
    for (size_t i = 0; good && i < survey.n_node; i++) {
        unsigned on = survey.depends[i];
        struct graph_node it = *graph_node(graph, (node)i);
        if (!survey.needed[i] || !(on & (ON_MOVING | ON_TIME)) || (on & ON_MOVING && survey.needed[i] & WATCHED))
            continue;
        node found = part_of(&survey, &it);
        good = found == NODE_NONE || (on & ON_MOVING && has(list, found)) || add(list, found);
    }
    arena_fini(&survey.arena);
    return good;
}

/* Keeps those whose time is known, those of rates that depend on more than time (jumps at other times are forcing), and those of
 * conditions that move. */
static void keep_switches(size_t n_of_rates, const uint8_t *depends, struct node_list *list, struct node_list *time)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        unsigned kept = i < n_of_rates ? ON_MOVING | ON_PARAMETER : ON_MOVING;
        if (time->item[i] == NODE_NONE && !(depends[list->item[i]] & kept))
            continue;
        list->item[n] = list->item[i];
        time->item[n++] = time->item[i];
    }
    list->n = time->n = n;
}

bool changes_find_switches(struct graph *graph, const node *root, size_t n_root, const node *condition, size_t n_condition,
                           struct node_list *list, struct node_list *time)
{
    struct continuity *continuity = continuity_new(graph, root, n_root);
    bool good = continuity && list_switches(graph, root, n_root, continuity, list);
    size_t n_of_rates = list->n;
    good = good && list_parts(graph, condition, n_condition, list);
    continuity_free(continuity);
    time->item = malloc((list->n + 1) * sizeof *time->item);
    good = good && time->item && timing_solve(graph, list->item, list->n, time->item);
    uint8_t *depends = good ? malloc(graph_n_node(graph)) : NULL;
    good = good && depends;
    if (good) {
        graph_dependence(graph, 0, depends);
        keep_switches(n_of_rates, depends, list, time);
    }
    free(depends);
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
    return survey->depends[which] & ON_TIME && !(survey->depends[which] & ON_MOVING);
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
