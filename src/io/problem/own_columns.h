/* Columns that users give their datasets (plate, compound, weight): numbers or texts that no fit
 * needs. In a problem /datasets/columns, in a result /columns; each is named by its column.
 * One thread only (HDF5).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/hdf5_file.h"

enum {
    OWN_MAX_COLUMN = 1000,
    OWN_MAX_WITH_COVARIATES = OWN_MAX_COLUMN + 100000, /* of a result */
    OWN_MAX_NAME = 200,
    OWN_MAX_TEXT = 1 << 16
};
/* Larger whole numbers, such as bar codes, are texts: a double would round them. */
#define OWN_MAX_WHOLE 0x1p53

/* Makes a name one that a column of a file can have, but for its length. */
void own_name_as_link(char *name);

/* A cell; text NULL: the number, NaN if it is missing. A missing text is "". */
struct own_value {
    double number;
    const char *text;
};

struct own_columns {
    size_t n;
    const char *const *name;
    const bool *is_text;
    bool is_ordered; /* the file that they come from keeps their order; else it is that of names */
};

/* The column of that name; -1: there is none. */
int own_columns_find(const struct own_columns *columns, const char *name);
bool own_columns_equal(const struct own_columns *a, const struct own_columns *b);

/* An open group of columns; zero-initialise. */
struct own_reader {
    struct own_columns columns; /* its names are in the arena */
    struct hdf5_column *file;
};
/* No group: no columns. STATUS_BAD_PROBLEM: a column without n_row numbers or texts, or more
 * than max_column of them. */
enum status own_reader_open(struct own_reader *reader, const struct hdf5_file *file,
                            const char *group, size_t max_column, uint64_t n_row,
                            struct arena *arena, struct error *error);
/* Rows [first, first + n) of one column: the value of row first + i goes to out[i * stride]. */
enum status own_reader_column(const struct own_reader *reader, size_t column, uint64_t first,
                              size_t n, struct arena *arena, struct own_value *out, size_t stride,
                              struct error *error);
void own_reader_close(struct own_reader *reader);

/* Zero-initialise; the columns' names must stay. Makes the group unless there are no columns. A
 * name that no column of a file can have (of a covariate: "mg/L", or a very long one) is
 * changed: mg_L. */
struct own_writer {
    struct own_columns columns;
    struct hdf5_column *file;
    struct own_value *cell; /* capacity x columns.n: waiting rows, column by column */
    struct arena text;
    size_t n, capacity;
};
enum status own_writer_open(struct own_writer *writer, const struct hdf5_file *file,
                            const char *group, const struct own_columns *columns, uint64_t n_row,
                            size_t capacity, struct error *error);
/* A row: columns.n values, whose texts are copied; NULL: all are missing. */
enum status own_writer_add(struct own_writer *writer, const struct own_value *value,
                           struct error *error);
enum status own_writer_flush(struct own_writer *writer, struct error *error);
void own_writer_close(struct own_writer *writer);
