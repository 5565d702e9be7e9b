/* Writes datasets: columns that grow by appended rows, and small tables in one call. No object has a time stamp, so equal
 * contents give equal bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 256 << 10, CHUNK_ROWS = 16384, LONGEST_FIXED = 256, BATCH = 4096, GZIP_LEVEL = 1 };

static enum status cannot_write(const struct hdf5_file *file, const char *path, struct error *error)
{
    return hdf5_error(file, error, STATUS_SYSTEM, "%s: cannot be written", path);
}

static hid_t string_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type > 0 && (H5Tset_size(type, size ? size : H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0
                     || (size && H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)))
        hdf5_release(&type);
    return type;
}

static hid_t creation_list(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list > 0 && H5Pset_obj_track_times(list, false) < 0)
        hdf5_release(&list);
    return list;
}

enum status hdf5_column_create(struct hdf5_column *column, const struct hdf5_file *file, const char *path,
                               hid_t file_type, size_t width, uint64_t rows_expected, bool compress,
                               struct error *error)
{
    *column = (struct hdf5_column){.file = file, .rank = width ? 2 : 1, .width = width ? width : 1,
                                   .rows_expected = rows_expected, .compress = compress};
    snprintf(column->path, sizeof column->path, "%s", path);
    column->type = H5Tcopy(file_type);
    size_t row_bytes = column->width * (column->type > 0 ? H5Tget_size(column->type) : 1);
    uint64_t rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
    rows = rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
    if (rows_expected && rows_expected < rows)
        rows = rows_expected;
    hsize_t size[2] = {0, column->width}, most[2] = {H5S_UNLIMITED, column->width}, chunk[2] = {rows, column->width};
    hid_t space = H5Screate_simple(column->rank, size, most), list = creation_list();
    /* Rows are only appended, so a cache of two chunks is enough; the default is 1 MiB per column. */
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access > 0)
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 2 * (size_t)rows * row_bytes, 1.0);
    if (column->type > 0 && space > 0 && list > 0 && H5Pset_chunk(list, column->rank, chunk) >= 0
        && (!compress || (H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, GZIP_LEVEL) >= 0)))
        column->dataset = H5Dcreate2(file->id, path, column->type, space, H5P_DEFAULT, list, access > 0 ? access : H5P_DEFAULT);
    hdf5_release(&access);
    hdf5_release(&list);
    hdf5_release(&space);
    if (column->dataset > 0)
        return STATUS_OK;
    enum status status = cannot_write(file, path, error);
    hdf5_column_close(column);
    return status;
}

enum status hdf5_column_append(struct hdf5_column *column, hid_t memory_type, size_t n, const void *rows,
                               struct error *error)
{
    if (n == 0)
        return STATUS_OK;
    hsize_t start[2] = {column->n_row, 0}, count[2] = {n, column->width};
    hsize_t size[2] = {column->n_row + n, column->width};
    hid_t file_space = 0, memory_space = H5Screate_simple(column->rank, count, NULL);
    if (H5Dset_extent(column->dataset, size) >= 0)
        file_space = H5Dget_space(column->dataset);
    bool good = file_space > 0 && memory_space > 0
                && H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0
                && H5Dwrite(column->dataset, memory_type, memory_space, file_space, H5P_DEFAULT, rows) >= 0;
    hdf5_release(&memory_space);
    hdf5_release(&file_space);
    if (!good)
        return cannot_write(column->file, column->path, error);
    column->n_row += n;
    return STATUS_OK;
}

enum status hdf5_column_create_strings(struct hdf5_column *column, const struct hdf5_file *file, const char *path,
                                       size_t string_size, uint64_t rows_expected, bool compress, struct error *error)
{
    size_t rounded = string_size ? (string_size + 7) / 8 * 8 : 8, size = rounded <= LONGEST_FIXED ? rounded : 0;
    hid_t type = string_type(size);
    enum status status = type > 0 ? hdf5_column_create(column, file, path, type, 0, rows_expected, compress, error)
                                  : cannot_write(file, path, error);
    column->string_size = size;
    hdf5_release(&type);
    return status;
}

/* n strings of at most string_size bytes each, as stored in the file. */
static enum status append_fixed(struct hdf5_column *column, size_t n, const char *const *strings, struct error *error)
{
    size_t size = column->string_size;
    char *buffer = malloc(BATCH * size);
    if (!buffer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->file->path);
    enum status status = STATUS_OK;
    for (size_t done = 0; done < n && !status; done += BATCH) {
        size_t m = n - done < BATCH ? n - done : BATCH;
        memset(buffer, 0, m * size);
        for (size_t i = 0; i < m; i++)
            memcpy(buffer + i * size, strings[done + i], strlen(strings[done + i]));
        status = hdf5_column_append(column, column->type, m, buffer, error);
    }
    free(buffer);
    return status;
}

