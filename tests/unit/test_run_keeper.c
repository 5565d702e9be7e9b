/* What is kept of a task's fits: the records of those that have ended and the state of the one under way, no more often than it
 * is worth; quick tasks have no file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "run/compute/keeper.h"
#include "../journal_helpers.h"

enum { TASK = 5, P = 3 };
static const int64_t tenth = KEEPER_WORTH_NS;

struct run {
    char *journal, file[400];
    struct run_identity identity;
    struct keepers keepers;
    struct keeper keeper;
    int64_t elapsed_ns;
};

static int64_t elapsed(void *context) { return ((struct run *)context)->elapsed_ns; }

static void begin(struct run *run)
{
    keeper_begin(&run->keeper, &run->keepers, TASK, elapsed, run);
    run->elapsed_ns = run->keeper.before_ns;
}

static void init(struct run *run)
{
    memset(run, 0, sizeof *run);
    run->journal = scratch_directory();
    run->identity = example_identity(P, 1);
    snprintf(run->file, sizeof run->file, "%s/states/%d-0.state", run->journal, TASK);
    assert_true(keepers_init(&run->keepers, run->journal, &run->identity));
    begin(run);
}

/* As in the next process. */
static void again(struct run *run)
{
    keepers_look(&run->keepers, run->journal, &run->identity);
    begin(run);
}

static void fini(struct run *run)
{
    struct error error;
    keeper_fini(&run->keeper);
    keepers_fini(&run->keepers);
    assert_int_equal(states_remove(run->journal, &error), STATUS_OK);
    remove_scratch(run->journal);
}

static bool has_file(const struct run *run) { return access(run->file, F_OK) == 0; }

/* A fit begins. Its state, as a number; 0: none; -1: it has ended before. */
static int begin_fit(struct run *run, int number)
{
    struct held_record held;
    const unsigned char *state;
    size_t n = 0;
    const struct fit_keeper *fits = &run->keeper.fits;
    if (fits->begin(fits->context, P, hold_record(&held), &state, &n)) {
        assert_true(held.record.objective == 0.5 * number && held.record.parameter[2] == number);
        return -1;
    }
    assert_true(!state || (n > 0 && state[n - 1] == n));
    return state ? (int)n : 0;
}

/* So much later there is a step. Whether its state was asked for. */
static bool step(struct run *run, int64_t more_ns, int state)
{
    const struct fit_keeper *fits = &run->keeper.fits;
    run->elapsed_ns += more_ns;
    bool is_due = fits->is_due(fits->context);
    if (is_due) {
        unsigned char *bytes = malloc((size_t)state);
        memset(bytes, state, (size_t)state);
        fits->keep(fits->context, bytes, (size_t)state);
    }
    keeper_write(&run->keeper);
    return is_due;
}

static void end_fit(struct run *run, int64_t more_ns, int number)
{
    struct held_record held;
    struct fit_record *record = hold_record(&held);
    const struct fit_keeper *fits = &run->keeper.fits;
    run->elapsed_ns += more_ns;
    record->objective = 0.5 * number;
    record->parameter[2] = number;
    fits->end(fits->context, P, record);
    keeper_write(&run->keeper);
}

static void a_task_goes_on_where_it_was(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    int64_t before_ns = 0;
    for (int k = 0; k < 6; k++) { /* each process ends one fit, and is in the middle of the next when it dies */
        for (int i = 0; i < k; i++)
            assert_int_equal(begin_fit(&run, i), -1);
        assert_int_equal(begin_fit(&run, k), k > 0 ? 100 + k : 0);
        assert_int_equal(run.keeper.before_ns, before_ns);
        assert_true(step(&run, 2 * tenth, 50 + k));
        end_fit(&run, tenth / 2, k);
        assert_int_equal(begin_fit(&run, k + 1), 0);
        assert_true(step(&run, tenth, 101 + k));
        before_ns = run.elapsed_ns;
        assert_false(step(&run, tenth - 1, 7)); /* which is lost */
        again(&run);
    }
    assert_true(has_file(&run));
    keeper_end(&run.keeper);
    assert_false(has_file(&run));
    fini(&run);
}

static void quick_tasks_have_no_file(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(begin_fit(&run, i), 0);
        assert_false(step(&run, tenth / 101, 3));
        end_fit(&run, tenth / 101, i);
    }
    assert_int_equal(run.keeper.n_record, 0);
    keeper_end(&run.keeper);
    assert_false(has_file(&run));
    fini(&run);
}

/* Fits that ended in the first tenth of a second are made again. */
static void early_fits_are_made_again(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(begin_fit(&run, i), 0);
        end_fit(&run, tenth / 3 + 1, i); /* the third one is kept and written, the fourth kept */
    }
    again(&run);
    for (int i = 0; i < 4; i++)
        assert_int_equal(begin_fit(&run, i), i == 2 ? -1 : 0);
    fini(&run);
}

