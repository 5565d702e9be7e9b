/* Columns of /fits and of the other tables of a result: numbers of the kinds of fit_record.h, in
 * HDF5 and in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/fit_record.h"
#include "io/file/hdf5_file.h"
#include "io/result/result.h"

enum { RESULT_MAX_ID = 1 << 16, RESULT_FORMAT = 1 };

struct result_column {
    struct hdf5_column file; /* dataset = 0: there is no such column */
    hid_t memory_type;       /* while writing */
    enum fit_kind kind;
    size_t width, cell_size; /* per row: numbers and bytes */
    char *cells;             /* memory for some rows, or NULL */
};

/* A column to be made. width 0: one number per row. */
struct result_column_plan {
    const char *path, *description;
    enum fit_kind kind;
    bool is_compressed;
    size_t width;
    uint64_t rows_expected;
};
/* Makes a column for writing, with memory for max_row rows. */
enum status result_column_create(struct result_column *column, struct hdf5_file *file,
                                 const struct result_column_plan *plan, size_t max_row,
                                 struct error *error);
/* Appends the first n rows of the cells. */
static inline enum status result_column_append(struct result_column *column, size_t n,
                                               struct error *error)
{
    return hdf5_column_append(&column->file, column->memory_type, n, column->cells, error);
}
#define RESULT_ANY_ROWS UINT64_MAX
/* Opens a column for reading, which must have this many rows and numbers per row. */
enum status result_column_open(struct result_column *column, const struct hdf5_file *file,
                               const char *path, enum fit_kind kind, size_t width, uint64_t n_row,
                               struct error *error);
/* Reads rows [first, first + n) into `cells` (cell_size each). Numbers of an enumeration must be
 * known. */
enum status result_column_read(const struct result_column *column, uint64_t first, size_t n,
                               void *cells, struct error *error);
/* Legal on a zeroed column, and twice. */
void result_column_close(struct result_column *column);

/* The open file of a result, and of a writer. */
const struct hdf5_file *result_file(const struct result *result);
struct hdf5_file *result_writer_file(struct result_writer *writer);
