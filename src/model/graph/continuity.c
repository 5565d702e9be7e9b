/* Evaluates the roots on both sides of a = b at a random point of that surface, in exact
 * arithmetic modulo a prime. Rational functions that agree there are equal on the surface,
 * except with a probability of about 1e-18 times their degree (Schwartz 1980, Zippel 1979).
 * Other functions are treated as unknown: equal arguments give equal values. No rounding occurs,
 * so agreement is a proof; anything undecided counts as a jump.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest prime below 2^63; limits for the leaves to solve for and for the nodes that all
 * proofs together may visit. */
#define PRIME UINT64_C(9223372036854775783)
enum { MOST_LEAVES = 6, MOST_VISITS = 5 * 1000 * 1000 };
/* Constants that differ relatively by less than this may compare differently at run time. */
#define APART 1e-9

/* A value: its residue; the number itself, if it is the same at all points of the surface;
 * whether it is singular, so that its limits are unknown. */
struct residue {
    uint64_t r;
    double number;
    bool known, singular;
};

struct continuity {
    const struct graph *graph;
    const node *root;
    size_t n_root, n_node;
    struct residue *value; /* n_node */
    uint64_t *other;       /* n_root: the roots on the first side */
    int64_t n_visit;

    /* the surface a = b, and how its points are found */
    node a, b;
    int side;              /* -1: a < b */
    node given;            /* a node whose value is `as`, or NODE_NONE */
    struct residue as;
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b % PRIME);
}

static uint64_t add(uint64_t a, uint64_t b) { return a >= PRIME - b ? a - (PRIME - b) : a + b; }

static uint64_t negative(uint64_t a) { return a ? PRIME - a : 0; }

static uint64_t power(uint64_t a, uint64_t n)
{
    uint64_t product = 1;
    for (; n; n >>= 1, a = multiply(a, a))
        if (n & 1)
            product = multiply(product, a);
    return product;
}

static uint64_t inverse(uint64_t a) { return power(a, PRIME - 2); }

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % PRIME;
}

/* Every finite double is m 2^e. */
static struct residue of_number(double x)
{
    int e;
    if (!isfinite(x))
        return (struct residue){.r = mix(isnan(x) ? 1 : x > 0 ? 2 : 3)};
    double m = ldexp(frexp(fabs(x), &e), 53);
    uint64_t two = power(e < 53 ? inverse(2) : 2, (uint64_t)(e < 53 ? 53 - e : e - 53)),
             r = multiply((uint64_t)m, two);
    return (struct residue){.r = x < 0 ? negative(r) : r, .known = true, .number = x};
}

static struct residue unknown(enum graph_op op, const struct residue *x, int n)
{
    uint64_t hash = mix((uint64_t)op + 1000);
    for (int i = 0; i < n; i++)
        hash = mix(hash ^ mix(x[i].r + 7));
    return (struct residue){.r = hash};
}

static bool is_pair(const struct continuity *c, node a, node b)
{
    return (a == c->a && b == c->b) || (a == c->b && b == c->a);
}

/* A comparison: of a with b, by the side; of known numbers that are well apart, by their values. */
static struct residue compare(const struct continuity *c, const struct graph_node *it,
                              const struct residue *x)
{
    enum graph_op op = it->op;
    node b = graph_n_argument(op) == 2 ? it->arg[1] : 0;
    int sign = 0; /* of left minus right */
    if (is_pair(c, it->arg[0], b))
        sign = it->arg[0] == c->a ? c->side : -c->side;
    else if (x[0].known && x[1].known &&
             fabs(x[0].number - x[1].number) > APART * (fabs(x[0].number) + fabs(x[1].number)))
        sign = x[0].number < x[1].number ? -1 : 1;
    else
        return unknown(op, x, graph_n_argument(op));
    switch (op) {
    case GRAPH_SIGN: return of_number(sign);
    case GRAPH_HEAVISIDE: return of_number(sign > 0);
    case GRAPH_EQUAL: return of_number(0);
    case GRAPH_NOT_EQUAL: return of_number(1);
    default: return of_number(sign < 0); /* LESS, LESS_EQUAL */
    }
}

/* Only the exact value decides whether it is 0. */
static bool is_truth(const struct residue *x, bool truth)
{
    return x->known && (truth ? x->r != 0 && fabs(x->number) > APART : x->r == 0);
}

