/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <stdlib.h>

static _Thread_local uint64_t n_failed;

void *memory_fail(void)
{
    n_failed++;
    return NULL;
}

uint64_t memory_n_failed(void) { return n_failed; }

void *memory_alloc(size_t bytes)
{
    void *piece = malloc(bytes);
    return piece ? piece : memory_fail();
}

void *memory_calloc(size_t count, size_t size)
{
    void *piece = calloc(count, size);
    return piece ? piece : memory_fail();
}
