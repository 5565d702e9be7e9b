/* Types of the columns of /fits, and blocks of their rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An enumeration over bytes: readers show its names. */
static hid_t enumeration(hid_t base, enum fit_kind kind)
{
    const char *(*name)(int number) = fit_kind_names(kind);
    hid_t type = H5Tenum_create(base);
    for (int i = 0; type > 0 && name(i); i++) {
        unsigned char value = (unsigned char)i;
        if (H5Tenum_insert(type, name(i), &value) < 0)
            hdf5_release(&type);
    }
    return type;
}

/* 0: HDF5 failed. */
static hid_t type_of(enum fit_kind kind, bool is_file)
{
    switch (kind) {
    case FIT_DOUBLE: return H5Tcopy(is_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE);
    case FIT_INT64: return H5Tcopy(is_file ? H5T_STD_I64LE : H5T_NATIVE_INT64);
    case FIT_UINT32: return H5Tcopy(is_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32);
    case FIT_INT8: return H5Tcopy(is_file ? H5T_STD_I8LE : H5T_NATIVE_INT8);
    default: return enumeration(is_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8, kind);
    }
}

static void set_shape(struct result_column *column, enum fit_kind kind, size_t width)
{
    column->kind = kind;
    column->width = width ? width : 1;
    column->cell_size = column->width * fit_kind_size(kind);
}

enum status result_column_create(struct result_column *column, struct hdf5_file *file,
                                 const struct result_column_plan *plan, size_t max_row,
                                 struct error *error)
{
    const char *path = plan->path;
    hid_t type = type_of(plan->kind, true);
    set_shape(column, plan->kind, plan->width);
    column->memory_type = type_of(plan->kind, false);
    enum status status = STATUS_OK;
    if (type <= 0 || column->memory_type <= 0)
        status = hdf5_error(file, error, STATUS_INTERNAL, "%s: no type for it", path);
    if (!status)
        status = hdf5_column_create(&column->file, file, path, type, plan->width,
                                    plan->rows_expected, plan->is_compressed, error);
    hdf5_release(&type);
    if (!status)
        status = hdf5_put_text(file, path, "description", plan->description, error);
    column->cells = malloc(max_row * column->cell_size);
    return !status && !column->cells
               ? error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s", path)
               : status;
}

enum status result_column_open(struct result_column *column, const struct hdf5_file *file,
                               const char *path, enum fit_kind kind, size_t width, uint64_t n_row,
                               struct error *error)
{
    set_shape(column, kind, width);
    enum status status = hdf5_column_open(&column->file, file, path, error);
    if (status)
        return status;
    if (column->file.class != HDF5_INTEGER && column->file.class != HDF5_FLOAT)
        return error_set(error, STATUS_BAD_PROBLEM, "'%s': %s holds no numbers", file->path, path);
    if (n_row == RESULT_ANY_ROWS)
        n_row = column->file.n_row;
    if (column->file.width != column->width || column->file.n_row != n_row)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "'%s': %s has %" PRIu64 " rows of %" PRIu64 "; %" PRIu64 " of %zu are "
                         "expected",
                         file->path, path, column->file.n_row, column->file.width, n_row,
                         column->width);
    return STATUS_OK;
}

/* Converts integers to the column's own type. */
static enum status narrow(const struct result_column *column, uint64_t first, size_t n,
                          const int64_t *numbers, char *cell, struct error *error)
{
    const char *(*name)(int number) = fit_kind_names(column->kind);
    size_t size = fit_kind_size(column->kind);
    for (size_t k = 0; k < n * column->width; k++, cell += size) {
        uint32_t word = (uint32_t)numbers[k];
        uint8_t byte = (uint8_t)numbers[k];
        if (name && (numbers[k] < 0 || numbers[k] > 255 || !name((int)numbers[k])))
            return error_set(error, STATUS_BAD_PROBLEM,
                             "'%s': %s row %" PRIu64 " is %" PRId64 ", which this version of "
                             "stiffit does not know",
                             column->file.file->path, column->file.path, first + k / column->width,
                             numbers[k]);
        memcpy(cell,
               size == 8   ? (const void *)&numbers[k]
               : size == 4 ? (const void *)&word
                           : &byte,
               size);
    }
    return STATUS_OK;
}

enum status result_column_read(const struct result_column *column, uint64_t first, size_t n,
                               void *cells, struct error *error)
{
    if (column->kind == FIT_DOUBLE)
        return hdf5_column_read_double(&column->file, first, n, cells, error);
    int64_t *numbers = malloc((n * column->width + 1) * sizeof *numbers);
    if (!numbers)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for rows of %s",
                         column->file.path);
    enum status status = hdf5_column_read_int64(&column->file, first, n, numbers, error);
    if (!status)
        status = narrow(column, first, n, numbers, cells, error);
    free(numbers);
    return status;
}

void result_column_close(struct result_column *column)
{
    hdf5_column_close(&column->file);
    hdf5_release(&column->memory_type);
    free(column->cells);
    column->cells = NULL;
}
