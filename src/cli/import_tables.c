/* Reads the tables of `stiffit import`, of measurements and of datasets; faults are reported with file, line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "cli/command.h"
#include "cli/import.h"
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The column of dataset ids, under either name. */
static size_t find_id_column(const struct csv_reader *reader)
{
    size_t column = csv_find_column(reader, "dataset");
    return column != CSV_NO_COLUMN ? column : csv_find_column(reader, "id");
}

/* Indices of the table's columns, or CSV_NO_COLUMN. */
struct measurement_columns {
    size_t dataset, of[N_MEASUREMENT];
};

/* Tables with one column per observable are common, so the message says what is expected instead. */
static enum status need_value(const struct csv_reader *reader, const char *path, const struct model *model, size_t *column,
                              struct error *error)
{
    if (csv_find_column(reader, "value") == CSV_NO_COLUMN)
        for (uint32_t k = 0; k < model->abi.n_observable; k++)
            if (csv_find_column(reader, model->abi.observable_name[k]) != CSV_NO_COLUMN)
                return error_set(error, STATUS_BAD_PROBLEM, "%s: there is no column 'value', but a column named like the "
                                                            "observable '%s': long form is expected, a row per measurement "
                                                            "with the columns dataset, time, observable, value",
                                 path, model->abi.observable_name[k]);
    return csv_need_column(reader, "value", column, error);
}

static enum status find_columns(const struct csv_reader *reader, const char *path, const struct model *model,
                                struct measurement_columns *columns, struct error *error)
{
    char hint[NEAREST_HINT];
    const char *names[N_MEASUREMENT] = {"dataset"}; /* all but the line, which is not a column of tables */
    for (int c = 0; c < MEASUREMENT_line; c++) {
        names[c + 1] = measurement_columns[c].name;
        columns->of[c] = csv_find_column(reader, measurement_columns[c].name);
    }
    columns->of[MEASUREMENT_line] = CSV_NO_COLUMN;
    enum status status = csv_need_column(reader, "time", &columns->of[MEASUREMENT_time], error);
    if (!status)
        status = need_value(reader, path, model, &columns->of[MEASUREMENT_value], error);
    if (status)
        return status;
    columns->dataset = find_id_column(reader);
    if (columns->dataset == CSV_NO_COLUMN)
        message_say("note: there is no column 'dataset': all rows are one dataset, 'data'");
    if (columns->of[MEASUREMENT_observable] == CSV_NO_COLUMN && model->abi.n_observable > 1)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: a column 'observable' is needed: the model has %u of them", path,
                         model->abi.n_observable);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        bool is_used = j == columns->dataset;
        for (int c = 0; c < N_MEASUREMENT; c++)
            is_used = is_used || j == columns->of[c];
        if (!is_used)
            message_say("note: %s: column '%.100s' is not used%s", path, csv_column_name(reader, j),
                        nearest_hint(hint, " (did you mean '", "'?)", csv_column_name(reader, j), names, N_MEASUREMENT));
    }
    return STATUS_OK;
}

static enum status find_observable(const struct csv_reader *reader, size_t column, const struct model *model,
                                   uint32_t *observable, struct error *error)
{
    const char *name = csv_field(reader, column);
    int found = model_find_observable(model, name);
    if (found >= 0) {
        *observable = (uint32_t)found;
        return STATUS_OK;
    }
    char hint[NEAREST_HINT];
    return csv_fault(reader, column, error, "the model has no observable '%.100s'%s", name,
                     nearest_hint(hint, "; did you mean '", "'?", name, model->abi.observable_name, model->abi.n_observable));
}

/* Accepts 0, 1 and -1 as in Monolix's and nlmixr's CENS, or words; an empty cell is not censored. */
static enum status find_censored(const struct csv_reader *reader, size_t column, int8_t *censored, struct error *error)
{
    static const struct { const char *word; int8_t side; } words[] = {
        {"", 0}, {"0", 0}, {"none", 0}, {"1", 1}, {"left", 1}, {"-1", -1}, {"right", -1}};
    const char *field = csv_field(reader, column);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcasecmp(field, words[k].word)) {
            *censored = words[k].side;
            return STATUS_OK;
        }
    return csv_fault(reader, column, error, "'%.40s' is not one of 0 or none, 1 or left (the measurement lies below its "
                     "value), -1 or right (above it)", field);
}

