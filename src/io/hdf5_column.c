/* Reads datasets in blocks of rows, whatever their type, layout and padding in the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/hdf5_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRING_BATCH_BYTES = 1 << 20, STRING_BATCH = 4096, MAX_CACHE = 64 << 20, CONVERSION_BYTES = 1 << 20 };
enum { STRING_IN_FILE = 32 /* at least what a string of variable length has in a file, whatever its type says */ };

/* gzip compresses at most 1032 to 1. A file that claims far more is hostile or was never written. */
static const double MAX_PACKING = 5000, FREE_CLAIM = 64 << 20;

static enum status take_shape(struct hdf5_column *column, hid_t space, struct error *error)
{
    hsize_t size[2] = {1, 1};
    H5S_class_t class = H5Sget_simple_extent_type(space);
    column->rank = H5Sget_simple_extent_ndims(space);
    column->axis = 0;
    if (class == H5S_NULL) {
        column->rank = 1;
        size[0] = 0;
    } else if (column->rank < 0 || column->rank > 2) {
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: has %d dimensions; at most 2 are expected",
                         column->file->path, column->path, column->rank);
    } else if (column->rank > 0) {
        H5Sget_simple_extent_dims(space, size, NULL);
    }
    column->n_row = size[0];
    column->width = size[1];
    return STATUS_OK;
}

static enum status take_class(struct hdf5_column *column, struct error *error)
{
    switch (H5Tget_class(column->type)) {
    case H5T_INTEGER:
    case H5T_ENUM: column->class = HDF5_INTEGER; return STATUS_OK;
    case H5T_FLOAT: column->class = HDF5_FLOAT; return STATUS_OK;
    case H5T_STRING: column->class = HDF5_STRING; return STATUS_OK;
    case H5T_OPAQUE: column->class = HDF5_BYTES; return STATUS_OK;
    default:
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is neither numbers nor strings", column->file->path,
                         column->path);
    }
}

/* The first filter of the dataset that this HDF5 lacks, in words; false: it has all of them. */
static bool lacks_filter(hid_t creation, char *name, size_t size)
{
    int n = H5Pget_nfilters(creation);
    for (unsigned i = 0; n > 0 && i < (unsigned)n; i++) {
        char stored[64] = "";
        size_t n_value = 0;
        unsigned flags, config;
        H5Z_filter_t filter = H5Pget_filter2(creation, i, &flags, &n_value, NULL, sizeof stored, stored, &config);
        if (filter < 0 || H5Zfilter_avail(filter) > 0)
            continue;
        stored[sizeof stored - 1] = '\0';
        snprintf(name, size, "%s%sfilter %d", stored, *stored ? ", " : "", (int)filter);
        return true;
    }
    return false;
}

/* Refuses data stored in other files or compressed in unknown ways, and unreasonable sizes. Reopens the dataset with a cache
 * for one row of chunks; otherwise each block of rows would decompress every chunk again. */
static enum status check_storage(struct hdf5_column *column, struct error *error)
{
    const char *file = column->file->path, *path = column->path;
    hid_t creation = H5Dget_create_plist(column->dataset);
    if (creation < 0)
        return hdf5_error(column->file, error, STATUS_BAD_PROBLEM, "%s: cannot be read", path);
    H5D_layout_t layout = H5Pget_layout(creation);
    bool elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(creation) != 0;
    hsize_t chunk[2] = {1, 1};
    bool chunked = layout == H5D_CHUNKED && H5Pget_chunk(creation, 2, chunk) >= 0;
    char filter[100];
    bool is_unreadable = chunked && lacks_filter(creation, filter, sizeof filter);
    hdf5_release(&creation);
    if (is_unreadable)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is compressed with a filter that this HDF5 library cannot read "
                         "(%s); write it with gzip", file, path, filter);
    if (elsewhere)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is stored in other files, which is not supported; "
                         "copy the data into this file", file, path);
    double element = H5Tget_size(column->type), stored = H5Dget_storage_size(column->dataset);
    double claimed = (double)column->n_row * column->width * element;
    if (claimed > FREE_CLAIM && claimed > MAX_PACKING * stored)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: claims %" PRIu64 " rows but holds only %.0f bytes", file,
                         path, column->n_row, stored);
    if (!chunked)
        return STATUS_OK;
    double bytes = (double)chunk[0] * chunk[1] * element;
    if (bytes > (double)(1u << 30))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: its chunks of %.0f bytes are too large; write it with "
                         "chunks of about 1 MiB", file, path, bytes);
    if (column->rank > 1)
        bytes *= ceil((double)column->width / chunk[1]);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (bytes > (1 << 20) && bytes <= MAX_CACHE && access > 0) {
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, (size_t)bytes, 1.0);
        hdf5_release(&column->dataset);
        column->dataset = H5Dopen2(column->file->id, path, access);
    }
    hdf5_release(&access);
    if (column->dataset < 0)
        return hdf5_error(column->file, error, STATUS_BAD_PROBLEM, "%s: cannot be opened", path);
    return STATUS_OK;
}

