/* Makes both lists in one pass over the nodes that the roots need.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/changes.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { AS_IT_IS = 2, AS_STEP = 4 }; /* in addition to 1: needed */
enum { ON_TIME = 1 << GRAPH_TIME, ON_STATE = 1 << GRAPH_STATE, ON_PARAMETER = 1 << GRAPH_PARAMETER };
#define PI 3.141592653589793238462643383280

/* Facts about the nodes that existed before any was added. */
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
    graph_dependence(graph, survey->depends);
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

/* A value that changes sign where the operation jumps; NODE_NONE: it does not jump, or only at single points, as x == 0 does. a
 * - b or b - a: a difference is negative exactly where a < b, but not where a <= b is false. */
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

/* Adds the node once for each mark. */
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

/* Whether the operation may rise and fall within a short time around the zero of argument k, which is linear in time. */
static bool is_steep(const struct graph_node *it)
{
    return it->op == GRAPH_MULTIPLY ? it->arg[0] == it->arg[1] : !(graph_operations[it->op].facts & (IS_GENTLE | IS_STEP));
}

/* Marks what is notable about a node and its arguments. */
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
