/* A sound model, y' = -k y, that misbehaves in the way that its covariate `fault` says; 0: not at all. One plugin, so that the
 * sick and the healthy share a process.
 * SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "zoo.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The tests know these numbers. */
enum fault {
    SOUND, SEGFAULT, EXIT_0, LOOP, NAN_FROM_T1, STACK_SMASH, MEMORY_HOG, ABORT, DIVISION, RECURSION, RAISE_SIGKILL,
    PTHREAD_EXIT, LONGJMP, UNDERSCORE_EXIT_3, LEAK, FAR, SLOW, SLEEP
};

static const char *const covariate[] = {"fault"};

/* Volatile and not static, so that no compiler sees what follows from them. */
volatile int zoo_zero = 0, zoo_many = 100;
volatile double zoo_sink;

static double recurse(double depth)
{
    volatile double frame[64];
    for (int i = 0; i < 64; i++)
        frame[i] = depth + i;
    return depth < 0 ? frame[3] : recurse(depth + 1) + frame[5];
}

__attribute__((optimize("stack-protector-all"), noinline)) static void smash(void)
{
    volatile char small[8];
    volatile char *p = small;
    for (int i = 0; i < 64 + zoo_zero; i++)
        p[i] = 0x41;
}

/* Touches what it takes: a limit of the address space or the kernel has to stop it, or the bound. */
static int hog(void)
{
    const char *bound = getenv("ZOO_HOG_MIB");
    for (long taken = 0, most = bound ? atol(bound) : 64; taken < most; taken += 16) {
        char *piece = malloc(16 << 20);
        if (!piece)
            abort();
        memset(piece, 1, 16 << 20);
    }
    kill(getpid(), SIGKILL); /* as the kernel does when memory is short */
    return STIFFIT_FATAL;
}

/* Takes all memory that there is, in ever smaller pieces, and keeps it. */
static int leak(void)
{
    const char *bound = getenv("ZOO_HOG_MIB");
    size_t left = (size_t)(bound ? atol(bound) : 64) << 20;
    for (size_t size = 16 << 20; size >= 64; size /= 2)
        for (void *piece; size <= left && (piece = malloc(size)); left -= size)
            *(volatile char *)piece = 1;
    return STIFFIT_FATAL;
}

static void jump(void)
{
    jmp_buf nowhere;
    memset(&nowhere, 0x5a, sizeof nowhere);
    longjmp(nowhere, 1);
}

/* While the tests say so; every step still ends. */
static void dawdle(void)
{
    const char *us = getenv("ZOO_SLOW_US");
    if (us)
        usleep((useconds_t)atoi(us));
}

static int misbehave(enum fault fault, const struct stiffit_point *at)
{
    switch (fault) {
    case FAR:
        if (at->p[0] <= 5)
            break;
        abort();
    case SLOW: dawdle(); break;
    case SEGFAULT: *(volatile double *)(uintptr_t)8 = 1; break;
    case EXIT_0: exit(0);
    case LOOP:
        while (!zoo_zero)
            ;
        break;
    case SLEEP: /* hangs, too, but leaves the CPU to other tests */
        while (!zoo_zero)
            usleep(100000);
        break;
    case STACK_SMASH: smash(); break;
    case MEMORY_HOG: return hog();
    case LEAK: return leak();
    case ABORT: abort();
    case DIVISION: zoo_sink = zoo_many / zoo_zero; break;
    case RECURSION: zoo_sink = recurse(1); break;
    case RAISE_SIGKILL: raise(SIGKILL); break;
    case PTHREAD_EXIT: pthread_exit(NULL);
    case LONGJMP: jump(); break;
    case UNDERSCORE_EXIT_3: _exit(3);
    default: break;
    }
    return STIFFIT_OK;
}

static int rhs(const struct stiffit_point *at, double *ydot)
{
    enum fault fault = (enum fault)at->covariate[0];
    ydot[0] = -at->p[0] * at->y[0];
    if (fault == NAN_FROM_T1 && at->t > 1)
        ydot[0] = NAN;
    return fault == SOUND ? STIFFIT_OK : misbehave(fault, at);
}

STIFFIT_EXPORT const struct stiffit_model stiffit_model = {
    ZOO_MODEL("by_covariate"), .n_covariate = 1, .covariate_name = covariate, .rhs = rhs};
