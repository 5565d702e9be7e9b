/* Rows are gathered and appended a block at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result_table.h"

#include "io/result_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2048, BYTES = 1 << 20 };

struct result_table {
    size_t n_column, n_row, max_row;
    struct hdf5_column column[RESULT_TABLE_MAX_COLUMN];
    hid_t memory_type[RESULT_TABLE_MAX_COLUMN];
    size_t cell_size[RESULT_TABLE_MAX_COLUMN];
    char *cells[RESULT_TABLE_MAX_COLUMN];
};

static enum status open_column(struct result_table *table, size_t i, struct hdf5_file *file, const char *group,
                               const struct result_table_column *column, struct error *error)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", group, column->name);
    hid_t type = result_file_type(column->kind);
    table->memory_type[i] = result_memory_type(column->kind);
    enum status status = STATUS_OK;
    if (type <= 0 || table->memory_type[i] <= 0)
        status = hdf5_error(file, error, STATUS_INTERNAL, "%s: no type for it", path);
    if (!status)
        status = hdf5_column_create(&table->column[i], file, path, type, column->width, 0, true, error);
    hdf5_release(&type);
    if (!status)
        status = hdf5_put_text(file, path, "description", column->description, error);
    table->cells[i] = malloc(table->max_row * table->cell_size[i] + 1);
    if (!status && !table->cells[i])
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s", path);
    return status;
}

enum status result_table_open(struct result_table **table, struct result_writer *writer,
                              const struct result_table_shape *shape, struct error *error)
{
    const struct result_table_column *columns = shape->column;
    size_t n = shape->n_column;
    struct hdf5_file *file = result_writer_file(writer);
    struct result_table *made = calloc(1, sizeof *made);
    size_t row_size = 1;
    *table = made;
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s", shape->group);
    for (size_t i = 0; i < n; i++) {
        made->cell_size[i] = (columns[i].width ? columns[i].width : 1) * fit_kind_size(columns[i].kind);
        row_size += made->cell_size[i];
    }
    made->n_column = n;
    made->max_row = BYTES / row_size + 1 < ROWS ? BYTES / row_size + 1 : ROWS;
    enum status status = hdf5_make_group(file, shape->group, error);
    for (size_t i = 0; i < n && !status; i++)
        status = open_column(made, i, file, shape->group, &columns[i], error);
    return status;
}

static enum status write_rows(struct result_table *table, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < table->n_column && !status && table->n_row; i++)
        status = hdf5_column_append(&table->column[i], table->memory_type[i], table->n_row, table->cells[i], error);
    table->n_row = 0;
    return status;
}

enum status result_table_add(struct result_table *table, const void *const *values, struct error *error)
{
    for (size_t i = 0; i < table->n_column; i++)
        memcpy(table->cells[i] + table->n_row * table->cell_size[i], values[i], table->cell_size[i]);
    return ++table->n_row == table->max_row ? write_rows(table, error) : STATUS_OK;
}

static void close_columns(struct result_table *table)
{
    for (size_t i = 0; i < table->n_column; i++) {
        hdf5_column_close(&table->column[i]);
        hdf5_release(&table->memory_type[i]);
    }
}

enum status result_table_finish(struct result_table *table, struct error *error)
{
    if (!table)
        return STATUS_OK;
    enum status status = write_rows(table, error);
    if (!status)
        status = hdf5_flush(table->column[0].file, error);
    close_columns(table);
    return status;
}

void result_table_close(struct result_table *table)
{
    if (!table)
        return;
    close_columns(table);
    for (size_t i = 0; i < table->n_column; i++)
        free(table->cells[i]);
    free(table);
}
