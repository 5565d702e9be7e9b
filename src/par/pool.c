/* A set of threads that wait behind a gate, which opens when their number is known.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/pool.h"

#include "par/monitor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Address space, not memory. Models may keep arrays on the stack, and the shell's limit may be
 * small or none. */
enum { STACK_BYTES = 8 << 20 };

struct pool_thread {
    struct pool *pool;
    pthread_t thread;
    size_t number;
};

struct pool {
    struct monitor gate;
    bool open;                                   /* under the gate's mutex */
    size_t n_kept;                               /* under the mutex: threads from here on return */
    void (*work)(void *context, size_t thread);  /* NULL at an open gate: return */
    void *context;
    size_t n_thread;
    char name[8];
    struct pool_thread thread[];
};

/* Foreign code may call pthread_exit. Its job would then never end, and nothing would notice. */
static void die_of_exit(void *unused)
{
    (void)unused;
    abort();
}

static void *thread_main(void *argument)
{
    struct pool_thread *self = argument;
    struct pool *pool = self->pool;
#ifdef __linux__
    char name[16]; /* the kernel's limit */
    snprintf(name, sizeof name, "%.7s-%u", pool->name, (unsigned)(self->number % 1000000));
    pthread_setname_np(pthread_self(), name);
#endif
    monitor_enter(&pool->gate);
    while (!pool->open && self->number < pool->n_kept)
        monitor_wait(&pool->gate, -1);
    bool is_kept = self->number < pool->n_kept;
    monitor_leave(&pool->gate);
    if (pool->work && is_kept) {
        pthread_cleanup_push(die_of_exit, NULL);
        pool->work(pool->context, self->number);
        pthread_cleanup_pop(0);
    }
    return NULL;
}

/* All signals except those raised by a fault of the thread itself: if blocked, these would kill
 * without running a handler. */
static void worker_signals(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(set, own[i]);
}

static int create_threads(struct pool *pool, size_t n_thread)
{
    pthread_attr_t attributes;
    sigset_t blocked, before;
    int failed = pthread_attr_init(&attributes);
    if (failed)
        return failed;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    worker_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before); /* new threads inherit the mask */
    while (pool->n_thread < n_thread && !failed) {
        struct pool_thread *thread = &pool->thread[pool->n_thread];
        *thread = (struct pool_thread){.pool = pool, .number = pool->n_thread};
        failed = pthread_create(&thread->thread, &attributes, thread_main, thread);
        pool->n_thread += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

/* Stacks must not take the last memory, which the threads' work needs. */
static void release_half(struct pool *pool)
{
    size_t n_thread = pool->n_thread, n_kept = n_thread > 4 ? n_thread / 2 : n_thread;
    monitor_enter(&pool->gate);
    pool->n_kept = n_kept;
    monitor_notify(&pool->gate);
    monitor_leave(&pool->gate);
    for (pool->n_thread = n_kept; n_kept < n_thread; n_kept++)
        pthread_join(pool->thread[n_kept].thread, NULL);
}

struct pool *pool_new(size_t n_thread, const char *name, struct error *error)
{
    struct pool *pool =
        n_thread < 1 << 20 ? calloc(1, sizeof *pool + n_thread * sizeof pool->thread[0]) : NULL;
    if (!pool || !monitor_init(&pool->gate)) {
        free(pool);
        error_set(error, STATUS_NO_MEMORY, "out of memory for %zu threads", n_thread);
        return NULL;
    }
    snprintf(pool->name, sizeof pool->name, "%s", name);
    pool->n_kept = n_thread;
    int failed = create_threads(pool, n_thread);
    if (failed)
        release_half(pool);
    if (pool->n_thread == 0) {
        error_set(error, STATUS_NO_MEMORY, "cannot create a thread: %s", strerror(failed));
        monitor_fini(&pool->gate);
        free(pool);
        return NULL;
    }
    return pool;
}

size_t pool_n_thread(const struct pool *pool) { return pool->n_thread; }

void pool_run(struct pool *pool, void (*work)(void *context, size_t thread), void *context)
{
    monitor_enter(&pool->gate);
    pool->work = work;
    pool->context = context;
    pool->open = true;
    monitor_notify(&pool->gate);
    monitor_leave(&pool->gate);
}

void pool_join(struct pool *pool)
{
    if (!pool)
        return;
    monitor_enter(&pool->gate);
    pool->open = true;
    monitor_notify(&pool->gate);
    monitor_leave(&pool->gate);
    for (size_t i = 0; i < pool->n_thread; i++)
        pthread_join(pool->thread[i].thread, NULL);
    monitor_fini(&pool->gate);
    free(pool);
}
