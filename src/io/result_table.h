/* Tables of a result besides /fits, with rows of their own: points of profiles, replicates, starts. Separate from the
 * writer of /fits because their number of rows is not known beforehand.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_TABLE_H
#define IO_RESULT_TABLE_H

#include "io/result.h"

enum { RESULT_TABLE_MAX_COLUMN = 8 };

/* One dataset of the group. width 0: a number a row. */
struct result_table_column {
    const char *name, *description;
    enum fit_kind kind;
    size_t width;
};

/* A group and its columns; texts that live as long as the program. */
struct result_table_shape {
    const char *group;
    size_t n_column;
    struct result_table_column column[RESULT_TABLE_MAX_COLUMN];
};

struct result_table;
/* Makes the group and its columns in the file that `writer` writes. */
enum status result_table_open(struct result_table **table, struct result_writer *writer,
                              const struct result_table_shape *shape, struct error *error);
/* A row: where each column's values are, of the column's kind in memory. */
enum status result_table_add(struct result_table *table, const void *const *values, struct error *error);
/* What is left goes to the file; before result_writer_finish. NULL: nothing to do. */
enum status result_table_finish(struct result_table *table, struct error *error);
/* Before result_writer_close. NULL is legal. */
void result_table_close(struct result_table *table);

/* A table of a result that is there. Column 0 is `dataset`, and rows are in its order. */
struct result_table_source;
/* NULL and OK where the result has no such group. It holds rows of some `bytes` in memory. The result must outlive it. */
enum status result_table_source_open(struct result_table_source **source, struct result *result,
                                     const struct result_table_shape *shape, size_t bytes, struct error *error);
/* The next row, if there is one of this dataset: where its columns' values are, as result_table_add takes them, until the next
 * call; *there: whether there is. A row of a dataset before this one is a fault: all of a dataset are to be taken before the
 * next one's, so UINT64_MAX at the end finds rows that belong to no dataset. source NULL: none. */
enum status result_table_next(struct result_table_source *source, uint64_t dataset, const void **values, bool *there,
                              struct error *error);
/* Rows from `first` on instead, whatever their datasets: *n of them, as many as are held in memory, 0: there are no more.
 * cells[c]: those of column c one after the other, until the next call. */
enum status result_table_block(struct result_table_source *source, uint64_t first, size_t *n, const void **cells,
                               struct error *error);
/* NULL is legal. */
void result_table_source_close(struct result_table_source *source);

/* The open file of a result, and of a writer. */
struct hdf5_file;
const struct hdf5_file *result_file(const struct result *result);
struct hdf5_file *result_writer_file(struct result_writer *writer);

#endif
