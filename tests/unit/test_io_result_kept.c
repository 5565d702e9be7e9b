/* Rows of results, and of their tables of starts, profiles and replicates: they come back to the bit however few are held in
 * memory, and those of several results in the problem's order; what is out of order or belongs to no dataset is told.
 * test-level: more
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../journal_helpers.h"
#include "base/random.h"
#include "io/result/gather.h"

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
                                   .objective_kind = "half_sum_of_squares", .identity = example_identity(P, 4),
                                   .parts = FIT_PART_SELECTION};
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

static void add_row(struct result_writer *writer, uint64_t dataset)
{
    static struct held_record held;
    struct fit_record *record = hold_record(&held);
    struct error error;
    char id[20];
    fit_record_clear(record, P);
    record->dataset = dataset;
    record->objective = sqrt((double)dataset);
    snprintf(id, sizeof id, "d%llu", (unsigned long long)dataset);
    assert_int_equal(result_writer_add(writer, id, record, &error), STATUS_OK);
}

static void add_table_row(struct kept_writers *kept, int table, uint64_t dataset, uint32_t i)
{
    struct error error;
    const void *values[RESULT_TABLE_MAX_COLUMN];
    struct row row = example_row(table, dataset, i);
    take_row(table, &row, values);
    assert_int_equal(result_table_add(kept->of[table], values, &error), STATUS_OK);
}

/* Which result has a dataset: in turn, or by chance. */
static size_t owner_of(uint64_t dataset, size_t n, uint64_t seed)
{
    return seed ? (size_t)random_below(seed, dataset, 0, n) : dataset % n;
}

/* Result k of n. After its last rows: a row in /bootstrap of the dataset `stray`, one in /fits of `twice`; negative: none. */
static void write_part(const char *path, size_t k, size_t n, uint64_t seed, int64_t stray, int64_t twice)
{
    struct result_writer *writer = open_writer(path);
    struct kept_writers kept = {{NULL}};
    struct error error;
    for (int table = 0; table < N_KEPT_TABLE; table++)
        assert_int_equal(kept_writers_add(&kept, (enum kept_table)table, writer, P, &error), STATUS_OK);
    assert_int_equal(kept_writers_add(&kept, KEPT_STARTS, writer, P, &error), STATUS_OK); /* it is there already */
    for (uint64_t dataset = 0; dataset < N_DATASET; dataset++) {
        if (owner_of(dataset, n, seed) != k)
            continue;
        add_row(writer, dataset);
        for (int table = 0; table < N_KEPT_TABLE; table++)
            for (uint32_t i = 0; i < n_row_of(table, dataset); i++)
                add_table_row(&kept, table, dataset, i);
    }
    if (stray >= 0)
        add_table_row(&kept, KEPT_BOOTSTRAP, (uint64_t)stray, 0);
    if (twice >= 0)
        add_row(writer, (uint64_t)twice);
    finish(writer, &kept);
}

