/* A bump allocator: scratch that is taken piece by piece and given back all at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zero-initialise to start. One thread at a time. */
struct arena {
    struct arena_block *first, *current;
    size_t used; /* bytes handed out since the last reset */
};

/* `bytes` bytes, aligned to 64, uninitialised; NULL when memory is out. Blocks are kept across resets. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* count * size bytes, zeroed; NULL when memory is out or the product overflows. */
void *arena_calloc(struct arena *arena, size_t count, size_t size);
void arena_reset(struct arena *arena);
void arena_fini(struct arena *arena);

#endif
