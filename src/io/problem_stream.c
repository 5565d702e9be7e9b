/* Opens the groups of rows and the tables of datasets and experiments, and matches what their
 * indices mean.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct problem_stream groups[N_GROUP] = {
    [GROUP_EXPERIMENTS] = {.path = "/experiments", .what = "experiments"},
    [GROUP_MEASUREMENTS] = {.path = "/measurements",
                            .what = "measurements",
                            .n_info = N_MEASUREMENT,
                            .info = measurement_columns}};

static void init_stream(struct problem_stream *stream, enum problem_group group)
{
    *stream = groups[group];
    if (group < GROUP_DOSES)
        return;
    stream->record = &record_info[group - GROUP_DOSES];
    stream->path = stream->record->path;
    stream->what = stream->record->what;
    stream->n_info = stream->record->n;
    stream->info = stream->record->column;
}

/* The path of a column, in the caller's buffer. */
static const char *join(char path[64], const char *group, const char *name)
{
    snprintf(path, 64, "%s/%s", group, name);
    return path;
}

static bool is_number(const struct hdf5_column *column)
{
    return column->class == HDF5_INTEGER || column->class == HDF5_FLOAT;
}

/* Names of datasets (all of them must have one), or of experiments. */
static void open_ids(struct problem *problem, struct problem_owners *owners, bool is_needed)
{
    char path[64];
    struct hdf5_column *id = &owners->id;
    if (hdf5_kind(&problem->file, join(path, owners->path, "id")) == HDF5_ABSENT) {
        if (is_needed)
            faults_add(&problem->faults,
                       "%s is missing: one name for each dataset (as strings, all different)",
                       path);
        return;
    }
    if (!problem_open_column(problem, path, id))
        return;
    if (!hdf5_column_as_vector(id))
        faults_add(&problem->faults, "%s: is %" PRIu64 " x %" PRIu64 "; one column is expected",
                   path, id->n_row, id->width);
    else if (id->class != HDF5_STRING &&
             id->n_row > 0) /* h5py writes an empty list without a string type */
        faults_add(&problem->faults,
                   "%s: must be strings; write numbers as text (numpy: ids.astype('S'))", path);
    else if (id->n_row > PROBLEM_MAX_DATASET)
        faults_add(&problem->faults, "%s: has %" PRIu64 " rows; at most 2^32 - 2 %s are supported",
                   path, id->n_row, owners->path + 1);
    else if (!is_needed && id->n_row != owners->n)
        faults_add(&problem->faults,
                   "%s: has %" PRIu64 " rows, but /experiments/dataset has %" PRIu64, path,
                   id->n_row, owners->n);
    owners->n = is_needed ? id->n_row : owners->n;
}

/* Covariates and t0 of each dataset, or of each experiment. */
static void open_owners(struct problem *problem, struct problem_owners *owners)
{
    char path[64], names[64];
    const char *const what = owners->path + 1;
    struct faults *faults = &problem->faults;
    problem_read_names(problem, join(names, owners->path, "covariate_names"), PROBLEM_MAX_PARAMETER,
                       &owners->n_covariate, &owners->covariate_name);
    struct hdf5_column *covariate = &owners->covariate, *t0 = &owners->t0;
    bool has_covariates =
        problem_open_column(problem, join(path, owners->path, "covariates"), covariate);
    uint64_t n = owners->n, c = owners->n_covariate;
    if (has_covariates && !owners->covariate_name) {
        faults_add(faults, "%s: needs %s", path, names);
    } else if (has_covariates && (covariate->n_row != n || covariate->width != c)) {
        const char *hint =
            covariate->n_row == c && covariate->width == n
                ? "; it is transposed (R and MATLAB write the transpose of what they show)"
                : "";
        faults_add(faults,
                   "%s: is %" PRIu64 " x %" PRIu64 " where %s x covariates = %" PRIu64 " x %" PRIu64
                   " is expected%s",
                   path, covariate->n_row, covariate->width, what, n, c, hint);
    } else if (!has_covariates && c > 0) {
        faults_add(faults, "%s is missing, but %s is there", path, names);
    } else if (has_covariates && !is_number(covariate)) {
        faults_add(faults, "%s: must be numbers", path);
    }
    if (!problem_open_column(problem, join(path, owners->path, "t0"), t0))
        return;
    if (!hdf5_column_as_vector(t0) || (t0->n_row != 1 && t0->n_row != n))
        faults_add(faults,
                   "%s: has %" PRIu64 " values; one is expected, or one for each of %" PRIu64 " %s",
                   path, t0->n_row * t0->width, n, what);
    else if (!is_number(t0))
        faults_add(faults, "%s: must be numbers", path);
}

