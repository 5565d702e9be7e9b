/* Tables of a result other than /fits, with their own rows: profile points, replicates, starts. Separate from the writer of
 * /fits because their number of rows is not known beforehand.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_TABLE_H
#define IO_RESULT_TABLE_H

#include "io/result.h"

enum { RESULT_TABLE_MAX_COLUMN = 8 };

/* One dataset of the group. width 0: one number per row. */
struct result_table_column {
    const char *name, *description;
    enum fit_kind kind;
    size_t width;
};

/* A group and its columns; the texts are constants. */
struct result_table_shape {
    const char *group;
    size_t n_column;
    struct result_table_column column[RESULT_TABLE_MAX_COLUMN];
};

struct result_table;
/* Makes the group and its columns in the file that `writer` writes. */
enum status result_table_open(struct result_table **table, struct result_writer *writer,
                              const struct result_table_shape *shape, struct error *error);
/* Adds a row: pointers to each column's values, in the column's type in memory. */
enum status result_table_add(struct result_table *table, const void *const *values, struct error *error);
/* Writes the rest; call before result_writer_finish. NULL is legal. */
enum status result_table_finish(struct result_table *table, struct error *error);
/* Call before result_writer_close. NULL is legal. */
void result_table_close(struct result_table *table);

/* A table of an existing result. Column 0 is `dataset`, and rows are sorted by it. */
struct result_table_source;
/* NULL and OK if the result has no such group. Buffers about `bytes` of rows. The result must outlive it. */
enum status result_table_source_open(struct result_table_source **source, struct result *result,
                                     const struct result_table_shape *shape, size_t bytes, struct error *error);
/* The next row if it belongs to this dataset (*there): pointers to its columns' values, as for result_table_add, valid until
 * the next call. A row of an earlier dataset is a fault: all rows of a dataset must be taken before those of the next, so
 * UINT64_MAX at the end finds rows that belong to no dataset. source NULL: no rows. */
enum status result_table_next(struct result_table_source *source, uint64_t dataset, const void **values, bool *there,
                              struct error *error);
/* Alternatively, rows from `first` on, of any dataset: *n of them, as many as are buffered; 0: there are no more. cells[c]:
 * the values of column c, contiguous, valid until the next call. */
enum status result_table_block(struct result_table_source *source, uint64_t first, size_t *n, const void **cells,
                               struct error *error);
/* NULL is legal. */
void result_table_source_close(struct result_table_source *source);

/* The open file of a result, and of a writer. */
struct hdf5_file;
const struct hdf5_file *result_file(const struct result *result);
struct hdf5_file *result_writer_file(struct result_writer *writer);

#endif
