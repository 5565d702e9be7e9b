/* The names that a problem file may have. A misspelt name would be ignored silently, so an
 * unknown name in our groups is a fault; /user belongs to the user.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OPTION = 256 };

struct group {
    const char *path;
    const char *const *names;
    size_t n;
    size_t n_column;                  /* columns, and lists of the names that they mean */
    const struct column_info *column;
};

/* A problem file may contain its own result (/fits and related groups). */
static const char *const root_names[] = {"model",        "parameters", "datasets", "experiments",
                                         "measurements", "doses",      "inputs",   "events",
                                         "substitutes",  "options",    "user",     "fits",
                                         "provenance",   "starts",     "profiles", "bootstrap",
                                         "shared",       "population", "columns"};
static const char *const model_names[] = {"plugin", "source"};
static const char *const model_attributes[] = {"plugin", "sha256", "name"};
/* Beside a group's own columns. */
static const char *const dataset_names[] = {"covariate_names", "petab", "columns"};
static const char *const experiment_names[] = {"dataset", "covariate_names"};
static const char *const row_names[] = {"dataset", "experiment"};
static const char *const measurement_names[] = {"dataset", "experiment", "observable_error"};

/* Written by PyTables and rhdf5 on every group. */
static const char *const foreign_attributes[] = {"CLASS", "TITLE", "VERSION", "rhdf5-NA.OK"};

#define LIST(names) names, sizeof names / sizeof *names
static const struct group groups[] = {
    {"/", LIST(root_names), 0, NULL},
    {"/model", LIST(model_names), 0, NULL},
    {"/parameters", NULL, 0, N_PARAMETER_COLUMN, parameter_columns},
    {"/datasets", LIST(dataset_names), N_CONSTANT, constant_columns},
    {"/experiments", LIST(experiment_names), N_CONSTANT, constant_columns},
    {"/measurements", LIST(measurement_names), N_MEASUREMENT, measurement_columns},
};
enum { N_FIXED = sizeof groups / sizeof *groups, MOST_NAMES = 40 };

static struct group group_of(size_t i)
{
    if (i < N_FIXED)
        return groups[i];
    const struct record_info *record = &record_info[i - N_FIXED];
    return (struct group){record->path, LIST(row_names), record->n, record->column};
}

/* All names of a group; returns their number. */
static size_t names_of(const struct group *group, const char *names[MOST_NAMES])
{
    size_t n = group->n;
    if (n)
        memcpy(names, group->names, n * sizeof *names);
    for (size_t i = 0; i < group->n_column; i++) {
        if (group->names == dataset_names && !group->column[i].by_dataset)
            continue;
        names[n++] = group->column[i].name;
        if (group->column[i].names)
            names[n++] = words_file(group->column[i].names);
    }
    return n;
}

struct search {
    struct faults *faults;
    const struct group *group;
};

static bool visit_name(void *context, const char *name)
{
    const struct search *search = context;
    const struct group *group = search->group;
    const char *names[MOST_NAMES];
    size_t n = names_of(group, names);
    if (words_find(name, names, n) >= 0)
        return true;
    const char *separator = strcmp(group->path, "/") == 0 ? "" : "/";
    const char *near = strlen(name) < 64 ? nearest_name(name, names, n) : NULL;
    if (near)
        faults_add(search->faults, "%s%s%.100s: unknown name; did you mean %s%s%s?", group->path,
                   separator, name, group->path, separator, near);
    else
        faults_add(search->faults, "%s%s%.100s: unknown name; data of your own belong in /user",
                   group->path, separator, name);
    return search->faults->n < 1000;
}

static bool visit_model_attribute(void *context, const char *name)
{
    struct faults *faults = context;
    size_t n = sizeof model_attributes / sizeof *model_attributes;
    size_t n_foreign = sizeof foreign_attributes / sizeof *foreign_attributes;
    if (words_find(name, model_attributes, n) >= 0
        || words_find(name, foreign_attributes, n_foreign) >= 0)
        return true;
    const char *near = strlen(name) < 64 ? nearest_name(name, model_attributes, n) : NULL;
    if (near)
        faults_add(faults, "/model @%.100s: unknown attribute; did you mean @%s?", name, near);
    else
        faults_add(faults,
                   "/model @%.100s: unknown attribute; known are @plugin, @sha256 and @name", name);
    return faults->n < 1000;
}