static enum status append_strings(struct hdf5_column *column, size_t n, const char *const *strings,
                                  struct error *error)
{
    if (column->string_size)
        return append_fixed(column, n, strings, error);
    return hdf5_column_append(column, column->type, n, strings, error);
}

static enum status copy_strings(const struct hdf5_column *from, struct hdf5_column *to, struct error *error)
{
    struct arena arena = {0};
    char *strings[256];
    enum status status = STATUS_OK;
    for (uint64_t first = 0; first < from->n_row && !status; first += 256) {
        size_t n = from->n_row - first < 256 ? (size_t)(from->n_row - first) : 256;
        arena_reset(&arena);
        status = hdf5_column_read_strings(from, first, n, SIZE_MAX / 2, &arena, strings, error);
        if (!status)
            status = append_strings(to, n, (const char *const *)strings, error);
    }
    arena_fini(&arena);
    return status;
}

/* Rewrites the column with a wider type; this file reuses the space of the old one. */
static enum status widen(struct hdf5_column *column, size_t needed, struct error *error)
{
    const struct hdf5_file *file = column->file;
    struct hdf5_column old = {0}, wide = {0};
    char path[sizeof column->path], wide_path[sizeof column->path + 1];
    snprintf(path, sizeof path, "%s", column->path);
    snprintf(wide_path, sizeof wide_path, "%s~", path);
    if (needed < 2 * column->string_size)
        needed = 2 * column->string_size < LONGEST_FIXED ? 2 * column->string_size : needed;
    bool compress = column->compress;
    uint64_t rows_expected = column->rows_expected;
    enum status status = hdf5_flush(file, error);
    hdf5_column_close(column);
    if (!status)
        status = hdf5_column_open(&old, file, path, error);
    if (!status)
        status = hdf5_column_create_strings(&wide, file, wide_path, needed, rows_expected, compress, error);
    if (!status)
        status = copy_strings(&old, &wide, error);
    hdf5_column_close(&old);
    if (!status)
        status = hdf5_delete(file, path, error);
    if (!status && H5Lmove(file->id, wide_path, file->id, path, H5P_DEFAULT, H5P_DEFAULT) < 0)
        status = cannot_write(file, path, error);
    memcpy(wide.path, path, sizeof wide.path);
    *column = wide;
    return status;
}

enum status hdf5_column_append_strings(struct hdf5_column *column, size_t n, const char *const *strings,
                                       struct error *error)
{
    size_t longest = 0;
    for (size_t i = 0; i < n && column->string_size; i++) {
        size_t length = strlen(strings[i]);
        longest = length > longest ? length : longest;
    }
    if (longest > column->string_size) {
        enum status status = widen(column, longest, error);
        if (status)
            return status;
    }
    return append_strings(column, n, strings, error);
}

enum status hdf5_write_table(const struct hdf5_file *file, const char *path, hid_t type, size_t n_row, size_t width,
                             const void *data, struct error *error)
{
    hsize_t size[2] = {n_row, width ? width : 1};
    hid_t space = H5Screate_simple(width ? 2 : 1, size, NULL), list = creation_list(), dataset = 0;
    if (space > 0 && list > 0)
        dataset = H5Dcreate2(file->id, path, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool good = dataset > 0 && (n_row == 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0) &&
                H5Dflush(dataset) >= 0;
    enum status status = good ? STATUS_OK : cannot_write(file, path, error);
    hdf5_release(&dataset);
    hdf5_release(&list);
    hdf5_release(&space);
    return status;
}

enum status hdf5_write_strings(const struct hdf5_file *file, const char *path, size_t n, const char *const *strings,
                               struct error *error)
{
    size_t longest = 1;
    for (size_t i = 0; i < n; i++)
        longest = strlen(strings[i]) > longest ? strlen(strings[i]) : longest;
    bool is_fixed = n <= 1 || longest <= LONGEST_FIXED; /* one long string makes no large table */
    char *buffer = is_fixed ? calloc(n ? n : 1, longest) : NULL;
    if (is_fixed && !buffer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", file->path);
    for (size_t i = 0; i < n && is_fixed; i++)
        memcpy(buffer + i * longest, strings[i], strlen(strings[i]));
    const void *rows = is_fixed ? (const void *)buffer : strings;
    hid_t type = string_type(is_fixed ? longest : 0);
    enum status status = type > 0 ? hdf5_write_table(file, path, type, n, 0, rows, error)
                                  : cannot_write(file, path, error);
    hdf5_release(&type);
    free(buffer);
    return status;
}
