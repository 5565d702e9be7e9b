/* Reads the tables of datasets and of experiments of `stiffit import`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "import/table.h"
#include "import/tables.h"
#include "import/well.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of numbers of a parameter; its name alone is a value at which it is held, where nothing
 * is fitted. */
enum { START, FIXED, BARE, N_OF_PARAMETER };
static const char *const prefix[N_OF_PARAMETER] = {"start_", "fixed_", ""};

/* One of the two tables while it is read. */
struct reading {
    struct import_table table;
    const struct model *model;
    struct import_subjects *subjects;
    /* cells: the first of the model's covariates, of its parameters, of the user's own columns */
    size_t covariate, parameter[N_OF_PARAMETER], own, t0, steady;
    unsigned char *seen;           /* datasets, or experiments */
    const uint32_t *order, *first; /* of import_owners_order */
};

static bool is_of_experiments(const struct reading *reading)
{
    return reading->table.ownership == IMPORT_BY_EXPERIMENT;
}

static bool has_column(const struct reading *reading, size_t cell)
{
    return reading->table.column[cell] != CSV_NO_COLUMN;
}

/* Lists the columns of n names; *has: whether there is one. */
static enum status list_names(struct reading *reading, const char *before,
                              const char *const *names, size_t n, bool *has, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n && !status; i++) {
        const struct import_column column = {.prefix = before, .name = names[i],
                                             .check = before ? NULL : import_check_covariate};
        status = import_table_list(&reading->table, &column, 1, error);
        *has = *has || (!status && has_column(reading, reading->table.n - 1));
    }
    return status;
}

static enum status list_columns(struct reading *reading, struct error *error)
{
    struct import_table *table = &reading->table;
    struct import_subjects *subjects = reading->subjects;
    const struct stiffit_model *abi = &reading->model->abi;
    const struct import_column others[] = {{.name = "t0", .is_time = true},
                                           {.name = "steady", .is_text = true}};
    bool has_covariate = false, has[N_OF_PARAMETER] = {false};
    enum status status =
        list_names(reading, NULL, abi->covariate_name, abi->n_covariate, &has_covariate, error);
    for (int k = 0; k < N_OF_PARAMETER && !status; k++) {
        reading->parameter[k] = table->n;
        if (!is_of_experiments(reading) && (k != BARE || !table->options->measurements))
            status = list_names(reading, prefix[k], abi->parameter_name, abi->n_parameter, &has[k],
                                error);
    }
    reading->t0 = table->n;
    reading->steady = table->n + 1;
    if (!status)
        status = import_table_list(table, others, is_of_experiments(reading) ? 2 : 1, error);
    reading->own = table->n;
    if (status)
        return status;
    subjects->has_t0 = subjects->has_t0 || has_column(reading, reading->t0);
    subjects->has_fixed = subjects->has_fixed || has[FIXED] || has[BARE];
    subjects->has_start = subjects->has_start || has[START] || subjects->has_fixed;
    if (is_of_experiments(reading))
        subjects->has_steady = has_column(reading, reading->steady);
    return STATUS_OK;
}

/* A table with starts must have them used: a misspelt parameter is an error, not a column to
 * ignore. */
static enum status check_parameter(const struct reading *reading, const char *name,
                                   struct error *error)
{
    const struct stiffit_model *abi = &reading->model->abi;
    for (int k = START; k <= FIXED; k++) {
        const char *parameter = name + strlen(prefix[k]);
        char hint[NEAREST_HINT];
        if (!strncmp(name, prefix[k], strlen(prefix[k])))
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: column '%.100s': the model has no parameter '%.100s'%s",
                             reading->table.path, name, parameter,
                             nearest_hint(hint, "; did you mean '", "'?", parameter,
                                          abi->parameter_name, abi->n_parameter));
    }
    return STATUS_OK;
}

