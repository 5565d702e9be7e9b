/* Groups of columns that are written row by row, in blocks. For the problem writer.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/column.h"
#include "io/hdf5_file.h"

enum { WRITE_MAX_COLUMN = 14 };

struct write_column {
    char path[48];
    enum column_kind kind;
    size_t width;  /* 0: one dimension */
    bool is_optional, is_used, is_made; /* an optional one is made when a row has a value */
    char none[sizeof(double)]; /* what other rows have */
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
    uint64_t n_written;
    size_t n_column;
    struct write_column column[WRITE_MAX_COLUMN];
    struct arena text;     /* of the waiting rows */
    bool is_made;
};

/* Adds a column; the first one decides how many rows wait. */
void write_add_column(struct write_rows *rows, const char *name, enum column_kind kind,
                      size_t width);
/* The same for a column of numbers that the file has only if a row's value is not `none`. */
void write_add_optional(struct write_rows *rows, const char *name, enum column_kind kind,
                        double none);
bool write_allocate(struct write_rows *rows, size_t capacity);
/* Copies the next row's value in a column: a number, `width` of them, or a text. False: no
 * memory. */
bool write_put(struct write_rows *rows, size_t column, const void *value);
/* Ends the row. */
enum status write_next(struct write_rows *rows, const struct hdf5_file *file, struct error *error);
enum status write_flush(struct write_rows *rows, const struct hdf5_file *file, struct error *error);
void write_close(struct write_rows *rows);
void write_fini(struct write_rows *rows);
