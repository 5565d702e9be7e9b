/* The expression graph and its derivatives where the k-th allocation fails, once or from then on, for every k: an
 * error that stays, never a crash; and nothing is leaked or left half-made.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/graph_case.h"
#include "replaces_malloc.h"

#include "model/graph/functions.h"

#include <errno.h>

static long countdown, n_alive;
static bool is_watching, has_failed, lasting; /* all later ones fail too */

#if REPLACES_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static bool fails(void)
{
    if (!is_watching || countdown <= 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    if (!lasting)
        countdown = 0;
    has_failed = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    void *made = fails() ? NULL : __libc_malloc(size);
    n_alive += is_watching && made;
    return made;
}

void *calloc(size_t count, size_t size)
{
    void *made = fails() ? NULL : __libc_calloc(count, size);
    n_alive += is_watching && made;
    return made;
}

void *realloc(void *old, size_t size)
{
    void *made = fails() ? NULL : __libc_realloc(old, size);
    n_alive += is_watching && made && !old;
    return made;
}

void free(void *old)
{
    n_alive -= is_watching && old;
    __libc_free(old);
}
#endif

enum { N_STATE = 120 };

/* A chain of reactions with more nodes than the graph starts with room for. */
static enum status derive(void)
{
    struct equation_state states[N_STATE] = {{0}};
    struct equation_parameter parameters[N_STATE] = {{0}};
    struct equation_observable observable = {.noise = 0};
    struct equations equations = {.state = states, .parameter = parameters, .observable = &observable,
                                  .n_state = N_STATE,
                                  .n_parameter = N_STATE, .n_observable = 1, .graph = graph_new()};
    struct graph *graph = equations.graph;
    struct functions functions;
    if (!graph)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < N_STATE; i++) {
        node from = graph_leaf(graph, GRAPH_STATE, i), to = graph_leaf(graph, GRAPH_STATE, (i + 1) % N_STATE);
        node k = graph_leaf(graph, GRAPH_PARAMETER, i);
        node rate = graph_binary(graph, GRAPH_MULTIPLY, graph_unary(graph, GRAPH_EXP, k),
                                 graph_binary(graph, GRAPH_DIVIDE, from, graph_binary(graph, GRAPH_ADD, to, k)));
        states[i].rhs = graph_binary(graph, GRAPH_SUBTRACT, rate, from);
        states[i].initial = k;
        observable.value = graph_binary(graph, GRAPH_ADD, observable.value, rate);
    }
    struct error error = {0};
    enum status status = functions_derive(&equations, &functions, &error);
    if (status == STATUS_OK) {
        is_watching = false;
        assert_true(functions.of[FUNCTION_jacobian].n_entry == 2 * N_STATE);
        is_watching = true;
    } else {
        for (int i = 0; i < N_MODEL_FUNCTION; i++)
            if (functions.of[i].entry || functions.of[i].row || functions.of[i].column_start)
                status = STATUS_INTERNAL;
        if (error.status != STATUS_NO_MEMORY || !error.message[0])
            status = STATUS_INTERNAL;
    }
    functions_fini(&functions);
    graph_free(graph);
    return status;
}

static void test_every_allocation(void **state)
{
    (void)state;
    if (!REPLACES_MALLOC) {
        print_message("a sanitizer owns malloc: skipped\n");
        skip();
    }
    for (int kind = 0; kind < 2; kind++) {
        lasting = kind;
        long k = 1, n_failed = 0;
        for (bool hit = true; hit; k++) {
            countdown = k;
            n_alive = 0;
            is_watching = true;
            enum status status = derive();
            is_watching = false;
            hit = has_failed;
            countdown = 0;
            has_failed = false;
            assert_int_equal(n_alive, 0);
            assert_int_equal(status, hit ? STATUS_NO_MEMORY : STATUS_OK);
            n_failed += status == STATUS_NO_MEMORY;
        }
        assert_true(n_failed > 50); /* seven sweeps of a dozen arrays each, and the graph's growth */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
