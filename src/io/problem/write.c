/* Writes problem files. Datasets and measurements are collected and appended in blocks, so memory
 * does not grow with the file, which gets its name only when it is complete.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/write.h"

#include "io/file/durable.h"
#include "io/file/hdf5_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Groups of columns that are written row by row, in blocks. */
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

static const size_t kind_size[N_COLUMN_KIND] = {[COLUMN_DOUBLE] = sizeof(double),
                                                [COLUMN_UINT32] = sizeof(uint32_t),
                                                [COLUMN_INT8] = sizeof(int8_t),
                                                [COLUMN_INT64] = sizeof(int64_t),
                                                [COLUMN_TEXT] = sizeof(char *)};

/* Types in the file and in memory: functions, because HDF5's types are no constants. */
static hid_t stored_type(enum column_kind kind)
{
    return kind == COLUMN_DOUBLE ? H5T_IEEE_F64LE : kind == COLUMN_UINT32 ? H5T_STD_U32LE
           : kind == COLUMN_INT8 ? H5T_STD_I8LE : H5T_STD_I64LE;
}

static hid_t native_type(enum column_kind kind)
{
    return kind == COLUMN_DOUBLE ? H5T_NATIVE_DOUBLE : kind == COLUMN_UINT32 ? H5T_NATIVE_UINT32
           : kind == COLUMN_INT8 ? H5T_NATIVE_INT8 : H5T_NATIVE_INT64;
}

static size_t row_size(const struct write_column *column)
{
    return kind_size[column->kind] * (column->width ? column->width : 1);
}

/* Adds a column; the first one decides how many rows wait. */
static void write_add_column(struct write_rows *rows, const char *name, enum column_kind kind,
                      size_t width)
{
    struct write_column *column = &rows->column[rows->n_column++];
    *column = (struct write_column){.kind = kind, .width = width};
    snprintf(column->path, sizeof column->path, "%s/%s", rows->path, name);
}

/* Adds a column of numbers that the file has only if a row's value is not `none`. */
static void write_add_optional(struct write_rows *rows, const char *name, enum column_kind kind,
                        double none)
{
    write_add_column(rows, name, kind, 0);
    struct write_column *column = &rows->column[rows->n_column - 1];
    /* Little-endian, as all machines that we run on: its first bytes are the shorter types'. */
    const int64_t whole = (int64_t)none;
    column->is_optional = true;
    memcpy(column->none, kind == COLUMN_DOUBLE ? &none : (const void *)&whole, sizeof column->none);
}

/* Whether a number is not what rows have without one. */
static bool is_value(const struct write_column *column, const void *value)
{
    if (column->kind != COLUMN_DOUBLE)
        return memcmp(value, column->none, kind_size[column->kind]) != 0;
    double number, none;
    memcpy(&number, value, sizeof number);
    memcpy(&none, column->none, sizeof none);
    return number != none && !(isnan(number) && isnan(none));
}

static bool write_allocate(struct write_rows *rows, size_t capacity)
{
    rows->capacity = capacity;
    for (size_t c = 0; c < rows->n_column; c++)
        if (!(rows->column[c].cells = calloc(capacity, row_size(&rows->column[c]))))
            return false;
    return true;
}

/* Copies the next row's value in a column: a number, `width` of them, or a text. False: no
 * memory. */
static bool write_put(struct write_rows *rows, size_t c, const void *value)
{
    struct write_column *column = &rows->column[c];
    size_t size = row_size(column);
    const char *text = column->kind == COLUMN_TEXT ? arena_strdup(&rows->text, value) : NULL;
    if (column->is_optional && !column->is_used)
        column->is_used = is_value(column, value);
    memcpy(column->cells + rows->n * size, column->kind == COLUMN_TEXT ? &text : value, size);
    return text || column->kind != COLUMN_TEXT;
}

/* Chunks are as large as the first block, which is everything in a small file. An optional column
 * may begin later: rows before then get what they have without it. */
