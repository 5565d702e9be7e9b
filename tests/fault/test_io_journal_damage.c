/* Damaged journals: cut at every byte, a bit flipped at every byte, torn by a full disk. Whole records before and
 * behind the damage count, nothing wrong is ever read, and other processes' files stay as they are.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/journal/journal.h"
#include "../journal_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

enum { N_RECORD = 12, HEADER = 16 + 1288, FRAME = 16 };

static size_t record_end[N_RECORD + 1]; /* record_end[i]: where record i begins and record i - 1 ends */

static void find_ends(const struct run_identity *identity)
{
    size_t n_column = 0, n = identity->n_parameter;
    for (int i = 0; i < N_FIT_COLUMN; i++) {
        enum fit_kind kind = fit_columns[i].kind;
        size_t width = fit_columns[i].shape == PER_FIT ? 1 : fit_columns[i].shape == PER_PARAMETER ? n : n * n;
        n_column += width * (kind == FIT_DOUBLE || kind == FIT_INT64 ? 8 : kind == FIT_UINT32 ? 4 : 1);
    }
    record_end[0] = HEADER;
    for (uint64_t fit = 0; fit < N_RECORD; fit++)
        record_end[fit + 1] = record_end[fit] + FRAME + 12 + n_column + fit % 160;
}

static size_t whole_records(size_t n_byte)
{
    size_t n = 0;
    while (n < N_RECORD && record_end[n + 1] <= n_byte)
        n++;
    return n;
}

/* Exactly fits 0 to n_record - 1 are there, with their values. */
static void expect_first(const char *directory, const struct run_identity *identity, size_t n_record,
                         uint64_t n_damaged)
{
    struct journal_reader *reader = read_journal(directory, identity);
    assert_int_equal(journal_n_record(reader), n_record);
    assert_int_equal(journal_n_damaged(reader), n_damaged);
    for (uint64_t fit = 0; fit < N_RECORD; fit++) {
        if (fit < n_record)
            expect_record(reader, identity, fit);
        else
            assert_false(journal_has(reader, fit));
    }
    journal_reader_free(reader);
}

static void expect_all_but(const char *directory, const struct run_identity *identity, uint64_t missing)
{
    struct journal_reader *reader = read_journal(directory, identity);
    assert_int_equal(journal_n_record(reader), N_RECORD - 1);
    assert_int_equal(journal_n_damaged(reader), 1);
    for (uint64_t fit = 0; fit < N_RECORD; fit++)
        if (fit != missing)
            expect_record(reader, identity, fit);
        else
            assert_false(journal_has(reader, fit));
    journal_reader_free(reader);
}

static void cut_at_every_byte(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    size_t n, n_after;
    find_ends(&identity);
    write_journal(directory, &identity, 0, N_RECORD);
    unsigned char *bytes = read_only_file(directory, &n);
    assert_int_equal(n, record_end[N_RECORD]);
    for (size_t cut = 0; cut <= n; cut++) {
        replace_only_file(directory, bytes, cut);
        size_t whole = whole_records(cut);
        bool damaged = cut != 0 && cut != record_end[whole];
        expect_first(directory, &identity, whole, damaged);
    }
    /* Reading changes nothing. */
    replace_only_file(directory, bytes, n - 5);
    expect_first(directory, &identity, N_RECORD - 1, 1);
    unsigned char *after = read_only_file(directory, &n_after);
    assert_int_equal(n_after, n - 5);
    assert_memory_equal(after, bytes, n_after);
    free(after);
    free(bytes);
    remove_scratch(directory);
}

static void flip_a_bit_at_every_byte(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    size_t n;
    find_ends(&identity);
    write_journal(directory, &identity, 0, N_RECORD);
    unsigned char *bytes = read_only_file(directory, &n);
    for (size_t at = 0; at < n; at++) {
        bytes[at] ^= (unsigned char)(1 << at % 8);
        replace_only_file(directory, bytes, n);
        /* A CRC finds every single flipped bit; the records behind it are found again. */
        if (at < HEADER)
            expect_first(directory, &identity, 0, 1);
        else
            expect_all_but(directory, &identity, whole_records(at));
        bytes[at] ^= (unsigned char)(1 << at % 8);
    }
    free(bytes);
    remove_scratch(directory);
}

