/* Where right-hand sides and events' conditions change abruptly: switches, and what depends on
 * time alone. Each is found by one pass over what the equations need.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/functions.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AS_IT_IS = 2, AS_STEP = 4, WATCHED = 8 }; /* bits in addition to 1, which means: needed */
enum {
    ON_TIME = 1 << GRAPH_TIME,
    ON_MOVING = 1 << GRAPH_STATE | 1 << GRAPH_INPUT,
    ON_PARAMETER = 1 << GRAPH_PARAMETER
};
/* Slopes that differ relatively by less than this make no kink: those of points on a line that
 * were rounded. */
#define STRAIGHT 1e-9
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

static bool survey_init(struct survey *survey, struct graph *graph, const node *root, size_t n_root,
                        struct node_list *list)
{
    size_t n = graph_n_node(graph);
    *survey =
        (struct survey){.graph = graph, .root = root, .n_root = n_root, .n_node = n, .list = list};
    survey->needed = arena_calloc(&survey->arena, n, 1);
    survey->depends = arena_calloc(&survey->arena, n, 1);
    survey->course = arena_calloc(&survey->arena, n, 1);
    if (!survey->needed || !survey->depends || !survey->course)
        return false;
    graph_mark(graph, root, n_root, survey->needed, n);
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

/* Changes its sign with the whole number `whole`, and is a sine of the rest in between. Rounding
 * does not move the change, as it does for sin(pi a): the right-hand side must jump between the
 * same two numbers. */
static node alternate(struct graph *graph, node whole, node rest)
{
    node two = graph_constant(graph, 2),
         half = graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, 0.5), whole);
    node even = graph_binary(graph, GRAPH_MULTIPLY, two, graph_unary(graph, GRAPH_FLOOR, half));
    node odd = graph_binary(graph, GRAPH_SUBTRACT, whole, even);
    node sign = graph_binary(graph, GRAPH_SUBTRACT, graph_constant(graph, 1),
                             graph_binary(graph, GRAPH_MULTIPLY, two, odd));
    node angle = graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, PI), rest);
    return graph_binary(graph, GRAPH_MULTIPLY, sign, graph_unary(graph, GRAPH_SIN, angle));
}

/* Something that changes its sign where the operation jumps; NODE_NONE: it does not jump, or
 * nowhere but at single points, as x == 0 does; continuity NULL: it may jump everywhere. a - b
 * and b - a: a difference is negative exactly where a < b, and not where a <= b is false. */
static node switch_of(struct survey *survey, struct continuity *continuity,
                      const struct graph_node *it)
{
    struct graph *graph = survey->graph;
    node a = it->arg[0], b = it->arg[1];
    switch (it->op) {
    case GRAPH_LESS:
        return is_continuous(continuity, a, b) ? NODE_NONE
                                               : graph_binary(graph, GRAPH_SUBTRACT, a, b);
    case GRAPH_LESS_EQUAL:
        return is_continuous(continuity, a, b) ? NODE_NONE
                                               : graph_binary(graph, GRAPH_SUBTRACT, b, a);
    case GRAPH_SIGN: case GRAPH_HEAVISIDE: return is_continuous(continuity, a, 0) ? NODE_NONE : a;
    case GRAPH_FLOOR:
        b = graph_unary(graph, it->op, a);
        return alternate(graph, b, graph_binary(graph, GRAPH_SUBTRACT, a, b));
    case GRAPH_CEIL:
        b = graph_unary(graph, it->op, a);
        return alternate(graph, b, graph_binary(graph, GRAPH_SUBTRACT, b, a));
    case GRAPH_ATAN2: /* from -pi to pi; where b is 0, from -pi/2 to pi/2 */
        return graph_select(graph, graph_binary(graph, GRAPH_LESS_EQUAL, b, 0), a,
                            graph_constant(graph, 1));
    default: return NODE_NONE;
    }
}

/* The switches below the roots. */
static bool list_switches(struct graph *graph, const node *root, size_t n_root,
                          struct continuity *continuity, struct node_list *list)
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

