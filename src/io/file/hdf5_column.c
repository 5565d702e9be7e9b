/* Reads datasets in blocks of rows, whatever their type, layout and padding in the file, and
 * writes them: columns that grow by appended rows, and small tables in one call. No object has a
 * time stamp, so equal contents give equal bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/file/hdf5_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writing. */
enum {
    CHUNK_BYTES = 256 << 10,
    CHUNK_ROWS = 16384,
    LONGEST_FIXED = 256,
    BATCH = 4096,
    GZIP_LEVEL = 1
};
/* Reading. */
enum {
    STRING_BATCH_BYTES = 1 << 20,
    STRING_BATCH = 4096,
    MAX_CACHE = 64 << 20,
    CONVERSION_BYTES = 1 << 20
};
enum {
    STRING_IN_FILE =
        32 /* at least what a string of variable length has in a file, whatever its type says */
};

/* gzip compresses at most 1032 to 1. A file that claims far more is hostile or was never
 * written. */
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
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: has %d dimensions; at most 2 are expected", column->file->path,
                         column->path, column->rank);
    } else if (column->rank > 0) {
        H5Sget_simple_extent_dims(space, size, NULL);
    }
    column->n_row = size[0];
    column->width = size[1];
    return STATUS_OK;
}

/* What a column of another class than numbers and strings holds, and what to write instead. */
static const char *unusable_class(hid_t type)
{
    bool is_complex = H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2 &&
                      H5Tget_member_index(type, "r") == 0 && H5Tget_member_index(type, "i") == 1;
    switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
        return is_complex ? "holds complex numbers: write real numbers"
                          : "holds records (a compound type): write each field as a dataset of its "
                            "own";
    case H5T_VLEN: return "holds lists of any length: write one value in each row";
    case H5T_ARRAY: return "holds an array in each row: write a dataset of two dimensions";
    case H5T_REFERENCE: return "holds references: write numbers of rows, or ids";
    case H5T_OPAQUE:
        return "holds opaque values (as h5py's of datetime64): write numbers, times in the unit of "
               "the model's";
    case H5T_TIME: return "holds times of the type H5T_TIME: write numbers";
    case H5T_BITFIELD: return "holds bit fields of more than 64 bits: write integers";
    default:
        return "has a type that this HDF5 library does not know: write numbers or strings";
    }
}

static enum status take_class(struct hdf5_column *column, struct error *error)
{
    switch (H5Tget_class(column->type)) {
    case H5T_INTEGER:
    case H5T_ENUM: column->class = HDF5_INTEGER; return STATUS_OK;
    case H5T_FLOAT: column->class = HDF5_FLOAT; return STATUS_OK;
    case H5T_STRING: column->class = HDF5_STRING; return STATUS_OK;
    case H5T_OPAQUE:
        column->class = HDF5_BYTES;
        if (H5Tget_size(column->type) == 1)
            return STATUS_OK;
        break;
    case H5T_BITFIELD:
        column->class = HDF5_INTEGER;
        column->is_bits = true;
        if (H5Tget_size(column->type) <= sizeof(uint64_t))
            return STATUS_OK;
        break;
    default: break;
    }
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: %s", column->file->path, column->path,
                     unusable_class(column->type));
}

/* The first filter of the dataset that this HDF5 lacks, in words; false: it has all of them. */
static bool lacks_filter(hid_t creation, char *name, size_t size)
{
    int n = H5Pget_nfilters(creation);
    for (unsigned i = 0; n > 0 && i < (unsigned)n; i++) {
        char stored[64] = "";
        size_t n_value = 0;
        unsigned flags, config;
        H5Z_filter_t filter =
            H5Pget_filter2(creation, i, &flags, &n_value, NULL, sizeof stored, stored, &config);
        if (filter < 0 || H5Zfilter_avail(filter) > 0)
            continue;
        stored[sizeof stored - 1] = '\0';
        snprintf(name, size, "%s%sfilter %d", stored, *stored ? ", " : "", (int)filter);
        return true;
    }
    return false;
}

/* Refuses data stored in other files or compressed in unknown ways, and unreasonable sizes.
 * Reopens the dataset with a cache for one row of chunks; otherwise each block of rows would
 * decompress every chunk again. */
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
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: is compressed with a filter that this HDF5 library cannot read "
                         "(%s); write it with gzip",
                         file, path, filter);
    if (elsewhere)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: is stored in other files, which is not supported; "
                         "copy the data into this file",
                         file, path);
    double element = H5Tget_size(column->type), stored = H5Dget_storage_size(column->dataset);
    double claimed = (double)column->n_row * column->width * element;
    if (claimed > FREE_CLAIM && claimed > MAX_PACKING * stored)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: claims %" PRIu64 " rows but holds only %.0f bytes", file, path,
                         column->n_row, stored);
    if (!chunked)
        return STATUS_OK;
    double bytes = (double)chunk[0] * chunk[1] * element;
    if (bytes > (double)(1u << 30))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: its chunks of %.0f bytes are too large; write it with "
                         "chunks of about 1 MiB",
                         file, path, bytes);
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

