/* Writes problem files. Datasets and measurements are collected and appended in blocks, so memory does not grow with the file,
 * which gets its name only when it is complete.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_write.h"

#include "io/durable.h"
#include "io/hdf5_file.h"
#include "io/problem_adopt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_ROWS = 1 << 16, BLOCK_DATASETS = 4096 };

/* A column of numbers, one row for each dataset; cells NULL: not in the file. */
struct dataset_column {
    const char *path;
    size_t width;  /* 0: one dimension */
    double *cells; /* of the waiting datasets */
    struct hdf5_column column;
};
enum { COLUMN_T0, COLUMN_COVARIATES, COLUMN_START, N_DATASET_COLUMN };

struct problem_writer {
    struct hdf5_file file;
    char *path, *temporary;
    bool overwrite;
    unsigned columns;           /* MEASUREMENT_BITs of what the file has */

    struct hdf5_column row_dataset, row[N_MEASUREMENT], id;
    struct dataset_column number[N_DATASET_COLUMN];
    uint64_t n_dataset;         /* added so far */
    size_t n_row, n_waiting;    /* in the buffers */
    uint32_t *dataset;          /* of each row */
    struct measurements measured;
    void *rows;                 /* its arrays */
    struct arena ids;
    const char **waiting_id;
};

static bool allocate(struct problem_writer *writer, const struct problem_header *header)
{
    const struct { bool is_there; const char *path; size_t width; } numbers[N_DATASET_COLUMN] = {
        [COLUMN_T0] = {header->has_t0, "/datasets/t0", 0},
        [COLUMN_COVARIATES] = {header->n_covariate > 0, "/datasets/covariates", header->n_covariate},
        [COLUMN_START] = {header->start_per_dataset, "/parameters/start", header->n_parameter}};
    bool got_all = true;
    for (int k = 0; k < N_DATASET_COLUMN; k++) {
        struct dataset_column *number = &writer->number[k];
        number->path = numbers[k].path;
        number->width = numbers[k].width;
        if (numbers[k].is_there && !(number->cells = calloc(BLOCK_DATASETS, (number->width + 1) * sizeof(double))))
            got_all = false;
    }
    writer->dataset = malloc(BLOCK_ROWS * sizeof *writer->dataset);
    writer->rows = malloc(measurements_bytes(writer->columns, BLOCK_ROWS));
    if (writer->rows)
        writer->measured = measurements_place(writer->columns, BLOCK_ROWS, writer->rows);
    writer->waiting_id = malloc(BLOCK_DATASETS * sizeof *writer->waiting_id);
    return got_all && writer->dataset && writer->rows && writer->waiting_id;
}

/* A group, an attribute of a group, or a small table; data NULL: the file does without it. */
struct part {
    const char *path, *attribute; /* attribute: a text of the group `path` */
    const void *data;
    hid_t type;                   /* of a table of numbers; otherwise IS_GROUP, or 0 for strings */
    size_t n, width;
};
enum { IS_GROUP = -1 };

static enum status write_part(const struct hdf5_file *file, const struct part *part, struct error *error)
{
    if (!part->data)
        return STATUS_OK;
    if (part->type == IS_GROUP)
        return hdf5_make_group(file, part->path, error);
    if (part->attribute)
        return hdf5_put_text(file, part->path, part->attribute, part->data, error);
    return part->type ? hdf5_write_table(file, part->path, part->type, part->n, part->width, part->data, error)
                      : hdf5_write_strings(file, part->path, part->n, part->data, error);
}

