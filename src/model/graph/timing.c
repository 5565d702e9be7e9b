/* Conditions as functions of time: at which time one that is linear in time changes, and a
 * number that is negative where a condition is false and not where it is true, whose root an
 * integrator can find. `t == X` holds at one time: its number touches 0 there, and the
 * integrator stops at X.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"
#include "model/graph/derive.h"

#include <math.h>

/* What is added to a condition such as a < b where a = b, so that it is false there: too little
 * to move its root. */
#define BARELY_NEGATIVE (-1e-300)

enum {
    ON_TIME = 1 << GRAPH_TIME,
    ON_MOVING = 1 << GRAPH_STATE | 1 << GRAPH_INPUT | 1 << GRAPH_DIRECTION | 1 << GRAPH_INPUT_SLOPE
};

/* A value that is linear in time: slope*t + start, or NODE_NONE. */
struct line { node slope, start; };

static bool is_line(const struct line *line) { return line->start != NODE_NONE; }

/* The line of node `which` from those of its arguments. */
static struct line line_of(struct graph *graph, node which, const uint8_t *depends,
                           const struct line *line)
{
    const struct line none = {NODE_NONE, NODE_NONE};
    struct graph_node it = *graph_node(graph, which);
    if (!(depends[which] & ON_TIME))
        return (struct line){0, which};
    if (it.op == GRAPH_TIME)
        return (struct line){graph_constant(graph, 1), 0};
    const struct line *a = &line[it.arg[0]],
                      *b = graph_n_argument(it.op) > 1 ? &line[it.arg[1]] : a;
    bool is_product = it.op == GRAPH_MULTIPLY || it.op == GRAPH_DIVIDE;
    if (!is_line(a) || !is_line(b))
        return none;
    if (it.op == GRAPH_NEGATE)
        return (struct line){graph_unary(graph, it.op, a->slope),
                             graph_unary(graph, it.op, a->start)};
    if (it.op == GRAPH_ADD || it.op == GRAPH_SUBTRACT)
        return (struct line){graph_binary(graph, it.op, a->slope, b->slope),
                             graph_binary(graph, it.op, a->start, b->start)};
    if (!is_product || (it.op == GRAPH_DIVIDE && b->slope) || (a->slope && b->slope))
        return none;
    node slope = b->slope ? graph_binary(graph, it.op, a->start, b->slope)
                          : graph_binary(graph, it.op, a->slope, b->start);
    return (struct line){slope, graph_binary(graph, it.op, a->start, b->start)};
}

bool timing_solve(struct graph *graph, const node *g, size_t n_g, node *time)
{
    size_t n = graph_n_node(graph);
    struct arena arena = {0};
    uint8_t *needed = arena_calloc(&arena, n, 1), *depends = arena_calloc(&arena, n, 1);
    struct line *line = arena_calloc(&arena, n, sizeof *line);
    bool good = needed && depends && line;
    if (good) {
        graph_dependence(graph, 0, depends);
        graph_mark(graph, g, n_g, needed, n);
    }
    for (size_t i = 0; good && i < n; i++)
        line[i] = !needed[i] || depends[i] & ON_MOVING ? (struct line){NODE_NONE, NODE_NONE}
                                                       : line_of(graph, (node)i, depends, line);
    for (size_t i = 0; good && i < n_g; i++) {
        const struct line *it = &line[g[i]];
        bool is_solved = is_line(it) && it->slope != 0;
        time[i] = NODE_NONE;
        if (is_solved)
            time[i] = graph_unary(graph, GRAPH_NEGATE,
                                  graph_binary(graph, GRAPH_DIVIDE, it->start, it->slope));
    }
    arena_fini(&arena);
    return good;
}

/* x, but negative where it is 0. The derivatives are those of x. */
static node strictly(struct graph *graph, node x)
{
    node is_low = graph_unary(graph, GRAPH_HEAVISIDE, graph_unary(graph, GRAPH_NEGATE, x));
    node bit = graph_binary(graph, GRAPH_MULTIPLY, graph_constant(graph, BARELY_NEGATIVE), is_low);
    return graph_binary(graph, GRAPH_ADD, x, bit);
}

static node negated(struct graph *graph, node trigger)
{
    return strictly(graph, graph_unary(graph, GRAPH_NEGATE, trigger));
}

/* Numbers of a condition: their truth never changes. */
static node trigger_at(struct graph *graph, const node *trigger, node which)
{
    const struct graph_node *it = graph_node(graph, which);
    return it->op == GRAPH_CONSTANT ? graph_constant(graph, it->value != 0 ? 1 : -1)
                                    : trigger[which];
}

/* The number of `t == X` or `t != X`, `difference` being t - X; NODE_NONE if its time is not
 * known. */
