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

struct result_table;
/* Makes the group and its columns in the file that `writer` writes. The texts must live as long as the table. */
enum status result_table_open(struct result_table **table, struct result_writer *writer, const char *group,
                              const struct result_table_column *columns, size_t n, struct error *error);
/* A row: where each column's values are, of the column's kind in memory. */
enum status result_table_add(struct result_table *table, const void *const *values, struct error *error);
/* What is left goes to the file; before result_writer_finish. NULL: nothing to do. */
enum status result_table_finish(struct result_table *table, struct error *error);
/* Before result_writer_close. NULL is legal. */
void result_table_close(struct result_table *table);

/* The open file of a writer. */
struct hdf5_file;
struct hdf5_file *result_writer_file(struct result_writer *writer);

#endif