static enum status write_small_tables(const struct hdf5_file *file, const struct problem_header *header,
                                      struct error *error)
{
    static const char group[] = "";
    const hid_t real = H5T_NATIVE_DOUBLE, byte = H5T_NATIVE_UINT8;
    const char *source = header->model_source;
    bool has_model = header->model_plugin || header->model_bytes || source || header->model_sha256;
    size_t p = header->n_parameter;
    const double *const *prior = header->prior_number;
    const struct part parts[] = {
        {"/model", NULL, has_model ? group : NULL, IS_GROUP, 0, 0},
        {"/model", "plugin", header->model_plugin, 0, 0, 0},
        {"/model", "sha256", header->model_sha256, 0, 0, 0},
        {"/model", "name", has_model ? header->model_name : NULL, 0, 0, 0},
        {"/model/source", NULL, source ? &source : NULL, 0, 1, 0},
        {"/model/plugin", NULL, header->model_bytes, byte, header->n_model_byte, 0},
        {"/parameters", NULL, p ? group : NULL, IS_GROUP, 0, 0},
        {"/parameters/name", NULL, p ? header->parameter_name : NULL, 0, p, 0},
        {"/parameters/start", NULL, p ? header->start : NULL, real, p, 0},
        {"/parameters/lower", NULL, p ? header->lower : NULL, real, p, 0},
        {"/parameters/upper", NULL, p ? header->upper : NULL, real, p, 0},
        {"/parameters/scale", NULL, p ? header->scale : NULL, 0, p, 0},
        {"/parameters/fixed", NULL, p ? header->fixed : NULL, byte, p, 0},
        {"/parameters/from_model", NULL, p ? header->from_model : NULL, real, p, N_FROM_MODEL},
        {"/parameters/prior", NULL, p ? header->prior : NULL, 0, p, 0},
        {"/parameters/prior_on", NULL, p && header->prior ? header->prior_on : NULL, 0, p, 0},
        {"/parameters/prior_location", NULL, p && header->prior ? prior[0] : NULL, real, p, 0},
        {"/parameters/prior_scale", NULL, p && header->prior ? prior[1] : NULL, real, p, 0},
        {"/parameters/prior_lower", NULL, p && header->prior ? prior[2] : NULL, real, p, 0},
        {"/parameters/prior_upper", NULL, p && header->prior ? prior[3] : NULL, real, p, 0},
        {"/datasets", NULL, group, IS_GROUP, 0, 0},
        {"/datasets/covariate_names", NULL, header->n_covariate ? header->covariate_name : NULL, 0, header->n_covariate, 0},
        {"/measurements", NULL, group, IS_GROUP, 0, 0},
        {"/measurements/observable_names", NULL, header->n_observable ? header->observable_name : NULL, 0,
         header->n_observable, 0},
        {"/measurements/observable_error", NULL, header->observable_error, 0, header->n_observable, 0},
        {"/measurements", "csv", header->line_file, 0, 0, 0},
        {"/options", NULL, header->n_option ? group : NULL, IS_GROUP, 0, 0},
    };
    enum status status = hdf5_put_text(file, "/", "stiffit_file", "problem", error);
    if (!status)
        status = hdf5_put_number(file, "/", "format", H5T_NATIVE_INT32, &(int32_t){1}, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++)
        status = write_part(file, &parts[i], error);
    for (size_t i = 0; i < header->n_option && !status; i++)
        status = hdf5_put_text(file, "/options", header->option_name[i], header->option_value[i], error);
    return status;
}

/* Types of a kind of column in the file and in memory. */
static hid_t stored_type(enum measurement_kind kind)
{
    return kind == MEASUREMENT_DOUBLE ? H5T_IEEE_F64LE : kind == MEASUREMENT_UINT32 ? H5T_STD_U32LE : H5T_STD_I8LE;
}

static hid_t native_type(enum measurement_kind kind)
{
    return kind == MEASUREMENT_DOUBLE ? H5T_NATIVE_DOUBLE : kind == MEASUREMENT_UINT32 ? H5T_NATIVE_UINT32 : H5T_NATIVE_INT8;
}

/* Chunks are as large as the first block, which is everything in a small file. */
static enum status create_row_columns(struct problem_writer *writer, struct error *error)
{
    enum status status = hdf5_column_create(&writer->row_dataset, &writer->file, "/measurements/dataset", H5T_STD_U32LE, 0,
                                            writer->n_row, true, error);
    for (int i = 0; i < N_MEASUREMENT && !status; i++) {
        const struct measurement_info *info = &measurement_columns[i];
        if (writer->columns >> i & 1)
            status = hdf5_column_create(&writer->row[i], &writer->file, info->path, stored_type(info->kind), 0, writer->n_row,
                                        info->kind != MEASUREMENT_DOUBLE, error);
    }
    return status;
}

static enum status flush_rows(struct problem_writer *writer, struct error *error)
{
    enum status status = writer->row_dataset.dataset ? STATUS_OK : create_row_columns(writer, error);
    if (!status)
        status = hdf5_column_append(&writer->row_dataset, H5T_NATIVE_UINT32, writer->n_row, writer->dataset, error);
    for (int i = 0; i < N_MEASUREMENT && !status; i++)
        if (writer->columns >> i & 1)
            status = hdf5_column_append(&writer->row[i], native_type(measurement_columns[i].kind), writer->n_row,
                                        measurements_cell(&writer->measured, (enum measurement_column)i, 0), error);
    writer->n_row = 0;
    return status;
}

static enum status create_dataset_columns(struct problem_writer *writer, struct error *error)
{
    size_t longest = 0, n = writer->n_waiting;
    for (size_t i = 0; i < n; i++)
        longest = strlen(writer->waiting_id[i]) > longest ? strlen(writer->waiting_id[i]) : longest;
    enum status status = hdf5_column_create_strings(&writer->id, &writer->file, "/datasets/id", longest, true, error);
    for (struct dataset_column *number = writer->number; number < writer->number + N_DATASET_COLUMN && !status; number++)
        if (number->cells)
            status = hdf5_column_create(&number->column, &writer->file, number->path, H5T_IEEE_F64LE, number->width, n, false,
                                        error);
    return status;
}

