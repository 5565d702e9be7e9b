/* The tables that a run keeps in addition to its best fits: starts, profile points and bootstrap replicates. One list of their
 * columns for writing, copying and showing them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_RESULT_KEPT_H
#define IO_RESULT_KEPT_H

#include "io/result_table.h"

enum kept_table { KEPT_STARTS, KEPT_PROFILES, KEPT_BOOTSTRAP, N_KEPT_TABLE };

/* The order of its columns is that of the values of a row. Starts: dataset, start, objective, status, parameters. Profiles:
 * dataset, parameter, value, objective. Bootstrap: dataset, replicate, status, parameters. */
struct result_table_shape kept_shape(enum kept_table table, size_t n_parameter);
/* The options of `stiffit run` that keep a table. */
const char *kept_options(enum kept_table table);

/* The tables of a result, and the tables being written; NULL for others. Zero-initialise; closing is legal then, after a
 * failure, and twice. */
struct kept_sources {
    struct result_table_source *of[N_KEPT_TABLE];
};
struct kept_writers {
    struct result_table *of[N_KEPT_TABLE];
};
/* bytes: memory for each table. */
enum status kept_sources_open(struct kept_sources *sources, struct result *result, size_t bytes, struct error *error);
void kept_sources_close(struct kept_sources *sources);
/* Makes the table if it does not exist yet. */
enum status kept_writers_add(struct kept_writers *writers, enum kept_table table, struct result_writer *writer,
                             size_t n_parameter, struct error *error);
/* Copies the rows of this dataset, which come next if there are any, to the tables in `to`; if that is NULL or has no such
 * table, drops them. Call it for each dataset in order, and with UINT64_MAX at the end to find rows that belong to no
 * dataset. */
enum status kept_pass(struct kept_sources *from, uint64_t dataset, struct kept_writers *to, struct error *error);
/* Writes the rest; call before result_writer_finish. */
enum status kept_writers_finish(struct kept_writers *writers, struct error *error);
void kept_writers_close(struct kept_writers *writers); /* before result_writer_close */

#endif