enum status hdf5_column_open(struct hdf5_column *column, const struct hdf5_file *file,
                             const char *path, struct error *error)
{
    *column = (struct hdf5_column){.file = file};
    snprintf(column->path, sizeof column->path, "%s", path);
    switch (hdf5_kind(file, path)) {
    case HDF5_DATASET: break;
    case HDF5_ABSENT:
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s is missing", file->path, path);
    case HDF5_GROUP:
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: is a group; a dataset is expected",
                         file->path, path);
    default:
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: is not a dataset of this file (links to other files are not "
                         "followed)",
                         file->path, path);
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

/* HDF5's buffer for conversions has 1 MiB, all of which each reading clears: a smaller one will
 * do for few rows. 0: HDF5 failed. */
static hid_t transfer_list(const struct hdf5_column *column, size_t n, hid_t type)
{
    size_t in_file = H5Tget_size(column->type), in_memory = H5Tget_size(type);
    in_file = in_file > STRING_IN_FILE ? in_file : STRING_IN_FILE;
    double bytes =
        (double)n * (double)column->width * (double)(in_file > in_memory ? in_file : in_memory);
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    if (list > 0 && bytes < CONVERSION_BYTES && H5Pset_buffer(list, (size_t)bytes, NULL, NULL) < 0)
        hdf5_release(&list);
    return list > 0 ? list : 0;
}

/* Reads rows [first, first + n) as `type`. */
static enum status read_rows(const struct hdf5_column *column, uint64_t first, size_t n, hid_t type,
                             void *out, struct error *error)
{
    if (n == 0)
        return STATUS_OK;
    if (first > column->n_row || n > column->n_row - first)
        return error_set(error, STATUS_INTERNAL, "%s: %s: rows beyond the end were requested",
                         column->file->path, column->path);
    hsize_t start[2] = {0, 0}, count[2] = {1, 1}, total = (hsize_t)n * column->width;
    start[column->axis] = first;
    count[column->axis] = n;
    count[1 - column->axis] = column->width;
    hid_t file_space = H5Dget_space(column->dataset),
          memory_space = H5Screate_simple(1, &total, NULL);
    hid_t transfer = transfer_list(column, n, type);
    bool good = file_space > 0 && memory_space > 0 && transfer > 0;
    if (good && column->rank > 0)
        good = H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
    good = good && H5Dread(column->dataset, type, memory_space, file_space, transfer, out) >= 0;
    hdf5_release(&transfer);
    hdf5_release(&memory_space);
    hdf5_release(&file_space);
    if (!good)
        return hdf5_error(column->file, error, STATUS_BAD_PROBLEM,
                          "%s: rows from %" PRIu64 " on cannot be read", column->path, first);
    return STATUS_OK;
}

static enum status need_numbers(const struct hdf5_column *column, struct error *error)
{
    if (column->class == HDF5_INTEGER || column->class == HDF5_FLOAT)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be numbers, not strings",
                     column->file->path, column->path);
}

/* HDF5 converts bit fields to bit fields only: a number of 64 bits that was read as one. */
static uint64_t bits_at(const void *number)
{
    uint64_t bits;
    memcpy(&bits, number, sizeof bits);
    return bits;
}

enum status hdf5_column_read_double(const struct hdf5_column *column, uint64_t first, size_t n,
                                    double *out, struct error *error)
{
    enum status status = need_numbers(column, error);
    hid_t type = column->is_bits ? H5T_NATIVE_B64 : H5T_NATIVE_DOUBLE;
    status = status ? status : read_rows(column, first, n, type, out, error);
    for (size_t i = 0; !status && column->is_bits && i < n * column->width; i++)
        out[i] = (double)bits_at(&out[i]);
    return status;
}