static enum status flush_datasets(struct problem_writer *writer, struct error *error)
{
    size_t n = writer->n_waiting;
    enum status status = writer->id.dataset ? STATUS_OK : create_dataset_columns(writer, error);
    if (!status)
        status = hdf5_column_append_strings(&writer->id, n, writer->waiting_id, error);
    for (struct dataset_column *number = writer->number; number < writer->number + N_DATASET_COLUMN && !status; number++)
        if (number->cells)
            status = hdf5_column_append(&number->column, H5T_NATIVE_DOUBLE, n, number->cells, error);
    writer->n_waiting = 0;
    arena_reset(&writer->ids);
    return status;
}

enum status problem_writer_open(struct problem_writer **opened, const char *path, bool overwrite,
                                const struct problem_header *header, struct error *error)
{
    *opened = NULL;
    if (!overwrite && access(path, F_OK) == 0)
        return error_set(error, STATUS_SYSTEM, "%s: exists already; use --overwrite to replace it", path);
    struct problem_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    writer->overwrite = overwrite;
    writer->columns = header->columns | MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value);
    writer->columns |= header->line_file ? MEASUREMENT_BIT(line) : 0;
    writer->columns = header->n_observable ? writer->columns | MEASUREMENT_BIT(observable)
                                           : writer->columns & ~MEASUREMENT_BIT(observable);
    enum status status = STATUS_OK;
    if (!(writer->path = strdup(path)) || !allocate(writer, header))
        status = error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    if (!status)
        status = durable_temporary(path, &writer->temporary, error);
    if (!status)
        status = hdf5_create(&writer->file, writer->temporary, error);
    if (!status)
        status = write_small_tables(&writer->file, header, error);
    if (status) {
        problem_writer_close(writer);
        return status;
    }
    *opened = writer;
    return STATUS_OK;
}

static enum status add_rows(struct problem_writer *writer, const struct problem_dataset *dataset, struct error *error)
{
    for (size_t done = 0; done < dataset->n_row;) {
        size_t n = dataset->n_row - done, at = writer->n_row;
        n = n < BLOCK_ROWS - at ? n : BLOCK_ROWS - at;
        measurements_copy(&writer->measured, at, &dataset->measured, done, n);
        for (size_t i = 0; i < n; i++)
            writer->dataset[at + i] = (uint32_t)writer->n_dataset;
        done += n;
        writer->n_row += n;
        enum status status = writer->n_row == BLOCK_ROWS ? flush_rows(writer, error) : STATUS_OK;
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status problem_writer_add(struct problem_writer *writer, const struct problem_dataset *dataset,
                               struct error *error)
{
    size_t n = writer->n_waiting;
    if (writer->n_dataset >= UINT32_MAX - 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: more than 2^32 - 2 datasets are not supported", writer->path);
    if (!(writer->waiting_id[n] = arena_strdup(&writer->ids, dataset->id)))
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", writer->path);
    const double *const given[N_DATASET_COLUMN] = {&dataset->t0, dataset->covariate, dataset->start};
    for (int k = 0; k < N_DATASET_COLUMN; k++) {
        size_t width = writer->number[k].width ? writer->number[k].width : 1;
        if (writer->number[k].cells)
            memcpy(writer->number[k].cells + n * width, given[k], width * sizeof(double));
    }
    writer->n_waiting++;
    enum status status = add_rows(writer, dataset, error);
    writer->n_dataset++;
    if (!status && writer->n_waiting == BLOCK_DATASETS)
        status = flush_datasets(writer, error);
    return status;
}

static void close_columns(struct problem_writer *writer)
{
    for (int i = 0; i < N_MEASUREMENT; i++)
        hdf5_column_close(&writer->row[i]);
    hdf5_column_close(&writer->row_dataset);
    hdf5_column_close(&writer->id);
    for (int k = 0; k < N_DATASET_COLUMN; k++)
        hdf5_column_close(&writer->number[k].column);
}

enum status problem_writer_finish(struct problem_writer *writer, struct error *error)
{
    enum status status = flush_datasets(writer, error);
    if (!status)
        status = flush_rows(writer, error);
    if (!status)
        status = hdf5_flush(&writer->file, error);
    close_columns(writer);
    if (!status)
        status = hdf5_finish(&writer->file, error);
    if (!status && !writer->overwrite && access(writer->path, F_OK) == 0)
        status = error_set(error, STATUS_SYSTEM, "%s: appeared meanwhile; use --overwrite to replace it",
                           writer->path);
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
    free(writer->dataset);
    free(writer->rows);
    free(writer->waiting_id);
    for (int k = 0; k < N_DATASET_COLUMN; k++)
        free(writer->number[k].cells);
    arena_fini(&writer->ids);
    free(writer);
}