/* The user's own columns of datasets are kept, also those of which ids are made. */
static enum status see_other(struct import_table *table, size_t j, void *context,
                             struct error *error)
{
    struct reading *reading = context;
    const struct stiffit_model *abi = &reading->model->abi;
    const char *name = csv_column_name(table->reader, j);
    const bool is_of_datasets = !is_of_experiments(reading),
               is_fitted = table->options->measurements != NULL;
    char hint[NEAREST_HINT];
    enum status status = is_of_datasets ? check_parameter(reading, name, error) : STATUS_OK;
    if (status)
        return status;
    if (is_of_datasets && is_fitted && *name) {
        const struct import_column column = {.name = name, .is_text = true};
        status = import_table_list(table, &column, 1, error);
        return status ? status : import_own_add(&reading->subjects->own, name, error);
    }
    if (csv_is_joined(table->reader, j))
        return STATUS_OK;
    const char *near = nearest_hint(hint, " (nearest: '", "')", name, abi->covariate_name,
                                    abi->n_covariate);
    if (!*near && is_of_datasets)
        near = nearest_hint(hint, " (nearest: '", "')", name, abi->parameter_name,
                            abi->n_parameter);
    import_say_unused_column(table->options, table->path, name, near);
    return STATUS_OK;
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

/* Puts a row's numbers to the experiments order[first] to order[end - 1]. */
static void put_constants(const struct reading *reading, const uint32_t *order, uint32_t first,
                          uint32_t end)
{
    const struct import_table *table = &reading->table;
    struct import_subjects *subjects = reading->subjects;
    const double t0 = table->cell[reading->t0];
    for (size_t i = 0; i < subjects->n_covariate; i++) {
        const size_t cell = reading->covariate + i;
        if (!has_column(reading, cell))
            continue;
        if (!isfinite(table->cell[cell]))
            import_faults_add(&subjects->faults, table->reader, table->column[cell],
                              "a covariate must be a number");
        for (uint32_t k = first; k < end; k++)
            subjects->covariate[order[k] * subjects->n_covariate + i] = table->cell[cell];
    }
    for (uint32_t k = first; k < end && !isnan(t0); k++)
        subjects->t0[order[k]] = t0;
}

static enum status put_dataset(const struct reading *reading, uint32_t dataset,
                               struct error *error)
{
    const struct import_table *table = &reading->table;
    struct import_subjects *subjects = reading->subjects;
    const size_t n = subjects->n_parameter;
    put_constants(reading, reading->order, reading->first[dataset], reading->first[dataset + 1]);
    for (int k = 0; k < N_OF_PARAMETER; k++)
        for (size_t cell = reading->parameter[k], i = 0; i < n && cell + i < reading->t0; i++) {
            if (isnan(table->cell[cell + i]))
                continue;
            subjects->start[dataset * n + i] = table->cell[cell + i];
            if (k != START)
                subjects->fixed[dataset * n + i] = 1;
        }
    enum status status = STATUS_OK;
    for (size_t i = 0; i < subjects->own.column.n && !status; i++)
        status = import_own_take(&subjects->own, i, dataset, table->reader,
                                 table->column[reading->own + i], error);
    return status;
}

/* A well of a grid without a plate: the datasets called like it on any plate. */
static enum status put_wells(const struct reading *reading, bool *found, struct error *error)
{
    const struct import_table *table = &reading->table;
    const char *id = csv_field(table->reader, table->owner.dataset);
    enum status status = STATUS_OK;
    *found = false;
    for (uint32_t d = 0; !status && d < table->owners->dataset.n; d++)
        if (!reading->seen[d] && well_means(id, table->owners->dataset.id[d])) {
            *found = true;
            reading->seen[d] = 1;
            status = put_dataset(reading, d, error);
        }
    return status;
}

static const char *name_of(const struct reading *reading, uint32_t owner)
{
    const struct import_owners *owners = reading->table.owners;
    return is_of_experiments(reading) ? import_experiment_id(owners, owner)
                                      : owners->dataset.id[owner];
}

static const char *const what[] = {"dataset", "experiment"};

static enum status read_row(struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    struct reading *reading = context;
    struct import_subjects *subjects = reading->subjects;
    const bool of_experiments = is_of_experiments(reading);
    bool found = false;
    if (owner == ID_NONE && table->is_made) {
        enum status status = put_wells(reading, &found, error);
        if (status || found)
            return status;
    }
    if (owner == ID_NONE) {
        subjects->n_unused[of_experiments]++;
        return STATUS_OK;
    }
    if (reading->seen[owner]++)
        return csv_fault(table->reader,
                         of_experiments ? table->owner.experiment : table->owner.dataset, error,
                         "%s '%.100s' appears twice", what[of_experiments],
                         name_of(reading, owner));
    if (!of_experiments)
        return put_dataset(reading, owner, error);
    const struct import_owners *owners = table->owners;
    const char *source = import_table_text(table, reading->steady);
    put_constants(reading, &owner, 0, 1);
    if (*source)
        subjects->steady[owner] =
            import_owner_find(owners, owners->dataset.id[owners->dataset_of[owner]], source);
    return STATUS_OK;
}

static enum status check_complete(const struct reading *reading, struct error *error)
{
    const struct import_owners *owners = reading->table.owners;
    const uint32_t n = is_of_experiments(reading) ? owners->experiment.n : owners->dataset.n;
    for (uint32_t k = 0; k < n; k++)
        if (!reading->seen[k])
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: %s '%.100s' has measurements or is a steady state, but "
                             "has no row here: add one",
                             reading->table.path, what[is_of_experiments(reading)],
                             name_of(reading, k));
    return STATUS_OK;
}

