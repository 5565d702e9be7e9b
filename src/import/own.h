/* Columns of the table of datasets that the model does not use: kept as they are, a column of
 * texts if one of its fields is no number.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/table/csv.h"
#include "io/problem/own_columns.h"

/* Zero-initialise. */
struct import_own {
    struct own_columns column;
    const char **name;
    bool *is_text;
    size_t n_dataset;
    struct own_value *value; /* n_dataset x column.n; of texts and of numbers until the end */
    struct arena arena;
};
/* A column more, of a table's column of that name; before the first field. */
enum status import_own_add(struct import_own *own, const char *name, struct error *error);
/* A field of the reader's row; n_dataset must be set. */
enum status import_own_take(struct import_own *own, size_t column, size_t dataset,
                            const struct csv_reader *reader, size_t field, struct error *error);
/* Now `value` is as in struct own_value. */
void import_own_end(struct import_own *own);
void import_own_fini(struct import_own *own);
