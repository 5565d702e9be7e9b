/* The journal: what is appended is read back to the bit, whatever the order, the threads and the number of files; and
 * what differs between two runs is said in words.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/journal/journal.h"
#include "../level.h"
#include "../journal_helpers.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void records_come_back_to_the_bit(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 2);
    write_journal(directory, &identity, 0, 200);
    struct journal_reader *reader = read_journal(directory, &identity);
    assert_int_equal(journal_n_record(reader), 200);
    assert_int_equal(journal_n_damaged(reader), 0);
    for (uint64_t fit = 0; fit < 200; fit++)
        expect_record(reader, &identity, fit);
    for (uint64_t i = 0; i < 200; i++) /* in any order */
        expect_record(reader, &identity, i * 77 % 200);
    assert_false(journal_has(reader, 200));
    struct held_record held;
    struct error error;
    assert_false(journal_get(reader, 200, hold_record(&held), &error));
    assert_int_equal(error.status, STATUS_OK);
    journal_reader_free(reader);
    remove_scratch(directory);
}

static void odd_numbers_survive(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 1);
    struct journal *journal;
    struct error error;
    double parameter[3] = {NAN, -INFINITY, -0.0};
    int8_t at_bound[3] = {-1, 0, 1};
    struct fit_record record = {.dataset = 999999, .outcome = OUTCOME_bad_data, .notes = UINT32_MAX,
                                .objective = INFINITY, .gradient_norm = -NAN, .seconds = 5e-324,
                                .n_iteration = INT64_MIN, .n_evaluation = INT64_MAX,
                                .n_step = -1, .parameter = parameter, .at_bound = at_bound};
    memset(record.reason, 'r', sizeof record.reason); /* no NUL: cut, not overrun */
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    assert_int_equal(journal_append(journal, &record, &error), STATUS_OK);
    assert_int_equal(journal_sync(journal, &error), STATUS_OK);
    journal_close(journal);
    struct journal_reader *reader = read_journal(directory, NULL);
    struct held_record held;
    struct fit_record *back = hold_record(&held);
    assert_true(journal_get(reader, 999999, back, &error));
    assert_memory_equal(back->parameter, parameter, sizeof parameter);
    assert_memory_equal(back->at_bound, at_bound, sizeof at_bound);
    assert_memory_equal(&back->objective, &record.objective, sizeof record.objective);
    assert_memory_equal(&back->gradient_norm, &record.gradient_norm, sizeof record.gradient_norm);
    assert_memory_equal(&back->seconds, &record.seconds, sizeof record.seconds);
    assert_true(back->n_iteration == INT64_MIN && back->n_evaluation == INT64_MAX && back->n_step == -1);
    assert_int_equal(back->notes, UINT32_MAX);
    assert_int_equal(back->outcome, OUTCOME_bad_data);
    assert_int_equal(strlen(back->reason), sizeof record.reason - 1);
    journal_reader_free(reader);
    remove_scratch(directory);
}

/* The format is a promise to other machines: the bytes are checked one by one. */
static void bytes_are_little_endian_by_definition(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(1, 1);
    struct journal *journal;
    struct error error;
    double parameter = 1.0;
    int8_t at_bound = -1;
    struct fit_record record = {.dataset = 0x0102030405, .outcome = 1, .notes = 0x0a0b0c0d, .n_step = 258, .objective = -2.25,
                                .parameter = &parameter, .at_bound = &at_bound, .reason = "hi"};
    identity.n_dataset = UINT64_C(1) << 40;
    strcpy(identity.selection, "shard=1/2");
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    assert_int_equal(journal_append(journal, &record, &error), STATUS_OK);
    journal_close(journal);
    size_t n, n_column = 0;
    for (int i = 0; i < N_FIT_COLUMN; i++) /* with one parameter all columns have one number */
        n_column += fit_columns[i].kind == FIT_DOUBLE || fit_columns[i].kind == FIT_INT64 ? 8
                    : fit_columns[i].kind == FIT_UINT32                                   ? 4
                                                                                          : 1;
    unsigned char *bytes = read_only_file(directory, &n), *r = bytes + 16 + 1288;
    assert_int_equal(n, 16 + 1288 + 16 + 8 + 4 + n_column + 2);
    assert_memory_equal(bytes, "STFJ\4\0\0\0\x08\5\0\0", 12);
    assert_memory_equal(bytes + 16, identity.problem, 32);
    assert_memory_equal(bytes + 16 + 128, identity.description, sizeof identity.description);
    assert_memory_equal(bytes + 16 + 128 + 1024, "shard=1/2", 10);
    assert_memory_equal(r, "STFR\0\0\0\0", 8);
    assert_int_equal(r[8] | r[9] << 8, 8 + 4 + n_column + 2);
    assert_int_equal(r[10] | r[11], 0);
    /* dataset, length of the reason; parameter, objective, status, notes, start */
    assert_memory_equal(r + 16, "\5\4\3\2\1\0\0\0" "\2\0\0\0" "\0\0\0\0\0\0\xf0\x3f" "\0\0\0\0\0\0\x02\xc0", 28);
    assert_memory_equal(r + 44, "\1" "\x0d\x0c\x0b\x0a" "\0\0\0\0", 9);
    /* steps are followed by the computing time, last comes at_bound */
    assert_memory_equal(r + 16 + 12 + n_column - 17, "\2\1\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0" "\xff" "hi", 19);
    free(bytes);
    remove_scratch(directory);
}