static enum status create(struct write_rows *rows, struct write_column *column,
                          const struct hdf5_file *file, struct error *error)
{
    size_t longest = 0, size = row_size(column);
    const char *const *text = (const char *const *)(const void *)column->cells;
    for (size_t i = 0; column->kind == COLUMN_TEXT && i < rows->n; i++)
        longest = strlen(text[i]) > longest ? strlen(text[i]) : longest;
    enum status status =
        column->kind == COLUMN_TEXT
            ? hdf5_column_create_strings(&column->column, file, column->path, longest, rows->n,
                                         true, error)
            : hdf5_column_create(&column->column, file, column->path, stored_type(column->kind),
                                 column->width, rows->n, column->kind != COLUMN_DOUBLE, error);
    column->is_made = true;
    char *none = rows->n_written && !status ? malloc(rows->capacity * size) : NULL;
    if (rows->n_written && !status && !none)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", column->path);
    for (size_t i = 0; none && i < rows->capacity; i++)
        memcpy(none + i * size, column->none, size);
    for (uint64_t done = 0; none && done < rows->n_written && !status; done += rows->capacity) {
        uint64_t left = rows->n_written - done;
        status =
            hdf5_column_append(&column->column, native_type(column->kind),
                               left < rows->capacity ? (size_t)left : rows->capacity, none, error);
    }
    free(none);
    return status;
}

static enum status begin(struct write_rows *rows, const struct hdf5_file *file, struct error *error)
{
    enum status status = STATUS_OK;
    if (rows->is_optional)
        status = hdf5_make_group(file, rows->path, false, error);
    for (int i = 0; i < 2 && !status; i++)
        if (rows->list_path[i])
            status =
                hdf5_write_strings(file, rows->list_path[i], rows->n_list[i], rows->list[i], error);
    rows->is_made = true;
    return status;
}

static enum status write_flush(struct write_rows *rows, const struct hdf5_file *file,
                               struct error *error)
{
    if (rows->n == 0 && (rows->is_optional || rows->is_made))
        return STATUS_OK;
    enum status status = rows->is_made ? STATUS_OK : begin(rows, file, error);
    for (struct write_column *column = rows->column;
         column < rows->column + rows->n_column && !status; column++) {
        if (column->is_optional && !column->is_used)
            continue;
        if (!column->is_made)
            status = create(rows, column, file, error);
        if (!status)
            status =
                column->kind == COLUMN_TEXT
                    ? hdf5_column_append_strings(&column->column, rows->n,
                                                 (const char *const *)(void *)column->cells, error)
                    : hdf5_column_append(&column->column, native_type(column->kind), rows->n,
                                         column->cells, error);
    }
    rows->n_written += rows->n;
    rows->n = 0;
    arena_reset(&rows->text);
    return status;
}

/* Ends the row. */
static enum status write_next(struct write_rows *rows, const struct hdf5_file *file,
                              struct error *error)
{
    return ++rows->n == rows->capacity ? write_flush(rows, file, error) : STATUS_OK;
}

static void write_close(struct write_rows *rows)
{
    for (size_t c = 0; c < rows->n_column; c++)
        hdf5_column_close(&rows->column[c].column);
}

static void write_fini(struct write_rows *rows)
{
    write_close(rows);
    for (size_t c = 0; c < rows->n_column; c++)
        free(rows->column[c].cells);
    arena_fini(&rows->text);
}

enum { BLOCK_ROWS = 1 << 16, BLOCK_DATASETS = 4096 };
enum { DATASETS, STARTS, EXPERIMENTS, MEASUREMENTS, RECORDS, N_ROWS = RECORDS + N_RECORD };

struct problem_writer {
    struct hdf5_file file;
    char *path, *temporary;
    bool is_complete; /* the temporary file */
    bool overwrite;
    struct problem_header header; /* its arrays stay the caller's, who keeps them until the end */
    unsigned columns;           /* MEASUREMENT_BITs of what the file has */
    struct write_rows rows[N_ROWS];
    struct own_writer own;
    uint64_t n_dataset, n_experiment; /* added so far */
    uint64_t first_experiment;        /* of the latest dataset */
    uint64_t n_measurement;           /* of the experiments before */
};

/* A group, an attribute of a group, or a small table; data NULL: the file does without it. */
struct part {
    const char *path, *attribute; /* attribute: a text of the group `path` */
    const void *data;
    hid_t type;                   /* of a table of numbers; otherwise IS_GROUP, or 0 for strings */
    size_t n, width;
};
enum { IS_GROUP = -1 };

