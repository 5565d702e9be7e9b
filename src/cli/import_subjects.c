/* The table with one row per dataset: covariates, initial times, starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "base/nearest.h"
#include "cli/command.h"
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a column fills: its kind, and the covariate or parameter. */
enum column_kind { COLUMN_ID, COLUMN_T0, COLUMN_COVARIATE, COLUMN_START, COLUMN_UNUSED };
struct column {
    enum column_kind kind;
    size_t index;
};

static const char start_prefix[] = "start_";

static bool has_start_prefix(const char *name) { return !strncmp(name, start_prefix, sizeof start_prefix - 1); }

static struct column identify(const char *name, bool is_id, const struct model *model)
{
    struct column column = {COLUMN_UNUSED, 0};
    int covariate = model_find_covariate(model, name);
    int parameter = has_start_prefix(name) ? model_find_parameter(model, name + sizeof start_prefix - 1) : -1;
    if (is_id)
        column.kind = COLUMN_ID;
    else if (covariate >= 0)
        column = (struct column){COLUMN_COVARIATE, (size_t)covariate};
    else if (parameter >= 0)
        column = (struct column){COLUMN_START, (size_t)parameter};
    else if (!strcmp(name, "t0") || !strcmp(name, "T0"))
        column.kind = COLUMN_T0;
    return column;
}

static void say_unused(const char *path, const char *name, const struct model *model)
{
    char hint[NEAREST_HINT];
    message_say("note: %s: column '%.100s' is not used%s", path, name,
                nearest_hint(hint, " (nearest: '", "')", name, model->abi.covariate_name, model->abi.n_covariate));
}

/* A table with starts must have them used: a misspelt parameter is an error, not a column to ignore. */
static enum status no_such_start(const char *name, const char *path, const struct model *model, struct error *error)
{
    const char *parameter = name + sizeof start_prefix - 1;
    char hint[NEAREST_HINT];
    nearest_hint(hint, "; did you mean '", "'?", parameter, model->abi.parameter_name, model->abi.n_parameter);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: column '%.100s': the model has no parameter '%.100s'%s", path, name,
                     parameter, hint);
}

static enum status find_columns(const struct csv_reader *reader, const char *path, const struct model *model,
                                struct import_subjects *subjects, struct column *columns, size_t *id_column,
                                struct error *error)
{
    *id_column = csv_find_column(reader, "dataset");
    if (*id_column == CSV_NO_COLUMN && (*id_column = csv_find_column(reader, "id")) == CSV_NO_COLUMN)
        return csv_need_column(reader, "dataset", id_column, error);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        columns[j] = identify(csv_column_name(reader, j), j == *id_column, model);
        subjects->has_t0 = subjects->has_t0 || columns[j].kind == COLUMN_T0;
        subjects->has_start = subjects->has_start || columns[j].kind == COLUMN_START;
        if (columns[j].kind == COLUMN_UNUSED && has_start_prefix(csv_column_name(reader, j)))
            return no_such_start(csv_column_name(reader, j), path, model, error);
        if (columns[j].kind == COLUMN_UNUSED)
            say_unused(path, csv_column_name(reader, j), model);
    }
    for (size_t i = 0; i < model->abi.n_covariate; i++) {
        bool found = false;
        for (size_t j = 0; j < csv_n_column(reader); j++)
            found = found || (columns[j].kind == COLUMN_COVARIATE && columns[j].index == i);
        if (!found)
            return error_set(error, STATUS_BAD_PROBLEM, "%s: a column '%s' is needed: it is a covariate of the model", path,
                             model->abi.covariate_name[i]);
    }
    return STATUS_OK;
}

