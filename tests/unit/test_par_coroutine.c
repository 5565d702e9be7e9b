/* Coroutines: values and registers across switches, other threads, reuse, floating-point modes, the guard page.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine.h"
#include "par/pool.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { STACK = 256 * 1024 }; /* room for instrumented frames and printf */

struct task {
    struct coroutine *coroutine;
    int n, i;
    double sum;
    uintptr_t misaligned;
};

static void count(void *argument)
{
    struct task *task = argument;
    for (task->i = 0; task->i < task->n; task->i++)
        coroutine_suspend(task->coroutine);
}

static void suspends_and_returns(void **state)
{
    (void)state;
    struct task task = {.coroutine = coroutine_new(STACK), .n = 3};
    assert_non_null(task.coroutine);
    for (int round = 0; round < 10000; round++) { /* one stack for all of them */
        coroutine_prepare(task.coroutine, count, &task);
        for (int i = 0; i < 3; i++) {
            assert_true(coroutine_resume(task.coroutine));
            assert_int_equal(task.i, i);
        }
        assert_false(coroutine_resume(task.coroutine));
        assert_int_equal(task.i, 3);
    }
    coroutine_free(task.coroutine);
}

static void freed_unused(void **state)
{
    (void)state;
    coroutine_free(NULL);
    coroutine_free(coroutine_new(1)); /* rounded up to a page */
    struct task task = {.coroutine = coroutine_new(STACK)};
    coroutine_prepare(task.coroutine, count, &task); /* prepared and never entered */
    coroutine_free(task.coroutine);
    assert_null(coroutine_new(SIZE_MAX));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_null(coroutine_new(SIZE_MAX / 4)); /* more than any address space has */
#endif
}

/* A sum that keeps many values in callee-saved registers; with a coroutine it suspends after every term. */
static double mixed_sum(struct coroutine *coroutine, long n)
{
    long a = 1, b = 2, c = 3, d = 5, e = 7;
    double x = 1, y = 0.5, z = 0.25, sum = 0;
    for (long i = 1; i <= n; i++) {
        a = (a * 31 + b) % 1000003, b = (b * 37 + c) % 1000003, c = (c * 41 + d) % 1000003, d = (d * 43 + e) % 1000003;
        e = (e * 47 + a) % 1000003;
        x += y / (double)i, y += z / (double)i, z += 1.0 / (double)(i + a % 7);
        if (coroutine)
            coroutine_suspend(coroutine);
        sum += (double)(a + b + c + d + e) * x + y - z;
    }
    return sum;
}

static void sum_inside(void *argument)
{
    struct task *task = argument;
    task->sum = mixed_sum(task->coroutine, task->n);
}

static void keeps_registers(void **state)
{
    (void)state;
    struct task task[2] = {{.coroutine = coroutine_new(STACK), .n = 1000}, {.coroutine = coroutine_new(STACK), .n = 1300}};
    for (int i = 0; i < 2; i++)
        coroutine_prepare(task[i].coroutine, sum_inside, &task[i]);
    int n_left = 2;
    for (int i = 0; n_left > 0; i++) /* 1001 and 1301 resumes, interleaved until the first ends */
        if (i < 2002 ? !coroutine_resume(task[i % 2].coroutine) : !coroutine_resume(task[1].coroutine))
            n_left--;
    for (int i = 0; i < 2; i++) {
        assert_true(task[i].sum == mixed_sum(NULL, task[i].n)); /* the same operations, so the same bits */
        coroutine_free(task[i].coroutine);
    }
}

/* Aligned vector stores are what breaks first where the ABI's stack alignment is not kept. */
static void aligned(void *argument)
{
    struct task *task = argument;
    _Alignas(16) volatile double pair[2] = {1, 2};
    task->misaligned = (uintptr_t)&pair[0] % 16 + (uintptr_t)__builtin_frame_address(0) % 16;
    char text[64];
    snprintf(text, sizeof text, "%.3f %.3Lf", pair[0] + pair[1], (long double)pair[1]);
    task->i = !strcmp(text, "3.000 2.000");
}

static void stack_is_aligned(void **state)
{
    (void)state;
    for (size_t bytes = 64 * 1024; bytes < 64 * 1024 + 64; bytes += 8) {
        struct task task = {.coroutine = coroutine_new(bytes + STACK)};
        coroutine_prepare(task.coroutine, aligned, &task);
        assert_false(coroutine_resume(task.coroutine));
        assert_int_equal(task.misaligned, 0);
        assert_true(task.i);
        coroutine_free(task.coroutine);
    }
}

static void rounds_up(void *argument)
{
    struct task *task = argument;
    fesetround(FE_UPWARD);
    coroutine_suspend(task->coroutine);
    task->i = fegetround() == FE_UPWARD;
    fesetround(FE_TONEAREST);
}

