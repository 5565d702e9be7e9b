/* Code generation whose k-th allocation fails, for every k: it says so, and what was held is given back.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "../unit/generate_case.h"
#include "../unit/listing_case.h"
#include "replaces_malloc.h"

#include <errno.h>

static long countdown, n_held;
static bool lasting, counting; /* all later ones fail too; blocks are counted */

#if REPLACES_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

static bool fails(void)
{
    if (countdown == 0 || countdown-- > 1)
        return false;
    if (lasting)
        countdown = 1;
    errno = ENOMEM;
    return true;
}

static void *held(void *block)
{
    n_held += counting && block;
    return block;
}

void *malloc(size_t size) { return fails() ? NULL : held(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : held(__libc_calloc(count, size)); }

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, size) : held(__libc_malloc(size));
}

void free(void *old)
{
    n_held -= counting && old;
    __libc_free(old);
}
#endif

static enum status generate(const struct generate_case *c, int what, FILE *out, struct error *error)
{
    struct function_cost cost[N_FUNCTION_COST];
    switch (what) {
    case 0: return generate_c(c->equations, &c->functions, out, error);
    case 1: return generate_cost(c->equations, &c->functions, cost, error);
    default: return generate_listing(c->equations, &c->functions, what == 2 ? NOTATION_TEXT : NOTATION_LATEX, out, error);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    if (!REPLACES_MALLOC)
        skip();
    struct equations *e = case_equations(20, 3, 1, 2);
    struct graph *g = e->graph;
    node p = graph_leaf(g, GRAPH_PARAMETER, 0), c1 = graph_leaf(g, GRAPH_COVARIATE, 0);
    node fixed = graph_unary(g, GRAPH_EXP, graph_binary(g, GRAPH_DIVIDE, p, c1));
    for (uint32_t i = 0; i < 20; i++) {
        node y = graph_leaf(g, GRAPH_STATE, i), next = graph_leaf(g, GRAPH_STATE, (i + 1) % 20), rate = y;
        for (int k = 0; k < 20; k++) /* enough for several parts */
            rate = graph_binary(g, GRAPH_ADD, y, graph_unary(g, GRAPH_SIN, rate));
        e->state[i].rhs = graph_binary(g, GRAPH_SUBTRACT, graph_binary(g, GRAPH_MULTIPLY, fixed, next), rate);
        e->state[i].initial = p;
    }
    e->observable[0].value = graph_leaf(g, GRAPH_STATE, 3);
    e->observable[1].value = fixed;
    struct generate_case c;
    case_generate(&c, e);
    static char buffer[1 << 16];
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    assert_int_equal(setvbuf(out, buffer, _IOFBF, sizeof buffer), 0);
    for (int kind = 0; kind < 8; kind++) {
        enum status status = STATUS_NO_MEMORY;
        long k = 1;
        for (; status != STATUS_OK; k++) {
            struct error error = {0};
            n_held = 0;
            lasting = kind % 2;
            counting = true;
            countdown = k;
            status = generate(&c, kind / 2, out, &error);
            countdown = 0;
            counting = false;
            assert_int_equal(n_held, 0);
            assert_true(status == STATUS_OK || status == STATUS_NO_MEMORY);
            assert_true(status == STATUS_OK || (error.status == STATUS_NO_MEMORY && error.message[0]));
        }
        assert_true(k > (kind < 4 ? 50 : 20)); /* listings take less */
    }
    assert_int_equal(fclose(out), 0);
    case_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
