/* Answers while calls fail: the k-th write, open or allocation, once and from then on, for all k. The fit that keeps them never
 * learns of it but by one error, and what is read back later is right as far as it goes. The calls are replaced by linking
 * functions of their names here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/journal/answers.h"
#include "../journal_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum call { NONE, WRITE, OPEN, TRUNCATE, ALLOCATE };
enum way { FAIL, INTERRUPT, SHORTEN };

static struct plan {
    enum call call;
    enum way way;
    long countdown; /* fails when it comes to 0 ... */
    bool lasting;   /* ... and ever after */
    bool met;
} plan;

static bool now(enum call call)
{
    if (plan.call != call || plan.countdown > 0) {
        plan.countdown -= plan.call == call;
        return false;
    }
    if (plan.met && !plan.lasting)
        return false;
    plan.met = true;
    return true;
}

ssize_t write(int file, const void *bytes, size_t n)
{
    if (!now(WRITE))
        return syscall(SYS_write, file, bytes, n);
    if (plan.way == SHORTEN)
        n = n / 2 + 1;
    else if (plan.way == INTERRUPT) {
        errno = EINTR;
        return -1;
    } else {
        syscall(SYS_write, file, bytes, n / 3); /* the disk is full in the middle of it */
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, file, bytes, n);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (now(OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ftruncate(int file, off_t size)
{
    if (now(TRUNCATE)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_ftruncate, file, size);
}

#include "failing_allocation.h"

enum { N = 40, FIT = 3, MOST = 3000 };

static size_t size_of(uint64_t i) { return (size_t)(i * 977 % MOST); }

/* A process: reads what is there and adds the rest, in pieces of 4. How many there were; *n_error: errors. */
static uint64_t process(const char *journal, const struct run_identity *identity, int *n_error)
{
    struct answers answers = {0};
    struct error error;
    uint64_t n_good = 0;
    size_t n;
    struct answers_folder *folder = answers_folder_new(journal, identity);
    answers_begin(&answers, folder, FIT, MOST);
    for (const unsigned char *bytes; (bytes = answers_next(&answers, &n)); n_good++) {
        assert_int_equal(n, size_of(n_good));
        for (size_t k = 0; k < n; k++)
            assert_int_equal(bytes[k], (n_good + k) % 251);
    }
    for (uint64_t i = n_good; i < N; i++) {
        unsigned char *room = answers_add(&answers, size_of(i));
        for (size_t k = 0; room && k < size_of(i); k++)
            room[k] = (unsigned char)((i + k) % 251);
        if (i % 4 == 3 && answers_flush(&answers, &error)) {
            assert_int_equal(error.status, STATUS_SYSTEM);
            ++*n_error;
        }
    }
    answers_fini(&answers);
    answers_folder_free(folder);
    return n_good;
}

static void check(enum call call, enum way way, bool lasting)
{
    struct run_identity identity = example_identity(2, 1);
    bool met = true;
    for (long k = 0; met; k++) {
        char *journal = scratch_directory();
        int n_error = 0, none = 0;
        struct error error;
        uint64_t n_good = 0;
        long before = n_alive;
        for (int round = 0; round < 2; round++) { /* the calls of a new file, and of one that is gone on with */
            plan = (struct plan){.call = call, .way = way, .countdown = k, .lasting = lasting};
            n_good = process(journal, &identity, &n_error);
            met = plan.met;
            plan.call = NONE;
            if (round == 0 && !met)
                assert_int_equal(n_good, 0);
        }
        assert_int_equal(n_alive, before);
        assert_true(n_error <= 2); /* one for each process */
        n_good = process(journal, &identity, &none);
        assert_int_equal(none, 0);
        assert_true(n_good >= (met ? 0 : N));
        if (way != FAIL) { /* what can be mended is mended */
            assert_int_equal(n_error, 0);
            assert_int_equal(n_good, N);
        }
        assert_int_equal(process(journal, &identity, &none), N);
        assert_int_equal(answers_remove(journal, &error), STATUS_OK);
        remove_scratch(journal);
        assert_true(k < 1000);
    }
}

static void failing_writes(void **state)
{
    (void)state;
    check(WRITE, FAIL, false);
    check(WRITE, FAIL, true);
}

static void interrupted_and_short_writes(void **state)
{
    (void)state;
    check(WRITE, INTERRUPT, false);
    check(WRITE, SHORTEN, false);
    check(WRITE, SHORTEN, true);
}

static void failing_opens(void **state)
{
    (void)state;
    check(OPEN, FAIL, false);
    check(OPEN, FAIL, true);
}

static void failing_truncations(void **state)
{
    (void)state;
    check(TRUNCATE, FAIL, false);
    check(TRUNCATE, FAIL, true);
}

static void failing_allocations(void **state)
{
    (void)state;
    check(ALLOCATE, FAIL, false);
    check(ALLOCATE, FAIL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_writes), cmocka_unit_test(interrupted_and_short_writes), cmocka_unit_test(failing_opens),
        cmocka_unit_test(failing_truncations), cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
