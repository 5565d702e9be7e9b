/* The tables of a result beside /fits: starts, points of profiles, replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/result.h"
#include "io/result/columns.h"

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
enum status result_table_add(struct result_table *table, const void *const *values,
                             struct error *error);
/* Writes the rest; call before result_writer_finish. NULL is legal. */
enum status result_table_finish(struct result_table *table, struct error *error);
/* Call before result_writer_close. NULL is legal. */
void result_table_close(struct result_table *table);

/* A table of an existing result. Column 0 is `dataset`, and rows are sorted by it. */
struct result_table_source;
/* NULL and OK if the result has no such group. Buffers about `bytes` of rows. The result must
 * outlive it. */
enum status result_table_source_open(struct result_table_source **source, struct result *result,
                                     const struct result_table_shape *shape, size_t bytes,
                                     struct error *error);
/* The next row if it belongs to this dataset (*there): pointers to its columns' values, as for
 * result_table_add, valid until the next call. A row of an earlier dataset is a fault: all rows
 * of a dataset must be taken before those of the next, so UINT64_MAX at the end finds rows that
 * belong to no dataset. source NULL: no rows. */
enum status result_table_next(struct result_table_source *source, uint64_t dataset,
                              const void **values, bool *there, struct error *error);
/* Alternatively, rows from `first` on, of any dataset: *n of them, as many as are buffered; 0:
 * there are no more. cells[c]: the values of column c, contiguous, valid until the next call. */
enum status result_table_block(struct result_table_source *source, uint64_t first, size_t *n,
                               const void **cells, struct error *error);
/* NULL is legal. */
void result_table_source_close(struct result_table_source *source);

enum kept_table { KEPT_STARTS, KEPT_PROFILES, KEPT_BOOTSTRAP, N_KEPT_TABLE };

/* The order of its columns is that of the values of a row. Starts: dataset, start, objective,
 * status, parameters. Profiles: dataset, parameter, value, objective. Bootstrap: dataset,
 * replicate, status, parameters. */
struct result_table_shape kept_shape(enum kept_table table, size_t n_parameter);
/* The options of `stiffit run` that keep a table. */
const char *kept_options(enum kept_table table);

/* Whether a result has this table. */
bool result_has_kept(struct result *result, enum kept_table table);

/* The tables being written; NULL for others. Zero-initialise; closing is legal then, after a
 * failure, and twice. */
struct kept_writers {
    struct result_table *of[N_KEPT_TABLE];
};
/* Makes the table if it does not exist yet. */
enum status kept_writers_add(struct kept_writers *writers, enum kept_table table,
                             struct result_writer *writer, size_t n_parameter, struct error *error);
/* Writes the rest; call before result_writer_finish. */
enum status kept_writers_finish(struct kept_writers *writers, struct error *error);
void kept_writers_close(struct kept_writers *writers); /* before result_writer_close */
