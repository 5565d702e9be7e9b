/* Every call that may fail does so once: the k-th allocation, write, fsync or rename of an operation, for all k until
 * it succeeds; once as a passing fault and once as a lasting one. Errors are said, nothing leaks, and what was
 * acknowledged is there. The calls are replaced by linking functions of their names here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/table/csv.h"
#include "io/result/result.h"
#include "../journal_helpers.h"
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum call { NONE, WRITE, FSYNC, RENAME, OPEN_AT, ALLOCATE };
enum way { FAIL, INTERRUPT, SHORTEN, INTRUDE };

ssize_t write(int file, const void *bytes, size_t n)
{
    if (!now(WRITE))
        return syscall(SYS_write, file, bytes, n);
    switch (plan.way) {
    case FAIL: errno = EIO; return -1;
    case INTERRUPT: errno = EINTR; return -1;
    case SHORTEN: return syscall(SYS_write, file, bytes, n / 2 + 1);
    default: /* half of it, and then another thread's bytes */
        n = (size_t)syscall(SYS_write, file, bytes, n / 2);
        syscall(SYS_write, file, "intruder", 8);
        return (ssize_t)n;
    }
}

int fsync(int file)
{
    if (now(FSYNC)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to)
{
    if (now(RENAME)) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Another process removes the file just before. */
int openat(int directory, const char *name, int flags, ...)
{
    if (now(OPEN_AT))
        syscall(SYS_unlinkat, directory, name, 0);
    return (int)syscall(SYS_openat, directory, name, flags, 0);
}

#include "failing_allocation.h"

/* What is done while a call fails; STATUS_OK if it came through. */
typedef enum status operation(const char *directory, struct error *error);

static struct run_identity identity; /* of 600 parameters: a record does not fit on the stack */

static enum status append_two(const char *directory, struct error *error)
{
    static double parameter[600];
    static int8_t at_bound[600];
    struct fit_record record = {.parameter = parameter, .at_bound = at_bound, .outcome = 1};
    struct journal *journal;
    enum status status = journal_open(&journal, directory, &identity, NULL, 0, error);
    for (record.dataset = 0; record.dataset < 2 && !status; record.dataset++)
        status = journal_append(journal, &record, error);
    if (!status)
        status = journal_sync(journal, error);
    journal_close(journal);
    return status;
}

static enum status read_all(const char *directory, struct error *error)
{
    static double parameter[600];
    static int8_t at_bound[600];
    struct fit_record record = {.parameter = parameter, .at_bound = at_bound};
    struct journal_reader *reader;
    enum status status = journal_read(&reader, directory, NULL, error);
    if (status)
        return status;
    bool found = journal_get(reader, 0, &record, error) && journal_get(reader, 1, &record, error);
    journal_reader_free(reader);
    return found ? STATUS_OK : error->status ? error->status : STATUS_INTERNAL;
}

static enum status read_table(const char *directory, struct error *error)
{
    char path[300];
    struct csv_reader *reader;
    bool more = true;
    double value, sum = 0;
    snprintf(path, sizeof path, "%s/t.csv", directory);
    enum status status = csv_open(&reader, path, error);
    while (!status && more)
        if (!(status = csv_next(reader, &more, error)) && more) {
            status = csv_number(reader, 1, &value, error);
            sum += value;
        }
    csv_close(reader);
    return !status && sum != 3 ? STATUS_INTERNAL : status;
}

static enum status write_result(const char *directory, struct error *error)
{
    static const char *const names[] = {"k1", "k2"};
    char path[300];
    struct result_writer *writer;
    struct held_record held;
    struct result_header header = {.n_parameter = 2, .parameter_name = names, .parameter_scale = names,
                                   .objective_kind = "half_sum_of_squares", .identity = example_identity(2, 1)};
    snprintf(path, sizeof path, "%s/r.h5", directory);
    enum status status = result_writer_open(&writer, path, NULL, &header, error);
    if (!status)
        status = result_writer_add(writer, "a", example_record(&held, &header.identity, 1), error);
    if (!status)
        status = result_writer_finish(writer, error);
    result_writer_close(writer);
    return status;
}

/* Returns how many calls there were to fail. */
static long fail_each(operation *operate, const char *directory, enum call call, bool lasting)
{
    for (long k = 0;; k++) {
        struct error error = {.status = STATUS_OK};
        plan = (struct plan){.call = call, .countdown = k, .lasting = lasting};
        enum status status = operate(directory, &error);
        bool met = plan.met;
        plan.call = NONE;
        if (!met) {
            assert_int_equal(status, STATUS_OK);
            return k;
        }
        if (status != STATUS_SYSTEM || !error.message[0])
            fail_msg("fault %ld: status %d, '%s'", k, (int)status, error.message);
    }
}

static uint64_t count_records(const char *directory)
{
    struct journal_reader *reader = read_journal(directory, NULL);
    uint64_t n = journal_n_record(reader);
    journal_reader_free(reader);
    return n;
}

static void interrupted_writes_are_repeated(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct error error;
    for (long k = 0; k < 3; k++)
        for (int way = INTERRUPT; way <= SHORTEN; way++) {
            plan = (struct plan){.call = WRITE, .way = (enum way)way, .countdown = k};
            assert_int_equal(append_two(directory, &error), STATUS_OK);
            assert_true(plan.met);
            plan.call = NONE;
        }
    struct journal_reader *reader = read_journal(directory, NULL);
    assert_int_equal(journal_n_record(reader), 2);
    assert_int_equal(journal_n_damaged(reader), 0);
    journal_reader_free(reader);
    remove_scratch(directory);
}

/* Another thread's bytes behind a torn record: it is appended once more, and readers pass over the torn one. */
static void torn_with_another_behind_is_repeated(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    struct error error;
    plan = (struct plan){.call = WRITE, .way = INTRUDE, .countdown = 2};
    assert_int_equal(append_two(directory, &error), STATUS_OK);
    plan.call = NONE;
    struct journal_reader *reader = read_journal(directory, NULL);
    assert_int_equal(journal_n_record(reader), 2);
    assert_int_equal(journal_n_damaged(reader), 1);
    journal_reader_free(reader);
    remove_scratch(directory);
}

static void writes_and_fsyncs_fail(void **state)
{
    (void)state;
    char *directory = scratch_directory();
    for (int lasting = 0; lasting < 2; lasting++) {
        assert_int_equal(fail_each(append_two, directory, WRITE, lasting), 3);
        assert_int_equal(fail_each(append_two, directory, FSYNC, lasting), 3);
    }
    assert_int_equal(count_records(directory), 2);
    remove_scratch(directory);
}

static void result_is_not_there_if_it_could_not_be_kept(void **state)
{
    (void)state;
    char *directory = scratch_directory(), path[300];
    snprintf(path, sizeof path, "%s/r.h5", directory);
    struct error error;
    plan = (struct plan){.call = FSYNC, .countdown = 0};
    assert_int_equal(write_result(directory, &error), STATUS_SYSTEM);
    assert_int_not_equal(access(path, F_OK), 0);
    plan = (struct plan){.call = RENAME, .countdown = 0};
    assert_int_equal(write_result(directory, &error), STATUS_SYSTEM);
    assert_int_not_equal(access(path, F_OK), 0);
    plan.call = NONE;
    assert_int_equal(rmdir(directory), 0); /* no temporary file was left in it */
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(write_result(directory, &error), STATUS_OK);
    assert_int_equal(access(path, F_OK), 0);
    remove_scratch(directory);
}

static void allocations_fail(void **state)
{
    (void)state;
#if !REPLACES_MALLOC
    skip();
#endif
    char *directory = scratch_directory(), path[300];
    struct error error;
    assert_int_equal(append_two(directory, &error), STATUS_OK);
    snprintf(path, sizeof path, "%s/t.csv", directory);
    FILE *file = fopen(path, "w");
    fputs("a,\"b\",c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r\n1,2,,,,,,,,,,,,,,,,\n", file);
    for (int i = 0; i < 18; i++)
        fprintf(file, "%s%0200d", i ? "," : "", 1);
    fclose(file);
    for (int lasting = 0; lasting < 2; lasting++) {
        /* opendir and fopen allocate, too: their ENOMEM comes as STATUS_SYSTEM. qsort, stdio and giving memory back do
         * without, so reading may succeed: then what has been read is checked. */
        long n_append = 0, n_read = 0, n_table = 0;
        operation *const operations[] = {append_two, read_all, read_table};
        long *const counts[] = {&n_append, &n_read, &n_table};
        for (int i = 0; i < 3; i++)
            for (bool met = true; met; *counts[i] += met) {
                plan = (struct plan){.call = ALLOCATE, .countdown = *counts[i], .lasting = lasting};
                long before = n_alive;
                enum status status = operations[i](directory, &error);
                assert_int_equal(n_alive, before);
                met = plan.met;
                plan.call = NONE;
                bool told = status == STATUS_NO_MEMORY || status == STATUS_SYSTEM || (status == STATUS_OK && i > 0);
                if (met && !told)
                    fail_msg("operation %d, allocation %ld: status %d", i, *counts[i], (int)status);
                if (!met)
                    assert_int_equal(status, STATUS_OK);
            }
        assert_true(n_append >= 3 && n_read >= 6 && n_table >= 6);
    }
    remove_scratch(directory);
}

/* Both of two processes have the result, and remove the journal: no file of it is a stranger's because it is gone. */
static void two_remove_it(void **state)
{
    (void)state;
    char *directory = scratch_directory(), journal[300];
    struct error error;
    struct stat found;
    snprintf(journal, sizeof journal, "%s/j", directory);
    assert_int_equal(append_two(journal, &error), STATUS_OK);
    plan = (struct plan){.call = OPEN_AT};
    assert_int_equal(journal_remove(journal, &error), STATUS_OK);
    assert_true(plan.met);
    plan.call = NONE;
    assert_int_equal(stat(journal, &found), -1);
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_writes_are_repeated),
        cmocka_unit_test(torn_with_another_behind_is_repeated),
        cmocka_unit_test(writes_and_fsyncs_fail),
        cmocka_unit_test(result_is_not_there_if_it_could_not_be_kept),
        cmocka_unit_test(allocations_fail),
        cmocka_unit_test(two_remove_it),
    };
    identity = example_identity(600, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
