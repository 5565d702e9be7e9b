/* Threads that cannot be created: the scheduler goes on with those it got, and fails cleanly if it got none to work.
 * Of many it gives half back, because their stacks may have taken the last memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/schedule.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static int n_allowed;
static _Atomic int n_done;

/* Takes the place of the C library's for the whole program. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*entry)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
    return n_allowed-- > 0 ? real(thread, attributes, entry, argument) : EAGAIN;
}

static bool refill(void *context, uint32_t *first, uint32_t *last)
{
    int *n_refill = context;
    *first = 0;
    *last = 500;
    return (*n_refill)++ == 0;
}
static struct job *start(void *context, size_t lane, uint32_t item)
{
    static struct job jobs[500];
    (void)context, (void)lane;
    return &jobs[item];
}
static bool resume(void *context, size_t lane, struct job *job)
{
    (void)context, (void)lane, (void)job;
    return false;
}
static void finish(void *context, size_t lane, struct job *job)
{
    (void)context, (void)lane, (void)job;
    atomic_fetch_add(&n_done, 1);
}

static void some_or_none(void **state)
{
    (void)state;
    if (__has_feature(thread_sanitizer)) {
        print_message("clang's ThreadSanitizer is linked in and cannot have its pthread_create replaced\n");
        skip();
    }
    static const int some[] = {0, 1, 2, 3, 4, 5, 10, 17}; /* one refills, sixteen work */
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        int allowed = some[i], kept = allowed > 4 && allowed < 17 ? allowed / 2 : allowed;
        int n_refill = 0;
        struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
        struct schedule_client client = {.context = &n_refill, .refill = refill, .start = start, .resume = resume,
                                         .finish = finish};
        struct error error = {STATUS_OK, ""};
        struct engine *const no_engine[16] = {NULL};
        options.n_worker = 16;
        options.engine = no_engine;
        struct schedule *schedule = schedule_new(&options, &client, &error);
        assert_non_null(schedule);
        atomic_store(&n_done, 0);
        n_allowed = allowed;
        enum status status = schedule_start(schedule, &error);
        if (allowed < 2) {
            assert_int_equal(status, STATUS_NO_MEMORY);
            assert_non_null(strstr(error.message, "thread"));
        } else {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(schedule_n_worker(schedule), kept - 1);
            schedule_join(schedule);
            assert_int_equal(atomic_load(&n_done), 500);
        }
        schedule_free(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(some_or_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
