/* Summaries: counting, examples, and what --accept-failed makes of failures.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/finish/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct fit_record record_of(enum outcome outcome)
{
    struct fit_record record = {.outcome = outcome, .notes = NOTE_start_moved, .seconds = 0.5, .n_evaluation = 3, .n_step = 10};
    snprintf(record.reason, sizeof record.reason, "because of %s", outcome_name(outcome));
    return record;
}

static void fill(struct run_summary *summary, int n_good, int n_bad)
{
    struct fit_record good = record_of(OUTCOME_converged), bad = record_of(OUTCOME_ode_failed);
    for (int i = 0; i < n_good; i++)
        summary_add(summary, "good", &good, 0);
    for (int i = 0; i < n_bad; i++) {
        char id[16];
        snprintf(id, sizeof id, "bad%d", i);
        summary_add(summary, id, &bad, 0);
    }
}

static void test_counts(void **state)
{
    (void)state;
    struct run_summary summary = {0};
    fill(&summary, 7, 5);
    assert_int_equal(summary.digest.n_fit, 12);
    assert_int_equal(summary.digest.by_outcome[OUTCOME_converged], 7);
    assert_int_equal(summary.digest.by_outcome[OUTCOME_ode_failed], 5);
    assert_int_equal(digest_n_failed(&summary.digest), 5);
    assert_int_equal(summary.digest.noted[5].n, 12);
    assert_int_equal(summary.digest.n_evaluation, 36);
    assert_true(summary.digest.seconds == 6.0); /* halves add up exactly */
    assert_string_equal(summary.digest.failed[OUTCOME_ode_failed].id[0], "bad0");
    assert_string_equal(summary.digest.failed[OUTCOME_ode_failed].id[2], "bad2");
    assert_string_equal(summary.digest.failed[OUTCOME_converged].id[0], "");
    assert_string_equal(summary.reason[OUTCOME_ode_failed], "because of ode_failed");
}

static void test_unknown_outcome_is_no_success(void **state)
{
    (void)state;
    struct run_summary summary = {0};
    struct fit_record strange = record_of((enum outcome)77);
    summary_add(&summary, "x", &strange, 0);
    assert_int_equal(digest_n_failed(&summary.digest), 1);
}

static enum status status_with(int n_good, int n_bad, double accept, bool percent)
{
    struct run_summary summary = {0};
    const struct run_shown options = {.accept_failed = {accept, percent}};
    fill(&summary, n_good, n_bad);
    return run_summary_status(&summary, &options);
}

static void test_accept_failed(void **state)
{
    (void)state;
    assert_int_equal(status_with(0, 0, 0, false), STATUS_OK);
    assert_int_equal(status_with(10, 0, 0, false), STATUS_OK);
    assert_int_equal(status_with(9, 1, 0, false), STATUS_FITS_FAILED);
    assert_int_equal(status_with(9, 1, 1, false), STATUS_OK);
    assert_int_equal(status_with(8, 2, 1, false), STATUS_FITS_FAILED);
    assert_int_equal(status_with(9, 1, 10, true), STATUS_OK);
    assert_int_equal(status_with(9, 1, 9.9, true), STATUS_FITS_FAILED);
    assert_int_equal(status_with(0, 3, 100, true), STATUS_OK);
}

static void test_a_result_that_is_not_there(void **state)
{
    (void)state;
    static char path[] = "/no/such/folder/r.h5";
    struct run_summary summary = {0};
    const struct run_paths paths = {.problem = "p.h5", .result = path};
    struct run_identity identity = {.n_start = 1};
    struct error error;
    assert_int_equal(summary_look(&paths, &identity, &summary, &error), STATUS_OK);
    assert_false(summary.already_complete);
}

static void test_a_file_that_is_no_result_is_kept(void **state)
{
    (void)state;
    char path[] = "/tmp/stiffit-test-XXXXXX";
    static char device[] = "/dev/null";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "text", 4), 4);
    close(file);
    struct run_summary summary = {0};
    struct run_paths paths = {.problem = "p.h5", .result = path};
    struct run_identity identity = {.n_start = 1};
    struct error error;
    assert_int_equal(summary_look(&paths, &identity, &summary, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "--overwrite"));
    paths.overwrite = true;
    assert_int_equal(summary_look(&paths, &identity, &summary, &error), STATUS_OK);
    unlink(path);
    paths.result = device; /* which nothing replaces */
    assert_int_equal(summary_look(&paths, &identity, &summary, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "/dev/null: is a device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_unknown_outcome_is_no_success),
        cmocka_unit_test(test_accept_failed),
        cmocka_unit_test(test_a_result_that_is_not_there),
        cmocka_unit_test(test_a_file_that_is_no_result_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
