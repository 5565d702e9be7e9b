/* Stamps of files: what is taken for the same file, and what is not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/file/durable.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/stiffit-stamp-XXXXXX";
static char path[100], other[100];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(other, sizeof other, "%s/b", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

static void put(const char *name, const char *text, time_t changed)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const struct timespec times[2] = {{.tv_sec = changed}, {.tv_sec = changed}};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void none_taken_holds(void **state)
{
    (void)state;
    const struct stamp stamp = {.is_taken = false};
    assert_true(stamp_holds(&stamp, path));
}

static void absence_is_a_state(void **state)
{
    (void)state;
    struct stamp stamp;
    unlink(path);
    stamp_take(&stamp, path);
    assert_true(stamp_holds(&stamp, path));
    put(path, "now", 1000);
    assert_false(stamp_holds(&stamp, path));
    stamp_take(&stamp, path);
    unlink(path);
    assert_false(stamp_holds(&stamp, path));
}

static void changes_are_seen(void **state)
{
    (void)state;
    struct stamp stamp;
    put(path, "one", 1000);
    stamp_take(&stamp, path);
    assert_true(stamp_holds(&stamp, path));
    put(path, "four", 1000); /* another size */
    assert_false(stamp_holds(&stamp, path));
    put(path, "two", 1001); /* another time */
    assert_false(stamp_holds(&stamp, path));
    put(path, "one", 1000);
    assert_true(stamp_holds(&stamp, path));
    put(other, "one", 1000); /* another file of that name */
    assert_int_equal(rename(other, path), 0);
    assert_false(stamp_holds(&stamp, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_taken_holds),
        cmocka_unit_test(absence_is_a_state),
        cmocka_unit_test(changes_are_seen),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
