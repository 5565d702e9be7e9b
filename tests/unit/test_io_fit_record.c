/* The table of columns of /fits: what its entries promise of each other, and what is done by them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/file/fit_record.h"

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
        assert_true(i >= N_FIT_COLUMN
                    || fit_column_part((enum fit_column)i)
                           & (FIT_PART_BASE | FIT_PART_EVALUATION | FIT_PART_RANDOM));
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

/* Every byte of every array differs from its neighbours. */
static void *filled(struct fit_record *record, unsigned seed)
{
    size_t n = fit_record_array_bytes(N);
    unsigned char *arrays = malloc(n);
    for (size_t i = 0; i < n; i++)
        arrays[i] = (unsigned char)(seed + 7 * i);
    fit_record_set_arrays(record, N, arrays);
    return arrays;
}

static void test_numbers_arrive(void **state)
{
    (void)state;
    double point[2] = {1, 2};
    struct fit_record sent = {.dataset = 5, .start = 2, .objective = 0.25, .n_noise = 4, .reason = "why"};
    struct fit_record got = {.dataset = 1, .point = point};
    void *from = filled(&sent, 1), *to = filled(&got, 99), *bytes = malloc(fit_record_bytes(N));
    const double *parameter = got.parameter;
    fit_record_to_bytes(&sent, N, bytes);
    fit_record_from_bytes(&got, N, bytes);
    assert_true(got.dataset == 5 && got.start == 2 && got.objective == 0.25 && got.n_noise == 4);
    assert_string_equal(got.reason, "why");
    assert_ptr_equal(got.parameter, parameter);
    assert_ptr_equal(got.point, point);
    assert_memory_equal(to, from, fit_record_array_bytes(N));
    free(from);
    free(to);
    free(bytes);
}

/* Refits keep no covariance. */
static void test_missing_arrays_stay_missing(void **state)
{
    (void)state;
    struct fit_record sent = {.dataset = 5}, got = {.dataset = 1};
    void *from = filled(&sent, 1), *to = filled(&got, 99), *bytes = malloc(fit_record_bytes(N));
    sent.covariance = got.covariance = NULL;
    fit_record_to_bytes(&sent, N, bytes);
    fit_record_from_bytes(&got, N, bytes);
    assert_null(got.covariance);
    assert_memory_equal(got.parameter, sent.parameter, N * sizeof(double));
    assert_memory_equal(got.at_bound, sent.at_bound, N);
    free(from);
    free(to);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_rescale), cmocka_unit_test(test_numbers_arrive),
        cmocka_unit_test(test_missing_arrays_stay_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
