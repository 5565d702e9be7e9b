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

struct problem_writer {
    struct hdf5_file file;
    char *path, *temporary;
    bool overwrite;
    size_t n_parameter, n_covariate, n_observable;
    bool start_per_dataset, has_t0;
    unsigned columns;           /* MEASUREMENT_BITs of what the file has */

    struct hdf5_column row_dataset, row[N_MEASUREMENT], id, t0, covariate, start;
    uint64_t n_dataset;         /* added so far */
    size_t n_row, n_waiting;    /* in the buffers */
    uint32_t *dataset;          /* of each row */
    struct measurements measured;
    void *rows;                 /* its arrays */
    struct arena ids;
    const char **waiting_id;
    double *waiting_t0, *waiting_covariate, *waiting_start;
};

static bool allocate(struct problem_writer *writer)
{
    writer->dataset = malloc(BLOCK_ROWS * sizeof *writer->dataset);
    writer->rows = malloc(measurements_bytes(writer->columns, BLOCK_ROWS));
    if (writer->rows)
        writer->measured = measurements_place(writer->columns, BLOCK_ROWS, writer->rows);
    writer->waiting_id = malloc(BLOCK_DATASETS * sizeof *writer->waiting_id);
    writer->waiting_t0 = malloc(BLOCK_DATASETS * sizeof *writer->waiting_t0);
    writer->waiting_covariate = calloc(writer->n_covariate + 1, BLOCK_DATASETS * sizeof(double));
    writer->waiting_start = calloc(writer->start_per_dataset ? writer->n_parameter : 1,
                                   BLOCK_DATASETS * sizeof(double));
    return writer->dataset && writer->rows && writer->waiting_id && writer->waiting_t0 && writer->waiting_covariate
           && writer->waiting_start;
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
    const struct hdf5_file *file = &writer->file;
    size_t longest = 0, n = writer->n_waiting;
    for (size_t i = 0; i < n; i++)
        longest = strlen(writer->waiting_id[i]) > longest ? strlen(writer->waiting_id[i]) : longest;
    enum status status = hdf5_column_create_strings(&writer->id, file, "/datasets/id", longest, true, error);
    if (!status && writer->has_t0)
        status = hdf5_column_create(&writer->t0, file, "/datasets/t0", H5T_IEEE_F64LE, 0, n, false, error);
    if (!status && writer->n_covariate)
        status = hdf5_column_create(&writer->covariate, file, "/datasets/covariates", H5T_IEEE_F64LE,
                                    writer->n_covariate, n, false, error);
    if (!status && writer->start_per_dataset)
        status = hdf5_column_create(&writer->start, file, "/parameters/start", H5T_IEEE_F64LE, writer->n_parameter, n,
                                    false, error);
    return status;
}

static enum status flush_datasets(struct problem_writer *writer, struct error *error)
{
    size_t n = writer->n_waiting;
    enum status status = writer->id.dataset ? STATUS_OK : create_dataset_columns(writer, error);
    if (!status)
        status = hdf5_column_append_strings(&writer->id, n, writer->waiting_id, error);
    if (!status && writer->t0.dataset)
        status = hdf5_column_append(&writer->t0, H5T_NATIVE_DOUBLE, n, writer->waiting_t0, error);
    if (!status && writer->covariate.dataset)
        status = hdf5_column_append(&writer->covariate, H5T_NATIVE_DOUBLE, n, writer->waiting_covariate, error);
    if (!status && writer->start.dataset)
        status = hdf5_column_append(&writer->start, H5T_NATIVE_DOUBLE, n, writer->waiting_start, error);
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
    writer->n_parameter = header->n_parameter;
    writer->n_covariate = header->n_covariate;
    writer->n_observable = header->n_observable;
    writer->start_per_dataset = header->start_per_dataset;
    writer->has_t0 = header->has_t0;
    writer->columns = header->columns | MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value);
    writer->columns |= header->line_file ? MEASUREMENT_BIT(line) : 0;
    writer->columns = header->n_observable ? writer->columns | MEASUREMENT_BIT(observable)
                                           : writer->columns & ~MEASUREMENT_BIT(observable);
    enum status status = STATUS_OK;
    if (!(writer->path = strdup(path)) || !allocate(writer))
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
    writer->waiting_t0[n] = dataset->t0;
    if (writer->n_covariate)
        memcpy(writer->waiting_covariate + n * writer->n_covariate, dataset->covariate,
               writer->n_covariate * sizeof(double));
    if (writer->start_per_dataset)
        memcpy(writer->waiting_start + n * writer->n_parameter, dataset->start, writer->n_parameter * sizeof(double));
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
    hdf5_column_close(&writer->t0);
    hdf5_column_close(&writer->covariate);
    hdf5_column_close(&writer->start);
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
    if (!status)
        status = durable_replace(writer->temporary, writer->path, error);
    if (!status) {
        free(writer->temporary);
        writer->temporary = NULL;
    }
    return status;
}

void problem_writer_close(struct problem_writer *writer)
{
    if (!writer)
        return;
    close_columns(writer);
    hdf5_close(&writer->file);
    if (writer->temporary)
        unlink(writer->temporary);
    free(writer->temporary);
    free(writer->path);
    free(writer->dataset);
    free(writer->rows);
    free(writer->waiting_id);
    free(writer->waiting_t0);
    free(writer->waiting_covariate);
    free(writer->waiting_start);
    arena_fini(&writer->ids);
    free(writer);
}
