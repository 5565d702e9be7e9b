/* States while calls fail: the k-th write, open, close, rename or allocation, once and from then on, for all k. The fit that
 * keeps them never learns of it but by an error, and what is read back later is one of the states. The calls are replaced by
 * linking functions of their names here.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/journal/states.h"
#include "../journal_helpers.h"
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum call { NONE, WRITE, OPEN, CLOSE, RENAME, ALLOCATE };
enum way { FAIL, INTERRUPT, SHORTEN };

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

int close(int file)
{
    bool fails = now(CLOSE);
    int code = (int)syscall(SYS_close, file);
    if (!fails)
        return code;
    errno = EDQUOT; /* a file server that has taken the bytes finds no room for them */
    return -1;
}

int rename(const char *from, const char *to)
{
    if (now(RENAME)) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

#include "failing_allocation.h"

enum { N = 12, FIT = 3, MOST = 3000 };

static size_t size_of(uint64_t i) { return (size_t)(i * 977 % MOST); }

/* A process: reads the state that is there, and writes the rest. The number of that state, from 1; 0: none. */
static uint64_t process(const char *journal, const struct run_identity *identity, int *n_error)
{
    unsigned char room[STATES_HEAD + MOST];
    struct error error;
    struct states_folder *folder = states_folder_new(journal, identity);
    if (!folder)
        return 0;
    size_t n;
    bool is_there = states_has(folder, FIT), goes_on = true;
    unsigned char *bytes = states_read(folder, FIT, &n);
    uint64_t found = 0;
    for (uint64_t i = 0; i < N && bytes && !found; i++)
        found = n == size_of(i) ? i + 1 : 0;
    assert_true(!bytes || found);
    for (size_t k = 0; bytes && k < n; k++)
        assert_int_equal(bytes[k], (found - 1 + k) % 251);
    free(bytes);
    for (uint64_t i = found; i < N && goes_on; i++) {
        for (size_t k = 0; k < size_of(i); k++)
            room[STATES_HEAD + k] = (unsigned char)((i + k) % 251);
        enum status status = states_write(folder, FIT, &is_there, room, size_of(i), true, &error);
        assert_true(!status || (status == STATUS_SYSTEM && *error.message));
        *n_error += status != STATUS_OK;
        goes_on = !status && is_there;
    }
    states_folder_free(folder);
    return found;
}

static void check(enum call call, enum way way, bool lasting)
{
    struct run_identity identity = example_identity(2, 1);
    bool met = true;
    for (long k = 0; met; k++) {
        char *journal = scratch_directory();
        int n_error = 0, none = 0;
        struct error error;
        long before = n_alive;
        for (int round = 0; round < 2; round++) { /* the calls of a new file, and of one that is gone on with */
            plan = (struct plan){.call = call, .way = way, .countdown = k, .lasting = lasting};
            process(journal, &identity, &n_error);
            met = plan.met;
            plan.call = NONE;
        }
        assert_int_equal(n_alive, before);
        assert_true(n_error <= 2); /* one for each process */
        uint64_t found = process(journal, &identity, &none);
        assert_int_equal(none, 0);
        if (way != FAIL) { /* what can be mended is mended */
            assert_int_equal(n_error, 0);
            assert_int_equal(found, N);
        }
        assert_int_equal(process(journal, &identity, &none), N);
        assert_int_equal(states_remove(journal, &error), STATUS_OK);
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

static void failing_closes(void **state)
{
    (void)state;
    check(CLOSE, FAIL, false);
    check(CLOSE, FAIL, true);
}

static void failing_renames(void **state)
{
    (void)state;
    check(RENAME, FAIL, false);
    check(RENAME, FAIL, true);
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
        cmocka_unit_test(failing_closes), cmocka_unit_test(failing_renames), cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
