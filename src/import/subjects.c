/* Reads the tables of datasets and of experiments of `stiffit import`; faults are reported with
 * file, line and column.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/open.h"
#include "import/tables.h"
#include "import/well.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a column fills: its kind, and the covariate or parameter. */
enum subject_kind {
    COLUMN_ID,
    COLUMN_T0,
    COLUMN_COVARIATE,
    COLUMN_START,
    COLUMN_FIXED,
    COLUMN_STEADY,
    COLUMN_OWN,
    COLUMN_UNUSED
};
struct column {
    enum subject_kind kind;
    size_t index;
};

static const char steady_column[] = "steady";

/* A column of numbers of a parameter: "start_NAME", "fixed_NAME". */
static const struct {
    enum subject_kind kind;
    const char *prefix;
} of_parameters[] = {{COLUMN_START, "start_"}, {COLUMN_FIXED, "fixed_"}};

/* Behind the prefix; NULL: it has none. */
static const char *parameter_of(const char *name, enum subject_kind *kind)
{
    for (size_t i = 0; i < sizeof of_parameters / sizeof *of_parameters; i++)
        if (!strncmp(name, of_parameters[i].prefix, strlen(of_parameters[i].prefix))) {
            *kind = of_parameters[i].kind;
            return name + strlen(of_parameters[i].prefix);
        }
    return NULL;
}

/* bare: a parameter's name alone is a value at which it is held. */
static struct column identify(const char *name, bool is_id, bool has_starts, bool bare,
                              const struct model *model)
{
    struct column column = {COLUMN_UNUSED, 0};
    enum subject_kind kind = COLUMN_UNUSED;
    int covariate = model_find_covariate(model, name);
    const char *of = has_starts ? parameter_of(name, &kind) : NULL;
    int parameter = of ? model_find_parameter(model, of) : -1;
    if (!of && bare && has_starts && (parameter = model_find_parameter(model, name)) >= 0)
        kind = COLUMN_FIXED;
    if (is_id)
        column.kind = COLUMN_ID;
    else if (covariate >= 0)
        column = (struct column){COLUMN_COVARIATE, (size_t)covariate};
    else if (parameter >= 0)
        column = (struct column){kind, (size_t)parameter};
    else if (!strcmp(name, "t0") || !strcmp(name, "T0"))
        column.kind = COLUMN_T0;
    else if (!has_starts && !strcmp(name, steady_column))
        column.kind = COLUMN_STEADY;
    return column;
}

/* A table with starts must have them used: a misspelt parameter is an error, not a column to
 * ignore. */
static enum status no_such_parameter(const char *name, const char *parameter, const char *path,
                                     const struct model *model, struct error *error)
{
    char hint[NEAREST_HINT];
    nearest_hint(hint, "; did you mean '", "'?", parameter, model->abi.parameter_name,
                 model->abi.n_parameter);
    return error_set(error, STATUS_BAD_PROBLEM,
                     "%s: column '%.100s': the model has no parameter '%.100s'%s", path, name,
                     parameter, hint);
}

/* One of the two tables. */
struct table {
    const char *path;
    bool of_experiments, is_layout; /* is_layout: the plate's grid */
    struct csv_reader *reader;
    struct import_owner_columns owner;
    struct column *column;
    unsigned char *seen; /* datasets, or experiments */
};