static node point_trigger(struct graph *graph, bool is_equal, node difference, node time)
{
    if (time == NODE_NONE)
        return NODE_NONE;
    /* -|t - X|, whose derivatives at X are those before it. */
    node minus = graph_unary(graph, GRAPH_NEGATE, difference);
    node touch = graph_select(graph, graph_binary(graph, GRAPH_LESS_EQUAL, difference, 0),
                              difference, minus);
    return is_equal ? touch : negated(graph, touch);
}

static node trigger_of(struct graph *graph, node which, const uint8_t *depends, const node *trigger,
                       const node *time)
{
    struct graph_node it = *graph_node(graph, which);
    node part[3] = {NODE_NONE, NODE_NONE, NODE_NONE}, a = it.arg[0], b = it.arg[1];
    bool is_logic =
        it.op == GRAPH_AND || it.op == GRAPH_OR || it.op == GRAPH_NOT || it.op == GRAPH_SELECT;
    for (int k = 0; is_logic && k < graph_n_argument(it.op); k++) {
        part[k] = trigger_at(graph, trigger, it.arg[k]);
        if (part[k] == NODE_NONE)
            return NODE_NONE;
    }
    switch (it.op) {
    case GRAPH_LESS: {
        /* Of time alone, as t > t1: true from t1 on, where the integrator stops; else the stop
         * would come before the change. */
        bool rises =
            graph_node(graph, b)->op == GRAPH_TIME && !(depends[a] & (ON_TIME | ON_MOVING));
        node difference = graph_binary(graph, GRAPH_SUBTRACT, b, a);
        return rises ? difference : strictly(graph, difference);
    }
    case GRAPH_LESS_EQUAL: return graph_binary(graph, GRAPH_SUBTRACT, b, a);
    case GRAPH_EQUAL: case GRAPH_NOT_EQUAL:
        return point_trigger(graph, it.op == GRAPH_EQUAL, graph_binary(graph, GRAPH_SUBTRACT, a, b),
                             time[which]);
    case GRAPH_HEAVISIDE: return a;
    case GRAPH_AND: return graph_binary(graph, GRAPH_MIN, part[0], part[1]);
    case GRAPH_OR: return graph_binary(graph, GRAPH_MAX, part[0], part[1]);
    case GRAPH_NOT: return negated(graph, part[0]);
    case GRAPH_SELECT:
        return graph_binary(graph, GRAPH_MAX, graph_binary(graph, GRAPH_MIN, part[0], part[1]),
                            graph_binary(graph, GRAPH_MIN, negated(graph, part[0]), part[2]));
    default: return NODE_NONE;
    }
}

/* The times of all `t == X` among the needed nodes. */
static bool solve_points(struct graph *graph, const uint8_t *needed, size_t n, struct arena *arena,
                         node *time)
{
    node *point = arena_calloc(arena, n, sizeof *point),
         *difference = arena_calloc(arena, n, sizeof *difference);
    node *at = arena_calloc(arena, n, sizeof *at);
    size_t n_point = 0;
    if (!point || !difference || !at)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct graph_node it = *graph_node(graph, (node)i);
        time[i] = NODE_NONE;
        if (!needed[i] || (it.op != GRAPH_EQUAL && it.op != GRAPH_NOT_EQUAL))
            continue;
        point[n_point] = (node)i;
        difference[n_point++] = graph_binary(graph, GRAPH_SUBTRACT, it.arg[0], it.arg[1]);
    }
    bool good = timing_solve(graph, difference, n_point, at);
    for (size_t k = 0; good && k < n_point; k++)
        time[point[k]] = at[k];
    return good;
}

bool timing_triggers(struct graph *graph, const node *condition, size_t n_condition, node *trigger)
{
    size_t n = graph_n_node(graph);
    struct arena arena = {0};
    uint8_t *needed = arena_calloc(&arena, n, 1), *depends = arena_calloc(&arena, n, 1);
    node *of = arena_calloc(&arena, n, sizeof *of), *time = arena_calloc(&arena, n, sizeof *time);
    bool good = needed && depends && of && time;
    if (good) {
        graph_dependence(graph, 0, depends);
        graph_mark(graph, condition, n_condition, needed, n);
        good = solve_points(graph, needed, n, &arena, time);
    }
    for (size_t i = 0; good && i < n; i++) {
        bool is_operation = graph_n_argument(graph_node(graph, (node)i)->op) > 0;
        of[i] =
            needed[i] && is_operation ? trigger_of(graph, (node)i, depends, of, time) : NODE_NONE;
    }
    for (size_t i = 0; good && i < n_condition; i++)
        trigger[i] = of[condition[i]];
    arena_fini(&arena);
    return good;
}
