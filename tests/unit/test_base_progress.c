/* The progress line, with a clock of the test's own and a file instead of a terminal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/progress.h"

static char text[20000];

/* What has been written so far. */
static const char *written(FILE *file)
{
    fflush(file);
    long n = ftell(file);
    rewind(file);
    size_t got = fread(text, 1, sizeof text - 1, file);
    text[got] = '\0';
    fseek(file, n, SEEK_SET);
    return text;
}

static size_t count(const char *where, char what)
{
    size_t n = 0;
    for (; *where; where++)
        n += *where == what;
    return n;
}

static void a_redrawn_line_at_most_ten_times_a_second(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct progress progress;
    progress_init(&progress, file, "fits", 2000, 0,
                  (struct progress_wish){WHEN_ALWAYS, WHEN_NEVER, false}, 100);
    for (int ms = 1; ms <= 1000; ms++)
        progress_update(&progress, (uint64_t)ms, 3, NULL, 100 + 1e-3 * ms);
    const char *out = written(file);
    assert_int_equal(count(out, '\n'), 0);
    assert_in_range(count(out, '\r'), 8, 10); /* every line but the first begins by taking the last away */
    const char *last = strrchr(out, '\r');
    assert_non_null(strstr(last, "  1000/s")); /* a fit every millisecond */
    assert_non_null(strstr(last, "/2000 fits"));
    assert_non_null(strstr(last, "3 failed"));
    assert_non_null(strstr(last, "0:0")); /* a second or two are left */
    progress_end(&progress);
    out = written(file);
    assert_int_equal(out[strlen(out) - 1], '\n');
    assert_non_null(strstr(out, " 50 %  1000/2000 fits  1000/s  3 failed  in 1.0 s\n"));
    fclose(file);
}

static void sparse_lines_elsewhere(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct progress progress;
    progress_init(&progress, file, "fits", 1000, 0,
                  (struct progress_wish){WHEN_AUTO, WHEN_AUTO, false}, 0); /* a file is no terminal */
    for (int s = 1; s <= 100; s++)
        progress_update(&progress, (uint64_t)(5 * s), 0, NULL, s);
    assert_string_equal(written(file), " 15 %  150/1000 fits  5/s  2:50 left\n"
                                       " 30 %  300/1000 fits  5/s  2:20 left\n"
                                       " 45 %  450/1000 fits  5/s  1:50 left\n");
    progress_end(&progress);
    assert_non_null(strstr(written(file), "\n 50 %  500/1000 fits  5/s  in 1:40\n"));
    fclose(file);
}

static void what_an_earlier_run_did_is_no_speed(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct progress progress;
    progress_init(&progress, file, "fits", 1000, 900,
                  (struct progress_wish){WHEN_AUTO, WHEN_NEVER, false}, 0);
    progress_update(&progress, 930, 0, NULL, 30);
    assert_string_equal(written(file), " 93 %  930/1000 fits  1/s  1:10 left\n");
    fclose(file);
}

static void silence(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        FILE *file = tmpfile();
        struct progress progress;
        progress_init(&progress, file, "fits", 10, 0,
                      (struct progress_wish){i ? WHEN_NEVER : WHEN_ALWAYS, WHEN_NEVER, i == 0}, 0);
        progress_update(&progress, 5, 0, NULL, 60);
        progress_clear(&progress);
        progress_end(&progress);
        assert_string_equal(written(file), "");
        fclose(file);
    }
}

static void colour_only_where_wanted(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        FILE *file = tmpfile();
        struct progress progress;
        progress_init(&progress, file, "fits", 10, 0,
                      (struct progress_wish){WHEN_ALWAYS, i ? WHEN_ALWAYS : WHEN_NEVER, false}, 0);
        progress_update(&progress, 5, 2, NULL, 1);
        assert_int_equal(strstr(written(file), "\033[31m2 failed\033[0m") != NULL, i == 1);
        fclose(file);
    }
}

static void odd_numbers(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct progress progress;
    progress_init(&progress, file, "fits", 0, 0,
                  (struct progress_wish){WHEN_ALWAYS, WHEN_NEVER, false}, 5);
    progress_update(&progress, 7, 0, NULL, 5); /* no fits at all, no time at all */
    progress_clear(&progress);
    progress_end(&progress);
    assert_non_null(strstr(written(file), "100 %  0/0 fits  in 0.0 s\n"));
    progress_init(&progress, file, "fits", UINT64_MAX, 0,
                  (struct progress_wish){WHEN_ALWAYS, WHEN_NEVER, false}, 0);
    progress_update(&progress, 1, 0, NULL, 1e6);
    assert_non_null(strstr(written(file), "? left"));
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_redrawn_line_at_most_ten_times_a_second),
        cmocka_unit_test(sparse_lines_elsewhere),
        cmocka_unit_test(what_an_earlier_run_did_is_no_speed),
        cmocka_unit_test(silence),
        cmocka_unit_test(colour_only_where_wanted),
        cmocka_unit_test(odd_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