static enum status find_columns(struct table *table, const struct import_options *options,
                                const struct import_owners *owners, const struct model *model,
                                struct import_subjects *subjects, bool *has_covariate,
                                struct error *error)
{
    char hint[NEAREST_HINT];
    const struct csv_reader *reader = table->reader;
    enum status status = table->of_experiments
                             ? import_find_owner(reader, table->path, owners, &table->owner, error)
                             : STATUS_OK;
    if (!table->of_experiments) {
        table->owner =
            (struct import_owner_columns){csv_find_column(reader, "dataset"), CSV_NO_COLUMN};
        if (table->owner.dataset == CSV_NO_COLUMN)
            table->owner.dataset = csv_find_column(reader, "id");
        if (table->owner.dataset == CSV_NO_COLUMN)
            status = csv_need_column(reader, "dataset", &table->owner.dataset, error);
    }
    for (size_t j = 0; j < csv_n_column(reader) && !status; j++) {
        const char *name = csv_column_name(reader, j);
        bool is_id = j == table->owner.dataset || j == table->owner.experiment;
        struct column column = table->column[j] =
            identify(name, is_id, !table->of_experiments, !options->measurements, model);
        subjects->has_t0 = subjects->has_t0 || column.kind == COLUMN_T0;
        subjects->has_fixed = subjects->has_fixed || column.kind == COLUMN_FIXED;
        subjects->has_start =
            subjects->has_start || column.kind == COLUMN_START || column.kind == COLUMN_FIXED;
        subjects->has_steady = subjects->has_steady || column.kind == COLUMN_STEADY;
        if (column.kind == COLUMN_COVARIATE)
            has_covariate[column.index] = true;
        enum subject_kind kind;
        if (column.kind == COLUMN_UNUSED && !table->of_experiments && parameter_of(name, &kind))
            return no_such_parameter(name, parameter_of(name, &kind), table->path, model, error);
        if (column.kind != COLUMN_UNUSED)
            continue;
        if (options->measurements && !table->of_experiments && *name) {
            table->column[j] = (struct column){COLUMN_OWN, subjects->own.column.n};
            status = import_own_add(&subjects->own, name, error);
            continue;
        }
        const char *near = nearest_hint(hint, " (nearest: '", "')", name,
                                        model->abi.covariate_name, model->abi.n_covariate);
        if (!*near && !options->measurements && !table->of_experiments)
            near = nearest_hint(hint, " (nearest: '", "')", name, model->abi.parameter_name,
                                model->abi.n_parameter);
        import_say_unused_column(options, table->path, name, near);
    }
    return status;
}

static enum status allocate(struct import_subjects *subjects, const struct import_owners *owners,
                            const struct model *model, const double *start,
                            const unsigned char *fixed, struct error *error)
{
    size_t n_dataset = owners->dataset.n, n = owners->experiment.n;
    subjects->n_covariate = model->abi.n_covariate;
    subjects->n_parameter = model->abi.n_parameter;
    subjects->t0 = malloc((n + 1) * sizeof(double));
    subjects->covariate = calloc(n * subjects->n_covariate + 1, sizeof(double));
    subjects->steady = subjects->has_steady ? malloc((n + 1) * sizeof *subjects->steady) : NULL;
    subjects->start = subjects->has_start
                          ? malloc((n_dataset * subjects->n_parameter + 1) * sizeof(double))
                          : NULL;
    subjects->fixed = subjects->has_fixed ? malloc(n_dataset * subjects->n_parameter + 1) : NULL;
    if (!subjects->t0 || !subjects->covariate || (subjects->has_steady && !subjects->steady) ||
        (subjects->has_start && !subjects->start) || (subjects->has_fixed && !subjects->fixed))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu datasets", n_dataset);
    for (size_t e = 0; e < n; e++) {
        subjects->t0[e] = model->abi.t0;
        if (subjects->steady)
            subjects->steady[e] = ID_NONE;
    }
    for (size_t d = 0; subjects->has_start && d < n_dataset; d++)
        memcpy(subjects->start + d * subjects->n_parameter, start,
               subjects->n_parameter * sizeof *start);
    for (size_t d = 0; subjects->has_fixed && d < n_dataset; d++)
        memcpy(subjects->fixed + d * subjects->n_parameter, fixed, subjects->n_parameter);
    return STATUS_OK;
}

/* Puts a row's numbers to the experiments order[first] to order[end - 1], and to the dataset. */
static enum status read_subject(const struct table *table, uint32_t dataset, const uint32_t *order,
                                uint32_t first, uint32_t end, struct import_subjects *subjects,
                                struct error *error)
{
    const struct csv_reader *reader = table->reader;
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        const struct column column = table->column[j];
        double number;
        if (column.kind == COLUMN_ID || column.kind == COLUMN_UNUSED ||
            column.kind == COLUMN_STEADY)
            continue;
        enum status status = column.kind == COLUMN_OWN
                                 ? import_own_take(&subjects->own, column.index, dataset, reader,
                                                   j, error)
                                 : csv_number(reader, j, &number, error);
        if (status)
            return status;
        if (column.kind == COLUMN_OWN)
            continue;
        if (column.kind == COLUMN_COVARIATE && !isfinite(number))
            import_faults_add(&subjects->faults, reader, j, "a covariate must be a number");
        if ((column.kind == COLUMN_START || column.kind == COLUMN_FIXED) && !isnan(number))
            subjects->start[dataset * subjects->n_parameter + column.index] = number;
        if (column.kind == COLUMN_FIXED && !isnan(number))
            subjects->fixed[dataset * subjects->n_parameter + column.index] = 1;
        for (uint32_t k = first; k < end; k++)
            if (column.kind == COLUMN_COVARIATE)
                subjects->covariate[order[k] * subjects->n_covariate + column.index] = number;
            else if (column.kind == COLUMN_T0 && !isnan(number))
                subjects->t0[order[k]] = number;
    }
    return STATUS_OK;
}

