/* Tables of starts, profiles and replicates: rows come back to the bit however few are held in memory, go into another result
 * dataset by dataset, and rows that belong to none are told.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../journal_helpers.h"
#include "io/result_tables.h"

#include <math.h>

enum { N_DATASET = 500, P = 3 };
static const char *const names[] = {"k1", "k2", "k3"}, *const scales[] = {"lin", "log", "log10"};

/* Some have none, one has thousands: more than the writer gathers. */
static uint32_t n_row_of(int table, uint64_t dataset)
{
    if (table == KEPT_PROFILES)
        return 0;
    return dataset == 77 ? 5000 : (uint32_t)(dataset * 7 % 23 + (table == KEPT_BOOTSTRAP)) % 11;
}

struct row {
    int64_t dataset;
    uint32_t number;
    uint8_t outcome;
    double objective, parameter[P];
};

static struct row example_row(int table, uint64_t dataset, uint32_t number)
{
    double x = (double)dataset + 1e-3 * number + 0.1 * table;
    return (struct row){(int64_t)dataset, number, number % 3 ? OUTCOME_converged : OUTCOME_budget, 1 / (1 + x),
                        {x, number % 5 ? -x : (double)NAN, sqrt(x)}};
}

static void take_row(int table, const struct row *row, const void **values)
{
    values[0] = &row->dataset;
    values[1] = &row->number;
    values[2] = table == KEPT_STARTS ? (const void *)&row->objective : &row->outcome;
    values[3] = table == KEPT_STARTS ? (const void *)&row->outcome : row->parameter;
    values[4] = row->parameter;
}

static struct result_writer *open_writer(const char *path)
{
    struct result_header header = {.n_parameter = P, .parameter_name = names, .parameter_scale = scales,
                                   .objective_kind = "half_sum_of_squares", .identity = example_identity(P, 4)};
    struct result_writer *writer;
    struct error error;
    header.identity.n_dataset = N_DATASET;
    if (result_writer_open(&writer, path, NULL, &header, &error))
        fail_msg("%s", error.message);
    return writer;
}

static void finish(struct result_writer *writer, struct kept_writers *kept)
{
    struct error error;
    if (kept_writers_finish(kept, &error) || result_writer_finish(writer, &error))
        fail_msg("%s", error.message);
    kept_writers_close(kept);
    result_writer_close(writer);
}

/* stray: a row of this dataset at the end of /bootstrap; negative: none. */
static void write_result(const char *path, int64_t stray)
{
    struct result_writer *writer = open_writer(path);
    struct kept_writers kept = {{NULL}};
    struct error error;
    const void *values[RESULT_TABLE_MAX_COLUMN];
    for (int table = 0; table < N_KEPT_TABLE; table++)
        assert_int_equal(kept_writers_add(&kept, (enum kept_table)table, writer, P, &error), STATUS_OK);
    assert_int_equal(kept_writers_add(&kept, KEPT_STARTS, writer, P, &error), STATUS_OK); /* it is there already */
    for (uint64_t dataset = 0; dataset < N_DATASET; dataset++)
        for (int table = 0; table < N_KEPT_TABLE; table++)
            for (uint32_t i = 0; i < n_row_of(table, dataset); i++) {
                struct row row = example_row(table, dataset, i);
                take_row(table, &row, values);
                assert_int_equal(result_table_add(kept.of[table], values, &error), STATUS_OK);
            }
    if (stray >= 0) {
        struct row row = example_row(KEPT_BOOTSTRAP, (uint64_t)stray, 0);
        take_row(KEPT_BOOTSTRAP, &row, values);
        assert_int_equal(result_table_add(kept.of[KEPT_BOOTSTRAP], values, &error), STATUS_OK);
    }
    finish(writer, &kept);
}

static struct result *open_result(const char *path)
{
    struct result *result;
    struct error error;
    if (result_open(&result, path, &error))
        fail_msg("%s", error.message);
    return result;
}