enum status hdf5_column_open(struct hdf5_column *column, const struct hdf5_file *file, const char *path,
                             struct error *error)
{
    *column = (struct hdf5_column){.file = file};
    snprintf(column->path, sizeof column->path, "%s", path);
    switch (hdf5_kind(file, path)) {
    case HDF5_DATASET: break;
    case HDF5_ABSENT: return error_set(error, STATUS_BAD_PROBLEM, "%s: %s is missing", file->path, path);
    case HDF5_GROUP:
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is a group; a dataset is expected", file->path, path);
    default:
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is not a dataset of this file (links to other files are not "
                                                    "followed)", file->path, path);
    }
    column->dataset = H5Dopen2(file->id, path, H5P_DEFAULT);
    hid_t space = 0;
    enum status status = STATUS_OK;
    if (column->dataset > 0) {
        column->type = H5Dget_type(column->dataset);
        space = H5Dget_space(column->dataset);
    }
    if (column->type <= 0 || space <= 0)
        status = hdf5_error(file, error, STATUS_BAD_PROBLEM, "%s: cannot be opened", path);
    if (!status)
        status = take_shape(column, space, error);
    if (!status)
        status = take_class(column, error);
    if (!status)
        status = check_storage(column, error);
    hdf5_release(&space);
    if (status)
        hdf5_column_close(column);
    return status;
}

void hdf5_column_close(struct hdf5_column *column)
{
    hdf5_release(&column->type);
    hdf5_release(&column->dataset);
}

bool hdf5_column_as_vector(struct hdf5_column *column)
{
    if (column->width != 1 && column->n_row == 1) {
        column->axis = 1;
        column->n_row = column->width;
        column->width = 1;
    }
    return column->width == 1;
}

/* HDF5's buffer for conversions has 1 MiB, all of which each reading clears: a smaller one will do for few rows. 0: HDF5
 * failed. */
static hid_t transfer_list(const struct hdf5_column *column, size_t n, hid_t type)
{
    size_t in_file = H5Tget_size(column->type), in_memory = H5Tget_size(type);
    in_file = in_file > STRING_IN_FILE ? in_file : STRING_IN_FILE;
    double bytes = (double)n * (double)column->width * (double)(in_file > in_memory ? in_file : in_memory);
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    if (list > 0 && bytes < CONVERSION_BYTES && H5Pset_buffer(list, (size_t)bytes, NULL, NULL) < 0)
        hdf5_release(&list);
    return list > 0 ? list : 0;
}

/* Reads rows [first, first + n) as `type`. */
static enum status read_rows(const struct hdf5_column *column, uint64_t first, size_t n, hid_t type, void *out,
                             struct error *error)
{
    if (n == 0)
        return STATUS_OK;
    if (first > column->n_row || n > column->n_row - first)
        return error_set(error, STATUS_INTERNAL, "%s: %s: rows beyond the end were requested", column->file->path,
                         column->path);
    hsize_t start[2] = {0, 0}, count[2] = {1, 1}, total = (hsize_t)n * column->width;
    start[column->axis] = first;
    count[column->axis] = n;
    count[1 - column->axis] = column->width;
    hid_t file_space = H5Dget_space(column->dataset), memory_space = H5Screate_simple(1, &total, NULL);
    hid_t transfer = transfer_list(column, n, type);
    bool good = file_space > 0 && memory_space > 0 && transfer > 0;
    if (good && column->rank > 0)
        good = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
    good = good && H5Dread(column->dataset, type, memory_space, file_space, transfer, out) >= 0;
    hdf5_release(&transfer);
    hdf5_release(&memory_space);
    hdf5_release(&file_space);
    if (!good)
        return hdf5_error(column->file, error, STATUS_BAD_PROBLEM, "%s: rows from %" PRIu64 " on cannot be read",
                          column->path, first);
    return STATUS_OK;
}

static enum status need_numbers(const struct hdf5_column *column, struct error *error)
{
    if (column->class == HDF5_INTEGER || column->class == HDF5_FLOAT)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be numbers, not strings", column->file->path,
                     column->path);
}

enum status hdf5_column_read_double(const struct hdf5_column *column, uint64_t first, size_t n, double *out,
                                    struct error *error)
{
    enum status status = need_numbers(column, error);
    return status ? status : read_rows(column, first, n, H5T_NATIVE_DOUBLE, out, error);
}

enum status hdf5_column_read_int64(const struct hdf5_column *column, uint64_t first, size_t n, int64_t *out,
                                   struct error *error)
{
    enum status status = need_numbers(column, error);
    if (status || column->class == HDF5_INTEGER)
        return status ? status : read_rows(column, first, n, H5T_NATIVE_INT64, out, error);
    status = read_rows(column, first, n, H5T_NATIVE_DOUBLE, out, error);
    for (size_t i = 0; !status && i < n * column->width; i++) {
        double value;
        memcpy(&value, &out[i], sizeof value);
        out[i] = fabs(value) < 0x1p63 && value == rint(value) ? (int64_t)value : INT64_MIN;
    }
    return status;
}