static void zeros_and_noise_behind_the_records(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    size_t n;
    find_ends(&identity);
    write_journal(directory, &identity, 0, N_RECORD);
    unsigned char *bytes = read_only_file(directory, &n), *longer = calloc(n + 100000, 1);
    memcpy(longer, bytes, n);
    replace_only_file(directory, longer, n + 100000); /* what some file systems leave after a power failure */
    expect_first(directory, &identity, N_RECORD, 1);
    memset(longer + n, 0xff, 100000);
    replace_only_file(directory, longer, n + 100000);
    expect_first(directory, &identity, N_RECORD, 1);
    memcpy(longer + n + 7, bytes + HEADER, n - HEADER); /* behind the damage, twins of the first */
    replace_only_file(directory, longer, 2 * n);
    expect_first(directory, &identity, N_RECORD, 1);
    free(longer);
    free(bytes);
    remove_scratch(directory);
}

static void damage_in_one_file_leaves_the_others(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    size_t n;
    find_ends(&identity);
    write_journal(directory, &identity, 0, 6);
    unsigned char *bytes = read_only_file(directory, &n);
    bytes[record_end[2] + 20] ^= 1;
    replace_only_file(directory, bytes, n);
    write_journal(directory, &identity, 6, N_RECORD);
    struct journal_reader *reader = read_journal(directory, NULL);
    assert_int_equal(journal_n_record(reader), 5 + 6);
    assert_int_equal(journal_n_damaged(reader), 1);
    expect_record(reader, &identity, 1);
    assert_false(journal_has(reader, 2));
    expect_record(reader, &identity, 11);
    journal_reader_free(reader);
    write_journal(directory, &identity, 2, 3); /* what a resumed run does */
    expect_first(directory, &identity, N_RECORD, 1);
    free(bytes);
    remove_scratch(directory);
}

/* Good CRCs around numbers that cannot be: of a dataset, a start or an outcome that this run does not have. */
static void records_of_no_fit_do_not_count(void **state)
{
    (void)state;
    struct run_identity identity = example_identity(2, 2);
    for (int kind = 0; kind < 3; kind++) {
        char *directory = scratch_directory();
        struct journal *journal;
        struct error error;
        struct held_record held;
        assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
        struct fit_record *record = example_record(&held, &identity, 3);
        assert_int_equal(journal_append(journal, record, &error), STATUS_OK);
        record->dataset = kind == 0 ? identity.n_dataset : 4;
        record->start = kind == 1 ? identity.n_start : 0;
        record->outcome = kind == 2 ? N_OUTCOME : 1;
        assert_int_equal(journal_append(journal, record, &error), STATUS_OK);
        journal_close(journal);
        struct journal_reader *reader = read_journal(directory, &identity);
        assert_int_equal(journal_n_record(reader), 1);
        assert_int_equal(journal_n_damaged(reader), 1);
        journal_reader_free(reader);
        remove_scratch(directory);
    }
}

