/* Reading a model text when the k-th allocation fails, for every k, once and lastingly: out of memory is said, nothing
 * crashes or is lost, and no half of a model comes back.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "text_case.h"
#include "../fault/replaces_malloc.h"

#include <errno.h>

static long countdown;
static bool lasting; /* all later ones fail too */
static bool has_failed;
static long n_live;  /* blocks that are not freed yet */

#if REPLACES_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool fails(void)
{
    if (countdown <= 0)
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

static void *counted(void *block)
{
    n_live += block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (fails())
        return NULL;
    void *longer = __libc_realloc(block, size);
    return block ? longer : counted(longer);
}

void free(void *block)
{
    n_live -= block != NULL;
    __libc_free(block);
}
#endif

/* Long enough for every array to grow. */
static char *long_text(bool with_faults)
{
    enum { SIZE = 40000 };
    char *text = calloc(SIZE, 1), *end = text;
    end += sprintf(end, "model m \"it\"\ntime unit \"s\" from 1\ncovariate w unit \"kg\"\n"
                        "f(a, b) = if a > b then a else b^2\n"
                        "constant c = 2*3\nobserve sum = x0 + f(x1, c) sd 0.1*p0 + min(1, w, x2) unit \"u\"\n");
    for (int i = 0; i < 150; i++)
        end += sprintf(end, "x%d' = -p%d*x%d*y%d + abs(x%d)\nx%d(0) = p%d*w unit \"M\"\ny%d = exp(x%d) + %d\n"
                            "parameter p%d = %d in [0, c*1e3] scale log unit \"1/s\"\n",
                       i, i, i, i, i, i, i, i, (i + 1) % 150, i, i, i + 1);
    if (with_faults)
        for (int i = 0; i < 60; i++)
            end += sprintf(end, "z%d = y%dy + 1\nw%d = 3 +\nq%d = q%d\n", i, i, i, i, i);
    return text;
}

static void check_every_allocation(bool with_faults)
{
    if (!REPLACES_MALLOC) {
        print_message("a sanitizer owns malloc: skipped\n");
        skip();
    }
    char *text = long_text(with_faults);
    for (int kind = 0; kind < 2; kind++) {
        lasting = kind;
        long k = 1;
        for (has_failed = true; has_failed; k++) {
            struct text_messages messages = {0};
            struct equations *equations;
            struct error error;
            long before = n_live;
            countdown = k;
            has_failed = false;
            enum status status = text_parse(text, strlen(text), "m.ode", &equations, &messages, &error);
            countdown = 0;
            if (has_failed) {
                assert_int_equal(status, STATUS_NO_MEMORY);
                assert_null(equations);
                assert_non_null(strstr(error.message, "m.ode"));
            } else {
                assert_int_equal(status, with_faults ? STATUS_BAD_MODEL : STATUS_OK);
            }
            equations_free(equations);
            text_messages_fini(&messages);
            assert_int_equal(n_live, before);
        }
        assert_true(k > 30); /* it does allocate */
    }
    free(text);
}

static void test_good_text(void **state)
{
    (void)state;
    check_every_allocation(false);
}

static void test_text_with_faults(void **state)
{
    (void)state;
    check_every_allocation(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good_text), cmocka_unit_test(test_text_with_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