enum status hdf5_column_read_bytes(const struct hdf5_column *column, uint64_t first, size_t n, unsigned char *out,
                                   struct error *error)
{
    if (column->class == HDF5_INTEGER)
        return read_rows(column, first, n, H5T_NATIVE_UINT8, out, error);
    if (column->class == HDF5_BYTES && H5Tget_size(column->type) == 1)
        return read_rows(column, first, n, column->type, out, error);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be bytes (unsigned 8-bit integers)", column->file->path,
                     column->path);
}

static enum status too_long(const struct hdf5_column *column, uint64_t row, size_t max_length, struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s row %" PRIu64 ": is longer than %zu bytes", column->file->path,
                     column->path, row, max_length);
}

/* Strings as they were read: an array of pointers, or fields of `size` bytes with their padding. */
struct strings {
    char *const *given; /* NULL: fields */
    const char *fields;
    size_t size;
    bool is_space_padded;
};

static const char *string_at(const struct strings *strings, size_t i, size_t *length)
{
    const char *text = strings->given ? strings->given[i] : strings->fields + i * strings->size;
    *length = !text ? 0 : strings->given ? strlen(text) : strnlen(text, strings->size);
    while (strings->is_space_padded && *length > 0 && text[*length - 1] == ' ')
        --*length;
    return text;
}

static enum status copy_strings(const struct hdf5_column *column, uint64_t first, size_t n, size_t max_length,
                                struct arena *arena, char **out, const struct strings *strings, struct error *error)
{
    size_t total = 0, length;
    for (size_t i = 0; i < n; i++) {
        string_at(strings, i, &length);
        if (length > max_length)
            return too_long(column, first + i, max_length, error);
        total += length + 1;
    }
    char *slab = arena_alloc(arena, total);
    if (!slab)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->file->path);
    for (size_t i = 0; i < n; i++) {
        const char *text = string_at(strings, i, &length);
        out[i] = slab;
        slab = (char *)mempcpy(slab, text ? text : "", length) + 1;
        slab[-1] = '\0';
    }
    return STATUS_OK;
}

/* The same type in file and memory: no conversion; the padding is cut here. */
static enum status read_fixed(const struct hdf5_column *column, uint64_t first, size_t n, size_t max_length,
                              struct arena *arena, char **out, char *buffer, struct error *error)
{
    const struct strings strings = {.fields = buffer, .size = H5Tget_size(column->type),
                                    .is_space_padded = H5Tget_strpad(column->type) == H5T_STR_SPACEPAD};
    enum status status = read_rows(column, first, n, column->type, buffer, error);
    return status ? status : copy_strings(column, first, n, max_length, arena, out, &strings, error);
}

static enum status read_variable(const struct hdf5_column *column, uint64_t first, size_t n, size_t max_length,
                                 struct arena *arena, char **out, char **given, struct error *error)
{
    hsize_t count = n;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, NULL);
    enum status status = STATUS_OK;
    memset(given, 0, n * sizeof *given);
    if (type <= 0 || space <= 0 || H5Tset_size(type, H5T_VARIABLE) < 0
        || H5Tset_cset(type, H5Tget_cset(column->type)) < 0)
        status = hdf5_error(column->file, error, STATUS_BAD_PROBLEM, "%s: cannot be read", column->path);
    if (!status)
        status = read_rows(column, first, n, type, given, error);
    if (!status)
        status = copy_strings(column, first, n, max_length, arena, out, &(struct strings){.given = given}, error);
    if (type > 0 && space > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, given);
    hdf5_release(&space);
    hdf5_release(&type);
    return status;
}

enum status hdf5_column_read_strings(const struct hdf5_column *column, uint64_t first, size_t n, size_t max_length,
                                     struct arena *arena, char **out, struct error *error)
{
    if (column->class != HDF5_STRING || column->width != 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be %s", column->file->path, column->path,
                         column->class == HDF5_STRING ? "one column of strings" : "strings, not numbers");
    if (n == 0)
        return STATUS_OK;
    bool variable = H5Tis_variable_str(column->type) > 0;
    size_t size = H5Tget_size(column->type), batch = STRING_BATCH;
    /* Padding may make a fixed string longer than its content, within limits. */
    if (!variable && size > max_length + STRING_BATCH_BYTES)
        return too_long(column, first, max_length, error);
    if (!variable)
        batch = size < STRING_BATCH_BYTES ? STRING_BATCH_BYTES / size : 1;
    batch = batch < n ? batch : n;
    void *buffer = malloc(batch * size);
    if (!buffer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->file->path);
    enum status status = STATUS_OK;
    for (size_t done = 0; done < n && !status; done += batch) {
        size_t m = n - done < batch ? n - done : batch;
        status = variable ? read_variable(column, first + done, m, max_length, arena, out + done, buffer, error)
                          : read_fixed(column, first + done, m, max_length, arena, out + done, buffer, error);
    }
    free(buffer);
    return status;
}