static void strange_things_in_the_directory(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[400];
    struct run_identity identity = example_identity(2, 1);
    struct journal_reader *reader;
    struct error error;
    find_ends(&identity);
    write_journal(directory, &identity, 0, N_RECORD);
    const char *const names[] = {"x.log", "README", ".nfs0001", "a-1-2-0123456789abcdeg.log",
                                 "a-1-2-0123456789abcdef.log~", "-1-2-0123456789abcdef.log",
                                 "a-b-2-0123456789abcdef.log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("anything", file);
        fclose(file);
    }
    expect_first(directory, &identity, N_RECORD, 0);
    /* The name of a journal's file: a pipe must not stop us, a link is not followed. */
    snprintf(path, sizeof path, "%s/a-1-2-0123456789abcdef.log", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(journal_read(&reader, directory, &identity, &error), STATUS_SYSTEM);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(journal_read(&reader, directory, &identity, &error), STATUS_SYSTEM);
    assert_non_null(strstr(error.message, path));
    unlink(path);
    remove_scratch(directory);
}

static void expect_other_version(const char *directory, const unsigned char *bytes, size_t n)
{
    struct run_identity identity = example_identity(2, 1);
    struct journal_reader *reader;
    struct error error;
    replace_only_file(directory, bytes, n);
    assert_int_equal(journal_read(&reader, directory, &identity, &error), STATUS_SYSTEM);
    if (!strstr(error.message, "another version") || !strstr(error.message, "--restart") ||
        !strstr(error.message, directory))
        fail_msg("%s", error.message);
}

static void seal_header(unsigned char *bytes, size_t n_payload)
{
    bytes[8] = (unsigned char)n_payload;
    bytes[9] = (unsigned char)(n_payload >> 8);
    uint32_t crc = (uint32_t)crc32(crc32(0, bytes, 12), bytes + 16, (uInt)n_payload);
    for (int i = 0; i < 4; i++)
        bytes[12 + i] = (unsigned char)(crc >> 8 * i);
}

/* Of any other format: the first one, whose header had no list of columns; 0.1.0's; one of the future; and ours with columns
 * that this program does not have. What was finished there is not thrown away without being asked. */
static void other_formats_are_refused(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    size_t n;
    write_journal(directory, &identity, 0, 1);
    unsigned char *bytes = read_only_file(directory, &n), old[16 + 1276];
    /* Format 5 with a payload of 4 bytes; its CRC-32 was computed with Python's zlib. */
    expect_other_version(directory, (const unsigned char *)"STFJ\5\0\0\0\4\0\0\0\xbf\x96\x49\xe7" "abcd", 20);
    for (int format = 1; format <= 3; format += 2) {
        size_t n_payload = format == 1 ? 1144 : 1276;
        memcpy(old, bytes, 16);
        memcpy(old + 16, bytes + 16, n_payload);
        old[4] = (unsigned char)format;
        seal_header(old, n_payload);
        expect_other_version(directory, old, 16 + n_payload);
    }
    bytes[16 + 120] ^= 1; /* the checksum of the columns */
    seal_header(bytes, HEADER - 16);
    expect_other_version(directory, bytes, n);
    free(bytes);
    remove_scratch(directory);
}

static void keep_text(struct journal *journal, enum frame_type type, uint32_t number, const char *text)
{
    struct error error;
    assert_int_equal(journal_keep(journal, type, number, text, strlen(text), &error), STATUS_OK);
}

static void expect_text(const char *directory, enum frame_type type, uint32_t number, const char *text)
{
    struct journal_reader *reader = read_journal(directory, NULL);
    uint32_t found = 0;
    size_t n = 0;
    unsigned char *kept;
    struct error error;
    assert_int_equal(journal_kept(reader, type, &kept, &n, &found, &error), STATUS_OK);
    assert_true(text ? kept != NULL : kept == NULL);
    if (text) {
        assert_int_equal(found, number);
        assert_int_equal(n, strlen(text));
        assert_memory_equal(kept, text, n);
    }
    free(kept);
    journal_reader_free(reader);
}

/* The file that ends with this text. */
static char *file_with(const char *directory, const char *text)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    char *path = NULL, end[100];
    size_t n = strlen(text);
    while (list && !path && (entry = readdir(list))) {
        FILE *file = NULL;
        if (asprintf(&path, "%s/%s", directory, entry->d_name) > 0 && strstr(path, ".log"))
            file = fopen(path, "rb");
        bool is_it = file && !fseek(file, -(long)n, SEEK_END) && fread(end, n, 1, file) == 1 &&
                     !memcmp(end, text, n);
        if (file)
            fclose(file);
        if (!is_it) {
            free(path);
            path = NULL;
        }
    }
    closedir(list);
    assert_non_null(path);
    return path;
}

