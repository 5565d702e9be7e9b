/* Proves that states stay non-negative: the rate of one is not negative where the state is 0 and
 * the leaves that the proof rests on are not negative. Facts about signs go up the graph, from
 * the leaves to the rate; what the proof needs of them comes down again.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/graph/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Facts about the value of a node. Zero implies neither positive nor negative. */
enum { ZERO = 1, NOT_NEGATIVE = 2, NOT_POSITIVE = 4, POSITIVE = 8, N_FACT = 4 };
/* Nodes that all proofs together may visit. */
enum { MOST_VISITS = 50 * 1000 * 1000 };

struct signs {
    const struct graph *graph;
    uint8_t *fact, *need;   /* of each node: facts that hold; facts that the proof needs */
    uint32_t *seen;         /* of each node: the latest proof that visited it */
    node *visited;          /* those of this proof */
    struct sign_need *leaf; /* what it needs of leaves */
    size_t n_visited, n_visit;
    uint32_t n_proof;
};

struct signs *signs_new(const struct graph *graph)
{
    size_t n = graph_n_node(graph);
    struct signs *signs = calloc(1, sizeof *signs);
    if (!signs)
        return NULL;
    signs->graph = graph;
    signs->fact = calloc(n, 1);
    signs->need = calloc(n, 1);
    signs->seen = calloc(n, sizeof *signs->seen);
    signs->visited = calloc(n, sizeof *signs->visited);
    signs->leaf = calloc(n, sizeof *signs->leaf);
    if (signs->fact && signs->need && signs->seen && signs->visited && signs->leaf)
        return signs;
    signs_free(signs);
    return NULL;
}

void signs_free(struct signs *signs)
{
    if (!signs)
        return;
    free(signs->fact);
    free(signs->need);
    free(signs->seen);
    free(signs->visited);
    free(signs->leaf);
    free(signs);
}

static int compare_nodes(const void *a, const void *b)
{
    node x = *(const node *)a, y = *(const node *)b;
    return (x > y) - (x < y);
}

/* Collects the nodes below root, arguments before their nodes. */
static void visit(struct signs *signs, node root)
{
    size_t n_done = 0;
    uint32_t proof = ++signs->n_proof;
    signs->visited[0] = root;
    signs->n_visited = 1;
    signs->seen[root] = proof;
    while (n_done < signs->n_visited) {
        const struct graph_node *it = graph_node(signs->graph, signs->visited[n_done++]);
        for (int k = 0; k < graph_n_argument(it->op); k++)
            if (signs->seen[it->arg[k]] != proof) {
                signs->seen[it->arg[k]] = proof;
                signs->visited[signs->n_visited++] = it->arg[k];
            }
    }
    qsort(signs->visited, signs->n_visited, sizeof *signs->visited, compare_nodes);
    signs->n_visit += signs->n_visited;
}

static uint8_t fact_of_constant(double value)
{
    return value == 0  ? ZERO | NOT_NEGATIVE | NOT_POSITIVE
           : value > 0 ? NOT_NEGATIVE | POSITIVE
           : value < 0 ? NOT_POSITIVE
                       : 0;
}

/* What is assumed of a leaf where state `own` is 0. */
static uint8_t fact_of_leaf(const struct graph_node *it, uint32_t own)
{
    switch (it->op) {
    case GRAPH_CONSTANT: return fact_of_constant(it->value);
    case GRAPH_STATE:
        return it->index == own ? ZERO | NOT_NEGATIVE | NOT_POSITIVE : NOT_NEGATIVE;
    case GRAPH_PARAMETER: case GRAPH_COVARIATE: return NOT_NEGATIVE | POSITIVE;
    case GRAPH_INPUT: case GRAPH_TIME: return NOT_NEGATIVE;
    default: return 0;
    }
}

static bool is_even(const struct graph *graph, node which)
{
    const struct graph_node *it = graph_node(graph, which);
    return it->op == GRAPH_CONSTANT && fmod(it->value, 2) == 0;
}

/* Facts of both arguments from which a fact of the operation follows. False: they do not hold. */
static bool both(const uint8_t *fact, uint8_t a, uint8_t b, uint8_t *premise)
{
    premise[0] = a;
    premise[1] = b;
    return (fact[0] & a) == a && (fact[1] & b) == b;
}

