/* Facts about values for all functions; chooses what `prepare` computes for the functions that
 * are called at every step.
 *
 * These are values that depend only on parameters and covariates, are used together with time or
 * states (or are results), and cost more than one addition or multiplication: loading a value
 * costs about that much. On models with such values, rhs and Jacobian take 1.1 to 3.9 times as
 * long without this; any COST_WORTH from 1 to 8 is equally good.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/values.h"

#include "model/generate/generate.h"
#include "model/graph/intern.h"

#include <string.h>

/* In additions, roughly. */
enum { COST_MOST = 255, COST_WORTH = 2 };

static const enum model_function hot[] = {
    FUNCTION_rhs,
    FUNCTION_jacobian,
    FUNCTION_rhs_parameter,
    FUNCTION_observe,
    FUNCTION_noise,
    FUNCTION_observe_state,
    FUNCTION_observe_parameter,
    FUNCTION_noise_state,
    FUNCTION_noise_parameter,
    FUNCTION_switching,
    FUNCTION_forcing,
    FUNCTION_event_when,
    FUNCTION_event_when_state,
};

static unsigned operation_cost(enum graph_op op)
{
    static const uint8_t cost[] =
        {[COST_SIGN] = 0, [COST_ADD] = 1,   [COST_MULTIPLY] = 1, [COST_DIVIDE] = 8,
         [COST_ROOT] = 8, [COST_CALL] = 20, [COST_CHOICE] = 1,   [COST_PRODUCT_CALL] = 20};
    return cost[graph_operations[op].cost];
}

/* Registers for a tree: Sethi & Ullman (1970). The most expensive argument is computed first and
 * then occupies one. */