enum status hdf5_column_read_int64(const struct hdf5_column *column, uint64_t first, size_t n,
                                   int64_t *out, struct error *error)
{
    enum status status = need_numbers(column, error);
    hid_t type = column->is_bits ? H5T_NATIVE_B64 : H5T_NATIVE_INT64;
    if (status || column->class == HDF5_INTEGER)
        status = status ? status : read_rows(column, first, n, type, out, error);
    for (size_t i = 0; !status && column->is_bits && i < n * column->width; i++)
        out[i] = bits_at(&out[i]) < INT64_MAX ? (int64_t)bits_at(&out[i]) : INT64_MAX;
    if (status || column->class == HDF5_INTEGER)
        return status;
    status = read_rows(column, first, n, H5T_NATIVE_DOUBLE, out, error);
    for (size_t i = 0; !status && i < n * column->width; i++) {
        double value;
        memcpy(&value, &out[i], sizeof value);
        out[i] = fabs(value) < 0x1p63 && value == rint(value) ? (int64_t)value : INT64_MIN;
    }
    return status;
}

enum status hdf5_column_read_bytes(const struct hdf5_column *column, uint64_t first, size_t n,
                                   unsigned char *out, struct error *error)
{
    if (column->class == HDF5_INTEGER)
        return read_rows(column, first, n, column->is_bits ? H5T_NATIVE_B8 : H5T_NATIVE_UINT8, out,
                         error);
    if (column->class == HDF5_BYTES && H5Tget_size(column->type) == 1)
        return read_rows(column, first, n, column->type, out, error);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be bytes (unsigned 8-bit integers)",
                     column->file->path, column->path);
}

static enum status too_long(const struct hdf5_column *column, uint64_t row, size_t max_length,
                            struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM, "%s: %s row %" PRIu64 ": is longer than %zu bytes",
                     column->file->path, column->path, row, max_length);
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

static enum status copy_strings(const struct hdf5_column *column, uint64_t first, size_t n,
                                size_t max_length, struct arena *arena, char **out,
                                const struct strings *strings, struct error *error)
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

/* File and memory have one type, so nothing is converted; the padding is cut here. */
static enum status read_fixed(const struct hdf5_column *column, uint64_t first, size_t n,
                              size_t max_length, struct arena *arena, char **out, char *buffer,
                              struct error *error)
{
    const struct strings strings = {.fields = buffer,
                                    .size = H5Tget_size(column->type),
                                    .is_space_padded =
                                        H5Tget_strpad(column->type) == H5T_STR_SPACEPAD};
    enum status status = read_rows(column, first, n, column->type, buffer, error);
    return status ? status
                  : copy_strings(column, first, n, max_length, arena, out, &strings, error);
}

static enum status read_variable(const struct hdf5_column *column, uint64_t first, size_t n,
                                 size_t max_length, struct arena *arena, char **out, char **given,
                                 struct error *error)
{
    hsize_t count = n;
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, NULL);
    enum status status = STATUS_OK;
    memset(given, 0, n * sizeof *given);
    if (type <= 0 || space <= 0 || H5Tset_size(type, H5T_VARIABLE) < 0
        || H5Tset_cset(type, H5Tget_cset(column->type)) < 0)
        status =
            hdf5_error(column->file, error, STATUS_BAD_PROBLEM, "%s: cannot be read", column->path);
    if (!status)
        status = read_rows(column, first, n, type, given, error);
    if (!status)
        status = copy_strings(column, first, n, max_length, arena, out,
                              &(struct strings){.given = given}, error);
    if (type > 0 && space > 0)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, given);
    hdf5_release(&space);
    hdf5_release(&type);
    return status;
}

enum status hdf5_column_read_strings(const struct hdf5_column *column, uint64_t first, size_t n,
                                     size_t max_length, struct arena *arena, char **out,
                                     struct error *error)
{
    if (column->class != HDF5_STRING || column->width != 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be %s", column->file->path,
                         column->path,
                         column->class == HDF5_STRING ? "one column of strings"
                                                      : "strings, not numbers");
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
        status = variable ? read_variable(column, first + done, m, max_length, arena, out + done,
                                          buffer, error)
                          : read_fixed(column, first + done, m, max_length, arena, out + done,
                                       buffer, error);
    }
    free(buffer);
    return status;
}

static enum status cannot_write(const struct hdf5_file *file, const char *path, struct error *error)
{
    return hdf5_error(file, error, STATUS_SYSTEM, "%s: cannot be written", path);
}

static hid_t string_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type > 0 && (H5Tset_size(type, size ? size : H5T_VARIABLE) < 0 ||
                     H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
                     (size && H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)))
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

