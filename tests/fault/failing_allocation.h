/* An allocator that fails when it is told to and counts what is alive. Include it once, after a function `bool now(...)` that
 * says for ALLOCATE whether this very call fails.
 * Where it cannot (replaces_malloc.h), allocations do not fail.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FAILING_ALLOCATION_H
#define TESTS_FAILING_ALLOCATION_H

#include "replaces_malloc.h"

#include <errno.h>
#include <stddef.h>

#if REPLACES_MALLOC
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
static long n_alive; /* pieces of memory */

static void *out_of_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *count(void *made)
{
    n_alive += made != NULL;
    return made;
}

void *malloc(size_t n) { return now(ALLOCATE) ? out_of_memory() : count(__libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return now(ALLOCATE) ? out_of_memory() : count(__libc_calloc(n, size)); }

void *realloc(void *old, size_t n)
{
    if (!old)
        return malloc(n);
    return now(ALLOCATE) ? out_of_memory() : __libc_realloc(old, n);
}

void free(void *old)
{
    n_alive -= old != NULL;
    __libc_free(old);
}
#else
static const long n_alive = 0;
#endif

#endif