static void directory_that_is_not_there_is_empty(void **state)
{
    (void)state;
    struct error error;
    struct journal_reader *reader;
    assert_int_equal(journal_read(&reader, "/tmp/no-such-directory-here", NULL, &error), STATUS_OK);
    assert_int_equal(journal_n_record(reader), 0);
    assert_null(journal_identity(reader));
    assert_false(journal_has(reader, 0));
    journal_reader_free(reader);
    assert_int_equal(journal_remove("/tmp/no-such-directory-here", &error), STATUS_OK);
}

static void twins_are_read_as_one_and_the_first_wins(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 2);
    write_journal(directory, &identity, 0, 60);
    write_journal(directory, &identity, 40, 100);
    write_journal(directory, &identity, 40, 45);
    struct journal_reader *reader = read_journal(directory, NULL);
    assert_int_equal(journal_n_record(reader), 100);
    assert_int_equal(journal_identity(reader)->seed, identity.seed);
    for (uint64_t fit = 0; fit < 100; fit++)
        expect_record(reader, &identity, fit);
    journal_reader_free(reader);
    /* Within one file. */
    struct journal *journal;
    struct error error;
    char *other = scratch_directory();
    assert_int_equal(journal_open(&journal, other, &identity, NULL, 0, &error), STATUS_OK);
    for (int i = 0; i < 3; i++) {
        struct held_record held;
        struct fit_record *record = example_record(&held, &identity, 7);
        record->objective = i;
        assert_int_equal(journal_append(journal, record, &error), STATUS_OK);
    }
    journal_close(journal);
    reader = read_journal(other, &identity);
    struct held_record held;
    assert_int_equal(journal_n_record(reader), 1);
    assert_true(journal_get(reader, 7, hold_record(&held), &error));
    assert_true(held.record.objective == 0);
    journal_reader_free(reader);
    remove_scratch(directory);
    remove_scratch(other);
}

struct appender {
    struct journal *journal;
    const struct run_identity *identity;
    uint64_t first, step, end;
    bool good;
};

static void *append_some(void *context)
{
    struct appender *appender = context;
    struct error error;
    for (uint64_t fit = appender->first; fit < appender->end; fit += appender->step) {
        struct held_record held;
        appender->good &= !journal_append(appender->journal, example_record(&held, appender->identity, fit), &error);
    }
    return NULL;
}

