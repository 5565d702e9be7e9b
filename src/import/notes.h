/* What people are told about the tables that an import reads.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/import.h"
#include "io/table/csv.h"

/* Counts numbers with which a dataset cannot be fitted, for a message. They are kept: the dataset's
 * row in the result will say so. */
struct import_faults {
    uint64_t n;
    struct error first;
};
/* Which datasets and experiments there are: "with measurements", or those to simulate. */
const char *import_which(const struct import_options *options);
/* A note; hint: "", or words to add. */
void import_say_unused_column(const struct import_options *options, const char *path,
                              const char *name, const char *hint);
/* Notes about text that is not UTF-8 and about comments. */
void import_say_reading(const struct import_options *options, const struct csv_reader *reader,
                        const char *path);
/* Columns that a table needs and lacks: one fault has all of them. */
struct import_lacks {
    size_t n;
    char names[500], why[100]; /* why: of the last one, or "" */
};
/* Returns the column's number, or CSV_NO_COLUMN and adds its name to the lacking ones. why: the
 * reason that a message gives for needing it, or "". */
size_t import_need(struct import_lacks *lacks, const struct csv_reader *reader, const char *name,
                   const char *why);
enum status import_lacks_end(const struct import_lacks *lacks, const struct csv_reader *reader,
                             struct error *error);
/* STATUS_BAD_PROBLEM, with what to write instead, if a covariate is a word; or if a value is a
 * limit such as "<0.1", which belongs into the column of censoring that is called `column`. */
enum status import_check_covariate(const struct csv_reader *reader, size_t field,
                                   struct error *error);
enum status import_check_value(const struct csv_reader *reader, size_t field, const char *column,
                               struct error *error);
/* Fields that cannot be read: the import goes on to find the others, and fails at its end with
 * all of them. */
struct import_slips {
    uint64_t n, n_shown;
    char text[900]; /* the first ones, a line each */
    char last[1200]; /* the last one, since several wells may share a faulty cell */
};
/* Takes STATUS_BAD_PROBLEM and returns STATUS_OK; returns other ones. */
enum status import_slips_take(struct import_slips *slips, enum status status,
                              const struct error *error);
/* After the table: the fault with all of them. */
enum status import_slips_end(const struct import_slips *slips, enum status status,
                             struct error *error);
void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column,
                       const char *what);
