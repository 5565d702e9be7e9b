/* Names where row numbers of another table may stand: a column of strings is read as the numbers
 * that its names mean. Internal to the problem reader.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/id_table.h"
#include "base/words.h"
#include "io/file/hdf5_file.h"

#include <stdbool.h>

struct problem;
struct problem_owners;

/* Names that rows may mean. Zero-initialise. */
struct problem_names {
    struct id_table table;
    uint64_t *row;  /* of each name, where it first appears; NAME_OF_SEVERAL: it appears again */
    size_t room;
};
#define NAME_OF_SEVERAL UINT64_MAX

/* What a name means that has no number. */
#define NAME_UNKNOWN (INT64_MIN + 1)
#define NAME_AMBIGUOUS (INT64_MIN + 2)

static inline bool problem_has_names(const struct hdf5_column *column)
{
    return column->dataset && column->class == HDF5_STRING;
}

/* Makes the names of a list, or of datasets, or of experiments: within their datasets, or in the
 * whole file. */
enum status problem_names_list(struct problem *problem, struct problem_names *names, size_t n,
                               const char *const *list, struct error *error);
enum status problem_names_datasets(struct problem *problem, struct error *error);
enum status problem_names_experiments(struct problem *problem, bool within_datasets,
                                      struct error *error);
/* Makes those that appear in the column, in this order; empty ones are left out if they mean none,
 * and otherwise a fault. A fault is added if there are more than `most`. */
enum status problem_names_collect(struct problem *problem, struct problem_names *names,
                                  const struct hdf5_column *column, bool has_none, size_t most,
                                  struct error *error);
void problem_names_fini(struct problem_names *names);

/* How the numbers of a column are read. */
struct problem_numbers {
    const struct hdf5_column *column;
    const struct problem_names *names; /* if it has names */
    bool is_row;           /* a name means its row; otherwise its place among the names */
    bool has_none;         /* an empty name means -1 */
    const int64_t
        *within; /* of each row of the file that is read, the dataset of its experiment; or NULL */
};
/* Rows [first, first + n): as hdf5_column_read_int64 or, of names, what they mean: a number,
 * NAME_UNKNOWN or NAME_AMBIGUOUS. */
enum status problem_read_numbers(const struct problem_numbers *numbers, uint64_t first, size_t n,
                                 int64_t *out, struct error *error);
/* The name in a row, for a message; "" if it cannot be read. */
void problem_name_text(struct problem *problem, const struct hdf5_column *column, uint64_t row,
                       char text[100]);
/* "; did you mean "x"?", or nothing. */
const char *problem_name_hint(const struct problem *problem, const struct problem_names *names,
                              const char *text, char hint[NEAREST_HINT]);