/* The experiment at whose steady state the one of this row begins; ID_NONE: the cell is empty. */
static uint32_t find_source(const struct csv_reader *reader, size_t column,
                            const struct import_owners *owners, uint32_t owner)
{
    const char *name = csv_field(reader, column);
    return *name ? import_owner_find(owners, owners->dataset.id[owners->dataset_of[owner]], name)
                 : ID_NONE;
}

enum status import_steady_read(struct import_rows *rows, const struct import_options *options,
                               const struct stiffit_model *abi, struct error *error)
{
    struct csv_reader *reader = NULL;
    struct import_owner_columns columns;
    bool more = true;
    const char *path = options->experiments;
    enum status status = import_open(&reader, path, FORM_TABLE, options, abi, NULL, error);
    size_t column = status ? CSV_NO_COLUMN : csv_find_column(reader, steady_column);
    if (column != CSV_NO_COLUMN)
        status = import_find_owner(reader, path, &rows->owners, &columns, error);
    while (!status && column != CSV_NO_COLUMN && !(status = csv_next(reader, &more, error)) &&
           more) {
        uint32_t owner = import_row_owner(reader, &rows->owners, &columns);
        const char *name = csv_field(reader, column);
        if (owner != ID_NONE && *name &&
            import_owner_add(&rows->owners, rows->owners.dataset.id[rows->owners.dataset_of[owner]],
                             name) == ID_NO_MEMORY)
            status = error_set(error, STATUS_NO_MEMORY, "out of memory for %u experiments",
                               rows->owners.experiment.n);
    }
    csv_close(reader);
    return status;
}

/* A well of a grid without a plate: the datasets called like it on any plate. */
static enum status read_wells(struct table *table, const struct import_owners *owners,
                              const uint32_t *order, const uint32_t *first,
                              struct import_subjects *subjects, bool *found, struct error *error)
{
    const char *id = csv_field(table->reader, table->owner.dataset);
    enum status status = STATUS_OK;
    *found = false;
    for (uint32_t d = 0; !status && d < owners->dataset.n; d++)
        if (!table->seen[d] && well_means(id, owners->dataset.id[d])) {
            *found = true;
            table->seen[d] = 1;
            status = read_subject(table, d, order, first[d], first[d + 1], subjects, error);
        }
    return status;
}

static enum status read_rows(struct table *table, const struct import_owners *owners,
                             struct import_subjects *subjects, struct error *error)
{
    uint32_t *order = NULL, *first = NULL;
    bool more = true, found = false;
    enum status status = import_owners_order(owners, &order, &first, error);
    while (!status && !(status = csv_next(table->reader, &more, error)) && more) {
        uint32_t owner =
            table->of_experiments
                ? import_row_owner(table->reader, owners, &table->owner)
                : id_table_find(&owners->dataset, csv_field(table->reader, table->owner.dataset));
        if (owner == ID_NONE && table->is_layout &&
            (status = read_wells(table, owners, order, first, subjects, &found, error))) {
            break;
        } else if (owner == ID_NONE && table->is_layout && found) {
            continue;
        } else if (owner == ID_NONE) {
            subjects->n_unused[table->of_experiments]++;
        } else if (table->seen[owner]++) {
            status =
                csv_fault(table->reader,
                          table->of_experiments ? table->owner.experiment : table->owner.dataset,
                          error, "%s '%.100s' appears twice",
                          table->of_experiments ? "experiment" : "dataset",
                          table->of_experiments ? import_experiment_id(owners, owner)
                                                : owners->dataset.id[owner]);
        } else if (table->of_experiments) {
            status = read_subject(table, 0, &owner, 0, 1, subjects, error);
            for (size_t j = 0; subjects->steady && j < csv_n_column(table->reader); j++)
                if (table->column[j].kind == COLUMN_STEADY)
                    subjects->steady[owner] = find_source(table->reader, j, owners, owner);
        } else {
            status =
                read_subject(table, owner, order, first[owner], first[owner + 1], subjects, error);
        }
    }
    free(order);
    free(first);
    return status;
}

