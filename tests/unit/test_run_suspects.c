/* Who is found guilty of a death, who is a suspect, and who is neither.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/suspects.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_WORKER = 4, N_PARAMETER = 2 };

static struct board *board;
static struct board_slots slots;
static uint64_t ended[8]; /* fits that have ended, 1 + their number; 0: the list's end */

static bool has(const void *context, uint64_t fit)
{
    for (const uint64_t *one = context; *one; one++)
        if (*one == fit + 1)
            return true;
    return false;
}

static int set_up(void **state)
{
    (void)state;
    board = calloc(1, sizeof *board);
    memset(ended, 0, sizeof ended);
    if (!board)
        return -1;
    board->descriptor = -1; /* a private one */
    return board_slots_make(board, N_WORKER, 1, N_PARAMETER, &slots) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    board_slots_fini(&slots);
    free(board);
    return 0;
}

static void busy(size_t worker, uint64_t fit) { counter_set(&board_slot(&slots, worker)->fit, 1 + fit); }

/* What waitpid tells of a process that ended so: really, so that no test depends on how a status is made. */
static int status_of(int signal_number, int code)
{
    int wait_status;
    pid_t child = fork();
    if (child == 0) {
        if (signal_number) {
            signal(signal_number, SIG_DFL);
            raise(signal_number);
        }
        _exit(code);
    }
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    return wait_status;
}

static struct death judge(int wait_status)
{
    struct death death;
    board->died = true;
    board->wait_status = wait_status;
    assert_true(suspects_judge(board, &slots, has, ended, &death));
    assert_false(board->died);
    return death;
}

static void test_who_was_alone_is_guilty(void **state)
{
    (void)state;
    busy(2, 17);
    struct death death = judge(status_of(SIGSEGV, 0));
    assert_int_equal(death.n_guilty, 1);
    assert_int_equal(death.guilty[0], 17);
    assert_int_equal(death.slot[0], 2);
    assert_int_equal(board->n_suspect, 0);
    assert_int_equal(suspects_n_guilty(board), 1);
    assert_non_null(strstr(death.how, "signal 11"));
    death_fini(&death);
}

static void test_several_are_suspects(void **state)
{
    (void)state;
    busy(0, 0); /* fit number 0 is one too */
    busy(3, 9);
    struct death death = judge(status_of(0, 3));
    assert_int_equal(death.n_guilty, 0);
    assert_int_equal(death.n_put_off, 2);
    assert_string_equal(death.how, "the model's code called exit(3)");
    assert_int_equal(board->n_suspect, 2);
    assert_int_equal(suspects_n_guilty(board), 1); /* one of the two at the least */
    death_fini(&death);
    /* Their trial, alone: the second dies. */
    counter_set(&board_slot(&slots, 0)->fit, 0);
    board->is_apart = true;
    board->n_group_death = 0;
    ended[0] = 1;
    death = judge(status_of(SIGKILL, 0));
    assert_int_equal(death.n_guilty, 1);
    assert_int_equal(death.guilty[0], 9);
    assert_int_equal(board->n_suspect, 0); /* the innocent has ended, the guilty is known */
    assert_false(board->is_apart);
    death_fini(&death);
}

static void test_sigkill_comes_from_outside(void **state)
{
    (void)state;
    busy(1, 5);
    struct death death = judge(status_of(SIGKILL, 0));
    assert_int_equal(death.n_guilty, 0);
    assert_int_equal(board->n_suspect, 1);
    assert_int_equal(board->suspect[0], 5);
    death_fini(&death);
}

static void test_who_has_ended_is_no_suspect(void **state)
{
    (void)state;
    busy(0, 7);
    busy(1, 8);
    ended[0] = 8; /* fit 7 */
    struct death death = judge(status_of(SIGABRT, 0));
    assert_int_equal(death.n_guilty, 1);
    assert_int_equal(death.guilty[0], 8);
    death_fini(&death);
}

static void test_only_the_silent_hang(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WORKER; i++)
        busy(i, 10 + i);
    counter_set(&board_slot(&slots, 1)->hung, 1);
    counter_set(&board_slot(&slots, 3)->hung, 1);
    board->hung = true;
    board->hang_s = 60;
    struct death death = judge(status_of(SIGKILL, 0));
    assert_true(death.hung);
    assert_string_equal(death.how, "no step finished for 60 s");
    assert_int_equal(death.n_guilty, 2);
    assert_int_equal(death.guilty[0], 11);
    assert_int_equal(death.guilty[1], 13);
    assert_int_equal(board->n_suspect, 0);
    death_fini(&death);
}