/* Of what is kept, the one with the highest number counts, in whatever file; if that one is torn, the one before it. */
static void what_is_kept_replaces_what_was(void **state)
{
    (void)state;
    char *directory = scratch_directory(), *path;
    struct run_identity identity = example_identity(2, 1);
    struct journal *one, *two;
    struct error error;
    struct stat found;
    expect_text(directory, FRAME_STATE, 0, NULL);
    assert_int_equal(journal_open(&one, directory, &identity, "plan", 4, &error), STATUS_OK);
    keep_text(one, FRAME_STATE, 1, "first");
    keep_text(one, FRAME_POPULATION, 1, "people");
    keep_text(one, FRAME_STATE, 2, "second");
    expect_text(directory, FRAME_STATE, 2, "second");
    expect_text(directory, FRAME_POPULATION, 1, "people");
    assert_int_equal(journal_open(&two, directory, &identity, NULL, 0, &error), STATUS_OK);
    keep_text(two, FRAME_STATE, 3, "");
    expect_text(directory, FRAME_STATE, 3, "");
    keep_text(two, FRAME_STATE, 5, "fifth");
    keep_text(one, FRAME_STATE, 4, "fourth, late");
    expect_text(directory, FRAME_STATE, 5, "fifth");
    path = file_with(directory, "fifth");
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(truncate(path, found.st_size - 1), 0);
    expect_text(directory, FRAME_STATE, 4, "fourth, late");
    free(path);
    expect_first(directory, &identity, 0, 1);
    journal_close(one);
    journal_close(two);
    assert_int_equal(journal_remove(directory, &error), STATUS_OK);
    free(directory);
}

/* What is kept but cannot be read any more is not "none". A removed file can be read as long as the reader has it open. */
static void kept_that_vanishes_is_an_error(void **state)
{
    (void)state;
    static const char *const how[] = {"removed", "cut", "overwritten"};
    for (int i = 0; i < 3; i++) {
        char *directory = scratch_directory(), path[600];
        struct run_identity identity = example_identity(4, 1);
        struct journal *journal;
        struct error error;
        struct stat found;
        unsigned char *kept;
        size_t n;
        uint32_t number;
        assert_int_equal(journal_open(&journal, directory, &identity, NULL, 0, &error), STATUS_OK);
        keep_text(journal, FRAME_POPULATION, 1, "what counts");
        journal_close(journal);
        struct journal_reader *reader = read_journal(directory, &identity);
        DIR *list = opendir(directory);
        for (struct dirent *entry; (entry = readdir(list));) {
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            if (entry->d_name[0] == '.' || stat(path, &found))
                continue;
            if (i == 0)
                assert_int_equal(unlink(path), 0);
            if (i == 1)
                assert_int_equal(truncate(path, found.st_size - 3), 0);
            FILE *file = i == 2 ? fopen(path, "r+") : NULL;
            if (file) {
                assert_int_equal(fseek(file, -2, SEEK_END), 0);
                fputs("??", file);
                fclose(file);
            }
        }
        closedir(list);
        enum status status = journal_kept(reader, FRAME_POPULATION, &kept, &n, &number, &error);
        bool is_whole = i == 0 && status == STATUS_OK && kept && n == strlen("what counts") && !memcmp(kept, "what counts", n);
        if (!is_whole && (status != STATUS_SYSTEM || kept))
            fail_msg("%s: no error", how[i]);
        if (!is_whole)
            assert_non_null(strstr(error.message, directory));
        free(kept);
        journal_reader_free(reader);
        remove_scratch(directory);
    }
}

static void vanished_bytes_are_no_crash(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    struct held_record held;
    struct error error;
    size_t n;
    find_ends(&identity);
    write_journal(directory, &identity, 0, N_RECORD);
    struct journal_reader *reader = read_journal(directory, &identity);
    unsigned char *bytes = read_only_file(directory, &n);
    replace_only_file(directory, bytes, record_end[3] + 4); /* another process cut the file meanwhile */
    assert_true(journal_get(reader, 2, hold_record(&held), &error));
    assert_false(journal_get(reader, 3, hold_record(&held), &error));
    assert_int_equal(error.status, STATUS_SYSTEM);
    assert_false(journal_get(reader, 11, hold_record(&held), &error));
    assert_int_equal(error.status, STATUS_SYSTEM);
    journal_reader_free(reader);
    free(bytes);
    remove_scratch(directory);
}

