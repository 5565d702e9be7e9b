/* What the tests of the listing share: equations from text, their listing as text, and marks by which equal expressions of two
 * graphs are known.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_UNIT_LISTING_CASE_H
#define TESTS_UNIT_LISTING_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../graph_values.h"
#include "base/random.h"
#include "model/generate/generate.h"
#include "model/text/text.h"

#include <stdlib.h>
#include <string.h>

/* Equations and all derivatives. */
static inline enum status generate_listing(const struct equations *equations, const struct functions *functions,
                                           enum notation notation, FILE *out, struct error *error)
{
    struct listing *listing = listing_new(equations, functions, notation);
    if (!listing)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the equations as text");
    listing_intermediates(listing, out);
    listing_initial(listing, out);
    listing_rhs(listing, out);
    listing_observables(listing, out);
    listing_temporaries(listing, out);
    for (int f = FUNCTION_jacobian; f < N_MODEL_FUNCTION; f++)
        listing_derivative(listing, (enum model_function)f, out);
    bool failed = listing_failed(listing);
    listing_free(listing);
    return failed ? error_set(error, STATUS_NO_MEMORY, "out of memory for the equations as text") : STATUS_OK;
}

static inline struct equations *listing_parse(const char *text)
{
    struct equations *equations = NULL;
    struct text_messages messages = {0};
    struct error error = {.status = STATUS_OK};
    if (text_parse(text, strlen(text), "case.ode", &equations, &messages, &error))
        fail_msg("%s\nin\n%.2000s", error.message, text);
    text_messages_fini(&messages);
    return equations;
}

typedef void listing_part(struct listing *listing, FILE *out);

/* What `part` prints; to be freed. */
static inline char *listing_text(struct listing *listing, listing_part *part)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    part(listing, out);
    assert_int_equal(fclose(out), 0);
    assert_false(listing_failed(listing));
    return text;
}

static inline char *listing_of_node(struct listing *listing, node which, bool by_name)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    (by_name ? listing_expression : listing_definition)(listing, which, out);
    assert_int_equal(fclose(out), 0);
    assert_false(listing_failed(listing));
    return text;
}

/* One number for each node: the same for equal expressions in any graph, whatever the order of their sums and products. To be
 * freed. */
static inline uint64_t *listing_marks(const struct graph *graph)
{
    size_t n = graph_n_node(graph);
    uint64_t *mark = malloc(n * sizeof *mark);
    assert_non_null(mark);
    for (size_t i = 0; i < n; i++) {
        const struct graph_node *it = graph_node(graph, (node)i);
        uint64_t key[3] = {0, 0, 0};
        if (it->op == GRAPH_CONSTANT)
            memcpy(key, &it->value, sizeof it->value);
        else if (graph_n_argument(it->op) == 0)
            key[0] = it->index;
        for (int k = 0; k < graph_n_argument(it->op); k++)
            key[k] = mark[it->arg[k]];
        bool commutes = it->op == GRAPH_ADD || it->op == GRAPH_MULTIPLY || it->op == GRAPH_EQUAL ||
                        it->op == GRAPH_NOT_EQUAL || it->op == GRAPH_AND || it->op == GRAPH_OR;
        if (commutes && key[1] < key[0]) {
            uint64_t kept = key[0];
            key[0] = key[1];
            key[1] = kept;
        }
        mark[i] = random_bits(random_bits(key[0], key[1], key[2]), (uint64_t)it->op, 1);
    }
    return mark;
}

#endif
