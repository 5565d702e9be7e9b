/* Stores nodes in an array that only grows, with an open-addressing table over it, so that equal
 * nodes are one; and the table of operations. Constructors first simplify their arguments in
 * simplify.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/graph.h"

#include "model/graph/intern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 24 bytes per node and 8 to 16 for the table: about a gigabyte at the limit. */
enum { DEFAULT_LIMIT = 30 * 1000 * 1000, FIRST_NODES = 1024, FIRST_SLOTS = 4096 };

/* x, y and the slopes of n points, in one allocation. */
struct table {
    double *x;
    size_t n;
};

struct graph {
    struct table *tables;
    size_t n_table;
    struct graph_node *nodes;
    uint32_t *slot; /* number of a node + 1, or 0; n_slot is a power of two */
    size_t n_node, room, n_slot, limit;
    enum status status; /* sticky */
};

/* Forms of operations in model text and LaTeX. */
#define FORM(p0, p1, p2, p3, bind, left, right, plain) {{p0, p1, p2, p3}, BIND_##bind, \
    {BIND_##left, BIND_##right}, plain}
#define INFIX(sign, bind, left, right, plain) FORM("", sign, "", NULL, bind, left, right, plain)
#define PREFIX(sign, bind, least, plain) FORM(sign, "", NULL, NULL, bind, least, ANY, plain)
#define COMPARISON(sign) INFIX(sign, COMPARISON, SUM, SUM, false)
#define NO_FORM {{NULL}, BIND_ANY, {BIND_ANY}, false}
#define CALL_FORM(n, open, close) {{open, n > 1 ? ", " : close, close, NULL}, BIND_PRIMARY, \
    {BIND_ANY, BIND_ANY}, false}
#define BRACED_FORM(n, ...) CALL_FORM(n, __VA_ARGS__)
#define NAME(name) name "\\left(", "\\right)"
#define BRACES(left, right) left, right

const struct graph_operation graph_operations[N_GRAPH_OP] = {
#define X(name) [GRAPH_##name] = {#name, 0, 0, COST_SIGN, C_CALL, NULL, {NULL, NULL}, "", \
    NO_FORM, NO_FORM},
    GRAPH_LEAVES(X)
#undef X
#define X(name, n, value, facts, cost, kind, c, helper, range, text, latex, simplified, \
    derivative) \
    [GRAPH_##name] = {#name, n, facts, COST_##cost, kind, c, helper, range, text, latex},
#define F(name, n, word, value, facts, cost, c, helper, range, latex, derivative) \
    [GRAPH_##name] = {#name, n, facts, COST_##cost, C_CALL, c, helper, range, \
                       CALL_FORM(n, word "(", ")"), BRACED_FORM(n, latex)},
    GRAPH_OPERATIONS(X, F)
#undef X
#undef F
};

/* The straight lines between the points of a table, and beyond them the last values; or the
 * slopes. At a point the slope is that to its right, at the last point that to its left. */
static double look_up(const struct graph *graph, double x, double which, bool is_slope)
{
    struct graph_table table = graph_table_of(graph, (size_t)which);
    size_t i = 0, last = table.n - 1;
    for (size_t left = last, step = left / 2; step; left -= step, step = left / 2)
        i += x >= table.x[i + step] ? step : 0;
    if (is_slope)
        return isnan(x) ? x : x < table.x[0] || x > table.x[last] ? 0 : table.slope[i];
    return x < table.x[0]       ? table.y[0]
           : x >= table.x[last] ? table.y[last]
                                : table.y[i] + table.slope[i] * (x - table.x[i]);
}

double graph_apply(const struct graph *graph, enum graph_op op, const double *argument)
{
    int n = graph_n_argument(op);
    double a = argument[0], b = n > 1 ? argument[1] : 0, c = n > 2 ? argument[2] : 0;
    switch (op) {
#define X(name, n_argument, value, ...) case GRAPH_##name: return value;
#define F(name, n_argument, word, value, ...) case GRAPH_##name: return value;
        GRAPH_OPERATIONS(X, F)
#undef X
#undef F
    default: return NAN; /* a leaf is not an operation */
    }
}

