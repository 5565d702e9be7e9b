/* Which refits a run has, which datasets are pilots, and records of refits in the journal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../journal_helpers.h"
#include "run/plan/pilot.h"
#include "run/plan/refit.h"
#include "run/plan/best.h"

#include <math.h>
#include <stdio.h>

static const char *const names[] = {"k1", "k2", "Vmax"};

static void plans(void **state)
{
    (void)state;
    struct recipe options = {.profile = NULL};
    struct refit_plan plan;
    struct error error;
    char text[REFIT_PROFILE_TEXT];
    assert_int_equal(refit_plan_init(&plan, &options, names, NULL, 3, &error), STATUS_OK);
    assert_int_equal(refit_plan_n(&plan), 0);
    assert_null(refit_plan_profile(&plan, names, text));
    options.profile = "Vmax,k1,Vmax";
    options.n_bootstrap = 5;
    assert_int_equal(refit_plan_init(&plan, &options, names, NULL, 3, &error), STATUS_OK);
    assert_int_equal(refit_plan_n(&plan), 13);
    struct refit refit = refit_plan_get(&plan, 0);
    assert_true(refit.kind == REFIT_PROFILE && refit.parameter == 0 && refit.side == -1);
    refit = refit_plan_get(&plan, 3);
    assert_true(refit.kind == REFIT_PROFILE && refit.parameter == 2 && refit.side == 1);
    refit = refit_plan_get(&plan, 8);
    assert_true(refit.kind == REFIT_BOOTSTRAP && refit.replicate == 4);
    refit = refit_plan_get(&plan, 9 + 2);
    assert_true(refit.kind == REFIT_REVIEW && refit.parameter == 2 && refit.side == -1);
    assert_string_equal(refit_plan_profile(&plan, names, text), "k1,Vmax");
    refit_plan_fini(&plan);
    options.profile = "vmax";
    assert_int_equal(refit_plan_init(&plan, &options, names, NULL, 3, &error), STATUS_USAGE);
    assert_non_null(strstr(error.message, "Did you mean 'Vmax'?"));
    refit_plan_fini(&plan);
    options.profile = "all";
    assert_int_equal(refit_plan_init(&plan, &options, names, NULL, 3, &error), STATUS_OK);
    assert_int_equal(plan.n_profile, 3);
    refit_plan_fini(&plan);
}

/* Of 300 parameters the list does not fit; two different ones must still be told apart. */
static void long_lists_have_a_hash(void **state)
{
    (void)state;
    enum { N_NAME = 300 };
    static char storage[N_NAME][16];
    const char *many[N_NAME];
    char text[2][REFIT_PROFILE_TEXT];
    for (int i = 0; i < N_NAME; i++) {
        snprintf(storage[i], sizeof storage[i], "parameter%03d", i);
        many[i] = storage[i];
    }
    struct recipe options = {.profile = NULL};
    struct error error;
    options.profile = "all";
    for (int k = 0; k < 2; k++) {
        struct refit_plan plan;
        assert_int_equal(refit_plan_init(&plan, &options, many, NULL, N_NAME, &error), STATUS_OK);
        plan.profile[N_NAME - 1] -= (uint32_t)k;
        assert_non_null(refit_plan_profile(&plan, many, text[k]));
        refit_plan_fini(&plan);
    }
    assert_string_not_equal(text[0], text[1]);
}

static void pilots_are_spread_evenly(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 3, 5, 31, 63, 64, 65, 100, 1000, 99991};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s], m = pilot_count(n), found = 0;
        assert_true(m == (n / 2 < 32 ? n / 2 : 32));
        for (uint64_t d = 0; d < n; d++) {
            bool listed = found < m && pilot_dataset(n, found) == d;
            assert_int_equal(pilot_is(n, d), listed);
            found += listed;
        }
        assert_int_equal(found, m);
    }
    assert_true(pilot_is(UINT64_C(1) << 40, pilot_dataset(UINT64_C(1) << 40, 31)));
}

/* Others would begin elsewhere if they began at what is left of the pilots, or at the best of the starts that are left. */
static void nothing_begins_at_what_is_left(void **state)
{
    (void)state;
    static const enum parameter_scale scale[3];
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 2);
    write_journal(directory, &identity, 0, 1);
    struct journal_reader *reader = read_journal(directory, &identity);
    struct error error;
    struct pilots *pilots = pilots_new(3, scale);
    assert_non_null(pilots);
    assert_int_equal(pilots_gather(pilots, reader, &identity, &error), STATUS_SYSTEM);
    pilots_free(pilots);
    uint64_t dataset = 0;
    char *fault = NULL;
    double start[3] = {0};
    struct problem_block block = {.n = 1, .dataset = &dataset, .fault = &fault, .start = start};
    struct refit_starts starts;
    assert_int_equal(refit_starts_init(&starts, reader, &identity, &error), STATUS_OK);
    assert_int_equal(refit_starts_put(&starts, &block, &error), STATUS_SYSTEM);
    assert_true(starts.incomplete);
    refit_starts_fini(&starts);
    journal_reader_free(reader);
    remove_scratch(directory);
}

/* Refits come back without their pairs, with limit and points; starts beside them are as ever. */
static void refits_in_the_journal(void **state)
{
    (void)state;
    enum { N_START = 2, N_POINT = 7 };
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, N_START);
    struct journal *journal;
    struct error error;
    struct held_record held, back;
    double point[2 * FIT_MAX_POINT], points[2 * FIT_MAX_POINT];
    identity.n_refit = 4;
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    for (uint32_t task = 0; task < 6; task++) {
        struct fit_record *record = example_record(&held, &identity, 40 + task);
        record->dataset = 9;
        record->start = task;
        record->limit = task < N_START ? 0 : LIMIT_bound;
        record->n_point = task < N_START ? 0 : N_POINT;
        for (int k = 0; k < 2 * N_POINT; k++)
            point[k] = task + k / 16.0;
        record->point = point;
        assert_int_equal(journal_append(journal, record, &error), STATUS_OK);
    }
    journal_close(journal);
    struct journal_reader *reader = read_journal(directory, &identity);
    assert_int_equal(journal_n_record(reader), 6);
    assert_int_equal(journal_n_damaged(reader), 0);
    for (uint32_t task = 0; task < 6; task++) {
        struct fit_record *expected = example_record(&held, &identity, 40 + task), *found = hold_record(&back);
        found->point = points;
        assert_true(journal_has(reader, 9 * 6 + task) && journal_get(reader, 9 * 6 + task, found, &error));
        assert_int_equal(found->start, task);
        assert_memory_equal(found->parameter, expected->parameter, 3 * sizeof(double));
        assert_string_equal(found->reason, expected->reason);
        if (task < N_START) {
            assert_memory_equal(found->covariance, expected->covariance, 9 * sizeof(double));
            continue;
        }
        assert_true(isnan(found->covariance[0]) && isnan(found->covariance[8]));
        assert_int_equal(found->limit, LIMIT_bound);
        assert_int_equal(found->n_point, N_POINT);
        for (int k = 0; k < 2 * N_POINT; k++)
            assert_true(points[k] == task + k / 16.0);
    }
    assert_false(journal_has(reader, 9 * 6 + 6));
    journal_reader_free(reader);
    identity.n_refit = 5; /* another run */
    assert_int_equal(journal_read(&reader, directory, &identity, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "refits per dataset"));
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans), cmocka_unit_test(long_lists_have_a_hash), cmocka_unit_test(pilots_are_spread_evenly),
        cmocka_unit_test(refits_in_the_journal), cmocka_unit_test(nothing_begins_at_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
