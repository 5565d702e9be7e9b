/* The bump allocator: alignment, no overlap, reuse without new memory, refusal of sizes that overflow.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"

#include <malloc.h>
#include <string.h>

static void pieces_are_aligned_and_apart(void **state)
{
    (void)state;
    struct arena arena = {0};
    unsigned char *piece[300];
    size_t size[300];
    for (size_t i = 0; i < 300; i++) {
        size[i] = i * i % 977 + (i % 50 == 0 ? 40000 : 0); /* some larger than a block */
        piece[i] = arena_alloc(&arena, size[i]);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 64, 0);
        memset(piece[i], (int)(i % 251), size[i]);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < size[i]; j++)
            assert_int_equal(piece[i][j], i % 251);
    arena_fini(&arena);
}

static void calloc_zeroes_used_memory(void **state)
{
    (void)state;
    struct arena arena = {0};
    memset(arena_alloc(&arena, 1000), 0xff, 1000);
    arena_reset(&arena);
    const unsigned char *piece = arena_calloc(&arena, 10, 100);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(piece[i], 0);
    arena_fini(&arena);
}

static void reset_gives_the_same_memory_again(void **state)
{
    (void)state;
    struct arena arena = {0};
    void *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 100; i++)
        arena_alloc(&arena, 5000);
    assert_true(arena.used >= 500100);
    size_t in_use = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int round = 0; round < 50; round++) {
        arena_reset(&arena);
        assert_int_equal(arena.used, 0);
        assert_ptr_equal(arena_alloc(&arena, 100), first);
        for (int i = 0; i < 100; i++)
            assert_non_null(arena_alloc(&arena, 5000));
    }
    assert_int_equal(mallinfo2().uordblks + mallinfo2().hblkhd, in_use);
    arena_fini(&arena);
    assert_null(arena.first);
}

static void impossible_sizes_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 64));
    assert_null(arena_calloc(&arena, SIZE_MAX / 2, 3));
    double *numbers, *others;
    assert_false(ARENA_DOUBLES(&arena, {&numbers, SIZE_MAX / 2, 3}));
    assert_false(ARENA_SPACE(&arena, {&numbers, SIZE_MAX / 2, 1}, {&others, SIZE_MAX / 2, 2}));
    assert_false(ARENA_SPACE(&arena, {&numbers, SIZE_MAX / 4, 1}));
    assert_non_null(arena_alloc(&arena, 1)); /* still good */
    arena_fini(&arena);
}

static void empty_arena_may_be_reset_and_freed(void **state)
{
    (void)state;
    struct arena arena = {0};
    arena_reset(&arena);
    arena_fini(&arena);
    assert_non_null(arena_alloc(&arena, 0));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(calloc_zeroes_used_memory),
        cmocka_unit_test(reset_gives_the_same_memory_again),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(empty_arena_may_be_reset_and_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
