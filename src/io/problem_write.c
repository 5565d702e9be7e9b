/* Writes problem files. Datasets and measurements are collected and appended in blocks, so memory does not grow with the file,
 * which gets its name only when it is complete.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_write.h"

#include "io/durable.h"
#include "io/hdf5_file.h"
#include "io/problem_adopt.h"
#include "io/write_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_ROWS = 1 << 16, BLOCK_DATASETS = 4096 };
enum { DATASETS, STARTS, EXPERIMENTS, MEASUREMENTS, DOSES, INPUTS, EVENTS, SUBSTITUTES, N_ROWS };

struct problem_writer {
    struct hdf5_file file;
    char *path, *temporary;
    bool is_complete; /* the temporary file */
    bool overwrite;
    struct problem_header header; /* its arrays stay the caller's, who keeps them until the end */
    unsigned columns;           /* MEASUREMENT_BITs of what the file has */
    struct write_rows rows[N_ROWS];
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
        {"/parameters/fixed", NULL, p && !header->fixed_per_dataset ? header->fixed : NULL, byte, p, 0},
        {"/parameters/level", NULL, p ? header->level : NULL, 0, p, 0},
        {"/parameters/from_model", NULL, p ? header->from_model : NULL, real, p, N_FROM_MODEL},
        {"/parameters/prior", NULL, p ? header->prior : NULL, 0, p, 0},
        {"/parameters/prior_on", NULL, p && header->prior ? header->prior_on : NULL, 0, p, 0},
        {"/parameters/prior_location", NULL, p && header->prior ? prior[0] : NULL, real, p, 0},
        {"/parameters/prior_scale", NULL, p && header->prior ? prior[1] : NULL, real, p, 0},
        {"/parameters/prior_lower", NULL, p && header->prior ? prior[2] : NULL, real, p, 0},
        {"/parameters/prior_upper", NULL, p && header->prior ? prior[3] : NULL, real, p, 0},
        {"/datasets", NULL, group, IS_GROUP, 0, 0},
        {"/datasets/petab", NULL, header->petab.n ? header->petab.of : NULL, 0, header->petab.n, 0},
        {"/experiments", NULL, header->has_experiments ? group : NULL, IS_GROUP, 0, 0},
        {header->has_experiments ? "/experiments/covariate_names" : "/datasets/covariate_names", NULL,
         header->n_covariate ? header->covariate_name : NULL, 0, header->n_covariate, 0},
        {"/measurements", NULL, group, IS_GROUP, 0, 0},
        {"/measurements/observable_names", NULL, header->n_observable ? header->observable_name : NULL, 0,
         header->n_observable, 0},
        {"/measurements/observable_error", NULL, header->observable_error, 0, header->n_observable, 0},
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
    for (size_t i = 0; i < header->n_option && !status; i++)
        status = hdf5_put_text(file, "/options", header->option_name[i], header->option_value[i], error);
    return status;
}