/* The experiments at whose steady states others begin. */
static void open_steady(struct problem *problem)
{
    static const char path[] = "/experiments/steady";
    struct hdf5_column *steady = &problem->steady;
    uint64_t n = problem->owners[1].n;
    if (!problem_open_column(problem, path, steady))
        return;
    if (!hdf5_column_as_vector(steady) || steady->n_row != n)
        faults_add(&problem->faults,
                   "%s: has %" PRIu64 " values; one is expected for each of %" PRIu64
                   " experiments",
                   path, steady->n_row * steady->width, n);
    else if (problem_has_names(steady) && !problem->owners[1].id.dataset)
        faults_add(&problem->faults, "%s: has names, but there is no /experiments/id", path);
    else if (!is_number(steady) && !problem_has_names(steady))
        faults_add(&problem->faults, "%s: must be row numbers of /experiments, or -1; or names",
                   path);
}

/* `longest`: the first column that was opened, whose length the others must have. takes_names:
 * instead of numbers. */
static void open_row_column(struct problem *problem, const char *path, bool is_needed,
                            bool takes_names, struct hdf5_column *column,
                            const struct hdf5_column **longest)
{
    struct faults *faults = &problem->faults;
    if (!problem_open_column(problem, path, column)) {
        if (is_needed && hdf5_kind(&problem->file, path) == HDF5_ABSENT)
            faults_add(faults, "%s is missing", path);
        return;
    }
    if (!is_number(column) && !(takes_names && problem_has_names(column)))
        faults_add(faults, "%s: must be numbers%s", path, takes_names ? " or names" : "");
    if (!hdf5_column_as_vector(column))
        faults_add(faults, "%s: is %" PRIu64 " x %" PRIu64 "; one column is expected", path,
                   column->n_row, column->width);
    else if (*longest && column->n_row != (*longest)->n_row)
        faults_add(faults, "%s: has %" PRIu64 " rows, but %s has %" PRIu64, path, column->n_row,
                   (*longest)->path, (*longest)->n_row);
    if (!*longest)
        *longest = column;
}

/* The column of the datasets or experiments to which rows belong. */
static void open_owner(struct problem *problem, struct problem_stream *stream, bool is_needed,
                       const struct hdf5_column **longest)
{
    char path[64], other[64];
    join(path, stream->path, stream->of_experiments ? "experiment" : "dataset");
    join(other, stream->path, stream->of_experiments ? "dataset" : "experiment");
    bool has_other = stream->info && hdf5_kind(&problem->file, other) != HDF5_ABSENT;
    if (has_other && !stream->of_experiments) {
        faults_add(&problem->faults, "%s: the file has no /experiments; use %s", other, path);
        return;
    }
    open_row_column(problem, path, is_needed && !has_other, true, &stream->owner, longest);
    if (has_other && problem_has_names(&stream->owner))
        open_row_column(problem, other, false, true, &stream->dataset, longest);
    else if (has_other)
        faults_add(&problem->faults, "%s: the file has /experiments, to which rows belong; use %s",
                   other, path);
    if (stream->of_experiments && problem_has_names(&stream->owner) &&
        !problem->owners[1].id.dataset)
        faults_add(&problem->faults, "%s: has names, but there is no /experiments/id", path);
}

/* The names that an index may mean: those of the list or, without one, those that the column itself
 * has. */
static void open_names(struct problem *problem, const struct column_info *info,
                       struct problem_field *field)
{
    struct error fault = {0};
    enum status status = STATUS_OK;
    problem_read_names(problem, info->names, PROBLEM_MAX_PARAMETER, &field->n_name, &field->name);
    if (!problem_has_names(&field->column) || field->column.width != 1)
        return;
    if (field->name) {
        status = problem_names_list(problem, &field->names, field->n_name, field->name, &fault);
    } else {
        status = problem_names_collect(problem, &field->names, &field->column, info->least < 0,
                                       PROBLEM_MAX_PARAMETER, &fault);
        field->n_name = field->names.table.n;
        field->name = field->names.table.id;
    }
    if (status)
        faults_add_error(&problem->faults, problem->file.path, &fault);
}

static void open_stream(struct problem *problem, struct problem_stream *stream)
{
    char path[64];
    bool is_there = hdf5_kind(&problem->file, stream->path) == HDF5_GROUP;
    bool is_needed = is_there || (stream->info == measurement_columns && problem->owners[0].n > 0);
    const struct hdf5_column *longest = NULL;
    open_owner(problem, stream, is_needed, &longest);
    for (size_t i = 0; i < stream->n_info; i++) {
        const struct column_info *info = &stream->info[i];
        struct problem_field *field = &stream->field[i];
        open_row_column(problem, join(path, stream->path, info->name),
                        is_needed && info->presence == COLUMN_NEEDED, info->names, &field->column,
                        &longest);
        if (info->names)
            open_names(problem, info, field);
    }
    stream->n_row = longest ? longest->n_row : 0;
}

