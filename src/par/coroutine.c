/* Coroutines: their stacks, the functions that they run, and annotations for the sanitizers. A stack serves many functions one
 * after another, because making one costs system calls (and milliseconds under ThreadSanitizer).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/coroutine.h"

#include "par/coroutine_switch.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#ifndef __has_include
#define __has_include(header) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WITH_ASAN 1
#include <sanitizer/common_interface_defs.h>
#else
#define WITH_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#include <sanitizer/tsan_interface.h>
#else
#define WITH_TSAN 0
#endif
#if !defined(NVALGRIND) && __has_include(<valgrind/valgrind.h>)
#define WITH_VALGRIND 1
#include <valgrind/valgrind.h>
#else
#define WITH_VALGRIND 0
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif
#ifndef MAP_STACK
#define MAP_STACK 0
#endif

struct coroutine {
    struct coroutine_context self, resumer;
    void (*entry)(void *argument); /* NULL: leave the stack for good */
    void *argument;
    bool started; /* the stack has a frame that must be left before it is freed */
    bool inside;  /* suspended in, or running, a function */
    bool ready;   /* prepared and not finished */
    char *mapping, *stack;
    size_t mapping_bytes, stack_bytes;
#if WITH_ASAN
    void *fake_stack;
    const void *resumer_stack;
    size_t resumer_bytes;
#endif
#if WITH_TSAN
    void *fiber, *resumer_fiber;
#endif
#if WITH_VALGRIND
    unsigned valgrind_stack;
#endif
};

struct coroutine *coroutine_new(size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (stack_bytes > SIZE_MAX / 2)
        return NULL;
    struct coroutine *coroutine = calloc(1, sizeof *coroutine);
    if (!coroutine)
        return NULL;
    coroutine->stack_bytes = (stack_bytes + page - 1) / page * page;
    coroutine->mapping_bytes = coroutine->stack_bytes + page;
    void *mapping = mmap(NULL, coroutine->mapping_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        free(coroutine);
        return NULL;
    }
    coroutine->mapping = mapping;
    coroutine->stack = coroutine->mapping + page; /* stacks grow down, so the guard page is below */
    if (mprotect(mapping, page, PROT_NONE)) {
        munmap(mapping, coroutine->mapping_bytes);
        free(coroutine);
        return NULL;
    }
#if WITH_TSAN
    coroutine->fiber = __tsan_create_fiber(0);
#endif
#if WITH_VALGRIND
    coroutine->valgrind_stack = VALGRIND_STACK_REGISTER(coroutine->stack, coroutine->stack + coroutine->stack_bytes);
#endif
    return coroutine;
}

/* Inside: switches to the resumer and returns at the next resume. for_good: never returns. */
static void switch_out(struct coroutine *coroutine, bool for_good)
{
    (void)for_good;
#if WITH_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &coroutine->fake_stack, coroutine->resumer_stack,
                                   coroutine->resumer_bytes);
#endif
#if WITH_TSAN
    __tsan_switch_to_fiber(coroutine->resumer_fiber, 0);
#endif
    coroutine_context_switch(&coroutine->self, &coroutine->resumer);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(coroutine->fake_stack, &coroutine->resumer_stack, &coroutine->resumer_bytes);
#endif
}

/* The bottom frame of the stack. It loops over functions, because ThreadSanitizer's bounded call stack allows one frame per
 * stack but not one per function. */
static void serve(void *argument)
{
    struct coroutine *coroutine = argument;
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(NULL, &coroutine->resumer_stack, &coroutine->resumer_bytes);
#endif
    while (coroutine->entry) {
        coroutine->entry(coroutine->argument);
        coroutine->inside = false;
        coroutine->ready = false;
        switch_out(coroutine, false);
    }
    coroutine->started = false;
    switch_out(coroutine, true);
    abort();
}

static void switch_in(struct coroutine *coroutine)
{
    if (!coroutine->started) {
        coroutine_context_make(&coroutine->self, coroutine->stack, coroutine->stack_bytes, serve, coroutine);
        coroutine->started = true;
    }
#if WITH_ASAN
    void *fake_stack = NULL;
    __sanitizer_start_switch_fiber(&fake_stack, coroutine->stack, coroutine->stack_bytes);
#endif
#if WITH_TSAN
    coroutine->resumer_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(coroutine->fiber, 0);
#endif
    coroutine_context_switch(&coroutine->resumer, &coroutine->self);
#if WITH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
}

void coroutine_free(struct coroutine *coroutine)
{
    if (!coroutine)
        return;
    assert(!coroutine->inside);
    if (coroutine->started) {
        coroutine->entry = NULL;
        switch_in(coroutine);
    }
#if WITH_TSAN
    __tsan_destroy_fiber(coroutine->fiber);
#endif
#if WITH_VALGRIND
    VALGRIND_STACK_DEREGISTER(coroutine->valgrind_stack);
#endif
    munmap(coroutine->mapping, coroutine->mapping_bytes);
    free(coroutine);
}

void coroutine_prepare(struct coroutine *coroutine, void (*entry)(void *argument), void *argument)
{
    assert(entry && !coroutine->inside);
    coroutine->entry = entry;
    coroutine->argument = argument;
    coroutine->ready = true;
}

bool coroutine_resume(struct coroutine *coroutine)
{
    assert(coroutine->ready);
    coroutine->inside = true;
    switch_in(coroutine);
    return coroutine->inside;
}

void coroutine_suspend(struct coroutine *coroutine)
{
    assert(coroutine->inside);
    switch_out(coroutine, false);
}