/* Two lanes each: a worker that hangs with one fit in both, and one with two fits, of which either may be the one. */
static void test_lanes_of_a_worker(void **state)
{
    (void)state;
    board_slots_fini(&slots);
    assert_true(board_slots_make(board, N_WORKER, 2, N_PARAMETER, &slots));
    for (size_t i = 0; i < N_WORKER; i++) {
        busy(i, i < 2 ? 10 : 10 + i);
        counter_set(&board_slot(&slots, i)->hung, 1);
    }
    board->hung = true;
    struct death death = judge(status_of(SIGKILL, 0));
    assert_int_equal(death.n_guilty, 1);
    assert_int_equal(death.guilty[0], 10);
    assert_int_equal(death.n_put_off, 2);
    assert_int_equal(death.put_off, 12);
    assert_int_equal(board->n_suspect, 2);
    death_fini(&death);
}

/* The same fit in several lanes is one, and no other was under way. */
static void test_one_fit_in_all_lanes_is_guilty(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_WORKER; i++)
        busy(i, 7);
    struct death death = judge(status_of(SIGSEGV, 0));
    assert_int_equal(death.n_guilty, 1);
    assert_int_equal(death.guilty[0], 7);
    death_fini(&death);
}

static void test_nobody_at_work_nobody_to_blame(void **state)
{
    (void)state;
    struct death death = judge(status_of(SIGSEGV, 0));
    assert_true(death.died);
    assert_int_equal(death.n_guilty + death.n_put_off, 0);
    assert_int_equal(suspects_n_guilty(board), 0);
    death_fini(&death);
}

static void test_a_suspect_once_and_no_more_than_fit(void **state)
{
    (void)state;
    assert_true(suspects_add(board, 3));
    assert_false(suspects_add(board, 3));
    for (uint64_t i = 1; i < BOARD_MAX_SUSPECT; i++)
        assert_true(suspects_add(board, 100 + i));
    assert_false(suspects_add(board, 99));
}

static void test_reasons(void **state)
{
    (void)state;
    static const char *const names[] = {"k", "A"};
    const double p[] = {0.125, 2.5};
    char reason[SUSPECTS_REASON];
    struct death death = {.how = "signal 6 (Aborted)"};
    struct board_slot *slot = board_slot(&slots, 0);
    suspects_reason(&death, slot, names, 2, reason);
    assert_string_equal(reason, "signal 6 (Aborted)"); /* nothing had been asked yet */
    board_slot_ask(slot, &slot->heartbeat, p, 2);
    suspects_reason(&death, slot, names, 2, reason);
    assert_string_equal(reason, "signal 6 (Aborted) at k = 0.125, A = 2.5");
}

/* Many parameters: as many as fit in, and it is said that there are more. */
static void test_a_long_reason_ends_in_dots(void **state)
{
    (void)state;
    enum { MANY = 40 };
    const char *names[MANY];
    double p[MANY];
    struct board_slots wide = {.memory = NULL};
    struct death death = {.how = "signal 11 (Segmentation fault)"};
    for (uint32_t i = 0; i < MANY; i++) {
        names[i] = "parameter_name";
        p[i] = 1.23456789e-5;
    }
    for (size_t n = 1; n <= MANY; n++) {
        char reason[SUSPECTS_REASON];
        memset(reason, 'x', sizeof reason);
        assert_true(board_slots_make(board, 1, 1, n, &wide));
        board_slot_ask(board_slot(&wide, 0), &board_slot(&wide, 0)->heartbeat, p, n);
        suspects_reason(&death, board_slot(&wide, 0), names, n, reason);
        assert_non_null(memchr(reason, '\0', sizeof reason));
        size_t n_named = 0;
        for (const char *at = reason; (at = strstr(at, "1.23456789e-05")); at++)
            n_named++;
        bool has_dots = strlen(reason) > 5 && !strcmp(reason + strlen(reason) - 5, ", ...");
        assert_true(n_named >= 1 && n_named <= n);
        assert_int_equal(has_dots, n_named < n);
    }
    board_slots_fini(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_was_alone_is_guilty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_are_suspects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sigkill_comes_from_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_has_ended_is_no_suspect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_the_silent_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lanes_of_a_worker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_fit_in_all_lanes_is_guilty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_at_work_nobody_to_blame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_suspect_once_and_no_more_than_fit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reasons, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_reason_ends_in_dots, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