enum status hdf5_column_create(struct hdf5_column *column, const struct hdf5_file *file,
                               const char *path, hid_t file_type, size_t width,
                               uint64_t rows_expected, bool compress, struct error *error)
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
    hsize_t size[2] = {0, column->width}, most[2] = {H5S_UNLIMITED, column->width},
            chunk[2] = {rows, column->width};
    hid_t space = H5Screate_simple(column->rank, size, most), list = creation_list();
    /* Rows are only appended, so a cache of two chunks is enough; the default is 1 MiB per
     * column. */
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access > 0)
        H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT, 2 * (size_t)rows * row_bytes,
                           1.0);
    if (column->type > 0 && space > 0 && list > 0 && H5Pset_chunk(list, column->rank, chunk) >= 0
        && (!compress || (H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, GZIP_LEVEL) >= 0)))
        column->dataset = H5Dcreate2(file->id, path, column->type, space, H5P_DEFAULT, list,
                                     access > 0 ? access : H5P_DEFAULT);
    hdf5_release(&access);
    hdf5_release(&list);
    hdf5_release(&space);
    if (column->dataset > 0)
        return STATUS_OK;
    enum status status = cannot_write(file, path, error);
    hdf5_column_close(column);
    return status;
}

enum status hdf5_column_append(struct hdf5_column *column, hid_t memory_type, size_t n,
                               const void *rows, struct error *error)
{
    if (n == 0)
        return STATUS_OK;
    hsize_t start[2] = {column->n_row, 0}, count[2] = {n, column->width};
    hsize_t size[2] = {column->n_row + n, column->width};
    hid_t file_space = 0, memory_space = H5Screate_simple(column->rank, count, NULL);
    if (H5Dset_extent(column->dataset, size) >= 0)
        file_space = H5Dget_space(column->dataset);
    bool good = file_space > 0 && memory_space > 0 &&
                H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dwrite(column->dataset, memory_type, memory_space, file_space, H5P_DEFAULT,
                         rows) >= 0;
    hdf5_release(&memory_space);
    hdf5_release(&file_space);
    if (!good)
        return cannot_write(column->file, column->path, error);
    column->n_row += n;
    return STATUS_OK;
}

enum status hdf5_column_create_strings(struct hdf5_column *column, const struct hdf5_file *file,
                                       const char *path, size_t string_size, uint64_t rows_expected,
                                       bool compress, struct error *error)
{
    size_t rounded = string_size ? (string_size + 7) / 8 * 8 : 8,
           size = rounded <= LONGEST_FIXED ? rounded : 0;
    hid_t type = string_type(size);
    enum status status = type > 0 ? hdf5_column_create(column, file, path, type, 0, rows_expected,
                                                       compress, error)
                                  : cannot_write(file, path, error);
    column->string_size = size;
    hdf5_release(&type);
    return status;
}

/* n strings of at most string_size bytes each, as stored in the file. */
static enum status append_fixed(struct hdf5_column *column, size_t n, const char *const *strings,
                                struct error *error)
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

static enum status copy_column(const struct hdf5_column *from, struct hdf5_column *to,
                               struct error *error)
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
    bool is_empty = column->n_row == 0;
    enum status status = is_empty ? STATUS_OK : hdf5_flush(file, error);
    hdf5_column_close(column);
    if (is_empty) { /* as the first rows come */
        *column = (struct hdf5_column){0};
        status = hdf5_delete(file, path, error);
        return status ? status
                      : hdf5_column_create_strings(column, file, path, needed, rows_expected,
                                                   compress, error);
    }
    if (!status)
        status = hdf5_column_open(&old, file, path, error);
    if (!status)
        status = hdf5_column_create_strings(&wide, file, wide_path, needed, rows_expected, compress,
                                            error);
    if (!status)
        status = copy_column(&old, &wide, error);
    hdf5_column_close(&old);
    if (!status)
        status = hdf5_delete(file, path, error);
    if (!status && H5Lmove(file->id, wide_path, file->id, path, H5P_DEFAULT, H5P_DEFAULT) < 0)
        status = cannot_write(file, path, error);
    memcpy(wide.path, path, sizeof wide.path);
    *column = wide;
    return status;
}

enum status hdf5_column_append_strings(struct hdf5_column *column, size_t n,
                                       const char *const *strings, struct error *error)
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

enum status hdf5_write_table(const struct hdf5_file *file, const char *path, hid_t type,
                             size_t n_row, size_t width, const void *data, struct error *error)
{
    hsize_t size[2] = {n_row, width ? width : 1};
    hid_t space = H5Screate_simple(width ? 2 : 1, size, NULL), list = creation_list(), dataset = 0;
    if (space > 0 && list > 0)
        dataset = H5Dcreate2(file->id, path, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool good = dataset > 0 &&
                (n_row == 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0) &&
                H5Dflush(dataset) >= 0;
    enum status status = good ? STATUS_OK : cannot_write(file, path, error);
    hdf5_release(&dataset);
    hdf5_release(&list);
    hdf5_release(&space);
    return status;
}

enum status hdf5_write_strings(const struct hdf5_file *file, const char *path, size_t n,
                               const char *const *strings, struct error *error)
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