static void write_result(const char *path, int64_t stray) { write_part(path, 0, 1, 0, stray, -1); }

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
    struct error error;
    const void *found[RESULT_TABLE_MAX_COLUMN], *expected[RESULT_TABLE_MAX_COLUMN];
    bool there;
    for (int table = 0; table < N_KEPT_TABLE; table++) {
        struct result_table_shape shape = kept_shape((enum kept_table)table, P);
        struct result_table_source *source;
        assert_true(result_has_kept(result, (enum kept_table)table));
        assert_int_equal(result_table_source_open(&source, result, &shape, bytes, &error), STATUS_OK);
        for (uint64_t dataset = 0; dataset < N_DATASET; dataset++) {
            uint32_t n = left_out && dataset % left_out == 0 ? 0 : n_row_of(table, dataset);
            for (uint32_t i = 0; i <= n; i++) {
                if (result_table_next(source, dataset, found, &there, &error))
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
        assert_int_equal(result_table_next(source, UINT64_MAX, found, &there, &error), STATUS_OK);
        assert_false(there);
        result_table_source_close(source);
    }
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

enum { N_FILE = 7 };

/* Results in a folder, of which rows are gathered. */
struct files {
    char *directory, path[N_FILE][300];
    struct gather_file file[N_FILE];
    struct gather_request request;
};

static void make_files(struct files *files, size_t n)
{
    files->directory = scratch_directory();
    for (size_t i = 0; i < n; i++) {
        snprintf(files->path[i], sizeof files->path[i], "%s/%zu.h5", files->directory, i);
        files->file[i] = (struct gather_file){.path = files->path[i]};
    }
    files->request = (struct gather_request){.file = files->file, .n = n, .n_parameter = P, .n_dataset = N_DATASET,
                                             .table = {true, true, true}};
}

/* Takes all rows, and drops the table's rows of every `left_out`th dataset, if it is not 0; the first fault. */
static enum status gather_all(const struct files *files, size_t bytes, uint64_t left_out, struct kept_writers *to,
                              struct error *error)
{
    struct gather_request request = files->request;
    struct gather *gather;
    uint64_t expected = 0;
    char id[20];
    request.bytes = bytes;
    enum status status = gather_new(&gather, &request, error);
    for (struct gathered row; gather_next(gather, &row, &status, error); expected++) {
        assert_int_equal(row.record->dataset, expected);
        snprintf(id, sizeof id, "d%llu", (unsigned long long)expected);
        assert_string_equal(row.id, id);
        assert_true(row.record->objective == sqrt((double)expected));
        status = gather_tables(gather, left_out && expected % left_out == 0 ? NULL : to, error);
    }
    assert_true(status || expected == N_DATASET);
    gather_free(gather);
    return status;
}

static void rows_of_several_come_in_order(void **state)
{
    struct files files;
    struct error error;
    char to[300];
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        size_t n = seed ? N_FILE : 1 + N_FILE / 2; /* in turn, or by chance: the first one may have few */
        make_files(&files, n);
        snprintf(to, sizeof to, "%s/to.h5", files.directory);
        for (size_t i = 0; i < n; i++)
            write_part(files.path[i], i, n, seed, -1, -1);
        for (size_t bytes = 300000; bytes < 1 << 24; bytes *= 30) { /* a few rows in memory, or all */
            struct result_writer *writer = open_writer(to);
            struct kept_writers writers = {{NULL}};
            for (int table = 0; table < N_KEPT_TABLE; table++)
                assert_int_equal(kept_writers_add(&writers, (enum kept_table)table, writer, P, &error), STATUS_OK);
            if (gather_all(&files, bytes, seed, &writers, &error))
                fail_msg("%s", error.message);
            finish(writer, &writers);
            expect_rows(to, 4000, seed);
        }
        remove_scratch(files.directory);
    }
}

static void faulty(const struct files *files, enum status expected, const char *message)
{
    struct error error;
    for (size_t bytes = 300000; bytes < 1 << 24; bytes *= 30) {
        assert_int_equal(gather_all(files, bytes, 0, NULL, &error), expected);
        if (!strstr(error.message, message))
            fail_msg("'%s' is not in '%s'", message, error.message);
    }
}

static void disorder_is_told(void **state)
{
    struct files files;
    (void)state;
    make_files(&files, 2);
    write_part(files.path[0], 0, 2, 0, -1, -1);
    write_part(files.path[1], 1, 2, 0, 3, -1); /* a row of a dataset that came before, */
    faulty(&files, STATUS_BAD_PROBLEM, "/1.h5: /bootstrap/dataset does not increase");
    write_part(files.path[1], 1, 2, 0, N_DATASET + 5, -1); /* and of one that the problem does not have */
    faulty(&files, STATUS_BAD_PROBLEM, "/1.h5: /bootstrap/dataset is 505 at row ");
    write_part(files.path[1], 1, 2, 0, -1, 17);
    faulty(&files, STATUS_BAD_PROBLEM, "/1.h5: /fits/dataset does not increase at row 250");
    write_part(files.path[1], 1, 2, 0, -1, N_DATASET - 1);
    faulty(&files, STATUS_BAD_PROBLEM, "/1.h5: /fits/dataset does not increase at row 250");
    write_part(files.path[1], 1, 2, 0, -1, N_DATASET);
    faulty(&files, STATUS_BAD_PROBLEM, "; there are 500 datasets");
    write_part(files.path[0], 0, 2, 0, N_DATASET - 1, -1); /* the other file's */
    write_part(files.path[1], 1, 2, 0, -1, -1);
    faulty(&files, STATUS_BAD_PROBLEM, "/0.h5: /bootstrap/dataset has 499, which has no row in /fits");
    write_part(files.path[0], 0, 2, 0, -1, N_DATASET - 1);
    faulty(&files, STATUS_SYSTEM, "dataset 499 is in another file, too");
    write_part(files.path[0], 0, 2, 0, -1, -1);
    stamp_take(&files.file[1].stamp, files.path[1]);
    write_part(files.path[1], 1, 2, 0, -1, -1);
    faulty(&files, STATUS_SYSTEM, "/1.h5: has been changed meanwhile");
    remove_scratch(files.directory);
}

static void a_result_without_tables_has_none(void **state)
{
    struct files files;
    struct kept_writers none = {{NULL}};
    struct error error;
    (void)state;
    make_files(&files, 1);
    struct result_writer *writer = open_writer(files.path[0]);
    for (uint64_t dataset = 0; dataset < N_DATASET; dataset++)
        add_row(writer, dataset);
    finish(writer, &none);
    struct result *result = open_result(files.path[0]);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        assert_false(result_has_kept(result, (enum kept_table)table));
    result_close(result);
    assert_int_equal(gather_all(&files, 4000, 0, NULL, &error), STATUS_OK);
    remove_scratch(files.directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_to_the_bit),
        cmocka_unit_test(rows_of_several_come_in_order),
        cmocka_unit_test(disorder_is_told),
        cmocka_unit_test(a_result_without_tables_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