static void plan_columns(struct problem_writer *writer)
{
    struct write_rows *rows = writer->rows;
    const struct problem_header *header = &writer->header;
    const char *const owner = header->has_experiments ? "experiment" : "dataset";
    static const char *const path[N_ROWS] = {"/datasets", "/parameters", "/experiments", "/measurements", "/doses", "/inputs",
                                             "/events", "/substitutes"};
    for (int g = 0; g < N_ROWS; g++)
        rows[g] = (struct write_rows){.path = path[g], .is_optional = g >= DOSES};
    write_add_column(&rows[DATASETS], "id", COLUMN_TEXT, 0);
    if (header->start_per_dataset)
        write_add_column(&rows[STARTS], "start", COLUMN_DOUBLE, header->n_parameter);
    if (header->fixed_per_dataset)
        write_add_column(&rows[STARTS], "fixed", COLUMN_INT8, header->n_parameter);
    struct write_rows *constants = &rows[header->has_experiments ? EXPERIMENTS : DATASETS];
    if (header->has_experiments) {
        write_add_column(constants, "dataset", COLUMN_UINT32, 0);
        write_add_column(constants, "id", COLUMN_TEXT, 0);
    }
    if (header->has_experiments && header->has_steady)
        write_add_column(constants, "steady", COLUMN_INT64, 0);
    if (header->has_t0)
        write_add_column(constants, "t0", COLUMN_DOUBLE, 0);
    if (header->n_covariate)
        write_add_column(constants, "covariates", COLUMN_DOUBLE, header->n_covariate);
    for (int g = MEASUREMENTS; g < N_ROWS; g++)
        write_add_column(&rows[g], owner, COLUMN_UINT32, 0);
    for (int c = 0; c < N_MEASUREMENT; c++)
        if (writer->columns >> c & 1)
            write_add_column(&rows[MEASUREMENTS], measurement_columns[c].name,
                             (enum column_kind)measurement_columns[c].kind, 0);
    static const struct { int group; const char *name; enum column_kind kind; } others[] = {
        {DOSES, "time", COLUMN_DOUBLE}, {DOSES, "amount", COLUMN_DOUBLE}, {DOSES, "duration", COLUMN_DOUBLE},
        {DOSES, "interval", COLUMN_DOUBLE}, {DOSES, "count", COLUMN_UINT32}, {DOSES, "target", COLUMN_UINT32},
        {INPUTS, "time", COLUMN_DOUBLE}, {INPUTS, "value", COLUMN_DOUBLE}, {INPUTS, "input", COLUMN_UINT32},
        {EVENTS, "time", COLUMN_DOUBLE}, {EVENTS, "event", COLUMN_UINT32},
        {SUBSTITUTES, "parameter", COLUMN_UINT32}, {SUBSTITUTES, "by", COLUMN_INT64}, {SUBSTITUTES, "value", COLUMN_DOUBLE}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        write_add_column(&rows[others[i].group], others[i].name, others[i].kind, 0);
    if (header->has_dose_rates)
        write_add_column(&rows[DOSES], "rate", COLUMN_DOUBLE, 0);
    if (header->has_steady_doses)
        write_add_column(&rows[DOSES], "steady", COLUMN_INT8, 0);
    if (header->has_substitute_times)
        write_add_column(&rows[SUBSTITUTES], "time", COLUMN_DOUBLE, 0);
    if (header->has_substitute_rows)
        write_add_column(&rows[SUBSTITUTES], "measurement", COLUMN_INT64, 0);
    const struct { int group, which; const char *path; size_t n; const char *const *list; } lists[] = {
        {DOSES, 0, "/doses/target_names", header->n_target, header->target_name},
        {INPUTS, 0, "/inputs/input_names", header->n_input, header->input_name},
        {EVENTS, 0, "/events/event_names", header->n_event, header->event_name},
        {SUBSTITUTES, 0, "/substitutes/parameter_names", header->n_substituted, header->substituted_name},
        {SUBSTITUTES, 1, "/substitutes/by_names", header->n_parameter, header->parameter_name}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        rows[lists[i].group].list_path[lists[i].which] = lists[i].path;
        rows[lists[i].group].n_list[lists[i].which] = lists[i].n;
        rows[lists[i].group].list[lists[i].which] = lists[i].list;
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
        return error_set(error, STATUS_SYSTEM, "%s: exists already; use --overwrite to replace it", path);
    struct problem_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    writer->header = *header;
    writer->overwrite = overwrite;
    writer->columns = header->columns | MEASUREMENT_BIT(time) | MEASUREMENT_BIT(value);
    writer->columns |= header->line_file ? MEASUREMENT_BIT(line) : 0;
    writer->columns = header->n_observable ? writer->columns | MEASUREMENT_BIT(observable)
                                           : writer->columns & ~MEASUREMENT_BIT(observable);
    plan_columns(writer);
    bool got_all = (writer->path = strdup(path)) != NULL;
    for (int g = 0; g < N_ROWS; g++)
        got_all = got_all && write_allocate(&writer->rows[g], g < MEASUREMENTS ? BLOCK_DATASETS : BLOCK_ROWS);
    enum status status = got_all ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
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

/* A row of a group: the values of its columns, in order. */
static enum status add_row(struct problem_writer *writer, int g, const void *const *value, struct error *error)
{
    struct write_rows *rows = &writer->rows[g];
    for (size_t c = 0; c < rows->n_column; c++)
        if (!write_put(rows, c, value[c]))
            return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", writer->path);
    return rows->n_column ? write_next(rows, &writer->file, error) : STATUS_OK;
}

static enum status add_measurements(struct problem_writer *writer, const struct problem_dataset *dataset, uint32_t owner,
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
            const void *none = measurement_columns[c].kind == MEASUREMENT_DOUBLE ? (const void *)&no_number : missing;
            if (writer->columns >> c & 1)
                value[n++] = cell ? cell : none;
        }
        status = add_row(writer, MEASUREMENTS, value, error);
    }
    return status;
}

/* Doses, knots of inputs, events and substitutes. */
static enum status add_happenings(struct problem_writer *writer, const struct problem_dataset *dataset, uint32_t owner,
                                  struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < dataset->n_dose && !status; i++) {
        const struct dose *dose = &dataset->dose[i];
        const void *value[9] = {&owner, &dose->time, &dose->amount, &dose->duration, &dose->interval, &dose->count,
                                &dose->target, writer->header.has_dose_rates ? &dose->rate : (const void *)&dose->steady,
                                &dose->steady};
        status = add_row(writer, DOSES, value, error);
    }
    for (uint32_t k = 0; dataset->input && k < writer->header.n_input; k++)
        for (size_t i = 0; i < dataset->input[k].n && !status; i++)
            status = add_row(writer, INPUTS, (const void *const[]){&owner, &dataset->input[k].time[i],
                                                                   &dataset->input[k].value[i], &k}, error);
    for (size_t i = 0; i < dataset->n_call && !status; i++)
        status = add_row(writer, EVENTS, (const void *const[]){&owner, &dataset->call[i].time, &dataset->call[i].event}, error);
    for (size_t i = 0; i < dataset->n_substitute && !status; i++) {
        const struct substitute *given = &dataset->substitute[i];
        const int64_t by = given->by == EXPERIMENT_NUMBER ? -1 : (int64_t)given->by;
        const int64_t row = given->row == EXPERIMENT_NONE ? -1 : (int64_t)(writer->n_measurement + given->row);
        const double time = given->time > -INFINITY ? given->time : (double)NAN;
        const void *value[6] = {&owner, &given->parameter, &by, &given->value,
                                writer->header.has_substitute_times ? &time : (const void *)&row, &row};
        status = add_row(writer, SUBSTITUTES, value, error);
    }
    return status;
}

