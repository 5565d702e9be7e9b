/* Chooses the nodes of a listing that have a name: intermediates and observables, and temporaries for parts that several
 * formulas share or that are too large or deep to be read. Without temporaries the text of n nodes could have 2^n letters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/generate/listing_internal.h"

#include <stdlib.h>

/* A part that is used twice gets a name above this number of operations: equations should look as written, while derivatives
 * share many parts. LARGE and DEEP apply to any part (man 5: parentheses nest 1000 deep). */
enum { SHARED_IN_EQUATIONS = 20, SHARED_IN_DERIVATIVES = 5, LARGE = 1000, LARGE_LATEX = 60, DEEP = 100 };

/* Per node, for the current part of the listing. */
struct use {
    uint32_t size;     /* operations that would be printed */
    uint16_t depth;    /* largest depth of parentheses */
    uint8_t count;     /* 0, 1, 2 = several */
    bool is_root;
};

static void count_use(struct use *use, node which)
{
    if (use[which].count < 2)
        use[which].count++;
}

static bool add_temporary(struct listing *listing, node which)
{
    if (listing->n_temporary == listing->room_temporary) {
        size_t room = listing->room_temporary ? 2 * listing->room_temporary : 64;
        node *temporary = realloc(listing->temporary, room * sizeof *temporary);
        if (!temporary)
            return false;
        listing->temporary = temporary;
        listing->room_temporary = room;
    }
    listing->temporary[listing->n_temporary++] = which;
    listing->label[which] = (uint32_t)(listing->n_name + listing->n_temporary);
    return true;
}

/* The first term of a sum or product, and the last one of a row of choices, need no parentheses. */
static bool is_flat(const struct listing *listing, node which, int i)
{
    enum graph_op op = graph_node(listing->equations->graph, which)->op;
    if (listing_is_swapped(listing, which))
        return i == 1;
    bool is_left = op == GRAPH_ADD || op == GRAPH_SUBTRACT || op == GRAPH_MULTIPLY || op == GRAPH_DIVIDE || op == GRAPH_AND ||
                   op == GRAPH_OR;
    return (is_left && i == 0) || (op == GRAPH_SELECT && i == 2);
}

static void measure(const struct listing *listing, struct use *use, node which)
{
    const struct graph *graph = listing->equations->graph;
    const struct graph_node *it = graph_node(graph, which);
    uint64_t size = 1;
    unsigned depth = 0;
    for (int i = 0; i < graph_n_argument(it->op); i++) {
        node arg = it->arg[i];
        if (listing->label[arg] || graph_n_argument(graph_node(graph, arg)->op) == 0)
            continue;
        size += use[arg].size;
        unsigned inner = use[arg].depth + !is_flat(listing, which, i);
        depth = inner > depth ? inner : depth;
    }
    use[which].size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    use[which].depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
}

/* Names nodes below the roots, already counted, that need one. Nodes with a name are skipped unless `through_names`. */
static bool label_below(struct listing *listing, struct use *use, bool through_names, uint32_t shared)
{
    const struct graph *graph = listing->equations->graph;
    size_t n = graph_n_node(graph);
    for (size_t i = n; i-- > 0;) {
        const struct graph_node *it = graph_node(graph, (node)i);
        if (use[i].count == 0 || (listing->label[i] && !through_names))
            continue;
        for (int k = 0; k < graph_n_argument(it->op); k++)
            count_use(use, it->arg[k]);
    }
    uint32_t large = listing->is_latex ? LARGE_LATEX : LARGE;
    for (size_t i = 0; i < n; i++) {
        if (use[i].count == 0 || graph_n_argument(graph_node(graph, (node)i)->op) == 0)
            continue;
        measure(listing, use, (node)i);
        bool is_lone_root = use[i].is_root && use[i].count == 1;
        bool wanted = (use[i].count > 1 && use[i].size >= shared) || use[i].size > large || use[i].depth > DEEP;
        if (wanted && !is_lone_root && !listing->label[i] && !add_temporary(listing, (node)i))
            return false;
    }
    return true;
}

static void add_root(struct use *use, node root)
{
    count_use(use, root);
    use[root].is_root = true;
}

/* A node is printed as its first name wherever it is used; leaves have their own. */
static void label_named(struct listing *listing, node which, size_t i_name)
{
    const struct graph *graph = listing->equations->graph;
    if (graph_n_argument(graph_node(graph, which)->op) > 0 && !listing->label[which])
        listing->label[which] = (uint32_t)(i_name + 1);
}

bool listing_label_equations(struct listing *listing)
{
    const struct equations *equations = listing->equations;
    size_t n = graph_n_node(equations->graph);
    listing->label = calloc(n, sizeof *listing->label);
    struct use *use = calloc(n, sizeof *use);
    if (!listing->label || !use) {
        free(use);
        return false;
    }
    for (uint32_t i = 0; i < equations->n_intermediate; i++) {
        label_named(listing, equations->intermediate[i].value, listing->first[NAME_INTERMEDIATE] + i);
        add_root(use, equations->intermediate[i].value);
    }
    for (uint32_t i = 0; i < equations->n_observable; i++) {
        label_named(listing, equations->observable[i].value, listing->first[NAME_OBSERVABLE] + i);
        add_root(use, equations->observable[i].value);
        if (equations->observable[i].noise != NODE_NONE)
            add_root(use, equations->observable[i].noise);
    }
    for (uint32_t i = 0; i < equations->n_state; i++) {
        add_root(use, equations->state[i].initial);
        add_root(use, equations->state[i].rhs);
    }
    bool done = label_below(listing, use, true, SHARED_IN_EQUATIONS);
    listing->n_equation_temporary = listing->n_temporary;
    free(use);
    return done;
}

bool listing_label_derivatives(struct listing *listing)
{
    if (!listing->functions)
        return true;
    struct use *use = calloc(graph_n_node(listing->equations->graph), sizeof *use);
    if (!use)
        return false;
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++) {
        const struct graph_matrix *matrix = &listing->functions->of[f];
        for (size_t k = 0; k < matrix->n_entry; k++)
            add_root(use, matrix->entry[k]);
    }
    bool done = label_below(listing, use, false, SHARED_IN_DERIVATIVES);
    free(use);
    return done;
}