static void check_covariates(struct problem *problem)
{
    const struct problem_owners *datasets = &problem->owners[0], *experiments = &problem->owners[1];
    for (size_t i = 0; i < experiments->n_covariate; i++)
        if (words_find(experiments->covariate_name[i], datasets->covariate_name,
                       datasets->n_covariate) >= 0)
            faults_add(&problem->faults,
                       "/experiments/covariate_names: \"%.60s\" is in /datasets/covariate_names, "
                       "too; give it in one of them",
                       experiments->covariate_name[i]);
    if (experiments->t0.dataset && datasets->t0.dataset)
        faults_add(&problem->faults,
                   "/experiments/t0: there is /datasets/t0, too; give it in one of them");
}

void problem_open_datasets(struct problem *problem)
{
    problem->owners[0] = (struct problem_owners){.path = "/datasets"};
    open_ids(problem, &problem->owners[0], true);
    open_owners(problem, &problem->owners[0]);
}

void problem_open_streams(struct problem *problem)
{
    struct problem_owners *datasets = &problem->owners[0], *experiments = &problem->owners[1];
    *experiments = (struct problem_owners){.path = "/experiments"};
    for (int g = 0; g < N_GROUP; g++)
        init_stream(&problem->stream[g], (enum problem_group)g);
    problem_open_datasets(problem);
    problem->has_experiments = hdf5_kind(&problem->file, "/experiments") == HDF5_GROUP;
    for (int g = 0; g < N_GROUP; g++) {
        struct problem_stream *stream = &problem->stream[g];
        stream->of_experiments = g != GROUP_EXPERIMENTS && problem->has_experiments;
        stream->n_owner = stream->of_experiments ? experiments->n : datasets->n;
        open_stream(problem, stream);
        if (g > GROUP_EXPERIMENTS || !problem->has_experiments)
            continue;
        experiments->n = stream->n_row;
        if (experiments->n > PROBLEM_MAX_DATASET)
            faults_add(&problem->faults,
                       "/experiments: has %" PRIu64 " rows; at most 2^32 - 2 are supported",
                       experiments->n);
        open_ids(problem, experiments, false);
        open_owners(problem, experiments);
        open_steady(problem);
        check_covariates(problem);
    }
}

void problem_close_streams(struct problem *problem)
{
    for (int g = 0; g < N_GROUP; g++) {
        hdf5_column_close(&problem->stream[g].owner);
        hdf5_column_close(&problem->stream[g].dataset);
        for (size_t i = 0; i < MAX_FIELD; i++) {
            hdf5_column_close(&problem->stream[g].field[i].column);
            problem_names_fini(&problem->stream[g].field[i].names);
        }
    }
    hdf5_column_close(&problem->steady);
    for (int k = 0; k < 2; k++) {
        hdf5_column_close(&problem->owners[k].id);
        hdf5_column_close(&problem->owners[k].covariate);
        hdf5_column_close(&problem->owners[k].t0);
        problem_names_fini(&problem->owners[k].names);
        problem_names_fini(&problem->owners[k].names_within);
    }
}

void problem_match_index(struct problem *problem, enum problem_group group, int k, const char *of,
                         size_t n, const char *const *names)
{
    struct problem_stream *stream = &problem->stream[group];
    const struct column_info *info = &stream->info[k];
    struct problem_field *field = &stream->field[k];
    field->to_model = arena_calloc(&problem->arena, field->n_name + 2, sizeof *field->to_model);
    if (!field->to_model)
        return;
    bool is_empty = group == GROUP_MEASUREMENTS ? stream->n_owner == 0 : stream->n_row == 0;
    bool is_optional = info->least < 0 && !field->column.dataset;
    field->n_name = field->name ? field->n_name : 1;
    if (!field->name && !is_empty && !is_optional && !problem_has_names(&field->column) &&
        (n != 1 || info->least < 0))
        faults_add(&problem->faults, "%s is missing: %s has %zu %s%s", info->names, of, n,
                   info->what, n == 1 ? "" : "s");
    if (field->n_name != 1 && !field->column.dataset && !is_empty)
        faults_add(&problem->faults, "%s/%s is missing: which of the %zu %s each row has",
                   stream->path, info->name, field->n_name, info->names);
    for (size_t i = 0; field->name && i < field->n_name; i++) {
        int found = words_find(field->name[i], names, n);
        char place[120];
        if (field->name == field->names.table.id) /* of the rows */
            snprintf(place, sizeof place, "%s row %" PRIu64, field->column.path,
                     field->names.row[i]);
        else
            snprintf(place, sizeof place, "%s", info->names);
        if (found < 0)
            problem_add_unknown(problem, place, info->what, field->name[i], of, names, n);
        field->to_model[i] = found < 0 ? 0 : (uint32_t)found;
    }
}