/* The bits that distinguish nodes of one operation. */
static void key_of(const struct graph_node *which, uint64_t key[2])
{
    key[1] = 0;
    if (which->op == GRAPH_CONSTANT)
        memcpy(key, &which->value, sizeof which->value);
    else if (graph_n_argument(which->op) == 0)
        key[0] = which->index;
    else {
        key[0] = (uint64_t)which->arg[0] << 32 | which->arg[1];
        key[1] = which->arg[2];
    }
}

static bool is_same(const struct graph_node *a, const struct graph_node *b)
{
    if (a->op != b->op)
        return false;
    uint64_t key_a[2], key_b[2];
    key_of(a, key_a);
    key_of(b, key_b);
    return key_a[0] == key_b[0] && key_a[1] == key_b[1];
}

/* Two rounds of multiply and fold; the odd constants are fractions of the golden ratio and of
 * sqrt(3). */
static uint64_t hash_of(const struct graph_node *which)
{
    uint64_t key[2];
    key_of(which, key);
    uint64_t hash = (key[0] ^ (uint64_t)which->op << 57) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
    hash = (hash + key[1]) * UINT64_C(0xbb67ae8584caa73b);
    return hash ^ hash >> 32;
}

/* The slot of this node, or the empty one where it belongs. */
static size_t slot_of(const struct graph *graph, const struct graph_node *wanted)
{
    size_t mask = graph->n_slot - 1, i = hash_of(wanted) & mask;
    while (graph->slot[i] && !is_same(&graph->nodes[graph->slot[i] - 1], wanted))
        i = (i + 1) & mask;
    return i;
}

static bool grow_nodes(struct graph *graph)
{
    size_t room = graph->room + graph->room / 2;
    if (room > graph->limit)
        room = graph->limit;
    struct graph_node *nodes = realloc(graph->nodes, room * sizeof *nodes);
    if (!nodes)
        return false;
    graph->nodes = nodes;
    graph->room = room;
    return true;
}

static bool grow_slots(struct graph *graph)
{
    uint32_t *slot = calloc(graph->n_slot * 2, sizeof *slot);
    if (!slot)
        return false;
    free(graph->slot);
    graph->slot = slot;
    graph->n_slot *= 2;
    for (size_t i = 0; i < graph->n_node; i++)
        slot[slot_of(graph, &graph->nodes[i])] = (uint32_t)i + 1;
    return true;
}

struct graph *graph_new(void)
{
    struct graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    graph->limit = DEFAULT_LIMIT;
    graph->nodes = malloc(FIRST_NODES * sizeof *graph->nodes);
    graph->slot = calloc(FIRST_SLOTS, sizeof *graph->slot);
    if (!graph->nodes || !graph->slot) {
        graph_free(graph);
        return NULL;
    }
    graph->room = FIRST_NODES;
    graph->n_slot = FIRST_SLOTS;
    graph_constant(graph, 0); /* node 0 */
    return graph;
}

void graph_free(struct graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->n_table; i++)
        free(graph->tables[i].x);
    free(graph->tables);
    free(graph->nodes);
    free(graph->slot);
    free(graph);
}

void graph_set_limit(struct graph *graph, size_t n_node)
{
    if (n_node < DEFAULT_LIMIT)
        graph->limit = n_node > graph->n_node ? n_node : graph->n_node;
}

size_t graph_limit(const struct graph *graph) { return graph->limit; }

void graph_fail(struct graph *graph, enum status status)
{
    if (graph->status == STATUS_OK)
        graph->status = status;
}

enum status graph_status(const struct graph *graph, struct error *error)
{
    switch (graph->status) {
    case STATUS_OK:
        return STATUS_OK;
    case STATUS_NO_MEMORY:
        return error_set(error, STATUS_NO_MEMORY, "out of memory with %zu expressions in the model",
                         graph->n_node);
    default:
        return error_set(error, graph->status,
                         "the model is too large: its equations and derivatives have come to %zu "
                         "different expressions and are not complete; leave out what is not needed "
                         "or split the model",
                         graph->n_node);
    }
}

