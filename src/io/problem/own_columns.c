/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/own_columns.h"

#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = sizeof((struct hdf5_column *)NULL)->path };
_Static_assert(PATH_SIZE >= sizeof "/datasets/columns/" + OWN_MAX_NAME, "a column has a path");

/* A slash separates the names of a path, and "." is the group itself. */
void own_name_as_link(char *name)
{
    for (char *at = name; (at = strchr(at, '/')) != NULL;)
        *at = '_';
    if (!strcmp(name, "."))
        *name = '_';
}

int own_columns_find(const struct own_columns *columns, const char *name)
{
    return words_find(name, columns->name, columns->n);
}

bool own_columns_equal(const struct own_columns *a, const struct own_columns *b)
{
    bool equal = a->n == b->n;
    for (size_t c = 0; equal && c < a->n; c++)
        equal = !strcmp(a->name[c], b->name[c]) && a->is_text[c] == b->is_text[c];
    return equal;
}

static enum status no_memory(const struct hdf5_file *file, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", file->path);
}

struct list {
    const char **name; /* NULL: they are counted */
    size_t n;
    struct arena *arena;
    size_t max_column;
    char long_name[64];
    bool failed;
};

static bool take_name(void *context, const char *name)
{
    struct list *list = context;
    if (!list->name) {
        if (strlen(name) > OWN_MAX_NAME)
            snprintf(list->long_name, sizeof list->long_name, "%s", name);
        return ++list->n <= list->max_column && !*list->long_name;
    }
    list->name[list->n] = arena_strdup(list->arena, name);
    list->failed = !list->name[list->n++];
    return !list->failed;
}

/* The names of the links, in the arena. */
static enum status list_names(const struct hdf5_file *file, const char *group, struct list *list,
                              struct error *error)
{
    enum status status = hdf5_each_link(file, group, take_name, list, error);
    if (!status && *list->long_name)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: %s: the name of the column '%s...' has more than %d bytes; "
                           "shorten it",
                           file->path, group, list->long_name, OWN_MAX_NAME);
    else if (!status && list->n > list->max_column)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: %s: has more than %zu columns; leave some out", file->path, group,
                           list->max_column);
    if (status)
        return status;
    list->name = arena_calloc(list->arena, list->n + 1, sizeof *list->name);
    list->n = 0;
    status = list->name ? hdf5_each_link(file, group, take_name, list, error)
                        : no_memory(file, error);
    return !status && list->failed ? no_memory(file, error) : status;
}

/* One that was opened. */
static enum status check_column(struct hdf5_column *column, uint64_t n_row, struct error *error)
{
    if (!hdf5_column_as_vector(column) || column->n_row != n_row)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %s: has %" PRIu64 " x %" PRIu64 " values; one is expected for each "
                         "of %" PRIu64 " datasets",
                         column->file->path, column->path, column->n_row, column->width, n_row);
    return column->class != HDF5_BYTES
               ? STATUS_OK
               : error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be numbers or strings",
                           column->file->path, column->path);
}

enum status own_reader_open(struct own_reader *reader, const struct hdf5_file *file,
                            const char *group, size_t max_column, uint64_t n_row,
                            struct arena *arena, struct error *error)
{
    enum hdf5_kind kind = hdf5_kind(file, group);
    if (kind == HDF5_ABSENT)
        return STATUS_OK;
    if (kind != HDF5_GROUP)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s: must be a group of this file",
                         file->path, group);
    struct list list = {.arena = arena, .max_column = max_column};
    enum status status = list_names(file, group, &list, error);
    bool *is_text = status ? NULL : arena_calloc(arena, list.n + 1, sizeof *is_text);
    reader->file = is_text ? calloc(list.n + 1, sizeof *reader->file) : NULL;
    if (!status && !reader->file)
        status = no_memory(file, error);
    for (size_t c = 0; !status && c < list.n; c++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", group, list.name[c]);
        status = hdf5_column_open(&reader->file[c], file, path, error);
        reader->columns.n = c + 1;
        if (!status)
            status = check_column(&reader->file[c], n_row, error);
        is_text[c] = reader->file[c].class == HDF5_STRING;
    }
    reader->columns.name = list.name;
    reader->columns.is_text = is_text;
    reader->columns.is_ordered = hdf5_keeps_order(file, group);
    return status;
}

enum status own_reader_column(const struct own_reader *reader, size_t column, uint64_t first,
                              size_t n, struct arena *arena, struct own_value *out, size_t stride,
                              struct error *error)
{
    const struct hdf5_column *file = &reader->file[column];
    bool is_text = reader->columns.is_text[column];
    char **text = is_text ? arena_calloc(arena, n + 1, sizeof *text) : NULL;
    double *number = is_text ? NULL : arena_calloc(arena, n + 1, sizeof *number);
    if (!text && !number)
        return no_memory(file->file, error);
    enum status status =
        is_text ? hdf5_column_read_strings(file, first, n, OWN_MAX_TEXT, arena, text, error)
                : hdf5_column_read_double(file, first, n, number, error);
    for (size_t i = 0; !status && i < n; i++) {
        struct own_value *value = &out[i * stride];
        *value = (struct own_value){is_text ? (double)NAN : number[i], is_text ? text[i] : NULL};
        if (file->class == HDF5_INTEGER && fabs(number[i]) > OWN_MAX_WHOLE)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: %s row %" PRIu64 ": whole numbers beyond 2^53 would be rounded; "
                             "store the column as strings",
                             file->file->path, file->path, first + i);
        if (!is_text || !text[i] || utf8_is_valid(text[i]))
            continue;
        char *converted = arena_alloc(arena, 2 * strlen(text[i]) + 1);
        if (!converted)
            return no_memory(file->file, error);
        utf8_from_latin1(text[i], converted);
        value->text = converted;
    }
    return status;
}