static enum status check_complete(const struct table *table, const struct import_owners *owners,
                                  struct error *error)
{
    const struct id_table *ids = table->of_experiments ? &owners->experiment : &owners->dataset;
    for (uint32_t k = 0; k < ids->n; k++)
        if (!table->seen[k])
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: %s '%.100s' has measurements or is a steady state, but "
                             "has no row here: add one",
                             table->path, table->of_experiments ? "experiment" : "dataset",
                             table->of_experiments ? import_experiment_id(owners, k) : ids->id[k]);
    return STATUS_OK;
}

static void close_table(struct table *table)
{
    csv_close(table->reader);
    free(table->column);
    free(table->seen);
}

static enum status open_table(struct table *table, const struct import_options *options,
                              const struct stiffit_model *abi, const struct import_owners *owners,
                              struct error *error)
{
    size_t n = table->of_experiments ? owners->experiment.n : owners->dataset.n;
    enum status status =
        import_open(&table->reader, table->path, table->of_experiments ? FORM_TABLE : FORM_LAYOUT,
                    options, abi, &table->is_layout, error);
    if (status)
        return status;
    table->seen = calloc(n + 1, 1);
    table->column = calloc(csv_n_column(table->reader) + 1, sizeof *table->column);
    return table->seen && table->column
               ? STATUS_OK
               : error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s", table->path);
}

/* Every covariate of the model must be in a table. */
static enum status check_covariates(const struct import_options *options, const struct model *model,
                                    const bool *has_covariate, struct error *error)
{
    for (size_t i = 0; i < model->abi.n_covariate; i++)
        if (!has_covariate[i] && !options->datasets && !options->experiments)
            return error_set(error, STATUS_USAGE,
                             "the model has covariates (%s%s): give a table of them with "
                             "--datasets",
                             model->abi.covariate_name[0],
                             model->abi.n_covariate > 1 ? ", ..." : "");
        else if (!has_covariate[i])
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: a column '%s' is needed: it is a covariate of the model",
                             options->datasets ? options->datasets : options->experiments,
                             model->abi.covariate_name[i]);
    return STATUS_OK;
}

enum status import_subjects_read(struct import_subjects *subjects,
                                 const struct import_options *options,
                                 const struct import_owners *owners, const struct model *model,
                                 const double *start, const unsigned char *fixed,
                                 struct error *error)
{
    struct table table[2] = {{.path = options->datasets},
                             {.path = options->experiments, .of_experiments = true}};
    bool *has_covariate = calloc(model->abi.n_covariate + 1, sizeof *has_covariate);
    enum status status =
        has_covariate ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory");
    for (int k = 0; k < 2 && !status; k++)
        if (table[k].path && !(status = open_table(&table[k], options, &model->abi, owners, error)))
            status =
                find_columns(&table[k], options, owners, model, subjects, has_covariate, error);
    if (!status)
        status = check_covariates(options, model, has_covariate, error);
    if (!status)
        status = allocate(subjects, owners, model, start, fixed, error);
    if (!status)
        status = import_own_begin(&subjects->own, owners->dataset.n, error);
    for (int k = 0; k < 2 && !status; k++) {
        if (!table[k].path)
            continue;
        status = read_rows(&table[k], owners, subjects, error);
        if (!status)
            status = check_complete(&table[k], owners, error);
        if (!status)
            import_say_reading(options, table[k].reader, table[k].path);
    }
    import_own_end(&subjects->own);
    close_table(&table[0]);
    close_table(&table[1]);
    free(has_covariate);
    return status;
}

void import_subjects_fini(struct import_subjects *subjects)
{
    free(subjects->t0);
    free(subjects->covariate);
    free(subjects->start);
    free(subjects->fixed);
    free(subjects->steady);
    import_own_fini(&subjects->own);
    memset(subjects, 0, sizeof *subjects);
}