static enum status skip_column(struct import_table *table, size_t j, void *context,
                               struct error *error)
{
    (void)table, (void)j, (void)context, (void)error;
    return STATUS_OK;
}

static void say_nothing(const char *format, ...) { (void)format; }

static enum status add_source(struct import_table *table, uint32_t owner, void *context,
                              struct error *error)
{
    struct import_owners *owners = table->owners;
    const char *source = import_table_text(table, 0);
    (void)context;
    if (owner == ID_NONE || !*source)
        return STATUS_OK;
    return import_owner_add(owners, owners->dataset.id[owners->dataset_of[owner]], source) ==
                   ID_NO_MEMORY
               ? error_set(error, STATUS_NO_MEMORY, "out of memory for %u experiments",
                           owners->experiment.n)
               : STATUS_OK;
}

enum status import_steady_read(struct import_rows *rows, const struct import_options *options,
                               const struct stiffit_model *abi, struct error *error)
{
    const struct import_column steady = {.name = "steady", .is_text = true};
    struct import_options silent = *options; /* the second reading says what there is to say */
    struct import_table table = {.options = &silent,
                                 .path = options->experiments,
                                 .form = FORM_TABLE,
                                 .ownership = IMPORT_BY_EXPERIMENT,
                                 .owners = &rows->owners,
                                 .abi = abi,
                                 .other = skip_column,
                                 .row = add_source};
    silent.say = say_nothing;
    enum status status = import_table_open(&table, error);
    if (!status)
        status = import_table_list(&table, &steady, 1, error);
    if (!status && table.column[0] != CSV_NO_COLUMN)
        status = import_table_read(&table, error);
    import_table_close(&table);
    return status;
}

/* Every covariate of the model must be in a table. */
static enum status check_covariates(struct reading *readings, int n,
                                    const struct stiffit_model *abi, struct error *error)
{
    for (size_t i = 0; i < abi->n_covariate; i++) {
        bool has = false;
        for (int k = 0; k < n; k++)
            has = has || has_column(&readings[k], readings[k].covariate + i);
        if (!has && n == 0)
            return error_set(error, STATUS_USAGE,
                             "the model has covariates (%s%s): give a table of them with "
                             "--datasets",
                             abi->covariate_name[0], abi->n_covariate > 1 ? ", ..." : "");
        if (!has)
            import_need(&readings[0].table.lacks, readings[0].table.reader, abi->covariate_name[i],
                        "it is a covariate of the model");
    }
    return STATUS_OK;
}

static enum status open_table(struct reading *reading, struct error *error)
{
    const struct import_owners *owners = reading->table.owners;
    const uint32_t n = is_of_experiments(reading) ? owners->experiment.n : owners->dataset.n;
    enum status status = import_table_open(&reading->table, error);
    if (status)
        return status;
    reading->table.context = reading;
    reading->seen = calloc((size_t)n + 1, 1);
    return reading->seen ? list_columns(reading, error)
                         : error_set(error, STATUS_NO_MEMORY, "out of memory for the table %s",
                                     reading->table.path);
}

enum status import_subjects_read(struct import_subjects *subjects,
                                 const struct import_options *options,
                                 struct import_owners *owners, const struct model *model,
                                 const double *start, const unsigned char *fixed,
                                 struct error *error)
{
    const struct { const char *path; enum import_form form; enum import_ownership ownership;
    } tables[] = {{options->datasets, FORM_LAYOUT, IMPORT_BY_DATASET},
                  {options->experiments, FORM_TABLE, IMPORT_BY_EXPERIMENT}};
    struct reading readings[2];
    uint32_t *order = NULL, *first = NULL;
    int n = 0;
    enum status status = import_owners_order(owners, &order, &first, error);
    subjects->own.n_dataset = owners->dataset.n;
    for (int k = 0; k < 2 && !status; k++) {
        if (!tables[k].path)
            continue;
        readings[n] = (struct reading){.table = {.options = options,
                                                 .path = tables[k].path,
                                                 .form = tables[k].form,
                                                 .ownership = tables[k].ownership,
                                                 .owners = owners,
                                                 .abi = &model->abi,
                                                 .other = see_other,
                                                 .row = read_row},
                                       .model = model,
                                       .subjects = subjects,
                                       .order = order,
                                       .first = first};
        status = open_table(&readings[n++], error);
    }
    if (!status)
        status = check_covariates(readings, n, &model->abi, error);
    if (!status)
        status = allocate(subjects, owners, model, start, fixed, error);
    for (int k = 0; k < n && !status; k++) {
        status = import_table_read(&readings[k].table, error);
        if (!status)
            status = check_complete(&readings[k], error);
    }
    import_own_end(&subjects->own);
    for (int k = 0; k < n; k++) {
        import_table_close(&readings[k].table);
        free(readings[k].seen);
    }
    free(order);
    free(first);
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
