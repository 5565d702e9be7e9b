/* Writes result files: rows are collected in blocks and appended column by column to a file with
 * a temporary name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/result/result.h"

#include "base/sha256.h"
#include "io/file/durable.h"
#include "io/result/columns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_ROWS = 4096, BLOCK_BYTES = 4 << 20, COMPRESS_FROM = 4096 };
enum { COPY_PIECE = 1 << 20 };

struct result_writer {
    char *path;              /* the final name of the file */
    char *temporary;         /* its name until then; NULL: no longer there */
    bool in_place;
    mode_t mode;             /* in place: the original's permissions */
    size_t n_parameter;
    unsigned parts;
    struct hdf5_file file;
    struct hdf5_column id, message;
    struct result_column column[N_RESULT_COLUMN];
    struct own_writer own;
    size_t n_row, max_row;   /* rows in the block */
    const char **id_text, **message_text; /* max_row each, into the arena */
    struct fit_record missing; /* all its values mean "missing" */
    void *missing_arrays;
    struct arena arena;
};

static enum status no_memory(const struct result_writer *writer, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for writing '%s'", writer->path);
}

static enum status copy_bytes(int from, int to, const char *from_path, const char *to_path,
                              struct error *error)
{
    enum status status = STATUS_OK;
    char *piece = malloc(COPY_PIECE);
    if (!piece)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for copying '%s'", from_path);
    for (;;) {
        ssize_t n = read(from, piece, COPY_PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = error_system(error, errno, "cannot read '%s'", from_path);
        if (n <= 0)
            break;
        for (ssize_t done = 0; done < n && !status;) {
            ssize_t written = write(to, piece + done, (size_t)(n - done));
            if (written >= 0)
                done += written;
            else if (errno != EINTR)
                status = error_system(error, errno, "cannot write '%s', the copy of '%s'", to_path,
                                      from_path);
        }
        if (status)
            break;
    }
    free(piece);
    return status;
}

/* Copies contents and owner. *mode: the original's permissions, which the copy gets when it is
 * complete. */
static enum status copy_file(const char *from_path, const char *to_path, mode_t *mode,
                             struct error *error)
{
    enum status status = STATUS_OK;
    struct stat found;
    int to = -1, from = open(from_path, O_RDONLY | O_CLOEXEC);
    if (from < 0 || fstat(from, &found) != 0) {
        status = error_system(error, errno, "cannot read '%s'", from_path);
        goto done;
    }
    to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0) {
        status = error_system(error, errno, "cannot make '%s'", to_path);
        goto done;
    }
    status = copy_bytes(from, to, from_path, to_path, error);
    *mode = found.st_mode & 07777;
    if (!status && geteuid() == 0 && fchown(to, found.st_uid, found.st_gid) != 0)
        status = error_system(error, errno, "cannot set the owner of '%s'", to_path);
done:
    if (to >= 0 && close(to) != 0 && !status)
        status = error_system(error, errno, "cannot write '%s'", to_path);
    if (from >= 0)
        close(from);
    return status;
}

static enum status put_identity(struct result_writer *writer, const struct run_identity *identity,
                                struct error *error)
{
    const struct { const char *name; const unsigned char *hash; } hashes[] = {
        {"identity_problem", identity->problem}, {"identity_model", identity->model},
        {"identity_options", identity->options}};
    const struct { const char *name; uint64_t value; } numbers[] = {
        {"identity_seed", identity->seed}, {"identity_n_dataset", identity->n_dataset},
        {"identity_n_start", identity->n_start}, {"identity_n_parameter", identity->n_parameter},
        {"identity_n_refit", identity->n_refit}};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes && !status; i++) {
        char hex[SHA256_HEX];
        sha256_hex(hashes[i].hash, hex);
        status = hdf5_put_text(&writer->file, "/provenance", hashes[i].name, hex, error);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !status; i++)
        status = hdf5_put_number(&writer->file, "/provenance", numbers[i].name, H5T_NATIVE_UINT64,
                                 &numbers[i].value, error);
    if (!status && identity->selection[0])
        status = hdf5_put_text(&writer->file, "/provenance", "identity_selection",
                               identity->selection, error);
    if (!status)
        status = hdf5_put_text(&writer->file, "/provenance", "identity_description",
                               identity->description, error);
    return status;
}

