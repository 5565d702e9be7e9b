/* Typed values, ids by hashing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/id_table.h"
#include "base/values.h"

static void expect_times(const char *text, size_t n, const double *expected)
{
    double *times = NULL;
    size_t n_time = 0;
    struct error error;
    if (values_times(text, &times, &n_time, &error))
        fail_msg("%s", error.message);
    assert_int_equal(n_time, n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(times[i] - expected[i]) <= 1e-15 * fabs(expected[i])))
            fail_msg("%s: %zu: %.17g, not %.17g", text, i, times[i], expected[i]);
    free(times);
}

static void grids_have_their_times(void **state)
{
    (void)state;
    expect_times("3", 1, (const double[]){3});
    expect_times("1,2.5,10:30:10", 5, (const double[]){1, 2.5, 10, 20, 30});
    expect_times("0:1:0.3", 4, (const double[]){0, 0.3, 0.6, 0.9}); /* no step falls on the end */
    expect_times("0:0.3:0.1", 4, (const double[]){0, 0.1, 0.2, 0.3}); /* 0.3/0.1 is less than 3 in binary */
    expect_times("1e-2:1:log3", 3, (const double[]){0.01, 0.1, 1});
}

static void faults_are_told(void **state)
{
    static const char *const texts[] = {"", "x", "1,,2", "1:2", "2:1:1", "1:2:0", "1:2:-1", "0:1:log3", "1:2:log1",
                                        "1:2:log2.5", "0:1e9:1", "inf", "1:inf:1"};
    double *times;
    size_t n;
    struct error error;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(values_times(texts[i], &times, &n, &error), STATUS_USAGE);
    assert_int_equal(values_numbers("1,x", "covariate", &times, &n, &error), STATUS_USAGE);
    assert_string_equal(error.message, "--covariate: 'x' is not a number");
}

static void names_are_found(void **state)
{
    static const char *const names[] = {"ka", "ke", "V"};
    const char *items[] = {"ke=0.5", "V=7e1"};
    const struct option_list list = {items, 2};
    double out[3] = {1, 1, 1};
    unsigned char touched[3] = {0};
    struct error error;
    (void)state;
    assert_int_equal(values_set(&list, "set", "parameter", names, 3, out, touched, &error), STATUS_OK);
    assert_true(out[0] == 1 && out[1] == 0.5 && out[2] == 70);
    assert_true(!touched[0] && touched[1] && touched[2]);
    items[1] = "Kb=1";
    assert_int_equal(values_set(&list, "set", "parameter", names, 3, out, NULL, &error), STATUS_USAGE);
    assert_non_null(strstr(error.message, "--set: the model has no parameter 'Kb'"));
    items[1] = "ke=0.6";
    assert_int_equal(values_set(&list, "set", "parameter", names, 3, out, NULL, &error), STATUS_USAGE);
    assert_string_equal(error.message, "--set: 'ke=0.5' and 'ke=0.6' contradict");
    items[1] = "ke=5e-1"; /* the same, and of a name that begins another one */
    assert_int_equal(values_set(&list, "set", "parameter", names, 3, out, NULL, &error), STATUS_OK);
}

static void ids_keep_their_numbers(void **state)
{
    enum { N = 100000 };
    struct id_table table = {.n = 0};
    char id[20];
    (void)state;
    assert_int_equal(id_table_find(&table, "0"), ID_NONE);
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < N; i++) {
            snprintf(id, sizeof id, "%u", i);
            assert_int_equal(id_table_add(&table, id), i);
        }
    assert_int_equal(table.n, N);
    assert_string_equal(table.id[777], "777");
    assert_int_equal(id_table_find(&table, "99999"), 99999);
    assert_int_equal(id_table_find(&table, "100000"), ID_NONE);
    id_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grids_have_their_times), cmocka_unit_test(faults_are_told),
                                       cmocka_unit_test(names_are_found), cmocka_unit_test(ids_keep_their_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
