/* Facts about every value of a model, common to all generated functions: its cost, its name, and
 * whether `prepare` computes it once per evaluation.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "model/graph/functions.h"

/* A node of the graph, or a value that is not in the graph but may be shared: n_node + b is 1/b,
 * 2 n_node + b is log(b), and 3 n_node + b is the power for which node b is POWER_LOG. */
typedef uint32_t value;
enum { VALUE_FAMILIES = 4 };

#define VALUE_NONE UINT32_MAX

struct values {
    const struct equations *equations;
    const struct graph *graph;
    uint32_t n_node;
    uint8_t *depends;     /* n_node: as graph_dependence */
    /* n_node: to compute it without storing anything, shared values counted twice */
    uint8_t *n_register;
    uint8_t *cost;        /* n_node: of computing it, up to 255; shared values counted twice */
    uint32_t *label;      /* n_node: the intermediate that it is, or VALUE_NONE */
    value *reciprocal;    /* n_node: the value 1/b */
    value *logarithm;     /* n_node: the value log(b) */
    uint32_t *slot;       /* of all values: the value's place in at->work, or VALUE_NONE */
    value *work;          /* n_work: what `prepare` computes */
    /* functions other than those of lanes use only the first n_scalar_work */
    uint32_t n_work, n_scalar_work;
    struct arena arena;
};

/* `values` must be zero; free it by arena_fini, also after a failure. STATUS_NO_MEMORY. */
enum status values_init(struct values *values, const struct equations *equations,
                        const struct functions *functions, struct error *error);

/* The operation (or leaf) of a value. Its arguments are values. */
static inline struct graph_node values_get(const struct values *values, value which)
{
    static const enum graph_op operations[VALUE_FAMILIES] =
        {[1] = GRAPH_RECIPROCAL, [2] = GRAPH_LOG, [3] = GRAPH_POWER};
    node of = which % values->n_node;
    struct graph_node n = *graph_node(values->graph, of);
    if (which < values->n_node)
        return n;
    n.op = operations[which / values->n_node];
    if (n.op == GRAPH_POWER)
        return n; /* with the arguments of its POWER_LOG */
    return (struct graph_node){.op = n.op, .arg = {of, NODE_NONE, NODE_NONE}};
}

/* The value a^b for a node POWER_LOG(a, b). */
value values_power(const struct values *values, node power_log);

static inline bool values_in_work(const struct values *values, value which)
{
    return values->slot[which] != VALUE_NONE;
}

/* Whether the value is the same at all times and states of an evaluation, but not a constant. */
static inline bool values_is_fixed(const struct values *values, node which)
{
    unsigned of = values->depends[which] & ~(1u << GRAPH_CONSTANT);
    return of != 0 && (of & ~(1u << GRAPH_PARAMETER | 1u << GRAPH_COVARIATE)) == 0;
}
