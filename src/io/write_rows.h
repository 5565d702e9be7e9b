/* Groups of columns that are written row by row, in blocks. For the problem writer.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/measurements.h"
#include "io/hdf5_file.h"

/* What the cells of a column are. The first ones are those of measurements. */
enum column_kind {
    COLUMN_DOUBLE = MEASUREMENT_DOUBLE, COLUMN_UINT32 = MEASUREMENT_UINT32, COLUMN_INT8 = MEASUREMENT_INT8,
    COLUMN_INT64, COLUMN_TEXT, N_COLUMN_KIND
};

enum { WRITE_MAX_COLUMN = 10 };

struct write_column {
    char path[48];
    enum column_kind kind;
    size_t width;  /* 0: one dimension */
    char *cells;   /* of the waiting rows */
    struct hdf5_column column;
};

/* Zero-initialise. */
struct write_rows {
    const char *path;      /* of the group */
    bool is_optional;      /* without rows there is no group; otherwise it exists */
    const char *list_path[2]; /* lists of names that belong to an optional group */
    size_t n_list[2];
    const char *const *list[2];
    size_t n, capacity;    /* waiting rows */
    size_t n_column;
    struct write_column column[WRITE_MAX_COLUMN];
    struct arena text;     /* of the waiting rows */
    bool is_made;
};

/* Adds a column; the first one decides how many rows wait. */
void write_add_column(struct write_rows *rows, const char *name, enum column_kind kind, size_t width);
bool write_allocate(struct write_rows *rows, size_t capacity);
/* Copies the next row's value in a column: a number, `width` of them, or a text. False: no memory. */
bool write_put(struct write_rows *rows, size_t column, const void *value);
/* Ends the row. */
enum status write_next(struct write_rows *rows, const struct hdf5_file *file, struct error *error);
enum status write_flush(struct write_rows *rows, const struct hdf5_file *file, struct error *error);
void write_close(struct write_rows *rows);
void write_fini(struct write_rows *rows);