static enum status write_part(const struct hdf5_file *file, const struct part *part,
                              struct error *error)
{
    if (!part->data)
        return STATUS_OK;
    if (part->type == IS_GROUP)
        return hdf5_make_group(file, part->path, false, error);
    if (part->attribute)
        return hdf5_put_text(file, part->path, part->attribute, part->data, error);
    return part->type ? hdf5_write_table(file, part->path, part->type, part->n, part->width,
                                         part->data, error)
                      : hdf5_write_strings(file, part->path, part->n, part->data, error);
}

/* The columns that all datasets share. */
static enum status write_parameters(const struct hdf5_file *file,
                                    const struct problem_header *header, struct error *error)
{
    const struct parameters *given = &header->parameters;
    enum status status = given->n ? hdf5_make_group(file, "/parameters", false, error) : STATUS_OK;
    for (int c = 0; c < N_PARAMETER_COLUMN && given->n && !status; c++) {
        const struct column_info *info = &parameter_columns[c];
        const bool is_left_out =
            header->by_dataset >> c & 1 || (c > PARAMETER_prior && !given->prior);
        const struct part part = {
            .path = info->path, .n = given->n, .width = info->width > 1 ? info->width : 0,
            .data = is_left_out ? NULL : parameters_cell(given, (enum parameter_column)c, 0),
            .type = info->kind == COLUMN_TEXT     ? 0
                    : info->kind == COLUMN_DOUBLE ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT8};
        status = write_part(file, &part, error);
    }
    return status;
}