void own_reader_close(struct own_reader *reader)
{
    for (size_t c = 0; reader->file && c < reader->columns.n; c++)
        hdf5_column_close(&reader->file[c]);
    free(reader->file);
    *reader = (struct own_reader){.file = NULL};
}

/* Names that a file cannot have, or not read, are changed or shortened, at a whole character. */
static bool needs_change(const char *name)
{
    return strchr(name, '/') || !strcmp(name, ".") || strlen(name) > OWN_MAX_NAME;
}

/* The names of columns in the file, each once. */
static const char **link_names(struct own_writer *writer)
{
    enum { NUMBER = 24 };
    const struct own_columns *columns = &writer->columns;
    const char **link = arena_calloc(&writer->text, columns->n, sizeof *link);
    for (size_t c = 0; link && c < columns->n; c++)
        link[c] = columns->name[c];
    for (size_t c = 0; link && c < columns->n; c++) {
        if (!needs_change(link[c]))
            continue;
        char *changed = arena_calloc(&writer->text, OWN_MAX_NAME + 1, 1);
        if (!changed)
            return NULL;
        size_t length = strlen(link[c]);
        if (length > OWN_MAX_NAME - NUMBER)
            for (length = OWN_MAX_NAME - NUMBER; length && (link[c][length] & 0xc0) == 0x80;)
                length--;
        memcpy(changed, link[c], length);
        own_name_as_link(changed);
        for (size_t i = 2; words_find(changed, link, columns->n) >= 0; i++)
            snprintf(changed + length, NUMBER, "_%zu", i);
        link[c] = changed;
    }
    return link;
}

enum status own_writer_open(struct own_writer *writer, const struct hdf5_file *file,
                            const char *group, const struct own_columns *columns, uint64_t n_row,
                            size_t capacity, struct error *error)
{
    if (columns->n == 0)
        return STATUS_OK;
    writer->columns = *columns;
    writer->capacity = capacity;
    writer->file = calloc(columns->n, sizeof *writer->file);
    writer->cell = calloc(columns->n * capacity, sizeof *writer->cell);
    const char **link = link_names(writer);
    if (!writer->file || !writer->cell || !link)
        return no_memory(file, error);
    enum status status = hdf5_make_group(file, group, columns->is_ordered, error);
    for (size_t c = 0; !status && c < columns->n; c++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", group, link[c]);
        status = columns->is_text[c]
                     ? hdf5_column_create_strings(&writer->file[c], file, path, 0, n_row, true,
                                                  error)
                     : hdf5_column_create(&writer->file[c], file, path, H5T_NATIVE_DOUBLE, 0, n_row,
                                          true, error);
    }
    return status;
}

enum status own_writer_add(struct own_writer *writer, const struct own_value *value,
                           struct error *error)
{
    size_t n = writer->columns.n;
    if (n == 0)
        return STATUS_OK;
    for (size_t c = 0; c < n; c++) {
        struct own_value *cell = &writer->cell[c * writer->capacity + writer->n];
        cell->number = value ? value[c].number : (double)NAN;
        cell->text = value && value[c].text && *value[c].text
                         ? arena_strdup(&writer->text, value[c].text)
                         : "";
        if (!cell->text)
            return no_memory(writer->file[0].file, error);
    }
    return ++writer->n == writer->capacity ? own_writer_flush(writer, error) : STATUS_OK;
}

enum status own_writer_flush(struct own_writer *writer, struct error *error)
{
    size_t n = writer->n;
    enum status status = STATUS_OK;
    if (n == 0)
        return STATUS_OK;
    const char **text = calloc(n, sizeof *text);
    double *number = calloc(n, sizeof *number);
    if (!text || !number)
        status = no_memory(writer->file[0].file, error);
    for (size_t c = 0; !status && c < writer->columns.n; c++) {
        const struct own_value *cell = &writer->cell[c * writer->capacity];
        for (size_t i = 0; i < n; i++) {
            text[i] = cell[i].text;
            number[i] = cell[i].number;
        }
        status = writer->columns.is_text[c]
                     ? hdf5_column_append_strings(&writer->file[c], n, text, error)
                     : hdf5_column_append(&writer->file[c], H5T_NATIVE_DOUBLE, n, number, error);
    }
    free(text);
    free(number);
    writer->n = 0;
    arena_reset(&writer->text);
    return status;
}

void own_writer_close(struct own_writer *writer)
{
    for (size_t c = 0; writer->file && c < writer->columns.n; c++)
        hdf5_column_close(&writer->file[c]);
    free(writer->file);
    free(writer->cell);
    arena_fini(&writer->text);
    *writer = (struct own_writer){.file = NULL};
}