static bool visit_option_link(void *context, const char *name)
{
    faults_add(context, "/options/%.100s: options are attributes of /options, not datasets in it",
               name);
    return false;
}

void problem_check_names(struct problem *problem)
{
    const struct hdf5_file *file = &problem->file;
    struct error fault = {0};
    for (size_t i = 0; i < N_FIXED + N_RECORD; i++) {
        const struct group group = group_of(i);
        struct search search = {&problem->faults, &group};
        enum hdf5_kind kind = hdf5_kind(file, group.path);
        if (kind == HDF5_ABSENT)
            continue;
        if (kind != HDF5_GROUP) {
            faults_add(&problem->faults, "%s: must be a group of this file", group.path);
            continue;
        }
        if (hdf5_each_link(file, group.path, visit_name, &search, &fault))
            faults_add_error(&problem->faults, file->path, &fault);
    }
    if (hdf5_kind(file, "/options") == HDF5_GROUP
        && hdf5_each_link(file, "/options", visit_option_link, &problem->faults, &fault))
        faults_add_error(&problem->faults, file->path, &fault);
    if (hdf5_kind(file, "/model") == HDF5_GROUP
        && hdf5_each_attribute(file, "/model", visit_model_attribute, &problem->faults, &fault))
        faults_add_error(&problem->faults, file->path, &fault);
}

enum status problem_check_kind(struct hdf5_file *file, struct error *error)
{
    const char *path = file->path;
    char *kind = NULL;
    bool has_format = false;
    double format = 0;
    enum status status = hdf5_attribute_text(file, "/", "stiffit_file", &kind, error);
    if (status)
        return status;
    if (!kind)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: is HDF5, but has no attribute @stiffit_file; if it is meant "
                           "as a problem, set it (h5py: f.attrs['stiffit_file'] = 'problem'; "
                           "f.attrs['format'] = 1)",
                           path);
    else if (strcmp(kind, "result") == 0)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: is a result file; give the problem file that it was made "
                           "from",
                           path);
    else if (strcmp(kind, "problem") != 0)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: @stiffit_file is \"%.40s\"; it must be \"problem\"", path, kind);
    free(kind);
    if (!status)
        status = hdf5_attribute_number(file, "/", "format", H5T_NATIVE_DOUBLE, &has_format,
                                       &format, error);
    if (!status && !has_format)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%s: has no attribute @format; set it to 1 (h5py: "
                           "f.attrs['format'] = 1)",
                           path);
    else if (!status && format != 1)
        status =
            error_set(error, STATUS_BAD_PROBLEM,
                      "%s: @format is %g; this version of stiffit reads format 1", path, format);
    return status;
}

struct option_list {
    struct problem *problem;
    const char **names, **values;
    size_t n;
    bool full;
};

static bool visit_option(void *context, const char *name)
{
    struct option_list *list = context;
    size_t n_foreign = sizeof foreign_attributes / sizeof *foreign_attributes;
    if (words_find(name, foreign_attributes, n_foreign) >= 0)
        return true;
    list->full = list->n == MAX_OPTION;
    if (!list->full && strlen(name) < PROBLEM_MAX_NAME)
        list->names[list->n++] = arena_strdup(&list->problem->arena, name);
    return !list->full && !list->problem->arena.failed;
}

void problem_read_options(struct problem *problem)
{
    struct problem_info *info = &problem->info;
    enum hdf5_kind kind = hdf5_kind(&problem->file, "/options");
    if (kind == HDF5_ABSENT)
        return;
    struct error fault = {0};
    struct option_list list = {.problem = problem};
    list.names = arena_calloc(&problem->arena, MAX_OPTION, sizeof *list.names);
    list.values = arena_calloc(&problem->arena, MAX_OPTION, sizeof *list.values);
    if (problem->arena.failed)
        return;
    if (kind != HDF5_GROUP) {
        faults_add(&problem->faults, "/options: must be a group; options are its attributes");
        return;
    }
    if (hdf5_each_attribute(&problem->file, "/options", visit_option, &list, &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    if (list.full)
        faults_add(&problem->faults, "/options: has more than %d attributes", MAX_OPTION);
    for (size_t i = 0; i < list.n && !problem->arena.failed; i++) {
        char *text = NULL;
        if (hdf5_attribute_text(&problem->file, "/options", list.names[i], &text, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
        list.values[i] = arena_strdup(&problem->arena, text ? text : "");
        free(text);
    }
    info->n_option = list.n;
    info->option_name = list.names;
    info->option_value = list.values;
}