/* Choices that can be decided from what is known; otherwise unknown. */
static struct residue choose(enum graph_op op, const struct residue *x)
{
    switch (op) {
    case GRAPH_AND: case GRAPH_OR:
        for (int i = 0; i < 2; i++) {
            if (is_truth(&x[i], op == GRAPH_OR))
                return of_number(op == GRAPH_OR);
            if (is_truth(&x[i], op == GRAPH_AND))
                return unknown(op, &x[1 - i], 1); /* as 1 or 0 */
        }
        break;
    case GRAPH_NOT:
        if (is_truth(&x[0], true) || is_truth(&x[0], false))
            return of_number(is_truth(&x[0], false));
        break;
    case GRAPH_SELECT:
        if (is_truth(&x[0], true) || is_truth(&x[0], false))
            return x[is_truth(&x[0], true) ? 1 : 2];
        if (x[1].r == x[2].r)
            return (struct residue){.r = x[1].r};
        break;
    default: /* MIN, MAX */
        if (x[0].r == x[1].r)
            return x[0];
        break;
    }
    return unknown(op, x, graph_n_argument(op));
}

static struct residue singular(void) { return (struct residue){.singular = true}; }

static struct residue power_of(const struct residue *x)
{
    double n = x[1].number;
    bool is_whole = x[1].known && n == floor(n) && fabs(n) <= 64;
    if (x[0].r == 0)
        return x[1].known && n > 0 ? of_number(0) : singular();
    if (!is_whole)
        return unknown(GRAPH_POWER, x, 2);
    uint64_t r = power(x[0].r, (uint64_t)fabs(n));
    return (struct residue){.r = n < 0 ? inverse(r) : r};
}

/* Functions that are not rational: knows exp(0) = 1 and the like. */
static struct residue function(const struct graph *graph, enum graph_op op,
                               const struct residue *x, int n)
{
    if (op == GRAPH_POWER)
        return power_of(x);
    if (n == 1 && op != GRAPH_FLOOR && op != GRAPH_CEIL && (x[0].r <= 1 || x[0].r == PRIME - 1)) {
        double argument = x[0].r <= 1 ? (double)x[0].r : -1,
               at = graph_apply(graph, op, (double[3]){argument, 0, 0});
        if (at == 0 || at == 1 || at == -1)
            return of_number(at);
        return isfinite(at) ? unknown(op, x, n) : singular();
    }
    return op == GRAPH_POWER_LOG && x[0].r == 0 ? singular() : unknown(op, x, n);
}

static struct residue operation(const struct continuity *c, const struct graph_node *it,
                                const struct residue *x)
{
    int n = graph_n_argument(it->op);
    switch (it->op) {
    case GRAPH_ADD: return (struct residue){.r = add(x[0].r, x[1].r)};
    case GRAPH_SUBTRACT: return (struct residue){.r = add(x[0].r, negative(x[1].r))};
    case GRAPH_MULTIPLY: return (struct residue){.r = multiply(x[0].r, x[1].r)};
    case GRAPH_NEGATE: return (struct residue){.r = negative(x[0].r)};
    case GRAPH_DIVIDE:
        return x[1].r ? (struct residue){.r = multiply(x[0].r, inverse(x[1].r))} : singular();
    case GRAPH_RECIPROCAL: return x[0].r ? (struct residue){.r = inverse(x[0].r)} : singular();
    case GRAPH_LESS:
    case GRAPH_LESS_EQUAL:
    case GRAPH_EQUAL:
    case GRAPH_NOT_EQUAL:
    case GRAPH_SIGN:
    case GRAPH_HEAVISIDE: return compare(c, it, x);
    case GRAPH_AND:
    case GRAPH_OR:
    case GRAPH_NOT:
    case GRAPH_SELECT:
    case GRAPH_MIN:
    case GRAPH_MAX: return choose(it->op, x);
    default: return function(c->graph, it->op, x, n);
    }
}

