/* The table of columns of /fits: what its entries promise of each other, and what is done by them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/fit_record.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 3 };

static struct fit_record *record_new(void)
{
    struct fit_record *record = calloc(1, sizeof *record + fit_record_array_bytes(N));
    assert_non_null(record);
    fit_record_set_arrays(record, N, record + 1);
    fit_record_clear(record, N);
    return record;
}

/* Members that only some kinds and shapes have; work is stored in journals, as starts are. */
static void test_entries(void **state)
{
    (void)state;
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        const struct fit_column_info *column = &fit_columns[i];
        bool is_one = column->shape == PER_FIT, is_double = column->kind == FIT_DOUBLE;
        assert_true(column->path && column->description);
        assert_true(column->label ? is_one && column->line > 0 : !column->line && !column->n_digit);
        assert_true(!column->is_work || (is_one && (is_double || column->kind == FIT_INT64) && i < N_FIT_COLUMN));
        assert_true(!column->sigma_power || is_double);
        assert_true(column->table >= 0 && column->sigma_power >= 0);
        assert_true(i >= N_FIT_COLUMN || fit_column_part((enum fit_column)i) & (FIT_PART_BASE | FIT_PART_EVALUATION));
    }
}

static void test_work(void **state)
{
    struct fit_record *a = record_new(), *b = record_new();
    (void)state;
    fit_record_zero_work(a);
    assert_true(a->seconds == 0 && a->n_iteration == 0 && a->n_evaluation == 0 && a->n_step == 0);
    assert_true(isnan(a->objective) && a->n_flat == -1); /* others stay */
    b->seconds = 0.25;
    b->n_iteration = 3;
    b->n_evaluation = 5;
    b->n_step = (int64_t)1 << 40;
    b->objective = 7;
    fit_record_add_work(a, b);
    fit_record_add_work(a, b);
    assert_true(a->seconds == 0.5 && a->n_iteration == 6 && a->n_evaluation == 10 && a->n_step == (int64_t)1 << 41);
    assert_true(isnan(a->objective));
    free(a);
    free(b);
}

/* Laplace's loss |r| / s of a fit with the trial sigma s = 4, for sigma 1: the objective and its slopes grow by 4, the
 * information about a prediction, 1 / s^2, by 16; a likelihood already has its sigma. */
static void test_rescale(void **state)
{
    struct fit_record *record = record_new();
    (void)state;
    record->objective = 1.5;
    record->log_likelihood = -2;
    record->n_freedom = 9;
    for (int j = 0; j < N; j++)
        record->slope[j] = record->eigenvalue[j] = record->standard_error[j] = j + 1;
    fit_record_rescale(record, N, 4);
    assert_true(record->objective == 6 && record->log_likelihood == -2 && record->n_freedom == 9);
    for (int j = 0; j < N; j++)
        assert_true(record->slope[j] == 4 * (j + 1) && record->eigenvalue[j] == 16 * (j + 1) &&
                    record->standard_error[j] == j + 1);
    free(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_rescale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
