/* Errors: how they are filled, put into context and cut, and the table of exit codes that the manual promises.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void is_filled_and_returns_its_status(void **state)
{
    (void)state;
    struct error error = {.status = STATUS_OK};
    assert_int_equal(error_set(&error, STATUS_BAD_MODEL, "%s %d", "row", 7), STATUS_BAD_MODEL);
    assert_int_equal(error.status, STATUS_BAD_MODEL);
    assert_string_equal(error.message, "row 7");
}

static void system_errors_say_why(void **state)
{
    (void)state;
    struct error error;
    char expected[200];
    snprintf(expected, sizeof expected, "cannot open 'x': %s", strerror(ENOENT));
    assert_int_equal(error_system(&error, ENOENT, "cannot open '%s'", "x"), STATUS_SYSTEM);
    assert_int_equal(error.status, STATUS_SYSTEM);
    assert_string_equal(error.message, expected);
}

static void context_goes_in_front_and_keeps_the_status(void **state)
{
    (void)state;
    struct error error;
    error_set(&error, STATUS_BAD_PROBLEM, "inner");
    assert_int_equal(error_context(&error, "dataset %d", 3), STATUS_BAD_PROBLEM);
    assert_int_equal(error_context(&error, "file"), STATUS_BAD_PROBLEM);
    assert_string_equal(error.message, "file: dataset 3: inner");
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, STATUS_USAGE, "x"), STATUS_USAGE);
    assert_int_equal(error_system(NULL, ENOENT, "x"), STATUS_SYSTEM);
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    struct { struct error error; char guard[16]; } held;
    char text[2 * sizeof held.error.message];
    memset(held.guard, 'g', sizeof held.guard);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    error_set(&held.error, STATUS_USAGE, "%s", text);
    assert_int_equal(strlen(held.error.message), sizeof held.error.message - 1);
    error_context(&held.error, "%s", text);
    assert_int_equal(strlen(held.error.message), sizeof held.error.message - 1);
    error_system(&held.error, EIO, "%s", text);
    assert_int_equal(strlen(held.error.message), sizeof held.error.message - 1);
    for (size_t i = 0; i < sizeof held.guard; i++)
        assert_int_equal(held.guard[i], 'g');
}

static void exit_codes_are_those_of_the_manual(void **state)
{
    (void)state;
    const struct { enum status status; int code; } promised[] = {
        {STATUS_OK, 0}, {STATUS_FITS_FAILED, 1}, {STATUS_USAGE, 2}, {STATUS_BAD_PROBLEM, 3}, {STATUS_BAD_MODEL, 3},
        {STATUS_SYSTEM, 4}, {STATUS_NO_MEMORY, 4}, {STATUS_INTERNAL, 5}, {STATUS_STOPPED, 75}};
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++)
        assert_int_equal(status_exit_code(promised[i].status), promised[i].code);
}

/* Numbers in result files never change their meaning. */
static void outcomes_keep_their_numbers(void **state)
{
    (void)state;
    const char *const names[] = {"not_run", "converged", "stalled", "budget", "timeout", "ode_failed", "model_failed",
                                 "crashed", "bad_data", "out_of_memory"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        assert_string_equal(outcome_name((enum outcome)i), names[i]);
        assert_true(strlen(outcome_meaning((enum outcome)i)) > 0);
        assert_int_equal(outcome_is_success((enum outcome)i), i == 1);
    }
    assert_string_equal(outcome_name(N_OUTCOME), "unknown");
    assert_false(outcome_is_success(N_OUTCOME));
    assert_string_equal(note_name(0), "difference_jacobian");
    assert_string_equal(note_name(8), "no_model_sigma");
    assert_null(note_name(-1));
    assert_null(note_meaning(32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_filled_and_returns_its_status),
        cmocka_unit_test(system_errors_say_why),
        cmocka_unit_test(context_goes_in_front_and_keeps_the_status),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(exit_codes_are_those_of_the_manual),
        cmocka_unit_test(outcomes_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