static enum status find_side(const struct csv_reader *reader, size_t column, int8_t *side, struct error *error)
{
    static const struct { const char *word; int8_t side; } words[] = {
        {"", 0}, {"0", 0}, {"-1", -1}, {"before", -1}, {"1", 1}, {"after", 1}};
    const char *field = csv_field(reader, column);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (!strcasecmp(field, words[k].word)) {
            *side = words[k].side;
            return STATUS_OK;
        }
    return csv_fault(reader, column, error, "'%.40s' is not one of -1 or before (all that happens at this time), 1 or after "
                     "(it), 0 (before doses, after everything else)", field);
}

void import_say_encoding(const struct csv_reader *reader, const char *path)
{
    if (csv_latin1_line(reader))
        message_say("note: %.300s:%llu: not UTF-8, read as Latin-1", path,
                    (unsigned long long)csv_latin1_line(reader));
}

void import_faults_add(struct import_faults *faults, const struct csv_reader *reader, size_t column, const char *what)
{
    if (faults->n++ == 0)
        csv_fault(reader, column, &faults->first, "%s", what);
}

/* As in problem_check.c: a row without a value counts as missing. */
static void check_row(const struct csv_reader *reader, const struct measurement_columns *columns,
                      const struct measurements *row, struct import_faults *faults)
{
    if (isnan(*row->value))
        return;
    if (!isfinite(*row->time))
        import_faults_add(faults, reader, columns->of[MEASUREMENT_time], "the time is missing or infinite");
    if (isinf(*row->value))
        import_faults_add(faults, reader, columns->of[MEASUREMENT_value],
                          "the value is infinite (leave it empty if it is missing)");
    if (*row->sigma <= 0 || isinf(*row->sigma))
        import_faults_add(faults, reader, columns->of[MEASUREMENT_sigma],
                          "sigma must be above 0 (leave it empty if it is not known)");
}

static enum status check_value(const struct csv_reader *reader, size_t column, struct error *error)
{
    const char *value = csv_field(reader, column);
    if (*value != '<' && *value != '>')
        return STATUS_OK;
    return csv_fault(reader, column, error, "'%.40s': write the limit alone, and %s in a column 'censored'", value,
                     *value == '<' ? "1 (it lies below)" : "-1 (it lies above)");
}

/* A number, unless it is a column of words. */
static enum status read_cell(const struct csv_reader *reader, size_t column, int which, const struct model *model,
                             const struct measurements *row, struct error *error)
{
    if (which == MEASUREMENT_observable)
        return find_observable(reader, column, model, row->observable, error);
    if (which == MEASUREMENT_censored)
        return find_censored(reader, column, row->censored, error);
    if (which == MEASUREMENT_side)
        return find_side(reader, column, row->side, error);
    enum status status = which == MEASUREMENT_value ? check_value(reader, column, error) : STATUS_OK;
    return status ? status : csv_number(reader, column, measurements_cell(row, (enum measurement_column)which, 0), error);
}

/* Makes room for twice as many rows. */
static enum status widen(struct import_rows *rows, struct error *error)
{
    size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
    void *block = malloc(measurements_bytes(MEASUREMENT_ALL, capacity));
    uint32_t *dataset = realloc(rows->dataset, capacity * sizeof *dataset);
    rows->dataset = dataset ? dataset : rows->dataset;
    if (!block || !dataset) {
        free(block);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", capacity);
    }
    struct measurements wider = measurements_place(MEASUREMENT_ALL, capacity, block);
    measurements_copy(&wider, 0, &rows->measured, 0, rows->n);
    free(rows->block);
    rows->block = block;
    rows->measured = wider;
    rows->capacity = capacity;
    return STATUS_OK;
}

static enum status read_row(const struct csv_reader *reader, const struct measurement_columns *columns,
                            const struct model *model, struct import_rows *rows, struct error *error)
{
    const char *id = columns->dataset == CSV_NO_COLUMN ? "data" : csv_field(reader, columns->dataset);
    if (!*id)
        return csv_fault(reader, columns->dataset, error, "the dataset's id is missing");
    enum status status = rows->n == rows->capacity ? widen(rows, error) : STATUS_OK;
    if (status)
        return status;
    const struct measurements row = measurements_from(&rows->measured, rows->n), none = {0};
    measurements_copy(&row, 0, &none, 0, 1);
    *row.line = (uint32_t)csv_line(reader);
    for (int c = 0; c < N_MEASUREMENT && !status; c++)
        if (columns->of[c] != CSV_NO_COLUMN)
            status = read_cell(reader, columns->of[c], c, model, &row, error);
    if (status)
        return status;
    check_row(reader, columns, &row, &rows->faults);
    uint32_t dataset = id_table_add(&rows->datasets, id);
    if (dataset == ID_NO_MEMORY)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u datasets", rows->datasets.n);
    rows->dataset[rows->n++] = dataset;
    return STATUS_OK;
}

