/* A bump allocator: scratch memory that is allocated piece by piece and released all at once.
 * And arrays that grow.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ARENA_ALIGNMENT = 64 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    char *data; /* aligned */
};

/* Zero-initialise to start. One thread at a time. */
struct arena {
    struct arena_block *first, *current;
    size_t used; /* bytes handed out since the last reset */
    bool failed; /* memory was out, in any call: for callers that ask once, at the end */
};

/* arena_alloc where the current block has no room for so many bytes, or there is none. */
void *arena_go_on(struct arena *arena, size_t bytes);
/* NULL: notes that memory is out. */
void *arena_fail(struct arena *arena);

/* `bytes` bytes, aligned to 64, uninitialised; NULL: out of memory. Blocks are kept across
 * resets. It is inline, as a short fit allocates a hundred pieces. */
static inline void *arena_alloc(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->current;
    size_t room = block ? block->size - block->used : 0; /* a multiple of the alignment */
    if (bytes == 0 || bytes > room)
        return arena_go_on(arena, bytes);
    void *piece = block->data + block->used;
    bytes = (bytes + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    block->used += bytes;
    arena->used += bytes;
    return piece;
}

/* count * size bytes, zeroed; NULL: out of memory, or the product overflows. */
static inline void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return arena_fail(arena);
    void *piece = arena_alloc(arena, bytes);
    return piece ? memset(piece, 0, bytes) : NULL;
}

/* Where an array of rows * columns numbers is to go. */
struct arena_array {
    double **place;
    size_t rows, columns;
};
/* n arrays in one piece, the first one aligned to 64; empty ones are not NULL. False: no memory. */
bool arena_doubles(struct arena *arena, const struct arena_array *array, size_t n, bool zeroed);
#define ARENA_ARRAYS(zeroed, arena, ...) \
    arena_doubles(arena, (const struct arena_array[]){__VA_ARGS__}, \
                  sizeof((const struct arena_array[]){__VA_ARGS__}) / sizeof(struct arena_array), \
                  zeroed)
/* Of zeros, and of whatever is there. */
#define ARENA_DOUBLES(...) ARENA_ARRAYS(true, __VA_ARGS__)
#define ARENA_SPACE(...) ARENA_ARRAYS(false, __VA_ARGS__)
/* A copy of `bytes` bytes; of none, it is not NULL, and `source` may be. NULL: out of memory. */
void *arena_copy(struct arena *arena, const void *source, size_t bytes);
/* A copy of the text, or of its first n bytes; NULL when memory is out. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t n);
void arena_reset(struct arena *arena);
void arena_fini(struct arena *arena);

/* Room for item n (from 0) of a growing array of items of `size` bytes: doubles *room if
 * necessary, with realloc. `array` points to the pointer to the items. False: out of memory;
 * nothing has changed. */
bool array_grow(void *array, size_t n, size_t *room, size_t size);
