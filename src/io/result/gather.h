/* The rows of one or more results in the problem's order, with those of their other tables: the
 * shards of a run, or an earlier result of which some rows stay or are counted. The rows of each
 * are sorted by dataset, so the next one is always the first remaining one of some result. Memory
 * holds a block of each, and a file is open only while one is read: there may be thousands. One
 * thread only (HDF5).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/durable.h"
#include "io/result/result.h"
#include "io/result/tables.h"

struct gather_file {
    const char *path;
    struct stamp stamp; /* it must not have changed since; zeroed: it may have */
};

/* What is gathered; the files and texts must outlive it. */
struct gather_request {
    const struct gather_file *file; /* n */
    size_t n, n_parameter;
    uint64_t n_dataset;             /* of the problem */
    bool table[N_KEPT_TABLE];       /* which tables are to be read where they exist */
    /* two columns, of which alone the records then have values, beside the ids; NULL: all */
    const enum fit_column *only;
    size_t bytes;                   /* of rows in memory, about; 0: 64 MiB */
};

struct gather;
/* gather_free accepts NULL. */
enum status gather_new(struct gather **gather, const struct gather_request *request,
                       struct error *error);
void gather_free(struct gather *gather);

/* A row of /fits, valid until the next call. */
struct gathered {
    const char *path;          /* of the result that it is in, */
    uint64_t row;              /* and its number there */
    const char *id;
    struct fit_record *record;
};
/* The next row. False: there are no more, and no rows of tables that belong to none; or *status,
 * for which OK must have been given, is an error. STATUS_BAD_PROBLEM: the datasets of a file do
 * not increase, or are not the problem's; STATUS_SYSTEM: one is in two files, or a file has
 * changed. */
bool gather_next(struct gather *gather, struct gathered *row, enum status *status,
                 struct error *error);
/* Copies the rows that this row's dataset has in the tables to those of `to`; drops them where
 * that is NULL or lacks the table. At most once for each row. */
enum status gather_tables(struct gather *gather, struct kept_writers *to, struct error *error);