static enum status write_small_tables(const struct hdf5_file *file,
                                      const struct problem_header *header, struct error *error)
{
    static const char group[] = "";
    const hid_t byte = H5T_NATIVE_UINT8;
    const struct problem_model *model = &header->model;
    bool has_model = model->plugin || model->bytes || model->source || model->sha256;
    const struct part parts[] = {
        {"/model", NULL, has_model ? group : NULL, IS_GROUP, 0, 0},
        {"/model", "plugin", model->plugin, 0, 0, 0},
        {"/model", "sha256", model->sha256, 0, 0, 0},
        {"/model", "name", has_model ? model->name : NULL, 0, 0, 0},
        {"/model/source", NULL, model->source ? &model->source : NULL, 0, 1, 0},
        {"/model/plugin", NULL, model->bytes, byte, model->n_byte, 0},
    };
    const struct part later[] = {
        {"/datasets", NULL, group, IS_GROUP, 0, 0},
        {"/datasets/petab", NULL, header->petab.n ? header->petab.of : NULL, 0, header->petab.n, 0},
        {"/experiments", NULL, header->has_experiments ? group : NULL, IS_GROUP, 0, 0},
        {header->has_experiments ? "/experiments/covariate_names" : "/datasets/covariate_names",
         NULL, header->n_covariate ? header->covariate_name : NULL, 0, header->n_covariate, 0},
        {"/measurements", NULL, group, IS_GROUP, 0, 0},
        {"/measurements/observable_names", NULL,
         header->n_observable ? header->observable_name : NULL, 0, header->n_observable, 0},
        {"/measurements/observable_error", NULL, header->observable_error, 0, header->n_observable,
         0},
        {"/measurements", "csv", header->line_file, 0, 0, 0},
        {"/measurements", "petab", header->petab.yaml, 0, 0, 0},
        {"/measurements", "petab_model", header->petab.model, 0, 0, 0},
        {"/measurements", "petab_dataset_column", header->petab.dataset_column, 0, 0, 0},
        {"/measurements", "petab_sha256", header->petab.sha256, 0, 0, 0},
        {"/options", NULL, header->n_option ? group : NULL, IS_GROUP, 0, 0},
    };
    enum status status = hdf5_put_text(file, "/", "stiffit_file", "problem", error);
    if (!status)
        status = hdf5_put_number(file, "/", "format", H5T_NATIVE_INT32, &(int32_t){1}, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        status = write_part(file, &parts[i], error);
    if (!status)
        status = write_parameters(file, header, error);
    for (size_t i = 0; i < sizeof later / sizeof *later && !status; i++)
        status = write_part(file, &later[i], error);
    for (size_t i = 0; i < header->n_option && !status; i++)
        status =
            hdf5_put_text(file, "/options", header->option_name[i], header->option_value[i], error);
    return status;
}

static void add_column(struct write_rows *rows, const struct column_info *column)
{
    if (column->presence == COLUMN_SOMETIMES)
        write_add_optional(rows, column->name, column->kind,
                           column->kind == COLUMN_DOUBLE && isinf(column->none) ? (double)NAN
                                                                                : column->none);
    else
        write_add_column(rows, column->name, column->kind, 0);
}

/* Whether experiments, or datasets that are one each, have it. */
static bool has_constant(const struct problem_header *header, int c)
{
    const bool has[N_CONSTANT] = {
        [CONSTANT_id] = true, [CONSTANT_steady] = header->has_experiments && header->has_steady,
        [CONSTANT_t0] = header->has_t0, [CONSTANT_covariate] = header->n_covariate > 0};
    return has[c];
}

static void plan_columns(struct problem_writer *writer)
{
    struct write_rows *rows = writer->rows;
    const struct problem_header *header = &writer->header;
    const char *const owner = header->has_experiments ? "experiment" : "dataset";
    static const char *const path[RECORDS] = {"/datasets", "/parameters", "/experiments",
                                              "/measurements"};
    for (int g = 0; g < N_ROWS; g++)
        rows[g] = (struct write_rows){.path = g < RECORDS ? path[g] : record_info[g - RECORDS].path,
                                      .is_optional = g >= RECORDS};
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        if (header->by_dataset >> c & 1)
            write_add_column(&rows[STARTS], parameter_columns[c].name, parameter_columns[c].kind,
                             header->parameters.n);
    struct write_rows *constants = &rows[header->has_experiments ? EXPERIMENTS : DATASETS];
    if (header->has_experiments) {
        write_add_column(&rows[DATASETS], "id", COLUMN_TEXT, 0);
        write_add_column(constants, "dataset", COLUMN_UINT32, 0);
    }
    for (int c = 0; c < N_CONSTANT; c++)
        if (has_constant(header, c))
            write_add_column(constants, constant_columns[c].name, constant_columns[c].kind,
                             constant_columns[c].width ? 0 : header->n_covariate);
    for (int g = MEASUREMENTS; g < N_ROWS; g++)
        write_add_column(&rows[g], owner, COLUMN_UINT32, 0);
    for (int c = 0; c < N_MEASUREMENT; c++)
        if (writer->columns >> c & 1)
            add_column(&rows[MEASUREMENTS], &measurement_columns[c]);
    for (int k = 0; k < N_RECORD; k++)
        for (size_t c = 0; c < record_info[k].n; c++)
            add_column(&rows[RECORDS + k], &record_info[k].column[c]);
    const struct {
        int kind, which;
        size_t n;
        const char *const *list;
        const struct column_info *column;
    } lists[] = {{RECORD_DOSE, 0, header->n_target, header->target_name,
                  &record_info[RECORD_DOSE].column[DOSE_target]},
                 {RECORD_KNOT, 0, header->n_input, header->input_name,
                  &record_info[RECORD_KNOT].column[KNOT_input]},
                 {RECORD_CALL, 0, header->n_event, header->event_name,
                  &record_info[RECORD_CALL].column[CALL_event]},
                 {RECORD_SUBSTITUTE, 0, header->n_substituted, header->substituted_name,
                  &record_info[RECORD_SUBSTITUTE].column[SUBSTITUTE_parameter]},
                 {RECORD_SUBSTITUTE, 1, header->parameters.n, header->parameters.name,
                  &record_info[RECORD_SUBSTITUTE].column[SUBSTITUTE_by]}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct write_rows *of = &rows[RECORDS + lists[i].kind];
        of->list_path[lists[i].which] = lists[i].column->names;
        of->n_list[lists[i].which] = lists[i].n;
        of->list[lists[i].which] = lists[i].list;
    }
}

enum status problem_writer_open(struct problem_writer **opened, const char *path, bool overwrite,
                                const struct problem_header *header, struct error *error)
{
    struct destination destination;
    *opened = NULL;
    if (destination_find_file(&destination, path, error))
        return error->status;
    if (!overwrite && destination.kind == DESTINATION_FILE)
        return error_set(error, STATUS_SYSTEM, "%s: exists already; use --overwrite to replace it",
                         path);
    struct problem_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    writer->header = *header;
    writer->overwrite = overwrite;
    writer->columns = MEASUREMENT_ALL;
    if (!header->line_file)
        writer->columns &= ~MEASUREMENT_BIT(line);
    if (!header->n_observable)
        writer->columns &= ~MEASUREMENT_BIT(observable);
    plan_columns(writer);
    bool got_all = (writer->path = strdup(path)) != NULL;
    for (int g = 0; g < N_ROWS; g++)
        got_all = got_all &&
                  write_allocate(&writer->rows[g], g < MEASUREMENTS ? BLOCK_DATASETS : BLOCK_ROWS);
    enum status status =
        got_all ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    if (!status)
        status = durable_temporary(path, &writer->temporary, error);
    if (!status)
        status = hdf5_create(&writer->file, writer->temporary, error);
    if (!status)
        status = write_small_tables(&writer->file, header, error);
    if (!status)
        status = own_writer_open(&writer->own, &writer->file, "/datasets/columns", &header->column,
                                 0, BLOCK_DATASETS, error);
    if (status) {
        problem_writer_close(writer);
        return status;
    }
    *opened = writer;
    return STATUS_OK;
}

/* A row of a group: the values of its columns, in order. */
static enum status add_row(struct problem_writer *writer, int g, const void *const *value,
                           struct error *error)
{
    struct write_rows *rows = &writer->rows[g];
    for (size_t c = 0; c < rows->n_column; c++)
        if (!write_put(rows, c, value[c]))
            return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", writer->path);
    return rows->n_column ? write_next(rows, &writer->file, error) : STATUS_OK;
}

/* The dataset's own columns of parameters. */
static enum status add_starts(struct problem_writer *writer, const struct parameters *parameters,
                              struct error *error)
{
    const void *value[N_PARAMETER_COLUMN];
    size_t n = 0;
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        if (writer->header.by_dataset >> c & 1)
            value[n++] = parameters_cell(parameters, (enum parameter_column)c, 0);
    return add_row(writer, STARTS, value, error);
}

/* The row of /experiments or, without them, of /datasets. */
static enum status add_constants(struct problem_writer *writer,
                                 const struct problem_dataset *dataset, struct error *error)
{
    const bool many = writer->header.has_experiments;
    const struct experiment *experiment = &dataset->experiment;
    const uint32_t of = (uint32_t)writer->n_dataset - 1;
    const int64_t steady = experiment->steady == EXPERIMENT_NONE
                               ? -1
                               : (int64_t)(writer->first_experiment + experiment->steady);
    const void *const is[N_CONSTANT] = {
        [CONSTANT_id] = many ? experiment->id : dataset->id, [CONSTANT_steady] = &steady,
        [CONSTANT_t0] = &experiment->t0, [CONSTANT_covariate] = experiment->covariate};
    const void *value[1 + N_CONSTANT] = {&of};
    size_t n = many;
    for (int c = 0; c < N_CONSTANT; c++)
        if (has_constant(&writer->header, c))
            value[n++] = is[c];
    return add_row(writer, many ? EXPERIMENTS : DATASETS, value, error);
}

static enum status add_measurements(struct problem_writer *writer,
                                    const struct problem_dataset *dataset, uint32_t owner,
                                    struct error *error)
{
    static const char missing[sizeof(double)];
    const double no_number = NAN;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < dataset->n_row && !status; i++) {
        const void *value[1 + N_MEASUREMENT] = {&owner};
        size_t n = 1;
        for (int c = 0; c < N_MEASUREMENT; c++) {
            const void *cell = measurements_cell(&dataset->measured, (enum measurement_column)c, i);
            const void *none =
                measurement_columns[c].kind == COLUMN_DOUBLE ? (const void *)&no_number : missing;
            if (writer->columns >> c & 1)
                value[n++] = cell ? cell : none;
        }
        status = add_row(writer, MEASUREMENTS, value, error);
    }
    return status;
}