static bool sum(const uint8_t *fact, uint8_t wanted, bool is_difference, uint8_t *premise)
{
    uint8_t opposite = wanted == NOT_NEGATIVE ? NOT_POSITIVE : NOT_NEGATIVE;
    if (wanted == POSITIVE)
        return !is_difference && (both(fact, POSITIVE, NOT_NEGATIVE, premise) ||
                                  both(fact, NOT_NEGATIVE, POSITIVE, premise));
    return both(fact, wanted, is_difference && wanted != ZERO ? opposite : wanted, premise);
}

static bool product(const uint8_t *fact, uint8_t wanted, bool is_quotient, bool is_square,
                    uint8_t *premise)
{
    bool is_zero = both(fact, ZERO, 0, premise) || (!is_quotient && both(fact, 0, ZERO, premise));
    if (is_zero || wanted == ZERO)
        return is_zero && wanted != POSITIVE;
    if (wanted == POSITIVE)
        return both(fact, POSITIVE, POSITIVE, premise);
    if (wanted == NOT_NEGATIVE)
        return (is_square && both(fact, 0, 0, premise)) ||
               both(fact, NOT_NEGATIVE, NOT_NEGATIVE, premise) ||
               both(fact, NOT_POSITIVE, NOT_POSITIVE, premise);
    return both(fact, NOT_NEGATIVE, NOT_POSITIVE, premise) ||
           both(fact, NOT_POSITIVE, NOT_NEGATIVE, premise);
}

static bool choice(const uint8_t *fact, uint8_t wanted, bool is_largest, uint8_t *premise)
{
    uint8_t sufficient = is_largest ? NOT_NEGATIVE : NOT_POSITIVE,
            other = is_largest ? NOT_POSITIVE : NOT_NEGATIVE;
    if (wanted == ZERO)
        return both(fact, ZERO, other, premise) ||
               both(fact, other, ZERO, premise);
    bool is_one_enough = wanted == sufficient || (is_largest && wanted == POSITIVE);
    return is_one_enough ? both(fact, wanted, 0, premise) || both(fact, 0, wanted, premise)
                         : both(fact, wanted, wanted, premise);
}

static bool power(const struct graph *graph, const struct graph_node *it, const uint8_t *fact,
                  uint8_t wanted, uint8_t *premise)
{
    if (wanted == NOT_NEGATIVE)
        return (is_even(graph, it->arg[1]) && both(fact, 0, 0, premise)) ||
               both(fact, NOT_NEGATIVE, 0, premise);
    if (wanted == POSITIVE)
        return both(fact, POSITIVE, 0, premise);
    return both(fact, ZERO, POSITIVE, premise);
}

/* Whether a fact of an operation follows from facts of its arguments: from which ones. */
static bool follows(const struct graph *graph, const struct graph_node *it, const uint8_t *fact,
                    uint8_t wanted, uint8_t premise[3])
{
    memset(premise, 0, 3);
    if ((it->op == GRAPH_DIVIDE && fact[1] & ZERO) ||
        (it->op == GRAPH_RECIPROCAL && fact[0] & ZERO))
        return false; /* infinite, of either sign */
    switch (it->op) {
    case GRAPH_ADD: case GRAPH_SUBTRACT:
        return sum(fact, wanted, it->op == GRAPH_SUBTRACT, premise);
    case GRAPH_MULTIPLY: case GRAPH_DIVIDE:
        return product(fact, wanted, it->op == GRAPH_DIVIDE, it->arg[0] == it->arg[1], premise);
    case GRAPH_POWER: return power(graph, it, fact, wanted, premise);
    case GRAPH_MIN: case GRAPH_MAX: return choice(fact, wanted, it->op == GRAPH_MAX, premise);
    case GRAPH_SELECT:
        premise[1] = premise[2] = wanted;
        return fact[1] & fact[2] & wanted;
    case GRAPH_NEGATE:
        premise[0] = wanted == NOT_NEGATIVE   ? NOT_POSITIVE
                     : wanted == NOT_POSITIVE ? NOT_NEGATIVE
                                              : wanted;
        return wanted != POSITIVE && fact[0] & premise[0];
    case GRAPH_RECIPROCAL: case GRAPH_CBRT: case GRAPH_EXPM1: case GRAPH_LOG1P: case GRAPH_ASIN:
    case GRAPH_ATAN: case GRAPH_SINH: case GRAPH_TANH: case GRAPH_ASINH: case GRAPH_ATANH:
    case GRAPH_ERF: case GRAPH_SIGN: /* odd, or with the sign of their argument */
        premise[0] = wanted;
        return (it->op != GRAPH_RECIPROCAL || wanted != ZERO) && fact[0] & wanted;
    case GRAPH_SQRT: case GRAPH_ABS: case GRAPH_FLOOR: case GRAPH_CEIL:
        premise[0] = wanted;
        if (wanted == NOT_NEGATIVE && (it->op == GRAPH_SQRT || it->op == GRAPH_ABS))
            premise[0] = 0;
        return wanted != POSITIVE && (fact[0] & premise[0]) == premise[0];
    case GRAPH_EXP: case GRAPH_COSH: return wanted == NOT_NEGATIVE || wanted == POSITIVE;
    case GRAPH_SIN: case GRAPH_TAN: premise[0] = ZERO; return wanted == ZERO && fact[0] & ZERO;
    case GRAPH_ACOS: case GRAPH_ACOSH: case GRAPH_ERFC: case GRAPH_HEAVISIDE: case GRAPH_LESS:
    case GRAPH_LESS_EQUAL: case GRAPH_EQUAL: case GRAPH_NOT_EQUAL: case GRAPH_AND: case GRAPH_OR:
    case GRAPH_NOT: return wanted == NOT_NEGATIVE;
    default: return false;
    }
}

