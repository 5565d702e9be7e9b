/* Threads: each number once, signals go elsewhere, a pool that never ran can be joined.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 5 };
struct notes {
    int n_call[N];
    bool blocks_term[N], blocks_segv[N];
    char name[N][16];
};

static void note(void *context, size_t thread)
{
    struct notes *notes = context;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    notes->n_call[thread]++;
    notes->blocks_term[thread] = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
    notes->blocks_segv[thread] = sigismember(&mask, SIGSEGV) == 1;
    pthread_getname_np(pthread_self(), notes->name[thread], sizeof notes->name[thread]);
}

static void each_thread_once(void **state)
{
    (void)state;
    struct notes notes;
    memset(&notes, 0, sizeof notes);
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    struct pool *pool = pool_new(N, "tester-with-a-long-name", NULL);
    assert_non_null(pool);
    assert_int_equal(pool_n_thread(pool), N);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM)); /* the caller's mask is as it was */
    pool_run(pool, note, &notes);
    pool_join(pool);
    for (int i = 0; i < N; i++) {
        assert_int_equal(notes.n_call[i], 1);
        assert_true(notes.blocks_term[i]);
        assert_false(notes.blocks_segv[i]);
        assert_int_equal(notes.name[i][strlen(notes.name[i]) - 1], '0' + i);
    }
}

static void never_run(void **state)
{
    (void)state;
    pool_join(NULL);
    pool_join(pool_new(3, "idle", NULL));
    struct error error;
    assert_null(pool_new(SIZE_MAX / 2, "huge", &error));
    assert_int_equal(error.status, STATUS_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_thread_once), cmocka_unit_test(never_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
