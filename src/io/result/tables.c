/* Writes and reads tables of a result, row by row.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2048, BYTES = 1 << 20 };

static size_t row_size(const struct result_table_shape *shape)
{
    size_t size = 1;
    for (size_t i = 0; i < shape->n_column; i++)
        size += (shape->column[i].width ? shape->column[i].width : 1) *
                fit_kind_size(shape->column[i].kind);
    return size;
}

struct result_table {
    size_t n_column, n_row, max_row;
    struct result_column column[RESULT_TABLE_MAX_COLUMN];
};

enum status result_table_open(struct result_table **table, struct result_writer *writer,
                              const struct result_table_shape *shape, struct error *error)
{
    struct hdf5_file *file = result_writer_file(writer);
    struct result_table *made = calloc(1, sizeof *made);
    *table = made;
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s", shape->group);
    made->n_column = shape->n_column;
    made->max_row = BYTES / row_size(shape) + 1 < ROWS ? BYTES / row_size(shape) + 1 : ROWS;
    enum status status = hdf5_make_group(file, shape->group, false, error);
    for (size_t i = 0; i < made->n_column && !status; i++) {
        const struct result_table_column *column = &shape->column[i];
        char path[64];
        snprintf(path, sizeof path, "%s/%s", shape->group, column->name);
        const struct result_column_plan plan = {.path = path, .description = column->description,
                                                .kind = column->kind, .is_compressed = true,
                                                .width = column->width};
        status = result_column_create(&made->column[i], file, &plan, made->max_row, error);
    }
    return status;
}

static enum status write_rows(struct result_table *table, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < table->n_column && !status && table->n_row; i++)
        status = result_column_append(&table->column[i], table->n_row, error);
    table->n_row = 0;
    return status;
}

enum status result_table_add(struct result_table *table, const void *const *values,
                             struct error *error)
{
    for (size_t i = 0; i < table->n_column; i++) {
        struct result_column *column = &table->column[i];
        memcpy(column->cells + table->n_row * column->cell_size, values[i], column->cell_size);
    }
    return ++table->n_row == table->max_row ? write_rows(table, error) : STATUS_OK;
}

enum status result_table_finish(struct result_table *table, struct error *error)
{
    if (!table)
        return STATUS_OK;
    enum status status = write_rows(table, error);
    if (!status)
        status = hdf5_flush(table->column[0].file.file, error);
    for (size_t i = 0; i < table->n_column; i++)
        result_column_close(&table->column[i]);
    return status;
}

void result_table_close(struct result_table *table)
{
    for (size_t i = 0; table && i < table->n_column; i++)
        result_column_close(&table->column[i]);
    free(table);
}

struct result_table_source {
    size_t n_column, i_row, n_row, max_row; /* i_row: the next one in the block of n_row */
    uint64_t next, n_total;                 /* the next row of the file to read */
    struct result_column column[RESULT_TABLE_MAX_COLUMN];
};

void result_table_source_close(struct result_table_source *source)
{
    for (size_t i = 0; source && i < source->n_column; i++)
        result_column_close(&source->column[i]);
    free(source);
}

static enum status open_columns(struct result_table_source *source, const struct hdf5_file *file,
                                const struct result_table_shape *shape, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < source->n_column && !status; i++) {
        struct result_column *column = &source->column[i];
        char path[64];
        snprintf(path, sizeof path, "%s/%s", shape->group, shape->column[i].name);
        status =
            result_column_open(column, file, path, shape->column[i].kind, shape->column[i].width,
                               i == 0 ? RESULT_ANY_ROWS : source->n_total, error);
        source->n_total = source->column[0].file.n_row;
        if (!status && !(column->cells = malloc(source->max_row * column->cell_size)))
            status =
                error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s", shape->group);
    }
    return status;
}

enum status result_table_source_open(struct result_table_source **source, struct result *result,
                                     const struct result_table_shape *shape, size_t bytes,
                                     struct error *error)
{
    const struct hdf5_file *file = result_file(result);
    *source = NULL;
    if (hdf5_kind(file, shape->group) != HDF5_GROUP)
        return STATUS_OK;
    struct result_table_source *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s", shape->group);
    made->n_column = shape->n_column;
    made->max_row = bytes / row_size(shape) + 1;
    enum status status = open_columns(made, file, shape, error);
    if (status) {
        result_table_source_close(made);
        return status;
    }
    *source = made;
    return STATUS_OK;
}

