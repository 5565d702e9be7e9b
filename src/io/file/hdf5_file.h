/* Checked HDF5: files, attributes, and columns (datasets read or written a block of rows at a
 * time). Every failure becomes a struct error; reads are bounded by the caller's limits; no
 * other file is ever opened through links, external storage or virtual datasets. One thread
 * only.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <hdf5.h>
#include <stdint.h>

struct hdf5_file {
    hid_t id;   /* 0: closed */
    char *path; /* for messages */
};

/* Zero-initialise the file first. Reading: no lock is taken. STATUS_SYSTEM: the file cannot be
 * opened; STATUS_BAD_PROBLEM: it is not an HDF5 file. hdf5_edit opens an existing file for
 * reading and writing. hdf5_create makes a file, which must not exist yet; neither the file nor
 * its objects have time stamps, so that equal contents are equal bytes. */
enum status hdf5_open(struct hdf5_file *file, const char *path, struct error *error);
enum status hdf5_edit(struct hdf5_file *file, const char *path, struct error *error);
enum status hdf5_create(struct hdf5_file *file, const char *path, struct error *error);
/* Call before closing columns that were written: closing writes the rest of a column but reports
 * no errors. */
enum status hdf5_flush(const struct hdf5_file *file, struct error *error);
/* Closes and reports whether everything was written; hdf5_close closes silently (a closed or
 * zeroed file is legal). */
enum status hdf5_finish(struct hdf5_file *file, struct error *error);
void hdf5_close(struct hdf5_file *file);