/* Something that changes its sign where the truth of a condition may change or its trigger may
 * turn, as (x - 3)^2 does at 3; NODE_NONE: nothing. */
static node part_of(struct survey *survey, const struct graph_node *it)
{
    node a = it->arg[0], b = it->arg[1];
    switch (it->op) {
    case GRAPH_EQUAL: case GRAPH_NOT_EQUAL: case GRAPH_MIN: case GRAPH_MAX:
        return graph_binary(survey->graph, GRAPH_SUBTRACT, a, b);
    case GRAPH_ABS: return a;
    default: break;
    }
    bool turns = graph_operations[it->op].facts & IS_EVEN || (it->op == GRAPH_MULTIPLY && a == b);
    return turns ? a : switch_of(survey, NULL, it);
}

/* A condition that is one comparison, or its negation, is watched itself. */
static node watched_itself(const struct graph *graph, node condition)
{
    while (graph_node(graph, condition)->op == GRAPH_NOT)
        condition = graph_node(graph, condition)->arg[0];
    return condition;
}

static bool has(const struct node_list *list, size_t first, node which)
{
    for (size_t i = first; i < list->n; i++)
        if (list->item[i] == which)
            return true;
    return false;
}

/* The parts of conditions: a condition may be true for less than a step, but then its parts
 * change their signs. Those of one condition are listed with those of others, each once if it
 * moves. */
static bool list_parts(struct graph *graph, const node *condition, size_t n_condition,
                       struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, condition, n_condition, list);
    for (size_t i = 0; good && i < n_condition; i++)
        survey.needed[watched_itself(graph, condition[i])] |= WATCHED;
    for (size_t i = 0; good && i < survey.n_node; i++) {
        unsigned on = survey.depends[i];
        struct graph_node it = *graph_node(graph, (node)i);
        if (!survey.needed[i] || !(on & (ON_MOVING | ON_TIME)) ||
            (on & ON_MOVING && survey.needed[i] & WATCHED))
            continue;
        node found = part_of(&survey, &it);
        good = found == NODE_NONE || (on & ON_MOVING && has(list, 0, found)) || add(list, found);
    }
    arena_fini(&survey.arena);
    return good;
}

/* The kinks of tables below the roots: differences that change their sign at the points of a
 * table where its slope changes, each once from `first` on. */
static bool list_kinks(struct graph *graph, const node *root, size_t n_root, size_t first,
                       struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, root, n_root, list);
    for (size_t i = 0; good && i < survey.n_node; i++) {
        struct graph_node it = *graph_node(graph, (node)i);
        if (it.op != GRAPH_INTERP || !survey.needed[i] ||
            !(survey.depends[i] & (ON_MOVING | ON_TIME)))
            continue;
        size_t i_table = graph_node(graph, it.arg[1])->index, n = graph_table_of(graph, i_table).n;
        for (size_t k = 0; good && k < n; k++) {
            struct graph_table table = graph_table_of(graph, i_table);
            double before = k > 0 ? table.slope[k - 1] : 0, change = fabs(table.slope[k] - before);
            if (change <= STRAIGHT * fmax(fabs(before), fabs(table.slope[k])))
                continue;
            node found = graph_binary(graph, GRAPH_SUBTRACT, it.arg[0],
                                      graph_constant(graph, table.x[k]));
            good = has(list, first, found) || add(list, found);
        }
    }
    arena_fini(&survey.arena);
    return good;
}

/* Keeps those whose time is known, those of rates that depend on more than time (jumps at other
 * times are forcing), and those of conditions that move, and so those of kinks. */
static void keep_switches(size_t n_of_rates, size_t first_kink, const uint8_t *depends,
                          struct switches *switches)
{
    struct node_list *list = &switches->list, *time = &switches->time;
    size_t n = 0;
    switches->first_kink = 0;
    for (size_t i = 0; i < list->n; i++) {
        unsigned kept = i < n_of_rates ? ON_MOVING | ON_PARAMETER : ON_MOVING;
        if (time->item[i] == NODE_NONE && !(depends[list->item[i]] & kept))
            continue;
        switches->first_kink += i < first_kink;
        list->item[n] = list->item[i];
        time->item[n++] = time->item[i];
    }
    list->n = time->n = n;
}