/* A row of a table whose rows are structs. */
static enum status add_record(struct problem_writer *writer, enum record_kind kind,
                              const void *record, uint32_t owner, struct error *error)
{
    const struct record_info *info = &record_info[kind];
    union { double real; uint32_t number; int8_t byte; int64_t whole; } cell[WRITE_MAX_COLUMN];
    const void *value[WRITE_MAX_COLUMN] = {&owner};
    for (size_t c = 0; c < info->n; c++) {
        const struct column_info *column = &info->column[c];
        const int64_t whole = column->kind == COLUMN_DOUBLE ? 0 : column_whole(column, record);
        value[c + 1] = &cell[c];
        if (column->kind == COLUMN_DOUBLE) {
            double real = column_real(column, record);
            cell[c].real = isinf(column->none) && real == column->none ? (double)NAN : real;
        } else if (column->kind == COLUMN_UINT32) {
            cell[c].number = (uint32_t)whole;
        } else if (column->kind == COLUMN_INT8) {
            cell[c].byte = (int8_t)whole;
        } else {
            cell[c].whole =
                column->is_row && whole >= 0 ? (int64_t)writer->n_measurement + whole : whole;
        }
    }
    return add_row(writer, RECORDS + (int)kind, value, error);
}

/* Doses, knots of inputs, events and substitutes. */
static enum status add_happenings(struct problem_writer *writer,
                                  const struct experiment *experiment, uint32_t owner,
                                  struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < experiment->n_dose && !status; i++)
        status = add_record(writer, RECORD_DOSE, &experiment->dose[i], owner, error);
    for (uint32_t k = 0; experiment->input && k < writer->header.n_input; k++)
        for (size_t i = 0; i < experiment->input[k].n && !status; i++) {
            const struct input *input = &experiment->input[k];
            const struct knot knot = {input->time[i], input->value[i], k};
            status = add_record(writer, RECORD_KNOT, &knot, owner, error);
        }
    for (size_t i = 0; i < experiment->n_call && !status; i++)
        status = add_record(writer, RECORD_CALL, &experiment->call[i], owner, error);
    for (size_t i = 0; i < experiment->n_substitute && !status; i++)
        status = add_record(writer, RECORD_SUBSTITUTE, &experiment->substitute[i], owner, error);
    return status;
}