static void threads_append_without_a_lock(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(30, 1);
    struct appender appender[8];
    pthread_t thread[8];
    struct error error;
    struct journal *journal;
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    for (uint64_t i = 0; i < 8; i++) {
        appender[i] = (struct appender){journal, &identity, i, 8, 8000, true};
        assert_int_equal(pthread_create(&thread[i], NULL, append_some, &appender[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        assert_true(appender[i].good);
    }
    journal_close(journal);
    struct journal_reader *reader = read_journal(directory, &identity);
    assert_int_equal(journal_n_damaged(reader), 0);
    assert_int_equal(journal_n_record(reader), 8000);
    for (uint64_t fit = 0; fit < 8000; fit++)
        expect_record(reader, &identity, fit);
    journal_reader_free(reader);
    remove_scratch(directory);
}

static void two_processes_append_at_once(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 1);
    pid_t child[2];
    for (uint64_t i = 0; i < 2; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0) {
            struct journal *journal;
            if (journal_open(&journal, directory, &identity, NULL, 0, NULL))
                _exit(1);
            struct appender appender = {journal, &identity, i * 1000, 1, i * 1000 + 2000, true};
            append_some(&appender);
            _exit(!appender.good);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct journal_reader *reader = read_journal(directory, &identity);
    assert_int_equal(journal_n_record(reader), 3000);
    for (uint64_t fit = 0; fit < 3000; fit++)
        expect_record(reader, &identity, fit);
    journal_reader_free(reader);
    remove_scratch(directory);
}

static void many_parameters_fit(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(100000, 1);
    struct journal *journal;
    struct error error;
    double *parameter = malloc(100000 * sizeof *parameter), *back = calloc(100000, sizeof *back);
    int8_t *at_bound = calloc(100000, 1);
    struct fit_record record = {.parameter = parameter, .at_bound = at_bound};
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
    for (record.dataset = 0; record.dataset < 12; record.dataset++) {
        for (size_t i = 0; i < 100000; i++)
            parameter[i] = (double)i + (double)record.dataset / 16;
        assert_int_equal(journal_append(journal, &record, &error), STATUS_OK);
    }
    journal_close(journal);
    struct journal_reader *reader = read_journal(directory, &identity);
    record.parameter = back;
    assert_int_equal(journal_n_record(reader), 12);
    for (uint64_t fit = 0; fit < 12; fit++) {
        assert_true(journal_get(reader, 11 - fit, &record, &error));
        for (size_t i = 0; i < 100000; i++)
            assert_true(back[i] == (double)i + (double)(11 - fit) / 16);
    }
    journal_reader_free(reader);
    free(parameter);
    free(back);
    free(at_bound);
    identity.n_parameter = 100001;
    assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_BAD_PROBLEM);
    remove_scratch(directory);
}

static void expect_refusal(const char *directory, const struct run_identity *identity, const char *const *words)
{
    struct journal_reader *reader;
    struct error error;
    assert_int_equal(journal_read(&reader, directory, identity, &error), STATUS_SYSTEM);
    assert_null(reader);
    for (; *words; words++)
        if (!strstr(error.message, *words))
            fail_msg("'%s' is not in: %s", *words, error.message);
}

static void another_run_is_refused_in_words(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    const struct run_identity before = example_identity(3, 2);
    write_journal(directory, &before, 0, 5);
    struct run_identity now = before;
    now.options[3]++;
    snprintf(now.description, sizeof now.description, "rtol=1e-8 atol=1e-10 max-steps=5");
    expect_refusal(directory, &now, (const char *[]){"options there: rtol=1e-6, here: rtol=1e-8 max-steps=5.",
                                                     "--restart", directory, NULL});
    now = before;
    now.problem[31]++;
    expect_refusal(directory, &now, (const char *[]){"the problem's data have changed", NULL});
    now = before;
    now.model[0]++;
    expect_refusal(directory, &now, (const char *[]){"the model has changed", NULL});
    now = before;
    now.seed = 99;
    now.n_start = 4;
    now.n_parameter = 5;
    now.n_dataset = 6;
    expect_refusal(directory, &now, (const char *[]){"seed: 1 there, 99 here", "starts per dataset: 2 there, 4 here",
                                                     "number of parameters: 3 there, 5 here",
                                                     "number of datasets: 1000000 there, 6 here", NULL});
    now = before;
    snprintf(now.selection, sizeof now.selection, "shard=2/8");
    expect_refusal(directory, &now, (const char *[]){"datasets there: all, here: shard=2/8", NULL});
    now = before;
    snprintf(now.description, sizeof now.description, "other words, same hashes");
    assert_true(identity_equal(&before, &now));
    struct journal_reader *reader = read_journal(directory, &now);
    assert_int_equal(journal_n_record(reader), 5);
    journal_reader_free(reader);
    now.seed = 2; /* two runs in one directory, and none is asked for */
    write_journal(directory, &now, 0, 5);
    expect_refusal(directory, NULL, (const char *[]){"seed: ", NULL});
    remove_scratch(directory);
}

static void differences_fit_into_small_room(void **state)
{
    (void)state;
    struct run_identity a = example_identity(3, 2), b = example_identity(4, 3);
    char small[10];
    memset(a.description, 'x', sizeof a.description - 1);
    b.options[0]++;
    assert_true(strlen(identity_difference(&a, &b, small, sizeof small)) < sizeof small);
    assert_string_equal(identity_difference(&a, &a, small, sizeof small), "");
}

struct coming_and_going {
    const char *directory;
    _Atomic bool is_enough;
};

/* As a process does that replaces what it has kept. */
static void *come_and_go(void *argument)
{
    struct coming_and_going *what = argument;
    char path[512];
    while (!what->is_enough)
        for (int i = 0; i < 20; i++) {
            snprintf(path, sizeof path, "%s/host-1-1-%016x.log", what->directory, i % 10);
            if (i < 10)
                close(open(path, O_CREAT | O_WRONLY, 0666));
            else
                unlink(path);
        }
    return NULL;
}

/* A file that is removed after the folder was listed: more than one of 1000 readings would fail. */
static void files_may_go_while_they_are_read(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 2);
    struct coming_and_going what = {.directory = directory};
    pthread_t thread;
    write_journal(directory, &identity, 0, 20);
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, &what), 0);
    for (int i = 0; i < 1000; i++) {
        struct journal_reader *reader = read_journal(directory, &identity);
        assert_int_equal(journal_n_record(reader), 20);
        assert_int_equal(journal_n_damaged(reader), 0);
        journal_reader_free(reader);
    }
    what.is_enough = true;
    pthread_join(thread, NULL);
    remove_scratch(directory);
}