/* The value of an operation; a number only if rounding cannot change it. */
static struct residue carry_out(const struct continuity *c, const struct graph_node *it)
{
    struct residue x[3] = {{.r = 0}, {.known = true}, {.r = 0}}; /* unary comparisons are with 0 */
    int n = graph_n_argument(it->op);
    bool known = !(graph_operations[it->op].facts & (IS_STEP | IS_TRUTH | IS_CHOICE)),
         is_singular = false;
    for (int k = 0; k < n; k++) {
        x[k] = c->value[it->arg[k]];
        known = known && x[k].known;
        is_singular = is_singular || x[k].singular;
    }
    struct residue value = operation(c, it, x);
    if (it->op != GRAPH_SELECT || x[0].singular)
        value.singular = value.singular || is_singular;
    else if (!is_truth(&x[0], true) && !is_truth(&x[0], false))
        value.singular = is_singular;
    if (known && !value.known) {
        const double number[] = {x[0].number, x[1].number, x[2].number};
        value.number = graph_apply(c->graph, it->op, number);
        value.known = isfinite(value.number);
    }
    return value;
}

static void evaluate(struct continuity *c, size_t n)
{
    c->n_visit += (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct graph_node *it = graph_node(c->graph, (node)i);
        struct residue *value = &c->value[i];
        if (i == c->given)
            *value = c->as;
        else if (it->op == GRAPH_CONSTANT)
            *value = of_number(it->value);
        else if (graph_n_argument(it->op) == 0)
            *value = (struct residue){.r = mix((uint64_t)it->op << 32 | it->index),
                                      .known = it->op == GRAPH_TABLE, .number = it->index};
        else
            *value = carry_out(c, it);
    }
}

/* Whether the roots agree on both sides, at points of the surface that are already found. */
static bool sides_agree(struct continuity *c)
{
    for (c->side = -1; c->side <= 1; c->side += 2) {
        evaluate(c, c->n_node);
        for (size_t i = 0; i < c->n_root; i++) {
            const struct residue *value = &c->value[c->root[i]];
            if (value->singular || (c->side > 0 && c->other[i] != value->r))
                return false;
            c->other[i] = value->r;
        }
    }
    return true;
}

/* a - b with the leaf `given` set to x. */
static uint64_t distance(struct continuity *c, uint64_t x)
{
    c->as = (struct residue){.r = x};
    evaluate(c, (c->a > c->b ? c->a : c->b) + 1u);
    return add(c->value[c->a].r, negative(c->value[c->b].r));
}

/* Solves the surface for the leaf `given`, in which a - b must be linear. */
static bool solve_for_leaf(struct continuity *c)
{
    uint64_t at = mix(99), d0 = distance(c, 0), slope = add(distance(c, 1), negative(d0));
    if (slope == 0 || distance(c, at) != add(d0, multiply(at, slope)))
        return false;
    return distance(c, multiply(negative(d0), inverse(slope))) == 0;
}

struct continuity *continuity_new(const struct graph *graph, const node *root, size_t n_root)
{
    struct continuity *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (struct continuity){.graph = graph, .root = root, .n_root = n_root, .n_node = 1};
    for (size_t i = 0; i < n_root; i++)
        c->n_node = root[i] >= c->n_node ? root[i] + 1u : c->n_node;
    c->value = calloc(c->n_node, sizeof *c->value);
    c->other = calloc(n_root + 1, sizeof *c->other);
    if (c->value && c->other)
        return c;
    continuity_free(c);
    return NULL;
}

void continuity_free(struct continuity *continuity)
{
    if (!continuity)
        return;
    free(continuity->value);
    free(continuity->other);
    free(continuity);
}

bool continuity_at(struct continuity *c, node a, node b)
{
    const struct graph *graph = c->graph;
    if (a == b)
        return true;
    if (graph_node(graph, a)->op == GRAPH_CONSTANT ||
        (graph_node(graph, b)->op != GRAPH_CONSTANT && a < b)) {
        node swap = a;
        a = b;
        b = swap;
    }
    c->a = a; /* it takes the value of b, which is a constant or computed earlier */
    c->b = b;
    if (c->n_visit > MOST_VISITS)
        return false;
    c->given = NODE_NONE;
    c->side = -1;
    evaluate(c, b + 1u);
    c->given = a;
    c->as = c->value[b];
    if (sides_agree(c))
        return true;
    int n_leaf = 0;
    c->side = -1;
    for (node i = 0; i <= a && i < c->n_node && n_leaf < MOST_LEAVES; i++) {
        enum graph_op op = graph_node(graph, i)->op;
        if (graph_n_argument(op) || op == GRAPH_CONSTANT)
            continue;
        c->given = i;
        uint64_t before = distance(c, 0);
        if (distance(c, 1) == before)
            continue;
        n_leaf++;
        if (solve_for_leaf(c) && sides_agree(c))
            return true;
    }
    return false;
}