static unsigned count_registers(const struct values *values, const struct graph_node *n,
                                int n_argument)
{
    unsigned sorted[3] = {0}, most = 1;
    for (int k = 0; k < n_argument; k++) {
        unsigned own = values->n_register[n->arg[k]];
        int place = k;
        for (; place > 0 && sorted[place - 1] < own; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = own;
    }
    for (int k = 0; k < n_argument; k++)
        if (sorted[k] + (unsigned)k > most)
            most = sorted[k] + (unsigned)k;
    return most > UINT8_MAX ? UINT8_MAX : most;
}

/* Arguments have smaller numbers, so one pass suffices. */
static void fill_facts(struct values *values)
{
    graph_dependence(values->graph, 0, values->depends);
    for (uint32_t i = 0; i < values->n_node; i++) {
        const struct graph_node *n = graph_node(values->graph, i);
        int n_argument = graph_n_argument(n->op);
        unsigned cost = n_argument ? operation_cost(n->op) : 0;
        for (int k = 0; k < n_argument; k++)
            cost += values->cost[n->arg[k]];
        values->cost[i] = (uint8_t)(cost > COST_MOST ? COST_MOST : cost);
        values->n_register[i] = (uint8_t)(n_argument ? count_registers(values, n, n_argument) :
                                          n->op == GRAPH_CONSTANT ? 0 : 1);
        values->label[i] = VALUE_NONE;
        for (uint32_t k = 0; k < VALUE_FAMILIES; k++)
            values->slot[i + k * values->n_node] = VALUE_NONE;
        values->reciprocal[i] = i + values->n_node;
        values->logarithm[i] = i + 2 * values->n_node;
        if (n->op == GRAPH_RECIPROCAL)
            values->reciprocal[n->arg[0]] = i;
        else if (n->op == GRAPH_LOG)
            values->logarithm[n->arg[0]] = i;
    }
    for (uint32_t k = 0; k < values->equations->n_intermediate; k++) {
        node which = values->equations->intermediate[k].value;
        if (graph_n_argument(graph_node(values->graph, which)->op) &&
            values->label[which] == VALUE_NONE)
            values->label[which] = k;
    }
}

value values_power(const struct values *values, node power_log)
{
    const struct graph_node *n = graph_node(values->graph, power_log);
    node found =
        graph_find(values->graph, graph_node_of(GRAPH_POWER, n->arg[0], n->arg[1], NODE_NONE));
    return found != NODE_NONE ? found : power_log + 3 * values->n_node;
}

/* -x costs nothing if x is available. */
static void put_into_work(struct values *values, value which)
{
    struct graph_node n = values_get(values, which);
    if (n.op == GRAPH_NEGATE && values->label[which] == VALUE_NONE)
        which = n.arg[0];
    unsigned cost = which < values->n_node ? values->cost[which] : operation_cost(n.op);
    if (cost < COST_WORTH || values_in_work(values, which))
        return;
    values->slot[which] = values->n_work;
    values->work[values->n_work++] = which;
}

struct walk {
    bool *seen;      /* n_node */
    node *waiting;   /* n_node */
    size_t n_waiting;
};

static void walk_to(struct values *values, struct walk *walk, node which)
{
    if (values_is_fixed(values, which)) {
        put_into_work(values, which);
    } else if (!walk->seen[which]) {
        walk->seen[which] = true;
        walk->waiting[walk->n_waiting++] = which;
    }
}

/* Goes down from the results to values that are fixed during an evaluation. */
static void choose_work(struct values *values, const struct graph_matrix *matrix, struct walk *walk)
{
    for (size_t e = 0; e < matrix->n_entry; e++) {
        walk_to(values, walk, matrix->entry[e]);
        while (walk->n_waiting > 0) {
            const struct graph_node *n =
                graph_node(values->graph, walk->waiting[--walk->n_waiting]);
            bool divides = n->op == GRAPH_DIVIDE && values_is_fixed(values, n->arg[1]);
            int n_argument = graph_n_argument(n->op);
            /* By a fixed value: prepare computes its reciprocal, and the division becomes a
             * product. */
            if (divides)
                put_into_work(values, values->reciprocal[n->arg[1]]);
            if (n->op == GRAPH_POWER_LOG && values_is_fixed(values, n->arg[0]))
                put_into_work(values, values->logarithm[n->arg[0]]);
            for (int k = 0; k < n_argument - divides; k++)
                walk_to(values, walk, n->arg[k]);
        }
    }
}

enum status values_init(struct values *values, const struct equations *equations,
                        const struct functions *functions, struct error *error)
{
    size_t n = graph_n_node(equations->graph);
    struct arena *arena = &values->arena;
    values->equations = equations;
    values->graph = equations->graph;
    values->n_node = (uint32_t)n;
    values->depends = arena_calloc(arena, n, sizeof *values->depends);
    values->n_register = arena_calloc(arena, n, sizeof *values->n_register);
    values->cost = arena_calloc(arena, n, sizeof *values->cost);
    values->label = arena_calloc(arena, n, sizeof *values->label);
    values->reciprocal = arena_calloc(arena, n, sizeof *values->reciprocal);
    values->logarithm = arena_calloc(arena, n, sizeof *values->logarithm);
    values->slot = arena_calloc(arena, n, VALUE_FAMILIES * sizeof *values->slot);
    values->work = arena_calloc(arena, n, VALUE_FAMILIES * sizeof *values->work);
    struct walk walk = {.seen = arena_calloc(arena, n, sizeof(bool)),
                        .waiting = arena_alloc(arena, n * sizeof(node))};
    bool complete = values->depends && values->n_register && values->cost && values->label &&
                    values->reciprocal && values->logarithm && values->slot && values->work &&
                    walk.seen && walk.waiting;
    if (complete) {
        fill_facts(values);
        for (size_t f = 0; f < sizeof hot / sizeof *hot; f++)
            choose_work(values, &functions->of[hot[f]], &walk);
        choose_work(values, &functions->forcing_slope, &walk);
        values->n_scalar_work = values->n_work;
        choose_work(values, &functions->lanes.by_state, &walk);
        choose_work(values, &functions->lanes.curve_state, &walk);
        choose_work(values, &functions->lanes.curve_parameter, &walk);
    }
    return complete ? STATUS_OK
                    : error_set(error, STATUS_NO_MEMORY,
                                "out of memory while generating the model's code");
}
