/* Opens a problem file: its kind, names, shapes and small tables. Reads nothing whose length is
 * the number of datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "io/problem/internal.h"

#include "base/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts of attributes, in the arena. */
static void read_attributes(struct problem *problem)
{
    struct problem_info *info = &problem->info;
    const struct { const char *group, *name, **kept; } attributes[] = {
        {"/model", "plugin", &info->model.plugin},
        {"/model", "sha256", &info->model.sha256},
        {"/model", "name", &info->model.name},
        {"/measurements", "csv", &problem->line_file},
        {"/measurements", "petab", &info->petab.yaml},
        {"/measurements", "petab_model", &info->petab.model},
        {"/measurements", "petab_dataset_column", &info->petab.dataset_column},
        {"/measurements", "petab_sha256", &info->petab.sha256}};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        char *text = NULL;
        struct error fault = {0};
        if (hdf5_attribute_text(&problem->file, attributes[i].group, attributes[i].name, &text,
                                &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
        *attributes[i].kept = text ? arena_strdup(&problem->arena, text) : NULL;
        free(text);
    }
}

static void read_plugin_bytes(struct problem *problem)
{
    struct hdf5_column *column = &problem->plugin;
    struct error fault = {0};
    if (!column->dataset)
        return;
    if (column->width != 1 || column->n_row == 0 || column->n_row > PROBLEM_MAX_PLUGIN) {
        faults_add(&problem->faults,
                   "/model/plugin: must be one row of at least 1 and at most %d bytes",
                   PROBLEM_MAX_PLUGIN);
    } else {
        unsigned char *bytes = arena_calloc(&problem->arena, column->n_row, 1);
        if (bytes && hdf5_column_read_bytes(column, 0, column->n_row, bytes, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
        problem->info.model.bytes = bytes;
        problem->info.model.n_byte = column->n_row;
    }
    hdf5_column_close(column);
}

static void read_source(struct problem *problem)
{
    struct hdf5_column *column = &problem->source;
    struct error fault = {0};
    char *source = NULL;
    if (!column->dataset)
        return;
    if (column->n_row != 1 || column->width != 1)
        faults_add(&problem->faults, "/model/source: must be one string, the whole text");
    else if (hdf5_column_read_strings(column, 0, 1, PROBLEM_MAX_SOURCE, &problem->arena, &source,
                                      &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    problem->info.model.source = source;
    hdf5_column_close(column);
}

char *problem_source_origin(const struct problem *problem)
{
    const char *path = problem->info.path, *name = problem->info.model.name;
    bool named = name && *name;
    size_t size = strlen(path) + (named ? strlen(name) : 0) + sizeof ":/model/source/.ode";
    char *origin = malloc(size);
    if (origin)
        snprintf(origin, size, "%s:/model/source%s%s%s", path, named ? "/" : "", named ? name : "",
                 named ? ".ode" : "");
    return origin;
}

static void open_model(struct problem *problem)
{
    struct problem_info *info = &problem->info;
    read_plugin_bytes(problem);
    read_source(problem);
    if (!!info->model.plugin + !!info->model.bytes + !!info->model.source > 1)
        faults_add(&problem->faults, "/model: has more than one of @plugin, plugin and source; "
                                     "keep the one that is "
                                     "meant");
    if (info->model.sha256) {
        unsigned char digest[SHA256_BYTES];
        if (!sha256_from_hex(info->model.sha256, digest))
            faults_add(&problem->faults, "/model @sha256: must be 64 hexadecimal digits");
    }
}

static void check_length(struct problem *problem, enum parameter_column column)
{
    const struct problem_table *table = &problem->table[column];
    if (table->text && problem->info.parameter_name && table->n != problem->info.n_parameter)
        faults_add(&problem->faults, "%s: has %zu entries for %zu parameters",
                   parameter_columns[column].path, table->n, problem->info.n_parameter);
}

static void open_parameters(struct problem *problem)
{
    static const char *const scales[] = {"lin", "log", "log10"};
    struct problem_info *info = &problem->info;
    const struct problem_table *table = problem->table;
    problem_check_tables(problem);
    info->parameter_name = problem->level_name = table[PARAMETER_name].text;
    info->n_parameter = table[PARAMETER_name].n;
    info->parameter_scale = table[PARAMETER_scale].text;
    info->parameter_level = table[PARAMETER_level].text;
    info->n_level = table[PARAMETER_level].n;
    for (size_t i = 0; i < table[PARAMETER_scale].n; i++)
        if (words_find(info->parameter_scale[i], scales, 3) < 0)
            faults_add(&problem->faults,
                       "/parameters/scale row %zu: \"%.40s\" is not a scale; use lin, log or log10",
                       i, info->parameter_scale[i]);
    check_length(problem, PARAMETER_level);
    problem_open_adopted(problem);
    problem_open_priors(problem);
    if (info->parameter_name && info->n_parameter == 0)
        faults_add(&problem->faults, "/parameters/name: is empty");
    check_length(problem, PARAMETER_scale);
}

static void check_levels(struct problem *problem)
{
    static const char *const levels[] = {"dataset", "shared", "random"};
    const struct problem_info *info = &problem->info;
    for (size_t i = 0; info->parameter_level && i < info->n_level; i++)
        if (words_find(info->parameter_level[i], levels, 3) < 0
            && own_columns_find(&info->column, info->parameter_level[i]) < 0)
            faults_add(&problem->faults,
                       "/parameters/level row %zu: \"%.40s\" is not a level; use dataset, shared, "
                       "random "
                       "or the name of a column of groups in /datasets/columns or "
                       "/datasets/covariate_names",
                       i, info->parameter_level[i]);
}

static void open_rows(struct problem *problem)
{
    struct problem_info *info = &problem->info;
    struct problem_stream *stream = problem->stream;
    problem_check_streams(problem);
    if (!stream[GROUP_MEASUREMENTS].field[MEASUREMENT_line].column.dataset)
        problem->line_file = NULL;
    info->n_dataset = problem->owners[0].n;
    if (info->petab.n > info->n_dataset)
        faults_add(&problem->faults,
                   "/datasets/petab: has %zu entries; at most %" PRIu64 " are supported",
                   info->petab.n, info->n_dataset);
    info->has_experiments = problem->has_experiments;
    info->has_steady = problem->owners[1].steady.dataset;
    info->has_periods = stream[GROUP_DOSES].field[DOSE_steady].column.dataset;
    info->n_experiment = problem->has_experiments ? problem->owners[1].n : info->n_dataset;
    info->n_measurement = stream[GROUP_MEASUREMENTS].n_row;
    info->n_dose = stream[GROUP_DOSES].n_row;
    info->n_knot = stream[GROUP_INPUTS].n_row;
    info->n_call = stream[GROUP_EVENTS].n_row;
    info->has_times = stream[GROUP_SUBSTITUTES].field[SUBSTITUTE_time].column.dataset;
    info->n_substitute = stream[GROUP_SUBSTITUTES].n_row;
    info->n_covariate = problem->owners[0].n_covariate;
    info->covariate_name = problem->owners[0].covariate_name;
    problem_open_columns(problem);
    info->n_experiment_covariate = problem->owners[1].n_covariate;
    info->experiment_covariate_name = problem->owners[1].covariate_name;
    info->n_observable = stream[GROUP_MEASUREMENTS].field[MEASUREMENT_observable].n_name;
    info->observable_name = stream[GROUP_MEASUREMENTS].field[MEASUREMENT_observable].name;
}

static enum status read_contents(struct problem *problem, struct error *error)
{
    enum status status = problem_check_kind(&problem->file, error);
    if (status)
        return status;
    problem_check_names(problem);
    read_attributes(problem);
    problem_open_all(problem);
    open_model(problem);
    open_parameters(problem);
    open_rows(problem);
    check_levels(problem);
    problem_read_options(problem);
    if (problem->info.parameter_name)
        problem_settle_tables(problem, problem->info.n_parameter);
    return problem_report(problem, error);
}

static enum status read_ids_alone(struct problem *problem, struct error *error)
{
    enum status status = problem_check_kind(&problem->file, error);
    if (status)
        return status;
    problem_open_datasets(problem);
    problem->info.n_dataset = problem->owners[0].n;
    problem_open_columns(problem);
    return problem_report(problem, error);
}

static enum status open_and_read(struct problem **opened, const char *path,
                                 enum status (*read)(struct problem *problem, struct error *error),
                                 struct error *error)
{
    *opened = NULL;
    struct problem *problem = calloc(1, sizeof *problem);
    if (!problem)
        return error_set(error, STATUS_NO_MEMORY, "%s: out of memory", path);
    enum status status = hdf5_open(&problem->file, path, error);
    problem->info.path = problem->file.path;
    if (!status)
        status = read(problem, error);
    if (status) {
        problem_close(problem);
        return status;
    }
    *opened = problem;
    return STATUS_OK;
}

enum status problem_open(struct problem **opened, const char *path, struct error *error)
{
    return open_and_read(opened, path, read_contents, error);
}

enum status problem_open_ids(struct problem **opened, const char *path, struct error *error)
{
    return open_and_read(opened, path, read_ids_alone, error);
}

void problem_close(struct problem *problem)
{
    if (!problem)
        return;
    problem_close_columns(problem);
    hdf5_close(&problem->file);
    arena_fini(&problem->arena);
    free(problem);
}

const struct problem_info *problem_info(const struct problem *problem) { return &problem->info; }

char *problem_model_path(const struct problem *problem)
{
    const char *plugin = problem->info.model.plugin, *path = problem->info.path;
    if (!plugin)
        return NULL;
    const char *slash = strrchr(path, '/');
    char *joined = NULL;
    if (plugin[0] == '/')
        return strdup(plugin);
    /* The loader would search its path for a bare name, so "./" is put before it. */
    if (asprintf(&joined, "%.*s/%s", slash ? (int)(slash - path) : 1, slash ? path : ".", plugin) <
        0)
        return NULL;
    return joined;
}