enum status import_measurements(struct import_rows *rows, const char *path, const struct model *model,
                                struct error *error)
{
    struct csv_reader *reader = NULL;
    struct measurement_columns columns;
    bool more = true;
    enum status status = csv_open(&reader, path, error);
    if (!status)
        status = find_columns(reader, path, model, &columns, error);
    while (!status) {
        status = csv_next(reader, &more, error);
        if (status || !more)
            break;
        status = read_row(reader, &columns, model, rows, error);
    }
    if (!status)
        import_say_encoding(reader, path);
    csv_close(reader);
    if (!status && rows->n == 0)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: there are no measurements below its header", path);
    return status;
}

enum status import_sort(struct import_rows *rows, size_t **first, struct error *error)
{
    size_t n_dataset = rows->datasets.n;
    size_t *start = calloc(n_dataset + 2, sizeof *start);
    size_t *order = malloc((rows->n + 1) * sizeof *order);
    void *block = malloc(measurements_bytes(MEASUREMENT_ALL, rows->n));
    if (!start || !order || !block) {
        free(start);
        free(order);
        free(block);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", rows->n);
    }
    /* start[d + 1] is first a count, then the place of dataset d's next row, finally the first row of dataset d + 1. */
    for (size_t i = 0; i < rows->n; i++)
        start[rows->dataset[i] + 2]++;
    for (size_t d = 2; d < n_dataset + 2; d++)
        start[d] += start[d - 1];
    for (size_t i = 0; i < rows->n; i++)
        order[start[rows->dataset[i] + 1]++] = i;
    struct measurements sorted = measurements_place(MEASUREMENT_ALL, rows->n, block);
    measurements_pick(&sorted, &rows->measured, order, rows->n);
    free(order);
    free(rows->block);
    rows->block = block;
    rows->measured = sorted;
    rows->capacity = rows->n;
    *first = start;
    return STATUS_OK;
}

void import_rows_fini(struct import_rows *rows)
{
    id_table_fini(&rows->datasets);
    free(rows->block);
    free(rows->dataset);
    memset(rows, 0, sizeof *rows);
}

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

/* A table with starts must have them used: a misspelt parameter is an error, not a column to ignore. */
static enum status no_such_start(const char *name, const char *path, const struct model *model, struct error *error)
{
    const char *parameter = name + sizeof start_prefix - 1;
    char hint[NEAREST_HINT];
    nearest_hint(hint, "; did you mean '", "'?", parameter, model->abi.parameter_name, model->abi.n_parameter);
    return error_set(error, STATUS_BAD_PROBLEM, "%s: column '%.100s': the model has no parameter '%.100s'%s", path, name,
                     parameter, hint);
}

static enum status find_subject_columns(const struct csv_reader *reader, const char *path, const struct model *model,
                                struct import_subjects *subjects, struct column *columns, size_t *id_column,
                                struct error *error)
{
    char hint[NEAREST_HINT];
    *id_column = find_id_column(reader);
    if (*id_column == CSV_NO_COLUMN)
        return csv_need_column(reader, "dataset", id_column, error);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        columns[j] = identify(csv_column_name(reader, j), j == *id_column, model);
        subjects->has_t0 = subjects->has_t0 || columns[j].kind == COLUMN_T0;
        subjects->has_start = subjects->has_start || columns[j].kind == COLUMN_START;
        if (columns[j].kind == COLUMN_UNUSED && has_start_prefix(csv_column_name(reader, j)))
            return no_such_start(csv_column_name(reader, j), path, model, error);
        if (columns[j].kind == COLUMN_UNUSED)
            message_say("note: %s: column '%.100s' is not used%s", path, csv_column_name(reader, j),
                        nearest_hint(hint, " (nearest: '", "')", csv_column_name(reader, j), model->abi.covariate_name,
                                     model->abi.n_covariate));
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

static enum status read_subject(const struct csv_reader *reader, const struct column *columns, size_t dataset,
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

static enum status read_subjects(struct csv_reader *reader, const struct column *columns, size_t id_column,
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
        if ((status = read_subject(reader, columns, dataset, subjects, error)))
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
        status = find_subject_columns(reader, path, model, subjects, columns, &id_column, error);
    if (!status)
        status = allocate(subjects, datasets->n, model, start, error);
    if (!status)
        status = read_subjects(reader, columns, id_column, datasets, seen, subjects, error);
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