/* "PATH: message: HDF5's message", the last part only if there is one. */
enum status hdf5_error(const struct hdf5_file *file, struct error *error, enum status status,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Closes any handle (file, dataset, type, ...) and zeroes it; <= 0 is legal. */
static inline void hdf5_release(hid_t *id)
{
    if (*id > 0)
        H5Idec_ref(*id);
    *id = 0;
}

/* The kind of object at an absolute path such as "/datasets/id". Dangling soft links are absent. */
enum hdf5_kind {
    HDF5_ABSENT,
    HDF5_GROUP,
    HDF5_DATASET,
    HDF5_OTHER /* in another file, or not data */
};
enum hdf5_kind hdf5_kind(const struct hdf5_file *file, const char *path);
/* Calls visit for the name of each link of a group, or of each attribute of an object, until it
 * returns false. Links come in the order in which they were made, if the group tracks it, else by
 * their names. */
enum status hdf5_each_link(const struct hdf5_file *file, const char *group,
                           bool (*visit)(void *context, const char *name), void *context,
                           struct error *error);
/* Whether a group tracks the order in which its links were made. */
bool hdf5_keeps_order(const struct hdf5_file *file, const char *group);
enum status hdf5_each_attribute(const struct hdf5_file *file, const char *object,
                                bool (*visit)(void *context, const char *name), void *context,
                                struct error *error);
/* is_ordered: hdf5_each_link will visit its links in the order in which they are made. */
enum status hdf5_make_group(const struct hdf5_file *file, const char *path, bool is_ordered,
                            struct error *error);
/* absent: OK */
enum status hdf5_delete(const struct hdf5_file *file, const char *path, struct error *error);

/* Attributes of one value. `object` is a path; "/" is the root. Text is malloc'ed, NULL if there
 * is no such attribute or object; numbers become text (integers in full, others %.17g). Text is
 * never read as a number. */
enum status hdf5_attribute_text(const struct hdf5_file *file, const char *object, const char *name,
                                char **text, struct error *error);
/* type: of *value in memory, as H5T_NATIVE_DOUBLE. */
enum status hdf5_attribute_number(const struct hdf5_file *file, const char *object,
                                  const char *name, hid_t type, bool *present, void *value,
                                  struct error *error);
enum status hdf5_put_text(const struct hdf5_file *file, const char *object, const char *name,
                          const char *text, struct error *error);
/* type: H5T_NATIVE_DOUBLE, H5T_NATIVE_UINT64, ...: of *value in memory and of the attribute in
 * the file. */
enum status hdf5_put_number(const struct hdf5_file *file, const char *object, const char *name,
                            hid_t type, const void *value, struct error *error);

enum hdf5_class { HDF5_INTEGER, HDF5_FLOAT, HDF5_STRING, HDF5_BYTES };

/* A dataset as a table: n_row rows of `width` elements. Scalar: 1 x 1; one dimension: width 1. */
struct hdf5_column {
    const struct hdf5_file *file; /* must outlive the column */
    char path[256];
    hid_t dataset, type;          /* dataset = 0: closed */
    /* enumerations (h5py's bool) and bit fields (jhdf's) are integers; HDF5_BYTES: opaque */
    enum hdf5_class class;
    bool is_bits;
    int rank, axis;               /* axis: the dimension of the rows */
    uint64_t n_row, width;
    /* writing: */
    size_t string_size;           /* bytes of fixed strings; 0: variable */
    uint64_t rows_expected;
    bool compress;
};

/* STATUS_BAD_PROBLEM where there is no such dataset, or it is of another kind than numbers or
 * strings, of more than two dimensions, stored in other files, or claims far more data than it
 * holds. Zero-initialise the column first. */
enum status hdf5_column_open(struct hdf5_column *column, const struct hdf5_file *file,
                             const char *path, struct error *error);
void hdf5_column_close(struct hdf5_column *column);
/* N x 1 and 1 x N become N rows of width 1; false if it is neither. */
bool hdf5_column_as_vector(struct hdf5_column *column);
/* Rows [first, first + n) into out[n * width]. Numbers of any type; for int64 a float that is
 * not whole becomes INT64_MIN. */
enum status hdf5_column_read_double(const struct hdf5_column *column, uint64_t first, size_t n,
                                    double *out, struct error *error);
enum status hdf5_column_read_int64(const struct hdf5_column *column, uint64_t first, size_t n,
                                   int64_t *out, struct error *error);
/* One byte per element: opaque or integer bytes. */
enum status hdf5_column_read_bytes(const struct hdf5_column *column, uint64_t first, size_t n,
                                   unsigned char *out, struct error *error);
/* Strings, fixed or variable, ASCII or UTF-8, any padding, into the arena; a string longer than
 * max_length bytes is a fault. */
enum status hdf5_column_read_strings(const struct hdf5_column *column, uint64_t first, size_t n,
                                     size_t max_length, struct arena *arena, char **out,
                                     struct error *error);

/* A new dataset of 0 rows that grows as rows are appended; width 0: one dimension. Parents must
 * exist. `compress`: shuffle and gzip level 1. Chunks are chosen for `rows_expected` (0:
 * unknown, many). */
enum status hdf5_column_create(struct hdf5_column *column, const struct hdf5_file *file,
                               const char *path, hid_t file_type, size_t width,
                               uint64_t rows_expected, bool compress, struct error *error);
enum status hdf5_column_append(struct hdf5_column *column, hid_t memory_type, size_t n,
                               const void *rows, struct error *error);
/* A new column of strings (UTF-8, one dimension, width as the longest needs: the column is
 * rewritten when a longer one comes, as variable-length strings beyond 256 bytes). string_size: a
 * first guess of the longest in bytes, 0: none. */
enum status hdf5_column_create_strings(struct hdf5_column *column, const struct hdf5_file *file,
                                       const char *path, size_t string_size, uint64_t rows_expected,
                                       bool compress, struct error *error);
enum status hdf5_column_append_strings(struct hdf5_column *column, size_t n,
                                       const char *const *strings, struct error *error);
/* For example "HDF5 1.10.8": the library that is loaded, not the headers. */
void io_library(char *text, size_t size);

/* A whole small dataset at once: rows x width elements (width 0: one dimension). */
enum status hdf5_write_table(const struct hdf5_file *file, const char *path, hid_t type,
                             size_t n_row, size_t width, const void *data, struct error *error);
enum status hdf5_write_strings(const struct hdf5_file *file, const char *path, size_t n,
                               const char *const *strings, struct error *error);