/* A limit on the size of files stands for a full disk: the write that crosses it stops half-way. */
static int fill_up(const char *directory, const struct run_identity *identity, size_t limit)
{
    struct journal *journal;
    struct error error;
    struct rlimit size = {limit, limit};
    signal(SIGXFSZ, SIG_IGN);
    if (journal_open(&journal, directory, identity, NULL, 0, &error) || setrlimit(RLIMIT_FSIZE, &size))
        return 1;
    for (uint64_t fit = 0; fit < N_RECORD; fit++) {
        struct held_record held;
        if (journal_append(journal, example_record(&held, identity, fit), &error) == STATUS_OK)
            continue;
        bool told = error.status == STATUS_SYSTEM && strstr(error.message, "make room") &&
            strstr(error.message, directory);
        return told ? 42 : 2;
    }
    return 3;
}

static void full_disk_leaves_whole_records(void **state)
{
    (void)state;
    struct run_identity identity = example_identity(2, 1);
    find_ends(&identity);
    for (size_t limit = record_end[2]; limit < record_end[4]; limit += 13) {
        char *directory = scratch_directory();
        int status;
        size_t n;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(fill_up(directory, &identity, limit));
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 42);
        unsigned char *bytes = read_only_file(directory, &n);
        free(bytes);
        assert_int_equal(n, record_end[whole_records(limit)]); /* the torn record has been taken back */
        expect_first(directory, &identity, whole_records(limit), 0);
        remove_scratch(directory);
    }
}

static void full_disk_at_the_header_leaves_no_file(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct run_identity identity = example_identity(2, 1);
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct journal *journal;
        struct error error;
        struct rlimit size = {100, 100};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &size);
        _exit(journal_open(&journal, directory, &identity, NULL, 0, &error) == STATUS_SYSTEM && !journal ? 42 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 42);
    remove_scratch(directory);
}

/* SIGKILL in the middle of appending: everything before it is there. */
static void killed_while_appending(void **state)
{
    (void)state;
    struct run_identity identity = example_identity(2, 1);
    for (int round = 0; round < 5; round++) {
        char *directory = scratch_directory();
        int pipe_ends[2], status;
        assert_int_equal(pipe(pipe_ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct journal *journal;
            if (journal_open(&journal, directory, &identity, NULL, 0, NULL))
                _exit(1);
            for (uint32_t fit = 0;; fit++) {
                struct held_record held;
                if (journal_append(journal, example_record(&held, &identity, fit % 1000000), NULL) ||
                    write(pipe_ends[1], &fit, sizeof fit) != sizeof fit)
                    _exit(1);
            }
        }
        uint32_t told = 0, last = 0;
        close(pipe_ends[1]);
        while (last < 200 && read(pipe_ends[0], &told, sizeof told) == sizeof told)
            last = told;
        kill(child, SIGKILL);
        while (read(pipe_ends[0], &told, sizeof told) == sizeof told)
            last = told;
        waitpid(child, &status, 0);
        close(pipe_ends[0]);
        assert_true(last >= 200);
        struct journal_reader *reader = read_journal(directory, &identity);
        for (uint64_t fit = 0; fit <= last; fit++)
            expect_record(reader, &identity, fit);
        assert_true(journal_n_record(reader) <= (uint64_t)last + 2); /* one may have been appended and not told */
        journal_reader_free(reader);
        remove_scratch(directory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(flip_a_bit_at_every_byte),
        cmocka_unit_test(zeros_and_noise_behind_the_records),
        cmocka_unit_test(damage_in_one_file_leaves_the_others),
        cmocka_unit_test(records_of_no_fit_do_not_count),
        cmocka_unit_test(strange_things_in_the_directory),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(what_is_kept_replaces_what_was),
        cmocka_unit_test(kept_that_vanishes_is_an_error),
        cmocka_unit_test(vanished_bytes_are_no_crash),
        cmocka_unit_test(full_disk_leaves_whole_records),
        cmocka_unit_test(full_disk_at_the_header_leaves_no_file),
        cmocka_unit_test(killed_while_appending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