static void take_facts(const struct signs *signs, const struct graph_node *it, uint8_t fact[3])
{
    for (int k = 0; k < 3; k++)
        fact[k] = k < graph_n_argument(it->op) ? signs->fact[it->arg[k]] : 0;
}

static void find_facts(struct signs *signs, uint32_t own)
{
    for (size_t i = 0; i < signs->n_visited; i++) {
        node which = signs->visited[i];
        const struct graph_node *it = graph_node(signs->graph, which);
        uint8_t fact[3], premise[3], found = 0;
        take_facts(signs, it, fact);
        for (int k = 0; k < N_FACT && graph_n_argument(it->op) > 0; k++)
            if (follows(signs->graph, it, fact, (uint8_t)(1 << k), premise))
                found |= (uint8_t)(1 << k);
        if (graph_n_argument(it->op) == 0)
            found = fact_of_leaf(it, own);
        signs->fact[which] = found | (found & ZERO ? NOT_NEGATIVE | NOT_POSITIVE : 0);
        signs->need[which] = 0;
    }
}

/* What node `which` needs becomes needs of its arguments. A zero is proved as such: the rest of
 * the product does not matter. */
static void pass_needs_down(struct signs *signs, node which)
{
    const struct graph_node *it = graph_node(signs->graph, which);
    uint8_t fact[3], premise[3], need = signs->need[which];
    take_facts(signs, it, fact);
    if (signs->fact[which] & ZERO && need)
        need = ZERO;
    for (int k = 0; k < N_FACT; k++) {
        if (!(need >> k & 1) || !follows(signs->graph, it, fact, (uint8_t)(1 << k), premise))
            continue;
        for (int a = 0; a < graph_n_argument(it->op); a++)
            signs->need[it->arg[a]] |= premise[a];
    }
}

const struct sign_need *signs_prove(struct signs *signs, node rate, uint32_t state, size_t *n_need)
{
    *n_need = 0;
    if (signs->n_visit > MOST_VISITS)
        return NULL;
    visit(signs, rate);
    find_facts(signs, state);
    if (!(signs->fact[rate] & NOT_NEGATIVE))
        return NULL;
    signs->need[rate] = NOT_NEGATIVE;
    for (size_t i = signs->n_visited; i-- > 0;)
        pass_needs_down(signs, signs->visited[i]);
    for (size_t i = 0; i < signs->n_visited; i++) {
        node which = signs->visited[i];
        const struct graph_node *it = graph_node(signs->graph, which);
        bool is_leaf = graph_n_argument(it->op) == 0 && it->op != GRAPH_CONSTANT,
             is_own = it->op == GRAPH_STATE && it->index == state;
        if (is_leaf && !is_own && signs->need[which])
            signs->leaf[(*n_need)++] =
                (struct sign_need){it->op, it->index, signs->need[which] & POSITIVE};
    }
    return signs->leaf;
}