/* Without the datasets that are multiples of `left_out`; 0: all. */
static void expect_rows(const char *path, size_t bytes, uint64_t left_out)
{
    struct result *result = open_result(path);
    struct kept_sources kept = {{NULL}};
    struct error error;
    const void *found[RESULT_TABLE_MAX_COLUMN], *expected[RESULT_TABLE_MAX_COLUMN];
    bool there;
    assert_int_equal(kept_sources_open(&kept, result, bytes, &error), STATUS_OK);
    for (int table = 0; table < N_KEPT_TABLE; table++) {
        struct result_table_shape shape = kept_shape((enum kept_table)table, P);
        for (uint64_t dataset = 0; dataset < N_DATASET; dataset++) {
            uint32_t n = left_out && dataset % left_out == 0 ? 0 : n_row_of(table, dataset);
            for (uint32_t i = 0; i <= n; i++) {
                if (result_table_next(kept.of[table], dataset, found, &there, &error))
                    fail_msg("%s", error.message);
                assert_int_equal(there, i < n);
                if (!there)
                    continue;
                struct row row = example_row(table, dataset, i);
                take_row(table, &row, expected);
                for (size_t c = 0; c < shape.n_column; c++) {
                    size_t width = shape.column[c].width ? shape.column[c].width : 1;
                    assert_memory_equal(found[c], expected[c], width * fit_kind_size(shape.column[c].kind));
                }
            }
        }
        assert_int_equal(result_table_next(kept.of[table], UINT64_MAX, found, &there, &error), STATUS_OK);
        assert_false(there);
    }
    kept_sources_close(&kept);
    kept_sources_close(&kept); /* twice is legal */
    result_close(result);
}

static void rows_come_back_to_the_bit(void **state)
{
    char *directory = scratch_directory(), path[300];
    (void)state;
    snprintf(path, sizeof path, "%s/kept.h5", directory);
    write_result(path, -1);
    expect_rows(path, 1, 0); /* a row at a time */
    expect_rows(path, 1000, 0);
    expect_rows(path, 1 << 20, 0);
    remove_scratch(directory);
}

static void rows_go_into_another_result(void **state)
{
    char *directory = scratch_directory(), from[300], to[300];
    (void)state;
    snprintf(from, sizeof from, "%s/from.h5", directory);
    snprintf(to, sizeof to, "%s/to.h5", directory);
    write_result(from, -1);
    struct result *result = open_result(from);
    struct result_writer *writer = open_writer(to);
    struct kept_sources sources = {{NULL}};
    struct kept_writers writers = {{NULL}};
    struct error error;
    assert_int_equal(kept_sources_open(&sources, result, 500, &error), STATUS_OK);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        assert_int_equal(kept_writers_add(&writers, (enum kept_table)table, writer, P, &error), STATUS_OK);
    for (uint64_t dataset = 0; dataset < N_DATASET; dataset++)
        if (kept_pass(&sources, dataset, dataset % 3 ? &writers : NULL, &error))
            fail_msg("%s", error.message);
    assert_int_equal(kept_pass(&sources, UINT64_MAX, NULL, &error), STATUS_OK);
    finish(writer, &writers);
    kept_sources_close(&sources);
    result_close(result);
    expect_rows(to, 4000, 3);
    remove_scratch(directory);
}

static void rows_of_no_dataset_are_told(void **state)
{
    char *directory = scratch_directory(), path[300];
    struct error error;
    (void)state;
    snprintf(path, sizeof path, "%s/stray.h5", directory);
    for (int after = 0; after < 2; after++) { /* a dataset that was before, one that /fits does not have */
        write_result(path, after ? N_DATASET + 5 : 3);
        struct result *result = open_result(path);
        struct kept_sources sources = {{NULL}};
        assert_int_equal(kept_sources_open(&sources, result, 4000, &error), STATUS_OK);
        enum status status = STATUS_OK;
        for (uint64_t dataset = 0; dataset < N_DATASET && !status; dataset++)
            status = kept_pass(&sources, dataset, NULL, &error);
        assert_int_equal(status, after ? STATUS_OK : STATUS_BAD_PROBLEM);
        if (!status)
            status = kept_pass(&sources, UINT64_MAX, NULL, &error);
        assert_int_equal(status, STATUS_BAD_PROBLEM);
        assert_non_null(strstr(error.message, "/bootstrap/dataset"));
        kept_sources_close(&sources);
        result_close(result);
    }
    remove_scratch(directory);
}

static void a_result_without_tables_has_none(void **state)
{
    char *directory = scratch_directory(), path[300];
    struct error error;
    struct kept_writers none = {{NULL}};
    struct kept_sources sources = {{NULL}};
    (void)state;
    snprintf(path, sizeof path, "%s/none.h5", directory);
    finish(open_writer(path), &none);
    struct result *result = open_result(path);
    assert_int_equal(kept_sources_open(&sources, result, 4000, &error), STATUS_OK);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        assert_null(sources.of[table]);
    assert_int_equal(kept_pass(&sources, 0, NULL, &error), STATUS_OK);
    kept_sources_close(&sources);
    result_close(result);
    remove_scratch(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_to_the_bit),
        cmocka_unit_test(rows_go_into_another_result),
        cmocka_unit_test(rows_of_no_dataset_are_told),
        cmocka_unit_test(a_result_without_tables_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