static void keeps_rounding_modes_apart(void **state)
{
    (void)state;
    struct task task = {.coroutine = coroutine_new(STACK)};
    coroutine_prepare(task.coroutine, rounds_up, &task);
    assert_true(coroutine_resume(task.coroutine));
    assert_int_equal(fegetround(), FE_TONEAREST);
    volatile double third = 1.0;
    third /= 3.0;
    assert_true(third == 0x1.5555555555555p-2); /* rounded to nearest (down) */
    assert_false(coroutine_resume(task.coroutine));
    assert_true(task.i);
    coroutine_free(task.coroutine);
}

static void outer(void *argument)
{
    struct task *task = argument;
    struct task inner = {.coroutine = coroutine_new(STACK), .n = 2};
    coroutine_prepare(inner.coroutine, count, &inner);
    while (coroutine_resume(inner.coroutine))
        coroutine_suspend(task->coroutine);
    coroutine_free(inner.coroutine);
    task->i = inner.i;
}

static void nests(void **state)
{
    (void)state;
    struct task task = {.coroutine = coroutine_new(2 * STACK)};
    coroutine_prepare(task.coroutine, outer, &task);
    assert_true(coroutine_resume(task.coroutine));
    assert_true(coroutine_resume(task.coroutine));
    assert_false(coroutine_resume(task.coroutine));
    assert_int_equal(task.i, 2);
    coroutine_free(task.coroutine);
}

enum { N_THREAD = 3, N_WALK = 20 };

struct walk {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    struct task task[N_WALK];
    int turn[N_WALK]; /* whose it is */
    int n_left;
    int entered[N_THREAD];
};

/* Every thread resumes each coroutine in turn, so that each one goes round all threads. */
static void walker(void *context, size_t thread)
{
    struct walk *walk = context;
    pthread_mutex_lock(&walk->mutex);
    while (walk->n_left > 0) {
        bool did = false;
        for (int i = 0; i < N_WALK; i++) {
            if (walk->turn[i] != (int)thread)
                continue;
            walk->turn[i] = -1;
            pthread_mutex_unlock(&walk->mutex);
            bool more = coroutine_resume(walk->task[i].coroutine);
            pthread_mutex_lock(&walk->mutex);
            walk->entered[thread]++;
            if (more)
                walk->turn[i] = ((int)thread + 1) % N_THREAD;
            else
                walk->n_left--;
            pthread_cond_broadcast(&walk->condition);
            did = true;
        }
        if (!did && walk->n_left > 0)
            pthread_cond_wait(&walk->condition, &walk->mutex);
    }
    pthread_mutex_unlock(&walk->mutex);
}

static void walks_over_threads(void **state)
{
    (void)state;
    static struct walk walk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER, .n_left = N_WALK};
    for (int i = 0; i < N_WALK; i++) {
        walk.task[i] = (struct task){.coroutine = coroutine_new(STACK), .n = 100};
        coroutine_prepare(walk.task[i].coroutine, sum_inside, &walk.task[i]);
    }
    struct pool *pool = pool_new(N_THREAD, "walk", NULL);
    assert_non_null(pool);
    assert_int_equal(pool_n_thread(pool), N_THREAD);
    pool_run(pool, walker, &walk);
    pool_join(pool);
    for (int i = 0; i < N_WALK; i++) {
        assert_true(walk.task[i].sum == mixed_sum(NULL, 100));
        coroutine_free(walk.task[i].coroutine);
    }
    for (int i = 0; i < N_THREAD; i++) /* 101 resumes each, in turns that begin with thread 0 */
        assert_int_equal(walk.entered[i], N_WALK * (i < 2 ? 34 : 33));
}

static int descend(volatile char *above, int depth)
{
    volatile char frame[1024];
    frame[0] = above ? above[0] : 0;
    return depth > 0 ? descend(frame, depth - 1) + frame[0] : frame[0];
}
static void overflow(void *argument)
{
    (void)argument;
    descend(NULL, 1000000);
}

/* Beyond the end of the stack lies a page that nobody may touch: the process dies rather than writes elsewhere. */
static void guard_page(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        fclose(stderr); /* what a sanitizer would say */
        struct coroutine *coroutine = coroutine_new(STACK);
        coroutine_prepare(coroutine, overflow, NULL);
        coroutine_resume(coroutine);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(WIFSIGNALED(status));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suspends_and_returns), cmocka_unit_test(freed_unused), cmocka_unit_test(keeps_registers),
        cmocka_unit_test(stack_is_aligned), cmocka_unit_test(keeps_rounding_modes_apart), cmocka_unit_test(nests),
        cmocka_unit_test(guard_page), cmocka_unit_test(walks_over_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