node graph_find(const struct graph *graph, struct graph_node wanted)
{
    uint32_t found = graph->slot[slot_of(graph, &wanted)];
    return found ? found - 1 : NODE_NONE;
}

node graph_intern(struct graph *graph, struct graph_node wanted)
{
    if (graph->status != STATUS_OK)
        return 0;
    size_t i = slot_of(graph, &wanted);
    if (graph->slot[i])
        return graph->slot[i] - 1;
    if (graph->n_node >= graph->limit) {
        graph_fail(graph, STATUS_BAD_MODEL);
        return 0;
    }
    bool is_full = graph->n_node * 8 >= graph->n_slot * 5;
    if ((graph->n_node == graph->room && !grow_nodes(graph)) || (is_full && !grow_slots(graph))) {
        graph_fail(graph, STATUS_NO_MEMORY);
        return 0;
    }
    if (is_full)
        i = slot_of(graph, &wanted);
    graph->nodes[graph->n_node] = wanted;
    graph->slot[i] = (uint32_t)++graph->n_node;
    return (node)graph->n_node - 1;
}

node graph_constant(struct graph *graph, double value)
{
    struct graph_node made = {.op = GRAPH_CONSTANT};
    made.value = value == 0 ? 0 : value; /* one zero: no -0 */
    return graph_intern(graph, made);
}

node graph_leaf(struct graph *graph, enum graph_op leaf, uint32_t index)
{
    assert(graph_n_argument(leaf) == 0 && leaf != GRAPH_CONSTANT);
    struct graph_node made = {.op = leaf};
    made.index = leaf == GRAPH_TIME ? 0 : index;
    return graph_intern(graph, made);
}

node graph_table(struct graph *graph, const double *x, const double *y, size_t n)
{
    size_t size = n * sizeof *x, i = 0;
    while (i < graph->n_table && (graph->tables[i].n != n || memcmp(graph->tables[i].x, x, size) ||
                                  memcmp(graph->tables[i].x + n, y, size)))
        i++;
    if (i < graph->n_table)
        return graph_leaf(graph, GRAPH_TABLE, (uint32_t)i);
    struct table *tables = realloc(graph->tables, (i + 1) * sizeof *tables);
    double *points = malloc(3 * size);
    graph->tables = tables ? tables : graph->tables;
    if (!tables || !points) {
        free(points);
        graph_fail(graph, STATUS_NO_MEMORY);
        return 0;
    }
    memcpy(points, x, size);
    memcpy(points + n, y, size);
    for (size_t k = 0; k + 1 < n; k++)
        points[2 * n + k] = (y[k + 1] - y[k]) / (x[k + 1] - x[k]);
    points[3 * n - 1] = 0;
    tables[graph->n_table++] = (struct table){points, n};
    return graph_leaf(graph, GRAPH_TABLE, (uint32_t)i);
}

size_t graph_n_table(const struct graph *graph) { return graph->n_table; }

struct graph_table graph_table_of(const struct graph *graph, size_t i_table)
{
    assert(graph && i_table < graph->n_table);
    struct table table = graph->tables[i_table];
    return (struct graph_table){table.n, table.x, table.x + table.n, table.x + 2 * table.n};
}

size_t graph_n_node(const struct graph *graph) { return graph->n_node; }

const struct graph_node *graph_node(const struct graph *graph, node which)
{
    assert(which < graph->n_node);
    return &graph->nodes[which];
}

bool graph_is_constant(const struct graph *graph, node which, double value)
{
    const struct graph_node *it = graph_node(graph, which);
    return it->op == GRAPH_CONSTANT && it->value == value;
}

void graph_dependence(const struct graph *graph, size_t first, uint8_t *depends)
{
    for (size_t i = first; i < graph->n_node; i++) {
        const struct graph_node *it = &graph->nodes[i];
        int n = graph_n_argument(it->op);
        depends[i] = n || it->op == GRAPH_TABLE ? 0 : (uint8_t)(1u << it->op);
        for (int k = 0; k < n; k++)
            depends[i] |= depends[it->arg[k]];
    }
}

void graph_mark(const struct graph *graph, const node *root, size_t n_root, uint8_t *needed,
                  size_t n_node)
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
