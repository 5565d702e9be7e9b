/* The board between supervisor and child: what one writes the other reads, also across an exec'd process's attach.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void test_child_writes_supervisor_reads(void **state)
{
    (void)state;
    struct board *board = board_new(true);
    assert_non_null(board);
    pid_t child = fork();
    if (child == 0) {
        struct board private_board = {0};
        struct board *mine = board_attach(&private_board);
        if (mine == &private_board || !mine->again || !board_die_with_supervisor(mine))
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_writes_supervisor_reads),
        cmocka_unit_test(test_without_supervisor),
        cmocka_unit_test(test_wrong_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