enum status problem_writer_add(struct problem_writer *writer, const struct problem_dataset *dataset,
                               struct error *error)
{
    const bool many = writer->header.has_experiments;
    const struct experiment *experiment = &dataset->experiment;
    uint64_t n = many ? writer->n_experiment : writer->n_dataset;
    if (writer->n_dataset >= UINT32_MAX - 1 || n >= UINT32_MAX - 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: more than 2^32 - 2 %s are not supported",
                         writer->path, many ? "experiments" : "datasets");
    uint32_t owner = (uint32_t)n;
    enum status status = STATUS_OK;
    if (dataset->id) {
        writer->n_dataset++;
        writer->first_experiment = writer->n_experiment;
        status = add_starts(writer, &dataset->parameters, error);
        if (!status)
            status = own_writer_add(&writer->own, dataset->own, error);
    }
    if (!status && many && dataset->id)
        status = add_row(writer, DATASETS, (const void *const[]){dataset->id}, error);
    if (!status)
        status = add_constants(writer, dataset, error);
    writer->n_experiment++;
    if (!status)
        status = add_measurements(writer, dataset, owner, error);
    if (!status)
        status = add_happenings(writer, experiment, owner, error);
    writer->n_measurement += dataset->n_row;
    return status;
}

static void close_columns(struct problem_writer *writer)
{
    for (int g = 0; g < N_ROWS; g++)
        write_close(&writer->rows[g]);
    own_writer_close(&writer->own);
}

enum status problem_writer_complete(struct problem_writer *writer, const char **temporary,
                                    struct error *error)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < N_ROWS && !status; g++)
        status = write_flush(&writer->rows[g], &writer->file, error);
    if (!status)
        status = own_writer_flush(&writer->own, error);
    if (!status)
        status = hdf5_flush(&writer->file, error);
    close_columns(writer);
    writer->is_complete = true;
    *temporary = writer->temporary;
    return status ? status : hdf5_finish(&writer->file, error);
}

enum status problem_writer_finish(struct problem_writer *writer, struct error *error)
{
    const char *temporary;
    enum status status =
        writer->is_complete ? STATUS_OK : problem_writer_complete(writer, &temporary, error);
    if (!status && !writer->overwrite && access(writer->path, F_OK) == 0)
        status = error_set(error, STATUS_SYSTEM,
                           "%s: appeared meanwhile; use --overwrite to replace it", writer->path);
    return status ? status : durable_replace(&writer->temporary, writer->path, error);
}

void problem_writer_close(struct problem_writer *writer)
{
    if (!writer)
        return;
    close_columns(writer);
    hdf5_close(&writer->file);
    durable_drop(&writer->temporary);
    free(writer->path);
    for (int g = 0; g < N_ROWS; g++)
        write_fini(&writer->rows[g]);
    free(writer);
}
