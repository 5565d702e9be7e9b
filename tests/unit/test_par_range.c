/* Stealable ranges: what owner and thief get, at the edges and with several threads at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/pool.h"
#include "par/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void owner_takes_from_the_front(void **state)
{
    (void)state;
    struct range range = {0};
    uint32_t item;
    assert_false(range_take(&range, &item));
    range_set(&range, 5, 8);
    for (uint32_t i = 5; i < 8; i++) {
        assert_int_equal(range_count(&range), 8 - i);
        assert_true(range_take(&range, &item));
        assert_int_equal(item, i);
    }
    assert_false(range_take(&range, &item));
    assert_int_equal(range_count(&range), 0);
    range_set(&range, UINT32_MAX - 1, UINT32_MAX); /* the last item that there can be */
    assert_true(range_take(&range, &item));
    assert_int_equal(item, UINT32_MAX - 1);
    assert_false(range_take(&range, &item));
}

static void thief_takes_the_later_half(void **state)
{
    (void)state;
    static const uint32_t count[] = {1, 2, 3, 4, 5, 1000, 1001}, taken[] = {1, 1, 2, 2, 3, 500, 501};
    for (int i = 0; i < 7; i++) {
        struct range range = {0};
        uint32_t first, last;
        assert_false(range_steal(&range, &first, &last));
        range_set(&range, 10, 10 + count[i]);
        assert_true(range_steal(&range, &first, &last));
        assert_int_equal(last, 10 + count[i]);
        assert_int_equal(last - first, taken[i]);
        assert_int_equal(range_count(&range), count[i] - taken[i]);
    }
    struct range range = {0};
    uint32_t first, last;
    range_set(&range, 0, UINT32_MAX); /* no overflow in the middle */
    assert_true(range_steal(&range, &first, &last));
    assert_int_equal(first, UINT32_MAX / 2);
    assert_int_equal(last, UINT32_MAX);
}

enum { N_THREAD = 4, N_ITEM = 200000 };
struct game {
    struct range range[N_THREAD];
    _Atomic uint32_t n_taken;
    _Atomic uint8_t taken[N_ITEM];
};

static void play(void *context, size_t thread)
{
    struct game *game = context;
    uint32_t item, first, last;
    size_t victim = thread;
    while (atomic_load(&game->n_taken) < N_ITEM) {
        if (range_take(&game->range[thread], &item)) {
            atomic_fetch_add(&game->taken[item], 1);
            atomic_fetch_add(&game->n_taken, 1);
        }
        victim = (victim + 1) % N_THREAD; /* all the time, not only when there is nothing left: more to go wrong */
        if (range_count(&game->range[thread]) == 0 && victim != thread &&
            range_steal(&game->range[victim], &first, &last))
            range_set(&game->range[thread], first, last);
    }
}

static void every_item_once(void **state)
{
    (void)state;
    struct game *game = aligned_alloc(64, (sizeof *game + 63) / 64 * 64);
    for (int round = 0; round < 5; round++) {
        *game = (struct game){0};
        range_set(&game->range[0], 0, N_ITEM);
        struct pool *pool = pool_new(N_THREAD, "game", NULL);
        assert_int_equal(pool_n_thread(pool), N_THREAD);
        pool_run(pool, play, game);
        pool_join(pool);
        for (int i = 0; i < N_ITEM; i++)
            assert_int_equal(game->taken[i], 1);
    }
    free(game);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_takes_from_the_front), cmocka_unit_test(thief_takes_the_later_half),
        cmocka_unit_test(every_item_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