/* Attributes hold less than 64 KiB; a command line may be longer. */
static enum status put_provenance(struct result_writer *writer, const struct provenance *provenance,
                                  struct error *error)
{
    char cut[RESULT_MAX_PROVENANCE + 4];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < provenance->n && !status; i++) {
        const char *text = provenance->value[i];
        if (!strncmp(provenance->name[i], "identity_", 9))
            continue;
        if (strnlen(text, RESULT_MAX_PROVENANCE + 1) > RESULT_MAX_PROVENANCE) {
            snprintf(cut, sizeof cut, "%.*s...", RESULT_MAX_PROVENANCE, text);
            text = cut;
        }
        status = hdf5_put_text(&writer->file, "/provenance", provenance->name[i], text, error);
    }
    return status;
}

/* The user owns a problem file's /parameters; names go into /provenance there. */
static enum status put_parameters(struct result_writer *writer, const struct result_header *header,
                                  struct error *error)
{
    const char *group = writer->in_place ? "/provenance/parameters" : "/parameters";
    const struct { const char *name; const char *const *text;
    } tables[] = {{"name", header->parameter_name},
                  {"scale", header->parameter_scale},
                  {"unit", header->parameter_unit}};
    char path[64];
    enum status status = hdf5_make_group(&writer->file, group, false, error);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !status; i++) {
        if (!tables[i].text)
            continue;
        snprintf(path, sizeof path, "%s/%s", group, tables[i].name);
        status =
            hdf5_write_strings(&writer->file, path, header->n_parameter, tables[i].text, error);
    }
    return status;
}

static enum status put_notes(struct result_writer *writer, struct error *error)
{
    enum status status = STATUS_OK;
    for (int bit = 0; note_name(bit) && !status; bit++) {
        char name[16], text[300];
        snprintf(name, sizeof name, "bit_%d", bit);
        snprintf(text, sizeof text, "%s: %s", note_name(bit), note_meaning(bit));
        status =
            hdf5_put_text(&writer->file, fit_columns[FIT_COLUMN_NOTES].path, name, text, error);
    }
    return status;
}

static enum status make_column(struct result_writer *writer, enum fit_column i, uint64_t n_row,
                               struct error *error)
{
    const struct fit_column_info *info = &fit_columns[i];
    size_t width =
        writer->parts & fit_column_part(i) ? fit_column_width(i, writer->n_parameter) : 0;
    if (width == 0)
        return STATUS_OK;
    /* Zlib would shorten real numbers by a sixth, at most of the cost of writing a result. */
    const struct result_column_plan plan = {
        .path = info->path, .description = info->description, .kind = info->kind,
        .is_compressed = n_row >= COMPRESS_FROM && info->kind != FIT_DOUBLE,
        .width = info->shape == PER_FIT ? 0 : width, .rows_expected = n_row};
    enum status status =
        result_column_create(&writer->column[i], &writer->file, &plan, writer->max_row, error);
    return !status && info->unit
               ? hdf5_put_text(&writer->file, info->path, "unit", info->unit, error)
               : status;
}

static enum status make_columns(struct result_writer *writer, const struct result_header *header,
                                struct error *error)
{
    uint64_t n_row = header->n_row ? header->n_row : header->identity.n_dataset;
    enum status status = hdf5_column_create_strings(&writer->id, &writer->file, "/fits/id",
                                                    header->id_length, n_row, true, error);
    for (int i = 0; i < N_RESULT_COLUMN && !status; i++)
        status = make_column(writer, (enum fit_column)i, n_row, error);
    if (!status)
        status = hdf5_column_create_strings(&writer->message, &writer->file, "/fits/message", 0,
                                            n_row, true, error);
    if (!status)
        status = own_writer_open(&writer->own, &writer->file, "/columns", &header->column,
                                 n_row, writer->max_row, error);
    if (!status)
        status = hdf5_put_text(&writer->file, fit_columns[FIT_COLUMN_OBJECTIVE].path, "kind",
                               header->objective_kind, error);
    if (!status)
        status = put_notes(writer, error);
    writer->id_text = malloc(writer->max_row * sizeof *writer->id_text);
    writer->message_text = malloc(writer->max_row * sizeof *writer->message_text);
    if (!status && (!writer->id_text || !writer->message_text))
        status = no_memory(writer, error);
    return status;
}