static void writing_takes_a_small_part_of_the_time(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    begin_fit(&run, 0);
    assert_true(step(&run, tenth, 9));
    run.keeper.fits.keep(run.keeper.fits.context, calloc(1, 20 << 20), 20 << 20);
    keeper_write(&run.keeper);
    assert_false(step(&run, (20 << 20) * (int64_t)KEEPER_NS_PER_BYTE - 1, 9));
    assert_true(step(&run, 10000, 9));
    fini(&run);
}

static void what_found_no_memory_is_not_kept(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    begin_fit(&run, 0);
    assert_true(step(&run, tenth, 9));
    run.elapsed_ns += tenth;
    run.keeper.fits.keep(run.keeper.fits.context, malloc(8), 8);
    keeper_stop(&run.keeper);
    keeper_write(&run.keeper);
    assert_false(step(&run, tenth, 8));
    again(&run);
    assert_int_equal(begin_fit(&run, 0), 9);
    run.keeper.fits.keep(run.keeper.fits.context, NULL, 0); /* no memory for the state itself: the next one may find some */
    keeper_write(&run.keeper);
    assert_true(step(&run, tenth, 10));
    struct held_record held;
    struct fit_record *record = hold_record(&held);
    record->outcome = OUTCOME_out_of_memory;
    run.keeper.fits.end(run.keeper.fits.context, P, record);
    assert_null(run.keeper.folder);
    again(&run);
    assert_int_equal(begin_fit(&run, 0), 10);
    keeper_end(&run.keeper);
    fini(&run);
}

static void trouble_is_told_once_and_stops_nothing(void **state)
{
    (void)state;
    struct run run;
    struct error error;
    char path[300];
    init(&run);
    snprintf(path, sizeof path, "%s/states", run.journal);
    FILE *file = fopen(path, "w"); /* in the folder's place */
    assert_non_null(file);
    fclose(file);
    assert_false(keepers_tell(&run.keepers, &error));
    begin_fit(&run, 0);
    assert_true(step(&run, tenth, 5));
    assert_false(step(&run, tenth, 5));
    assert_true(keepers_tell(&run.keepers, &error));
    assert_non_null(strstr(error.message, path));
    assert_false(keepers_tell(&run.keepers, &error));
    begin(&run);
    assert_null(run.keeper.folder); /* nothing is tried any more */
    unlink(path);
    fini(&run);
}

/* Sizes that the file's checksum does not question. */
static void odd_sizes_are_passed_over(void **state)
{
    (void)state;
    struct run run;
    init(&run);
    static const uint64_t sizes[][3] = {/* of the records, the state, the first record */
                                        {UINT64_MAX, 8, 0}, {UINT64_MAX - 31, 32, 0}, {24, UINT64_MAX - 23, 0}, {16, 32, 0},
                                        {32, 0, UINT64_MAX}, {32, 0, 17}, {32, 0, 16}, {15, 17, 0}};
    for (size_t what = 0; what < sizeof sizes / sizeof *sizes; what++) {
        unsigned char bytes[STATES_HEAD + 64] = {0};
        struct error error;
        bool is_there = false;
        const uint64_t numbers[] = {1, 0, sizes[what][0], sizes[what][1], 0, sizes[what][2], 0, UINT64_C(17) << 56};
        memcpy(bytes + STATES_HEAD, numbers, sizeof numbers);
        assert_int_equal(states_write(run.keepers.folder, TASK, &is_there, bytes, 64, false, &error), STATUS_OK);
        again(&run);
        assert_int_equal(begin_fit(&run, 0), sizes[what][1] == 17 ? 17 : 0);
        assert_int_equal(states_write(run.keepers.folder, TASK, &is_there, bytes, what, false, &error), STATUS_OK);
        again(&run);
        assert_int_equal(begin_fit(&run, 0), 0);
    }
    fini(&run);
}

static void without_a_place_there_is_nothing(void **state)
{
    (void)state;
    struct run run = {.elapsed_ns = 0};
    keeper_begin(&run.keeper, NULL, TASK, elapsed, &run);
    assert_int_equal(begin_fit(&run, 0), 0);
    assert_false(step(&run, 5 * tenth, 4));
    end_fit(&run, 5 * tenth, 0);
    keeper_stop(&run.keeper);
    keeper_end(&run.keeper);
    keeper_fini(&run.keeper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_goes_on_where_it_was),
        cmocka_unit_test(quick_tasks_have_no_file),
        cmocka_unit_test(early_fits_are_made_again),
        cmocka_unit_test(writing_takes_a_small_part_of_the_time),
        cmocka_unit_test(what_found_no_memory_is_not_kept),
        cmocka_unit_test(trouble_is_told_once_and_stops_nothing),
        cmocka_unit_test(odd_sizes_are_passed_over),
        cmocka_unit_test(without_a_place_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