enum status problem_writer_add(struct problem_writer *writer, const struct problem_dataset *dataset,
                               struct error *error)
{
    const bool many = writer->header.has_experiments;
    uint64_t n = many ? writer->n_experiment : writer->n_dataset;
    if (writer->n_dataset >= UINT32_MAX - 1 || n >= UINT32_MAX - 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: more than 2^32 - 2 %s are not supported", writer->path,
                         many ? "experiments" : "datasets");
    uint32_t owner = (uint32_t)n, of;
    const void *value[6] = {dataset->id};
    size_t n_value = 1;
    int64_t steady;
    enum status status = STATUS_OK;
    if (dataset->id) {
        writer->n_dataset++;
        writer->first_experiment = writer->n_experiment;
        status = add_row(writer, STARTS, (const void *const[]){dataset->start, dataset->fixed}, error);
    }
    if (!status && many && dataset->id)
        status = add_row(writer, DATASETS, value, error);
    if (many) {
        of = (uint32_t)writer->n_dataset - 1;
        value[0] = &of;
        value[n_value++] = dataset->experiment_id;
    }
    if (many && writer->header.has_steady) {
        steady = dataset->steady == EXPERIMENT_NONE ? -1 : (int64_t)(writer->first_experiment + dataset->steady);
        value[n_value++] = &steady;
    }
    if (writer->header.has_t0)
        value[n_value++] = &dataset->t0;
    value[n_value] = dataset->covariate;
    if (!status)
        status = add_row(writer, many ? EXPERIMENTS : DATASETS, value, error);
    writer->n_experiment++;
    if (!status)
        status = add_measurements(writer, dataset, owner, error);
    if (!status)
        status = add_happenings(writer, dataset, owner, error);
    writer->n_measurement += dataset->n_row;
    return status;
}

static void close_columns(struct problem_writer *writer)
{
    for (int g = 0; g < N_ROWS; g++)
        write_close(&writer->rows[g]);
}

enum status problem_writer_complete(struct problem_writer *writer, const char **temporary, struct error *error)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < N_ROWS && !status; g++)
        status = write_flush(&writer->rows[g], &writer->file, error);
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
    enum status status = writer->is_complete ? STATUS_OK : problem_writer_complete(writer, &temporary, error);
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
    for (int g = 0; g < N_ROWS; g++)
        write_fini(&writer->rows[g]);
    free(writer);
}
