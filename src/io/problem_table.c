/* The small tables of a problem file, and the parameters' tables that may have one row per dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool problem_open_column(struct problem *problem, const char *path, struct hdf5_column *column)
{
    if (hdf5_kind(&problem->file, path) == HDF5_ABSENT)
        return false;
    struct error error = {0};
    if (hdf5_column_open(column, &problem->file, path, &error) == STATUS_OK)
        return true;
    faults_add_error(&problem->faults, problem->file.path, &error);
    return false;
}

bool problem_as_utf8(struct arena *arena, size_t n, char **text)
{
    for (size_t i = 0; i < n; i++) {
        if (!text[i] || utf8_is_valid(text[i]))
            continue;
        char *converted = arena_alloc(arena, 2 * strlen(text[i]) + 1);
        if (!converted)
            return false;
        utf8_from_latin1(text[i], converted);
        text[i] = converted;
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_unique(struct problem *problem, const char *path, size_t n,
                         const char *const *names)
{
    const char **sorted = arena_calloc(&problem->arena, n + 1, sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, names, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 0; i + 1 < n; i++)
        if (strcmp(sorted[i], sorted[i + 1]) == 0)
            faults_add(&problem->faults, "%s: \"%.100s\" appears more than once", path, sorted[i]);
    for (size_t i = 0; i < n; i++)
        if (!*names[i])
            faults_add(&problem->faults, "%s row %zu: is empty", path, i);
}

void problem_read_values(struct problem *problem, const char *path, size_t max, size_t *n,
                         const char *const **list)
{
    struct hdf5_column column;
    struct error fault = {0};
    *n = 0;
    if (!problem_open_column(problem, path, &column))
        return;
    if (!hdf5_column_as_vector(&column)) {
        faults_add(&problem->faults, "%s: is %" PRIu64 " x %" PRIu64 "; one column is expected",
                   path, column.n_row, column.width);
    } else if (column.n_row > max) {
        faults_add(&problem->faults, "%s: has %" PRIu64 " entries; at most %zu are supported", path,
                   column.n_row, max);
    } else {
        size_t count = (size_t)column.n_row;
        char **names = arena_calloc(&problem->arena, count + 1, sizeof *names);
        if (names && hdf5_column_read_strings(&column, 0, count, PROBLEM_MAX_NAME, &problem->arena,
                                              names, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
        else if (names && problem_as_utf8(&problem->arena, count, names)) {
            *n = count;
            *list = (const char *const *)names;
        }
    }
    hdf5_column_close(&column);
}

void problem_read_names(struct problem *problem, const char *path, size_t max, size_t *n,
                        const char *const **list)
{
    problem_read_values(problem, path, max, n, list);
    if (*n)
        check_unique(problem, path, *n, *list);
}

/* Numbers of which all datasets have the same. */
static void read_numbers(struct problem *problem, const struct column_info *info,
                         struct problem_table *table)
{
    struct hdf5_column *column = &table->column;
    uint64_t a = column->n_row, b = column->width;
    struct error fault = {0};
    if (info->width == 1 &&
        (!hdf5_column_as_vector(column) || column->n_row > PROBLEM_MAX_PARAMETER))
        faults_add(&problem->faults,
                   "%s: is %" PRIu64 " x %" PRIu64 "; one number per parameter is expected, the "
                                                   "same for "
                   "all datasets",
                   info->path, a, b);
    else if (column->width == info->width && column->n_row <= PROBLEM_MAX_PARAMETER &&
             (table->vector = arena_calloc(&problem->arena, column->n_row + 1,
                                            info->width * sizeof *table->vector)) &&
             hdf5_column_read_double(column, 0, (size_t)column->n_row, table->vector, &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    table->n = (size_t)column->n_row;
}

void problem_open_tables(struct problem *problem)
{
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        const struct column_info *info = &parameter_columns[c];
        struct problem_table *table = &problem->table[c];
        if (c == PARAMETER_name)
            problem_read_names(problem, info->path, PROBLEM_MAX_PARAMETER, &table->n, &table->text);
        else if (info->kind == COLUMN_TEXT)
            problem_read_values(problem, info->path, PROBLEM_MAX_PARAMETER, &table->n,
                                &table->text);
        if (info->kind == COLUMN_TEXT || !problem_open_column(problem, info->path, &table->column))
            continue;
        if (table->column.class != HDF5_INTEGER && table->column.class != HDF5_FLOAT) {
            faults_add(&problem->faults, "%s: must be numbers", info->path);
            hdf5_column_close(&table->column);
        } else if (!info->by_dataset) {
            read_numbers(problem, info, table);
        }
    }
}

/* P values, or N x P. R and MATLAB write P x N; the error message says so. */
static bool settle_shape(struct problem *problem, struct problem_table *table, size_t n_parameter)
{
    const char *const path = table->column.path;
    struct hdf5_column *column = &table->column;
    uint64_t n_dataset = problem->info.n_dataset, a = column->n_row, b = column->width;
    /* of one dataset, too: values of the file, one per parameter */
    bool is_one_row = column->rank == 1 && a == n_parameter;
    table->per_dataset = (column->rank == 2 || n_parameter == 1) && a == n_dataset &&
                         b == n_parameter && !is_one_row;
    if (table->per_dataset)
        return true;
    if ((a == 1 || b == 1) && a * b == n_parameter)
        return hdf5_column_as_vector(column);
    if (column->rank == 2 && a == n_parameter && b == n_dataset)
        faults_add(&problem->faults,
                   "%s: is transposed: %" PRIu64 " x %" PRIu64 " where datasets x parameters = "
                                                               "%" PRIu64 " x %zu is expected (R "
                                                                          "and MATLAB write the "
                                                                          "transpose of what they "
                                                                          "show)",
                   path, a, b, n_dataset, n_parameter);
    else if (column->rank == 2)
        faults_add(&problem->faults,
                   "%s: is %" PRIu64 " x %" PRIu64 "; expected are %zu values (one per parameter) "
                   "or %" PRIu64 " x %zu (datasets x parameters)",
                   path, a, b, n_parameter, n_dataset, n_parameter);
    else
        faults_add(&problem->faults,
                   "%s: has %" PRIu64 " values; expected are %zu (one per parameter) or %" PRIu64
                   " x %zu (datasets x parameters)",
                   path, a, n_parameter, n_dataset, n_parameter);
    return false;
}

void problem_settle_tables(struct problem *problem, size_t n_parameter)
{
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        struct problem_table *table = &problem->table[c];
        struct error fault = {0};
        if (!parameter_columns[c].by_dataset || !table->column.dataset || table->vector ||
            table->per_dataset)
            continue;
        if (!settle_shape(problem, table, n_parameter)) {
            hdf5_column_close(&table->column);
            continue;
        }
        if (table->per_dataset)
            continue;
        table->vector = arena_calloc(&problem->arena, n_parameter, sizeof *table->vector);
        if (table->vector &&
            hdf5_column_read_double(&table->column, 0, n_parameter, table->vector, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
    }
}

struct parameters problem_tables(const struct problem *problem)
{
    struct parameters parameters = {.n = problem->n_parameter};
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        const struct problem_table *table = &problem->table[c];
        const void *array = table->text ? (const void *)table->text : table->vector;
        if (parameter_columns[c].kind != COLUMN_INT8)
            memcpy((char *)&parameters + parameter_columns[c].offset, &array, sizeof array);
    }
    return parameters;
}

enum status problem_read_table(struct problem *problem, int which, uint64_t first, size_t n,
                               double *out, struct error *error)
{
    const struct problem_table *table = &problem->table[which];
    size_t width = problem->n_parameter;
    if (table->per_dataset)
        return hdf5_column_read_double(&table->column, first, n, out, error);
    for (size_t d = 0; d < n; d++)
        memcpy(out + d * width, table->vector, width * sizeof *out);
    return STATUS_OK;
}
