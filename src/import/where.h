/* Which rows of a table of measurements are read: --where.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/condition.h"
#include "import/import.h"
#include "io/table/csv.h"

/* The conditions of --where, and the rows that they left out. Zero-initialise. */
struct import_where {
    size_t n;
    struct import_condition {
        size_t column;
        enum condition_operator comparison;
        bool is_number;
        double number; /* NaN: a missing value */
        char *word;
    } *condition;
    const char *unit;  /* of clock times, as in struct import_elapsed; NULL: there are none */
    bool missing_is_0; /* when it is compared with a number, as in NM-TRAN */
    struct csv_lines left_out;
};
/* Finds the columns that options->where names. path: the table's. STATUS_USAGE: there is no such
 * column. */
enum status import_where_begin(struct import_where *where, const struct import_options *options,
                               const struct csv_reader *reader, const char *path,
                               struct error *error);
/* Whether the reader's row meets all conditions; counts those that do not. STATUS_BAD_PROBLEM: a
 * field is no number, and is compared with one. */
enum status import_where_holds(struct import_where *where, const struct csv_reader *reader,
                               bool *holds, struct error *error);
/* Whether a condition is about the column. */
bool import_where_uses(const struct import_where *where, size_t column);
/* The fault of a table from which no row was read. */
enum status import_where_none(const struct import_where *where, const char *path,
                              struct error *error);
void import_where_fini(struct import_where *where);