static enum status make_file(struct result_writer *writer, const char *in_place_of,
                             struct error *error)
{
    enum status status = durable_temporary(writer->path, &writer->temporary, error);
    if (status)
        return status;
    if (!in_place_of) {
        const int32_t format = RESULT_FORMAT;
        status = hdf5_create(&writer->file, writer->temporary, error);
        if (!status)
            status = hdf5_put_text(&writer->file, "/", "stiffit_file", "result", error);
        return status ? status
                      : hdf5_put_number(&writer->file, "/", "format", H5T_NATIVE_INT32, &format,
                                        error);
    }
    status = copy_file(in_place_of, writer->temporary, &writer->mode, error);
    if (!status)
        status = hdf5_edit(&writer->file, writer->temporary, error);
    static const char *const old[] = {"/fits",      "/provenance", "/starts",    "/profiles",
                                      "/bootstrap", "/shared",     "/population", "/columns"};
    for (size_t i = 0; i < sizeof old / sizeof *old && !status; i++)
        status = hdf5_delete(&writer->file, old[i], error);
    return status;
}

enum status result_writer_open(struct result_writer **writer, const char *path,
                               const char *in_place_of, const struct result_header *header,
                               struct error *error)
{
    *writer = NULL;
    if (header->n_parameter == 0 || header->n_parameter > IDENTITY_MAX_PARAMETER)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "'%s': a result of %zu parameters cannot be written", path,
                         header->n_parameter);
    struct result_writer *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for writing '%s'", path);
    made->path = strdup(path);
    if (!made->path) {
        free(made);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for writing '%s'", path);
    }
    made->in_place = in_place_of != NULL;
    made->n_parameter = header->n_parameter;
    made->parts = FIT_PART_BASE | header->parts;
    made->max_row =
        BLOCK_BYTES / (sizeof(struct fit_record) + fit_record_array_bytes(header->n_parameter)) + 1;
    made->max_row = made->max_row < BLOCK_ROWS ? made->max_row : BLOCK_ROWS;
    made->missing_arrays = calloc(1, fit_record_array_bytes(header->n_parameter));
    enum status status = made->missing_arrays ? STATUS_OK : no_memory(made, error);
    if (!status) {
        fit_record_set_arrays(&made->missing, header->n_parameter, made->missing_arrays);
        fit_record_clear(&made->missing, header->n_parameter);
    }
    if (!status)
        status = make_file(made, in_place_of, error);
    if (!status)
        status = hdf5_make_group(&made->file, "/provenance", false, error);
    if (!status)
        status = put_identity(made, &header->identity, error);
    if (!status)
        status = put_provenance(made, &header->provenance, error);
    if (!status)
        status = put_parameters(made, header, error);
    if (!status)
        status = hdf5_make_group(&made->file, "/fits", false, error);
    if (!status)
        status = make_columns(made, header, error);
    if (status) {
        result_writer_close(made);
        return status;
    }
    *writer = made;
    return STATUS_OK;
}

static enum status write_block(struct result_writer *writer, struct error *error)
{
    size_t n = writer->n_row;
    enum status status = hdf5_column_append_strings(&writer->id, n, writer->id_text, error);
    if (!status)
        status = hdf5_column_append_strings(&writer->message, n, writer->message_text, error);
    for (int i = 0; i < N_RESULT_COLUMN && !status; i++)
        if (writer->column[i].cells)
            status = result_column_append(&writer->column[i], n, error);
    if (!status)
        status = own_writer_flush(&writer->own, error);
    writer->n_row = 0;
    arena_reset(&writer->arena);
    return status;
}

