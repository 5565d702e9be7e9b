/* The bump allocator: a chain of blocks, each at least twice as large as its predecessor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 16384 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    char *data;
};

static struct arena_block *block_new(size_t size)
{
    if (size > SIZE_MAX - sizeof(struct arena_block) - ALIGNMENT)
        return NULL;
    struct arena_block *block = malloc(sizeof *block + size + ALIGNMENT);
    if (!block)
        return NULL;
    uintptr_t start = (uintptr_t)(block + 1);
    block->next = NULL;
    block->size = size;
    block->used = 0;
    block->data = (char *)(block + 1) + (ALIGNMENT - start % ALIGNMENT) % ALIGNMENT;
    return block;
}

/* Makes a block with room for so many bytes the current one. NULL: out of memory. */
static struct arena_block *go_on(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->current;
    while (block && block->size - block->used < bytes) {
        block = block->next;
        if (block)
            block->used = 0;
    }
    if (!block) {
        size_t size = arena->current ? 2 * arena->current->size : FIRST_BLOCK;
        block = block_new(size > bytes ? size : bytes);
        if (!block)
            return NULL;
        if (arena->current) {
            block->next = arena->current->next;
            arena->current->next = block;
        } else {
            arena->first = block;
        }
    }
    return arena->current = block;
}

static void *fail(struct arena *arena)
{
    arena->failed = true;
    return memory_fail();
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->current;
    if (bytes > SIZE_MAX - ALIGNMENT)
        return fail(arena);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if ((!block || block->size - block->used < bytes) && !(block = go_on(arena, bytes)))
        return fail(arena);
    void *piece = block->data + block->used;
    block->used += bytes;
    arena->used += bytes;
    return piece;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return fail(arena);
    void *piece = arena_alloc(arena, count * size);
    if (piece)
        memset(piece, 0, count * size);
    return piece;
}

bool arena_doubles(struct arena *arena, const struct arena_array *array, size_t n, bool zeroed)
{
    size_t total = 1, count; /* never zero bytes */
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(array[i].rows, array[i].columns, &count) ||
            __builtin_add_overflow(total, count, &total))
            return fail(arena);
    if (total > SIZE_MAX / sizeof(double))
        return fail(arena);
    double *numbers = arena_alloc(arena, total * sizeof *numbers);
    if (numbers && zeroed)
        memset(numbers, 0, total * sizeof *numbers);
    for (size_t i = 0; numbers && i < n; i++) {
        *array[i].place = numbers;
        numbers += array[i].rows * array[i].columns;
    }
    return numbers != NULL;
}

void *arena_copy(struct arena *arena, const void *source, size_t bytes)
{
    void *target = arena_alloc(arena, bytes ? bytes : 1);
    if (target && bytes)
        memcpy(target, source, bytes);
    return target;
}

char *arena_strndup(struct arena *arena, const char *text, size_t n)
{
    char *copy = arena_alloc(arena, n + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

void arena_reset(struct arena *arena)
{
    arena->current = arena->first;
    arena->used = 0;
    if (arena->first)
        arena->first->used = 0;
}

void arena_fini(struct arena *arena)
{
    struct arena_block *block = arena->first;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (struct arena){0};
}

bool array_grow(void *array, size_t n, size_t *room, size_t size)
{
    enum { FIRST = 64 };
    void *items;
    if (n < *room)
        return true;
    size_t wanted = *room ? 2 * *room : FIRST;
    /* whatever they are, without breaking the rules of aliasing */
    memcpy(&items, array, sizeof items);
    if (!(items = realloc(items, wanted * size)))
        return false;
    memcpy(array, &items, sizeof items);
    *room = wanted;
    return true;
}