static enum status fill(struct result_table_source *source, struct error *error)
{
    uint64_t left = source->n_total - source->next;
    size_t n = left < source->max_row ? (size_t)left : source->max_row;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < source->n_column && !status; i++)
        status =
            result_column_read(&source->column[i], source->next, n, source->column[i].cells, error);
    source->i_row = 0;
    source->n_row = status ? 0 : n;
    source->next += n;
    return status;
}

enum status result_table_block(struct result_table_source *source, uint64_t first, size_t *n,
                               const void **cells, struct error *error)
{
    source->next = first < source->n_total ? first : source->n_total;
    enum status status = fill(source, error);
    *n = source->i_row = source->n_row;
    for (size_t i = 0; i < source->n_column; i++)
        cells[i] = source->column[i].cells;
    return status;
}

enum status result_table_next(struct result_table_source *source, uint64_t dataset,
                              const void **values, bool *there, struct error *error)
{
    *there = false;
    if (!source || (source->i_row == source->n_row && source->next == source->n_total))
        return STATUS_OK;
    enum status status = source->i_row == source->n_row ? fill(source, error) : STATUS_OK;
    if (status)
        return status;
    int64_t owner;
    memcpy(&owner, source->column[0].cells + source->i_row * source->column[0].cell_size,
           sizeof owner);
    if (owner < 0 || (uint64_t)owner < dataset)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "'%s': %s is not in order, or %" PRId64 " has no row in /fits",
                         source->column[0].file.file->path, source->column[0].file.path, owner);
    if ((uint64_t)owner > dataset)
        return STATUS_OK;
    for (size_t i = 0; i < source->n_column; i++)
        values[i] = source->column[i].cells + source->i_row * source->column[i].cell_size;
    source->i_row++;
    *there = true;
    return STATUS_OK;
}

static const char dataset[] = "row number of the dataset in the problem, from 0";

struct result_table_shape kept_shape(enum kept_table table, size_t n_parameter)
{
    switch (table) {
    case KEPT_STARTS:
        return (struct result_table_shape){"/starts",
                                           5,
                                           {{"dataset", dataset, FIT_INT64, 0},
                                            {"start", "number of the start, from 0", FIT_UINT32, 0},
                                            {"objective", "where it ended", FIT_DOUBLE, 0},
                                            {"status", "how it ended", FIT_OUTCOME, 0},
                                            {"parameters", "where it ended, natural scale",
                                             FIT_DOUBLE, n_parameter}}};
    case KEPT_PROFILES:
        return (struct result_table_shape){
            "/profiles", 4,
            {{"dataset", dataset, FIT_INT64, 0}, {"parameter", "row of /parameters", FIT_UINT32, 0},
             {"value", "of that parameter, natural scale", FIT_DOUBLE, 0},
             {"objective", "its smallest value there", FIT_DOUBLE, 0}}};
    default:
        return (struct result_table_shape){
            "/bootstrap", 4,
            {{"dataset", dataset, FIT_INT64, 0}, {"replicate", "its number, from 0", FIT_UINT32, 0},
             {"status", "how its fit ended", FIT_OUTCOME, 0},
             {"parameters", "its best fit, natural scale", FIT_DOUBLE, n_parameter}}};
    }
}

const char *kept_options(enum kept_table table)
{
    return table == KEPT_STARTS     ? "--keep-starts"
           : table == KEPT_PROFILES ? "--profile and --keep-profile"
                                    : "--bootstrap and --keep-bootstrap";
}

bool result_has_kept(struct result *result, enum kept_table table)
{
    struct result_table_shape shape = kept_shape(table, result_info(result)->n_parameter);
    return hdf5_kind(result_file(result), shape.group) == HDF5_GROUP;
}

enum status kept_writers_add(struct kept_writers *writers, enum kept_table table,
                             struct result_writer *writer, size_t n_parameter, struct error *error)
{
    struct result_table_shape shape = kept_shape(table, n_parameter);
    return writers->of[table] ? STATUS_OK
                              : result_table_open(&writers->of[table], writer, &shape, error);
}

enum status kept_writers_finish(struct kept_writers *writers, struct error *error)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < N_KEPT_TABLE && !status; i++)
        status = result_table_finish(writers->of[i], error);
    return status;
}

void kept_writers_close(struct kept_writers *writers)
{
    for (int i = 0; i < N_KEPT_TABLE; i++)
        result_table_close(writers->of[i]);
    *writers = (struct kept_writers){{NULL}};
}
