/* Collects rows and appends them to their columns a block at a time, so that memory does not grow
 * with the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/write_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t kind_size[N_COLUMN_KIND] = {[COLUMN_DOUBLE] = sizeof(double),
                                                [COLUMN_UINT32] = sizeof(uint32_t),
                                                [COLUMN_INT8] = sizeof(int8_t),
                                                [COLUMN_INT64] = sizeof(int64_t),
                                                [COLUMN_TEXT] = sizeof(char *)};

/* Types in the file and in memory: functions, because HDF5's types are no constants. */
static hid_t stored_type(enum column_kind kind)
{
    return kind == COLUMN_DOUBLE ? H5T_IEEE_F64LE : kind == COLUMN_UINT32 ? H5T_STD_U32LE
           : kind == COLUMN_INT8 ? H5T_STD_I8LE : H5T_STD_I64LE;
}

static hid_t native_type(enum column_kind kind)
{
    return kind == COLUMN_DOUBLE ? H5T_NATIVE_DOUBLE : kind == COLUMN_UINT32 ? H5T_NATIVE_UINT32
           : kind == COLUMN_INT8 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT64;
}

static size_t row_size(const struct write_column *column)
{
    return kind_size[column->kind] * (column->width ? column->width : 1);
}

void write_add_column(struct write_rows *rows, const char *name, enum column_kind kind,
                      size_t width)
{
    struct write_column *column = &rows->column[rows->n_column++];
    *column = (struct write_column){.kind = kind, .width = width};
    snprintf(column->path, sizeof column->path, "%s/%s", rows->path, name);
}

void write_add_optional(struct write_rows *rows, const char *name, enum column_kind kind,
                        double none)
{
    write_add_column(rows, name, kind, 0);
    struct write_column *column = &rows->column[rows->n_column - 1];
    /* Little-endian, as all machines that we run on: its first bytes are the shorter types'. */
    const int64_t whole = (int64_t)none;
    column->is_optional = true;
    memcpy(column->none, kind == COLUMN_DOUBLE ? &none : (const void *)&whole, sizeof column->none);
}

/* Whether a number is not what rows have without one. */
static bool is_value(const struct write_column *column, const void *value)
{
    if (column->kind != COLUMN_DOUBLE)
        return memcmp(value, column->none, kind_size[column->kind]) != 0;
    double number, none;
    memcpy(&number, value, sizeof number);
    memcpy(&none, column->none, sizeof none);
    return number != none && !(isnan(number) && isnan(none));
}

bool write_allocate(struct write_rows *rows, size_t capacity)
{
    rows->capacity = capacity;
    for (size_t c = 0; c < rows->n_column; c++)
        if (!(rows->column[c].cells = calloc(capacity, row_size(&rows->column[c]))))
            return false;
    return true;
}

bool write_put(struct write_rows *rows, size_t c, const void *value)
{
    struct write_column *column = &rows->column[c];
    size_t size = row_size(column);
    const char *text = column->kind == COLUMN_TEXT ? arena_strdup(&rows->text, value) : NULL;
    if (column->is_optional && !column->is_used)
        column->is_used = is_value(column, value);
    memcpy(column->cells + rows->n * size, column->kind == COLUMN_TEXT ? &text : value, size);
    return text || column->kind != COLUMN_TEXT;
}

/* Chunks are as large as the first block, which is everything in a small file. An optional column
 * may begin later: rows before then get what they have without it. */
static enum status create(struct write_rows *rows, struct write_column *column,
                          const struct hdf5_file *file, struct error *error)
{
    size_t longest = 0, size = row_size(column);
    const char *const *text = (const char *const *)(const void *)column->cells;
    for (size_t i = 0; column->kind == COLUMN_TEXT && i < rows->n; i++)
        longest = strlen(text[i]) > longest ? strlen(text[i]) : longest;
    enum status status =
        column->kind == COLUMN_TEXT
            ? hdf5_column_create_strings(&column->column, file, column->path, longest, rows->n,
                                         true, error)
            : hdf5_column_create(&column->column, file, column->path, stored_type(column->kind),
                                 column->width, rows->n, column->kind != COLUMN_DOUBLE, error);
    column->is_made = true;
    char *none = rows->n_written && !status ? malloc(rows->capacity * size) : NULL;
    if (rows->n_written && !status && !none)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->path);
    for (size_t i = 0; none && i < rows->capacity; i++)
        memcpy(none + i * size, column->none, size);
    for (uint64_t done = 0; none && done < rows->n_written && !status; done += rows->capacity) {
        uint64_t left = rows->n_written - done;
        status =
            hdf5_column_append(&column->column, native_type(column->kind),
                               left < rows->capacity ? (size_t)left : rows->capacity, none, error);
    }
    free(none);
    return status;
}

static enum status begin(struct write_rows *rows, const struct hdf5_file *file, struct error *error)
{
    enum status status = rows->is_optional ? hdf5_make_group(file, rows->path, error) : STATUS_OK;
    for (int i = 0; i < 2 && !status; i++)
        if (rows->list_path[i])
            status =
                hdf5_write_strings(file, rows->list_path[i], rows->n_list[i], rows->list[i], error);
    rows->is_made = true;
    return status;
}

enum status write_flush(struct write_rows *rows, const struct hdf5_file *file, struct error *error)
{
    if (rows->n == 0 && (rows->is_optional || rows->is_made))
        return STATUS_OK;
    enum status status = rows->is_made ? STATUS_OK : begin(rows, file, error);
    for (struct write_column *column = rows->column;
         column < rows->column + rows->n_column && !status; column++) {
        if (column->is_optional && !column->is_used)
            continue;
        if (!column->is_made)
            status = create(rows, column, file, error);
        if (!status)
            status =
                column->kind == COLUMN_TEXT
                    ? hdf5_column_append_strings(&column->column, rows->n,
                                                 (const char *const *)(void *)column->cells, error)
                    : hdf5_column_append(&column->column, native_type(column->kind), rows->n,
                                         column->cells, error);
    }
    rows->n_written += rows->n;
    rows->n = 0;
    arena_reset(&rows->text);
    return status;
}

enum status write_next(struct write_rows *rows, const struct hdf5_file *file, struct error *error)
{
    return ++rows->n == rows->capacity ? write_flush(rows, file, error) : STATUS_OK;
}

void write_close(struct write_rows *rows)
{
    for (size_t c = 0; c < rows->n_column; c++)
        hdf5_column_close(&rows->column[c].column);
}

void write_fini(struct write_rows *rows)
{
    write_close(rows);
    for (size_t c = 0; c < rows->n_column; c++)
        free(rows->column[c].cells);
    arena_fini(&rows->text);
}
