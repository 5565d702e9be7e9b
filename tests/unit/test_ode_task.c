/* Measurements in any order as a task: times once each, rows in their order, and the way back to where they came from.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/task.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROWS = 6 };

static double time[] = {5, 1, 5, 0, 1, 3}, value[] = {10, 11, 12, NAN, 14, 15}, sigma[] = {1, NAN, 3, 4, 5, 6};
static uint32_t observable[] = {0, 1, 1, 0, 0, 1};
static int8_t censored[] = {0, 1, 0, 0, -1, 0};
static const enum error_kind kinds[] = {ERROR_NORMAL, ERROR_LOG_NORMAL};

static void test_fit(void **state)
{
    (void)state;
    static const size_t number[] = {1, 4, 5, 0, 2}; /* equal times in the file's order, the missing value left out */
    static const uint32_t row_time[] = {0, 0, 1, 2, 2};
    struct arena arena = {0};
    struct ode_task task = {.experiment.t0 = -1};
    struct ode_rows rows;
    const struct measurements given = {.time = time, .value = value, .sigma = sigma, .observable = observable,
                                       .censored = censored};
    assert_true(ode_task_sort(&task, &rows, &given, ROWS, kinds, &arena));
    assert_true(task.experiment.t0 == -1);
    assert_int_equal(task.n_row, 5);
    assert_int_equal(task.n_time, 3);
    assert_true(task.time[0] == 1 && task.time[1] == 3 && task.time[2] == 5);
    for (size_t i = 0; i < task.n_row; i++) {
        size_t k = number[i];
        assert_int_equal(rows.number[i], k);
        assert_int_equal(task.row_time[i], row_time[i]);
        assert_int_equal(task.row_observable[i], observable[k]);
        assert_int_equal(task.row_is_log[i], observable[k] == 1);
        assert_true(rows.measured.value[i] == value[k] && rows.measured.censored[i] == censored[k]);
        assert_true(task.row_sigma[i] == sigma[k] || (isnan(task.row_sigma[i]) && isnan(sigma[k])));
    }
    assert_null(rows.measured.line);
    arena_fini(&arena);
}

/* Nothing is measured: all rows count, and there are no standard deviations. */
static void test_prediction(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct ode_task task = {.experiment.t0 = 0};
    struct ode_rows rows;
    const struct measurements given = {.time = time, .observable = observable};
    assert_true(ode_task_sort(&task, &rows, &given, ROWS, NULL, &arena));
    assert_int_equal(task.n_row, ROWS);
    assert_int_equal(rows.number[0], 3);
    assert_null(task.row_sigma);
    assert_null(task.row_is_log);
    assert_true(ode_task_sort(&task, &rows, &given, 0, NULL, &arena));
    assert_int_equal(task.n_row + task.n_time, 0);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fit), cmocka_unit_test(test_prediction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
