/* Every column of the list travels: whatever is added to it, copies and picks carry it along.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/measurements.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 13 };

/* Another number in each column and row, within the column's range. */
static double number(int column, size_t row)
{
    return measurement_columns[column].kind == COLUMN_INT8 ? (row % 2 ? 1 : -1) : (double)(column * 100) + (double)row + 1;
}

static void put(const struct measurements *measured, int column, size_t row)
{
    void *cell = measurements_cell(measured, (enum measurement_column)column, row);
    switch ((int)measurement_columns[column].kind) {
    case COLUMN_DOUBLE: *(double *)cell = number(column, row); break;
    case COLUMN_UINT32: *(uint32_t *)cell = (uint32_t)number(column, row); break;
    case COLUMN_INT8: *(int8_t *)cell = (int8_t)number(column, row);
    }
}

static double get(const struct measurements *measured, int column, size_t row)
{
    const void *cell = measurements_cell(measured, (enum measurement_column)column, row);
    switch (measurement_columns[column].kind) {
    case COLUMN_DOUBLE: return *(const double *)cell;
    case COLUMN_UINT32: return *(const uint32_t *)cell;
    default: return *(const int8_t *)cell;
    }
}

static struct measurements make(unsigned columns, void **block)
{
    *block = malloc(measurements_bytes(columns, ROWS));
    assert_non_null(*block);
    struct measurements made = measurements_place(columns, ROWS, *block);
    for (int c = 0; c < N_MEASUREMENT; c++)
        for (size_t i = 0; (columns >> c & 1) && i < ROWS; i++)
            put(&made, c, i);
    return made;
}

static void test_copy_and_pick(void **state)
{
    (void)state;
    void *block[2];
    const struct measurements from = make(MEASUREMENT_ALL, &block[0]), to = make(MEASUREMENT_ALL, &block[1]);
    const size_t order[] = {7, 0, 12};
    for (int c = 0; c < N_MEASUREMENT; c++)
        for (size_t i = 0; i < ROWS; i++)
            assert_true(get(&from, c, i) == number(c, i)); /* arrays do not overlap */
    measurements_copy(&to, 2, &from, 5, 4);
    for (int c = 0; c < N_MEASUREMENT; c++)
        for (size_t i = 0; i < ROWS; i++)
            assert_true(get(&to, c, i) == number(c, i >= 2 && i < 6 ? i + 3 : i));
    measurements_pick(&to, &from, order, 3);
    const struct measurements rest = measurements_from(&to, 1);
    for (int c = 0; c < N_MEASUREMENT; c++) {
        assert_true(get(&to, c, 0) == number(c, 7));
        assert_true(get(&rest, c, 1) == number(c, 12));
    }
    free(block[0]);
    free(block[1]);
}

/* What the source lacks becomes missing, and what the target lacks is left out. */
static void test_missing(void **state)
{
    (void)state;
    void *block[2];
    const unsigned few = MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value);
    const struct measurements all = make(MEASUREMENT_ALL, &block[0]), some = make(few, &block[1]);
    const size_t order[] = {1, 0};
    assert_null(some.sigma);
    measurements_copy(&some, 0, &all, 3, 1);
    assert_true(some.time[0] == number(MEASUREMENT_time, 3));
    for (int c = 0; c < N_MEASUREMENT; c++) {
        assert_true(measurements_have(&all, (enum measurement_column)c, 0, ROWS));
        assert_int_equal(measurements_have(&some, (enum measurement_column)c, 0, ROWS), few >> c & 1);
    }
    measurements_copy(&all, 0, &some, 0, ROWS - 2);
    const struct measurements last = {.sigma = all.sigma + ROWS - 2, .censored = all.censored + ROWS - 2};
    measurements_pick(&last, &some, order, 2);
    assert_false(measurements_have(&all, MEASUREMENT_sigma, 0, ROWS));
    assert_true(isnan(all.sigma[ROWS - 1]) && all.censored[ROWS - 1] == 0);
    assert_false(measurements_have(&all, MEASUREMENT_observable, 0, ROWS - 2));
    assert_true(measurements_have(&all, MEASUREMENT_observable, 0, ROWS));
    free(block[0]);
    free(block[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy_and_pick), cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