static void removing_spares_what_is_not_ours(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300], journal[280];
    struct run_identity identity = example_identity(3, 2);
    struct error error;
    struct stat found;
    snprintf(journal, sizeof journal, "%s/x.journal", directory);
    write_journal(journal, &identity, 0, 5);
    snprintf(path, sizeof path, "%s/notes.txt", journal);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(journal_remove(journal, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "notes.txt"));
    assert_int_equal(stat(path, &found), 0);
    unlink(path);
    /* The name of a journal's file, but other contents. */
    snprintf(path, sizeof path, "%s/host-1-2-0123456789abcdef.log", journal);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(file, "mine", 4), 4);
    close(file);
    assert_int_equal(journal_remove(journal, &error), STATUS_SYSTEM);
    assert_int_equal(stat(path, &found), 0);
    unlink(path);
    write_journal(journal, &identity, 0, 5);
    const char *const companions[] = {"header.h5", ".header.h5.tmp-123-0"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", journal, companions[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    assert_int_equal(journal_remove(journal, &error), STATUS_OK);
    assert_int_not_equal(stat(journal, &found), 0);
    remove_scratch(directory);
}

static void unusable_places_are_named(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300], beneath[320];
    struct run_identity identity = example_identity(3, 2);
    struct error error;
    struct journal *journal;
    snprintf(path, sizeof path, "%s/missing/x.journal", directory);
    assert_int_equal(journal_open(&journal, path, &identity, NULL, 0, &error), STATUS_SYSTEM);
    assert_null(journal);
    assert_non_null(strstr(error.message, "there is no directory"));
    snprintf(path, sizeof path, "%s/file", directory);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(journal_open(&journal, path, &identity, NULL, 0, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, "it is a file"));
    struct journal_reader *reader;
    assert_int_equal(journal_read(&reader, path, &identity, &error), STATUS_SYSTEM);
    snprintf(beneath, sizeof beneath, "%s/x", path);
    assert_int_equal(journal_open(&journal, beneath, &identity, NULL, 0, &error), STATUS_SYSTEM);
    remove_scratch(directory);
}

static void index_costs_sixteen_bytes_a_fit(void **state)
{
    (void)state;
    if (!level_is_slow())
        skip();
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(3, 1);
    write_journal(directory, &identity, 0, 1000000);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct journal_reader *reader = read_journal(directory, &identity);
    size_t cost = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    /* 16 MB for the index; 8 windows of 64 KiB and the reader itself take less than one more. */
    assert_true(cost < 17000000);
    assert_int_equal(journal_n_record(reader), 1000000);
    for (uint64_t fit = 0; fit < 1000000; fit += 37)
        expect_record(reader, &identity, fit);
    journal_reader_free(reader);
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_to_the_bit),
        cmocka_unit_test(odd_numbers_survive),
        cmocka_unit_test(bytes_are_little_endian_by_definition),
        cmocka_unit_test(directory_that_is_not_there_is_empty),
        cmocka_unit_test(twins_are_read_as_one_and_the_first_wins),
        cmocka_unit_test(threads_append_without_a_lock),
        cmocka_unit_test(two_processes_append_at_once),
        cmocka_unit_test(many_parameters_fit),
        cmocka_unit_test(another_run_is_refused_in_words),
        cmocka_unit_test(differences_fit_into_small_room),
        cmocka_unit_test(files_may_go_while_they_are_read),
        cmocka_unit_test(removing_spares_what_is_not_ours),
        cmocka_unit_test(unusable_places_are_named),
        cmocka_unit_test(index_costs_sixteen_bytes_a_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
