/* The bump allocator: a chain of blocks, each at least twice as large as its predecessor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = ARENA_ALIGNMENT, FIRST_BLOCK = 16384 };

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
static struct arena_block *find_block(struct arena *arena, size_t bytes)
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

void *arena_fail(struct arena *arena)
{
    arena->failed = true;
    return memory_fail();
}

void *arena_go_on(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        return arena_fail(arena);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arena_block *block = find_block(arena, bytes);
    if (!block)
        return arena_fail(arena);
    void *piece = block->data + block->used;
    block->used += bytes;
    arena->used += bytes;
    return piece;
}

bool arena_doubles(struct arena *arena, const struct arena_array *array, size_t n, bool zeroed)
{
    size_t total = 1, count, bytes; /* never zero bytes */
    bool is_too_large = false;
    for (size_t i = 0; i < n; i++) {
        is_too_large |= __builtin_mul_overflow(array[i].rows, array[i].columns, &count);
        is_too_large |= __builtin_add_overflow(total, count, &total);
    }
    if (is_too_large || __builtin_mul_overflow(total, sizeof(double), &bytes))
        return arena_fail(arena) != NULL;
    double *numbers = (double *)arena_alloc(arena, bytes);
    if (!numbers)
        return false;
    if (zeroed)
        memset(numbers, 0, bytes);
    for (size_t i = 0; i < n; i++) {
        *array[i].place = numbers;
        numbers += array[i].rows * array[i].columns;
    }
    return true;
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