bool changes_find_switches(struct graph *graph, const node *root, size_t n_root,
                           const node *condition, size_t n_condition, struct switches *switches)
{
    struct node_list *list = &switches->list, *time = &switches->time;
    struct continuity *continuity = continuity_new(graph, root, n_root);
    bool good = continuity && list_switches(graph, root, n_root, continuity, list);
    size_t n_of_rates = list->n;
    good = good && list_parts(graph, condition, n_condition, list);
    continuity_free(continuity);
    size_t first_kink = list->n;
    good = good && list_kinks(graph, root, n_root, first_kink, list) &&
           list_kinks(graph, condition, n_condition, first_kink, list);
    time->item = malloc((list->n + 1) * sizeof *time->item);
    good = good && time->item && timing_solve(graph, list->item, list->n, time->item);
    uint8_t *depends = good ? malloc(graph_n_node(graph)) : NULL;
    good = good && depends;
    if (good) {
        graph_dependence(graph, 0, depends);
        keep_switches(n_of_rates, first_kink, depends, switches);
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
    enum course a = survey->course[it->arg[0]],
                b = graph_n_argument(it->op) > 1 ? survey->course[it->arg[1]] : CONSTANT;
    enum course most = a > b ? a : b;
    switch (it->op) {
    case GRAPH_ADD: case GRAPH_SUBTRACT: return most == PROPORTIONAL && a != b ? LINEAR : most;
    case GRAPH_NEGATE: return a;
    case GRAPH_MULTIPLY: return a && b ? CURVED : most;
    case GRAPH_DIVIDE: return b ? CURVED : a;
    default: return CURVED;
    }
}

/* Whether the operation may go up and down within a short time around the zero of argument k,
 * which is linear in time. */
static bool is_steep(const struct graph_node *it)
{
    return it->op == GRAPH_MULTIPLY ? it->arg[0] == it->arg[1]
                                    : !(graph_operations[it->op].facts & (IS_GENTLE | IS_STEP));
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

/* The truth of comparisons of curves in time that events' conditions contain, so that no step
 * passes over it. */
static bool look_at_conditions(struct survey *survey, const node *condition, size_t n_condition)
{
    uint8_t *needed = malloc(survey->n_node);
    if (needed)
        graph_mark(survey->graph, condition, n_condition, needed, survey->n_node);
    bool good = needed;
    for (size_t i = 0; good && i < survey->n_node; i++) {
        const struct graph_node *it = graph_node(survey->graph, (node)i);
        bool is_curved = needed[i] && is_input(survey, (node)i) &&
                         graph_operations[it->op].facts & IS_STEP &&
                         (survey->course[it->arg[0]] == CURVED ||
                          (graph_n_argument(it->op) > 1 && survey->course[it->arg[1]] == CURVED));
        good = !is_curved || add_marked(survey, (node)i, AS_IT_IS, (node)i);
    }
    free(needed);
    return good;
}

bool changes_find_forcing(struct graph *graph, const node *root, size_t n_root,
                          const node *condition, size_t n_condition, struct node_list *list)
{
    struct survey survey;
    bool good = survey_init(&survey, graph, root, n_root, list);
    for (size_t i = 0; good && i < survey.n_node; i++)
        survey.course[i] = (uint8_t)course_of(&survey, (node)i);
    for (size_t i = 0; good && i < n_root; i++)
        good = survey.course[root[i]] != CURVED || add_marked(&survey, root[i], AS_IT_IS, root[i]);
    for (size_t i = 0; good && i < survey.n_node; i++)
        good = !survey.needed[i] || look_at(&survey, (node)i);
    good = good && look_at_conditions(&survey, condition, n_condition);
    arena_fini(&survey.arena);
    return good;
}