enum status result_writer_add(struct result_writer *writer, const char *id,
                              const struct fit_record *record, struct error *error)
{
    size_t row = writer->n_row, n_id = strlen(id),
           n_reason = strnlen(record->reason, sizeof record->reason - 1);
    if (record->outcome >= N_OUTCOME || n_id > RESULT_MAX_ID)
        return error_set(error, STATUS_INTERNAL, "dataset '%.100s' cannot be written: outcome %u",
                         id, (unsigned)record->outcome);
    writer->id_text[row] = arena_strndup(&writer->arena, id, n_id);
    writer->message_text[row] =
        n_reason ? arena_strndup(&writer->arena, record->reason, n_reason) : "";
    if (!writer->id_text[row] || !writer->message_text[row])
        return no_memory(writer, error);
    struct fit_record copy = *record; /* fit_column_values returns places that may be written to */
    for (int i = 0; i < N_RESULT_COLUMN; i++) {
        struct result_column *column = &writer->column[i];
        const void *values = fit_column_values((enum fit_column)i, &copy);
        if (!values) /* the record lacks this array */
            values = fit_column_values((enum fit_column)i, &writer->missing);
        if (column->cells)
            memcpy(column->cells + row * column->cell_size, values, column->cell_size);
    }
    writer->n_row++;
    enum status status = own_writer_add(&writer->own, record->own, error);
    return !status && writer->n_row == writer->max_row ? write_block(writer, error) : status;
}

enum status result_writer_shared(struct result_writer *writer, const struct result_shared *shared,
                                 struct error *error)
{
    struct hdf5_file *file = &writer->file;
    const struct {
        const char *path, *description;
        const double *value;
    } column[] = {{"/shared/value",
                   "the best fit's value of each parameter that all datasets have in common",
                   shared->value},
                  {"/shared/standard_error", "its standard error, as in /fits/standard_error",
                   shared->standard_error}};
    enum status status = hdf5_make_group(file, "/shared", false, error);
    if (!status)
        status = hdf5_write_strings(file, "/shared/name", shared->n, shared->name, error);
    for (size_t i = 0; i < 2 && !status; i++) {
        status = hdf5_write_table(file, column[i].path, H5T_NATIVE_DOUBLE, shared->n, 0,
                                  column[i].value, error);
        if (!status)
            status =
                hdf5_put_text(file, column[i].path, "description", column[i].description, error);
    }
    return status;
}

struct hdf5_file *result_writer_file(struct result_writer *writer) { return &writer->file; }

static void close_columns(struct result_writer *writer)
{
    hdf5_column_close(&writer->id);
    hdf5_column_close(&writer->message);
    own_writer_close(&writer->own);
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        result_column_close(&writer->column[i]);
}

static enum status describe_strings(struct result_writer *writer, struct error *error)
{
    enum status status = hdf5_put_text(&writer->file, "/fits/id", "description",
                                       "the dataset, in the problem's order", error);
    if (status)
        return status;
    return hdf5_put_text(&writer->file, "/fits/message", "description", "why a fit failed", error);
}

enum status result_writer_finish(struct result_writer *writer, struct error *error)
{
    enum status status = write_block(writer, error);
    /* Last: a column of strings is rewritten when a longer one comes. */
    if (!status)
        status = describe_strings(writer, error);
    if (!status)
        status = hdf5_flush(&writer->file, error);
    if (status)
        return status;
    close_columns(writer);
    status = hdf5_finish(&writer->file, error);
    if (!status && writer->in_place && chmod(writer->temporary, writer->mode) != 0)
        status =
            error_system(error, errno, "cannot set the permissions of '%s'", writer->temporary);
    return status ? status : durable_replace(&writer->temporary, writer->path, error);
}

void result_writer_close(struct result_writer *writer)
{
    if (!writer)
        return;
    close_columns(writer);
    hdf5_close(&writer->file);
    durable_drop(&writer->temporary);
    free(writer->missing_arrays);
    free(writer->id_text);
    free(writer->message_text);
    free(writer->path);
    arena_fini(&writer->arena);
    free(writer);
}