static enum status allocate(struct import_subjects *subjects, size_t n, const struct model *model, const double *start,
                            struct error *error)
{
    subjects->n_covariate = model->abi.n_covariate;
    subjects->n_parameter = model->abi.n_parameter;
    subjects->t0 = malloc((n + 1) * sizeof(double));
    subjects->covariate = calloc(n * subjects->n_covariate + 1, sizeof(double));
    subjects->start = subjects->has_start ? malloc((n * subjects->n_parameter + 1) * sizeof(double)) : NULL;
    if (!subjects->t0 || !subjects->covariate || (subjects->has_start && !subjects->start))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu datasets", n);
    for (size_t d = 0; d < n; d++) {
        subjects->t0[d] = model->abi.t0;
        if (subjects->has_start)
            memcpy(subjects->start + d * subjects->n_parameter, start, subjects->n_parameter * sizeof *start);
    }
    return STATUS_OK;
}

static enum status read_row(const struct csv_reader *reader, const struct column *columns, size_t dataset,
                            struct import_subjects *subjects, struct error *error)
{
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        double number;
        if (columns[j].kind == COLUMN_ID || columns[j].kind == COLUMN_UNUSED)
            continue;
        enum status status = csv_number(reader, j, &number, error);
        if (status)
            return status;
        if (columns[j].kind == COLUMN_COVARIATE && !isfinite(number))
            import_faults_add(&subjects->faults, reader, j, "a covariate must be a number");
        if (columns[j].kind == COLUMN_COVARIATE)
            subjects->covariate[dataset * subjects->n_covariate + columns[j].index] = number;
        else if (columns[j].kind == COLUMN_START && !isnan(number))
            subjects->start[dataset * subjects->n_parameter + columns[j].index] = number;
        else if (columns[j].kind == COLUMN_T0 && !isnan(number))
            subjects->t0[dataset] = number;
    }
    return STATUS_OK;
}

static enum status read_rows(struct csv_reader *reader, const struct column *columns, size_t id_column,
                             const struct id_table *datasets, unsigned char *seen, struct import_subjects *subjects,
                             struct error *error)
{
    for (;;) {
        bool more;
        enum status status = csv_next(reader, &more, error);
        if (status || !more)
            return status;
        const char *id = csv_field(reader, id_column);
        uint32_t dataset = id_table_find(datasets, id);
        if (dataset == ID_NONE) {
            subjects->n_unused++;
            continue;
        }
        if (seen[dataset])
            return csv_fault(reader, id_column, error, "dataset '%.100s' appears twice", id);
        seen[dataset] = 1;
        if ((status = read_row(reader, columns, dataset, subjects, error)))
            return status;
    }
}

enum status import_subjects_read(struct import_subjects *subjects, const char *path, const struct id_table *datasets,
                                 const struct model *model, const double *start, struct error *error)
{
    struct csv_reader *reader = NULL;
    struct column *columns = NULL;
    size_t id_column;
    if (!path) {
        if (model->abi.n_covariate > 0)
            return error_set(error, STATUS_USAGE, "the model has covariates (%s%s): give a table of them with --datasets",
                             model->abi.covariate_name[0], model->abi.n_covariate > 1 ? ", ..." : "");
        return allocate(subjects, datasets->n, model, start, error);
    }
    unsigned char *seen = calloc((size_t)datasets->n + 1, 1);
    enum status status = seen ? csv_open(&reader, path, error)
                              : error_set(error, STATUS_NO_MEMORY, "out of memory for %u datasets", datasets->n);
    if (!status && !(columns = calloc(csv_n_column(reader) + 1, sizeof *columns)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the columns of %s", path);
    if (!status)
        status = find_columns(reader, path, model, subjects, columns, &id_column, error);
    if (!status)
        status = allocate(subjects, datasets->n, model, start, error);
    if (!status)
        status = read_rows(reader, columns, id_column, datasets, seen, subjects, error);
    for (uint32_t d = 0; !status && d < datasets->n; d++)
        if (!seen[d])
            status = error_set(error, STATUS_BAD_PROBLEM, "%s: dataset '%.100s' has measurements but no row here: add one",
                               path, datasets->id[d]);
    if (!status)
        import_say_encoding(reader, path);
    csv_close(reader);
    free(columns);
    free(seen);
    return status;
}

void import_subjects_fini(struct import_subjects *subjects)
{
    free(subjects->t0);
    free(subjects->covariate);
    free(subjects->start);
    memset(subjects, 0, sizeof *subjects);
}
