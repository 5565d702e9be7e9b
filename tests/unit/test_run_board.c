/* The board between supervisor and child: what one writes the other reads, also across an exec'd process's attach.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_child_writes_supervisor_reads(void **state)
{
    (void)state;
    struct board *board = board_new(NULL, 0);
    assert_non_null(board);
    pid_t child = fork();
    if (child == 0) {
        struct board private_board = {0};
        struct board *mine = board_attach(&private_board);
        if (mine == &private_board || !board_die_with_supervisor(mine))
            _exit(1);
        counter_set(&mine->phase, BOARD_FITTING);
        counter_add(&mine->n_finished, 41);
        counter_add(&mine->n_finished, 1);
        _exit(0);
    }
    int wait_status;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
    assert_int_equal(counter_get(&board->phase), BOARD_FITTING);
    assert_int_equal(counter_get(&board->n_finished), 42);
    board_free(board);
    unsetenv("STIFFIT_BOARD");
}

static void test_without_supervisor(void **state)
{
    (void)state;
    struct board private_board = {0};
    unsetenv("STIFFIT_BOARD");
    assert_ptr_equal(board_attach(&private_board), &private_board);
}

/* A stale or hostile number in the environment must not make us map some other file. */
static void test_wrong_descriptor(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0", "-1", "99999", "x", ""};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct board private_board = {0};
        setenv("STIFFIT_BOARD", numbers[i], 1);
        assert_ptr_equal(board_attach(&private_board), &private_board);
    }
}

/* What one process leaves in its slots the supervisor and the next process see; new slots are empty. */
static void test_slots_outlive_their_process(void **state)
{
    (void)state;
    const double p[3] = {1.5, -2.5, 1e300};
    struct board *board = board_new(NULL, 0);
    struct board_slots seen = {.memory = NULL};
    assert_non_null(board);
    board_slots_look(board, &seen);
    assert_int_equal(seen.n, 0);
    for (size_t n_worker = 2; n_worker <= 500; n_worker += 249) { /* more pages than before, each time */
        board_offer(board);
        pid_t child = fork();
        if (child == 0) {
            struct board private_board = {0};
            struct board *mine = board_attach(&private_board);
            struct board_slots slots = {.memory = NULL};
            if (mine == &private_board || !board_slots_make(mine, n_worker, 1, 3, &slots) || slots.is_private)
                _exit(1);
            for (size_t i = 0; i < n_worker; i++)
                if (counter_get(&board_slot(&slots, i)->fit) || counter_get(&board_slot(&slots, i)->is_asked))
                    _exit(2);
            struct board_slot *slot = board_slot(&slots, n_worker - 1);
            counter_set(&slot->fit, 78);
            board_slot_ask(slot, &slot->heartbeat, p, 3);
            abort();
        }
        int wait_status;
        assert_int_equal(waitpid(child, &wait_status, 0), child);
        assert_true(WIFSIGNALED(wait_status));
        board_slots_look(board, &seen);
        assert_int_equal(seen.n, n_worker);
        assert_int_equal(counter_get(&board_slot(&seen, 0)->fit), 0);
        const struct board_slot *slot = board_slot(&seen, n_worker - 1);
        assert_int_equal(counter_get(&slot->fit), 78);
        assert_int_equal(counter_get(&slot->is_asked), 1);
        assert_int_equal(counter_get(&slot->heartbeat), 1);
        assert_memory_equal(slot->parameter, p, sizeof p);
    }
    board_slots_fini(&seen);
    board_free(board);
    unsetenv("STIFFIT_BOARD");
}

static void test_private_slots(void **state)
{
    (void)state;
    struct board private_board = {0};
    struct board_slots slots = {.memory = NULL};
    struct board *board = board_attach(&private_board);
    assert_true(board_slots_make(board, 3, 1, 5, &slots));
    assert_true(slots.is_private);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal((uintptr_t)board_slot(&slots, i) % 64, 0);
    board_slots_fini(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_writes_supervisor_reads),
        cmocka_unit_test(test_without_supervisor),
        cmocka_unit_test(test_wrong_descriptor),
        cmocka_unit_test(test_slots_outlive_their_process),
        cmocka_unit_test(test_private_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
