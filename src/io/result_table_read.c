/* Reading the tables of a result: rows of one dataset after the other, a block of them in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result_table.h"

#include "io/result_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct result_table_source {
    size_t n_column, i_row, n_row, max_row; /* i_row: next one in the block of n_row */
    uint64_t next, n_total;                 /* next row of the file to be read */
    struct result_table_column column[RESULT_TABLE_MAX_COLUMN];
    struct hdf5_column from[RESULT_TABLE_MAX_COLUMN];
    size_t width[RESULT_TABLE_MAX_COLUMN], cell_size[RESULT_TABLE_MAX_COLUMN];
    char *cells[RESULT_TABLE_MAX_COLUMN];
    int64_t *scratch; /* max_row of the widest column of whole numbers */
};

void result_table_source_close(struct result_table_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->n_column; i++) {
        hdf5_column_close(&source->from[i]);
        free(source->cells[i]);
    }
    free(source->scratch);
    free(source);
}

static enum status open_columns(struct result_table_source *source, const struct hdf5_file *file, const char *group,
                                struct error *error)
{
    for (size_t i = 0; i < source->n_column; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", group, source->column[i].name);
        enum status status = hdf5_column_open(&source->from[i], file, path, error);
        if (status)
            return status;
        if (i == 0)
            source->n_total = source->from[0].n_row;
        if (source->from[i].class != HDF5_INTEGER && source->from[i].class != HDF5_FLOAT)
            return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s holds no numbers", file->path, path);
        if (source->from[i].width != source->width[i] || source->from[i].n_row != source->n_total)
            return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s has %" PRIu64 " rows of %" PRIu64 "; %" PRIu64 " of %zu are "
                             "expected", file->path, path, source->from[i].n_row, source->from[i].width, source->n_total,
                             source->width[i]);
    }
    return STATUS_OK;
}

enum status result_table_source_open(struct result_table_source **source, struct result *result,
                                     const struct result_table_shape *shape, size_t bytes, struct error *error)
{
    const struct hdf5_file *file = result_file(result);
    const char *group = shape->group;
    size_t row_size = 1, widest = 1;
    *source = NULL;
    if (hdf5_kind(file, group) != HDF5_GROUP)
        return STATUS_OK;
    struct result_table_source *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s", group);
    made->n_column = shape->n_column;
    memcpy(made->column, shape->column, sizeof made->column);
    for (size_t i = 0; i < made->n_column; i++) {
        made->width[i] = made->column[i].width ? made->column[i].width : 1;
        made->cell_size[i] = made->width[i] * fit_kind_size(made->column[i].kind);
        row_size += made->cell_size[i];
        if (made->column[i].kind != FIT_DOUBLE && made->width[i] > widest)
            widest = made->width[i];
    }
    made->max_row = bytes / row_size + 1;
    made->scratch = malloc(made->max_row * widest * sizeof *made->scratch);
    bool good = made->scratch != NULL;
    for (size_t i = 0; i < made->n_column; i++)
        good = (made->cells[i] = malloc(made->max_row * made->cell_size[i])) && good;
    enum status status = good ? open_columns(made, file, group, error)
                              : error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s", group);
    if (status) {
        result_table_source_close(made);
        return status;
    }
    *source = made;
    return STATUS_OK;
}

/* Whole numbers as the column keeps them; those of an enumeration must be known. */
static enum status narrow(struct result_table_source *source, size_t i, size_t n, struct error *error)
{
    enum fit_kind kind = source->column[i].kind;
    const char *(*name)(int number) = fit_kind_names(kind);
    size_t size = fit_kind_size(kind);
    char *cell = source->cells[i];
    for (size_t k = 0; k < n * source->width[i]; k++, cell += size) {
        int64_t number = source->scratch[k];
        uint32_t word = (uint32_t)number;
        uint8_t byte = (uint8_t)number;
        if (name && (number < 0 || number > 255 || !name((int)number)))
            return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s holds %" PRId64 ", which this version of stiffit does not "
                             "know", source->from[i].file->path, source->from[i].path, number);
        memcpy(cell, size == 8 ? (const void *)&number : size == 4 ? (const void *)&word : &byte, size);
    }
    return STATUS_OK;
}

static enum status fill(struct result_table_source *source, struct error *error)
{
    uint64_t left = source->n_total - source->next;
    size_t n = left < source->max_row ? (size_t)left : source->max_row;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < source->n_column && !status; i++) {
        if (source->column[i].kind == FIT_DOUBLE) {
            status = hdf5_column_read_double(&source->from[i], source->next, n, (double *)(void *)source->cells[i], error);
            continue;
        }
        status = hdf5_column_read_int64(&source->from[i], source->next, n, source->scratch, error);
        if (!status)
            status = narrow(source, i, n, error);
    }
    source->i_row = 0;
    source->n_row = status ? 0 : n;
    source->next += n;
    return status;
}

enum status result_table_block(struct result_table_source *source, uint64_t first, size_t *n, const void **cells,
                               struct error *error)
{
    source->next = first < source->n_total ? first : source->n_total;
    enum status status = fill(source, error);
    *n = source->i_row = source->n_row;
    for (size_t i = 0; i < source->n_column; i++)
        cells[i] = source->cells[i];
    return status;
}

enum status result_table_next(struct result_table_source *source, uint64_t dataset, const void **values, bool *there,
                              struct error *error)
{
    *there = false;
    if (!source || (source->i_row == source->n_row && source->next == source->n_total))
        return STATUS_OK;
    enum status status = source->i_row == source->n_row ? fill(source, error) : STATUS_OK;
    if (status)
        return status;
    int64_t owner;
    memcpy(&owner, source->cells[0] + source->i_row * source->cell_size[0], sizeof owner);
    if (owner < 0 || (uint64_t)owner < dataset)
        return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s is not in order, or %" PRId64 " has no row in /fits",
                         source->from[0].file->path, source->from[0].path, owner);
    if ((uint64_t)owner > dataset)
        return STATUS_OK;
    for (size_t i = 0; i < source->n_column; i++)
        values[i] = source->cells[i] + source->i_row * source->cell_size[i];
    source->i_row++;
    *there = true;
    return STATUS_OK;
}
