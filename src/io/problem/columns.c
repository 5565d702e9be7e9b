/* Opens the columns of a problem file in one pass, and checks what they are. Reads only lists of
 * names and what is common to all datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem/internal.h"

#include "base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 }; /* numbers read at once */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void check_unique(struct problem *problem, const char *path, size_t n,
                         const char *const *names)
{
    const char **sorted = arena_calloc(&problem->arena, n + 1, sizeof *sorted);
    if (!sorted)
        return;
    memcpy(sorted, names, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 0; i + 1 < n; i++)
        if (strcmp(sorted[i], sorted[i + 1]) == 0)
            faults_add(&problem->faults, "%s: \"%.100s\" appears more than once", path, sorted[i]);
    for (size_t i = 0; i < n; i++)
        if (!*names[i])
            faults_add(&problem->faults, "%s row %zu: is empty", path, i);
}

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

/* A column that the file may have, and where it goes: it stays open, or it is a short list of
 * texts, which are read at once. */
struct place {
    char path[64];
    struct hdf5_column *column;
    size_t *n;
    const char *const **texts;
    bool are_names; /* distinct, and not empty */
    bool is_table;  /* more than a vector, of which 1 x N becomes N x 1 */
};
enum { MOST_PLACES = 128 };
struct places {
    size_t n;
    struct place place[MOST_PLACES];
};

static struct place *add_place(struct places *places, const char *group, const char *name)
{
    struct place *place = &places->place[places->n++];
    *place = (struct place){.n = NULL};
    snprintf(place->path, sizeof place->path, "%s%s%s", group, *name ? "/" : "", name);
    return place;
}

static struct place *add_column(struct places *places, const char *group, const char *name,
                                struct hdf5_column *column)
{
    struct place *place = add_place(places, group, name);
    place->column = column;
    return place;
}

static void add_texts(struct places *places, const char *group, const char *name, size_t *n,
                      const char *const **texts, bool are_names)
{
    struct place *place = add_place(places, group, name);
    place->n = n;
    place->texts = texts;
    place->are_names = are_names;
}

static void add_owners(struct places *places, struct problem_owners *owners, bool of_experiments)
{
#define COLUMN(field, ...) &owners->field,
    struct hdf5_column *const column[] = {CONSTANT_LIST(COLUMN)};
#undef COLUMN
    for (int c = 0; c < N_CONSTANT; c++)
        if (constant_columns[c].by_dataset || of_experiments)
            add_column(places, owners->path, constant_columns[c].name, column[c])->is_table =
                constant_columns[c].width != 1;
    add_texts(places, owners->path, "covariate_names", &owners->n_covariate,
              &owners->covariate_name, true);
}

static void add_stream(struct places *places, struct problem_stream *stream)
{
    const char *const owner[] = {"dataset", "experiment"};
    add_column(places, stream->path, owner[stream->of_experiments], &stream->owner);
    if (stream->info)
        add_column(places, stream->path, owner[!stream->of_experiments], &stream->dataset);
    for (size_t i = 0; i < stream->n_info; i++) {
        struct problem_field *field = &stream->field[i];
        add_column(places, stream->info[i].path, "", &field->column);
        if (stream->info[i].names)
            add_texts(places, stream->info[i].names, "", &field->n_name, &field->name, true);
    }
}

static void add_parameters(struct places *places, struct problem_table *table)
{
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        if (parameter_columns[c].kind == COLUMN_TEXT)
            add_texts(places, parameter_columns[c].path, "", &table[c].n, &table[c].text,
                      c == PARAMETER_name);
        else
            add_column(places, parameter_columns[c].path, "", &table[c].column)->is_table =
                parameter_columns[c].by_dataset || parameter_columns[c].width > 1;
}

static void read_texts(struct problem *problem, const struct place *place,
                       struct hdf5_column *column)
{
    struct error fault = {0};
    if (column->width != 1) {
        faults_add(&problem->faults, "%s: is %" PRIu64 " x %" PRIu64 "; one column is expected",
                   place->path, column->n_row, column->width);
    } else if (column->n_row > PROBLEM_MAX_PARAMETER) {
        faults_add(&problem->faults, "%s: has %" PRIu64 " entries; at most %d are supported",
                   place->path, column->n_row, PROBLEM_MAX_PARAMETER);
    } else {
        size_t n = (size_t)column->n_row;
        char **texts = arena_calloc(&problem->arena, n + 1, sizeof *texts);
        if (texts && hdf5_column_read_strings(column, 0, n, PROBLEM_MAX_NAME, &problem->arena,
                                              texts, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
        else if (texts && utf8_make_valid(&problem->arena, n, texts)) {
            *place->n = n;
            *place->texts = (const char *const *)texts;
        }
    }
}

/* Opens and reads what is there. */
static void open_places(struct problem *problem, const struct places *places)
{
    for (size_t i = 0; i < places->n; i++) {
        const struct place *place = &places->place[i];
        struct hdf5_column texts = {0}, *column = place->texts ? &texts : place->column;
        struct error fault = {0};
        if (hdf5_kind(&problem->file, place->path) == HDF5_ABSENT)
            continue;
        if (hdf5_column_open(column, &problem->file, place->path, &fault)) {
            faults_add_error(&problem->faults, problem->file.path, &fault);
            continue;
        }
        if (!place->is_table)
            hdf5_column_as_vector(column);
        if (place->texts) {
            read_texts(problem, place, column);
            hdf5_column_close(column);
            if (place->are_names && *place->n)
                check_unique(problem, place->path, *place->n, *place->texts);
        }
    }
}

/* Whether the file has it, perhaps with a fault. */
static bool is_there(const struct hdf5_column *column) { return column->file; }

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
static void check_ids(struct problem *problem, struct problem_owners *owners, bool is_needed)
{
    char path[64];
    struct hdf5_column *id = &owners->id;
    join(path, owners->path, "id");
    if (!is_there(id)) {
        if (is_needed)
            faults_add(&problem->faults,
                       "%s is missing: one name for each dataset (as strings, all different)",
                       path);
        return;
    }
    if (!id->dataset)
        return;
    if (id->width != 1)
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
static void check_owners(struct problem *problem, struct problem_owners *owners)
{
    char path[64], names[64];
    const char *const what = owners->path + 1;
    struct faults *faults = &problem->faults;
    join(names, owners->path, "covariate_names");
    join(path, owners->path, "covariates");
    struct hdf5_column *covariate = &owners->covariate, *t0 = &owners->t0;
    bool has_covariates = covariate->dataset;
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
    join(path, owners->path, "t0");
    if (!t0->dataset)
        return;
    if (t0->width != 1 || (t0->n_row != 1 && t0->n_row != n))
        faults_add(faults,
                   "%s: has %" PRIu64 " values; one is expected, or one for each of %" PRIu64 " %s",
                   path, t0->n_row * t0->width, n, what);
    else if (!is_number(t0))
        faults_add(faults, "%s: must be numbers", path);
}

/* The experiments at whose steady states others begin. */
static void check_steady(struct problem *problem)
{
    static const char path[] = "/experiments/steady";
    struct hdf5_column *steady = &problem->owners[1].steady;
    uint64_t n = problem->owners[1].n;
    if (!steady->dataset)
        return;
    if (steady->width != 1 || steady->n_row != n)
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
static void check_row_column(struct problem *problem, const char *path, bool is_needed,
                             bool takes_names, struct hdf5_column *column,
                             const struct hdf5_column **longest)
{
    struct faults *faults = &problem->faults;
    if (is_needed && !is_there(column))
        faults_add(faults, "%s is missing", path);
    if (!column->dataset)
        return;
    if (!is_number(column) && !(takes_names && problem_has_names(column)))
        faults_add(faults, "%s: must be numbers%s", path, takes_names ? " or names" : "");
    if (column->width != 1)
        faults_add(faults, "%s: is %" PRIu64 " x %" PRIu64 "; one column is expected", path,
                   column->n_row, column->width);
    else if (*longest && column->n_row != (*longest)->n_row)
        faults_add(faults, "%s: has %" PRIu64 " rows, but %s has %" PRIu64, path, column->n_row,
                   (*longest)->path, (*longest)->n_row);
    if (!*longest)
        *longest = column;
}

/* The column of the datasets or experiments to which rows belong. */
static void check_owner(struct problem *problem, struct problem_stream *stream, bool is_needed,
                        const struct hdf5_column **longest)
{
    char path[64], other[64];
    join(path, stream->path, stream->of_experiments ? "experiment" : "dataset");
    join(other, stream->path, stream->of_experiments ? "dataset" : "experiment");
    const bool has_other = is_there(&stream->dataset);
    if (has_other && !stream->of_experiments) {
        faults_add(&problem->faults, "%s: the file has no /experiments; use %s", other, path);
        return;
    }
    check_row_column(problem, path, is_needed && !has_other, true, &stream->owner, longest);
    if (has_other && problem_has_names(&stream->owner)) {
        check_row_column(problem, other, false, true, &stream->dataset, longest);
    } else if (has_other) {
        faults_add(&problem->faults, "%s: the file has /experiments, to which rows belong; use %s",
                   other, path);
    }
    if (stream->of_experiments && problem_has_names(&stream->owner) &&
        !problem->owners[1].id.dataset)
        faults_add(&problem->faults, "%s: has names, but there is no /experiments/id", path);
}

/* The names that an index may mean: those of the list or, without one, those that the column itself
 * has. */
static void settle_names(struct problem *problem, const struct column_info *info,
                         struct problem_field *field)
{
    struct error fault = {0};
    enum status status = STATUS_OK;
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

static void check_stream(struct problem *problem, struct problem_stream *stream)
{
    bool is_needed = stream->is_there ||
                     (stream->info == measurement_columns && problem->owners[0].n > 0);
    const struct hdf5_column *longest = NULL;
    check_owner(problem, stream, is_needed, &longest);
    for (size_t i = 0; i < stream->n_info; i++) {
        const struct column_info *info = &stream->info[i];
        struct problem_field *field = &stream->field[i];
        check_row_column(problem, info->path, is_needed && info->presence == COLUMN_NEEDED,
                         info->names, &field->column, &longest);
        if (info->names)
            settle_names(problem, info, field);
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

/* Numbers of which all datasets have the same. */
static void read_numbers(struct problem *problem, const struct column_info *info,
                         struct problem_table *table)
{
    struct hdf5_column *column = &table->column;
    uint64_t a = column->n_row, b = column->width;
    struct error fault = {0};
    if (info->width == 1 && (b != 1 || column->n_row > PROBLEM_MAX_PARAMETER))
        faults_add(&problem->faults,
                   "%s: is %" PRIu64 " x %" PRIu64 "; one number per parameter is expected, the "
                                                   "same for "
                   "all datasets",
                   info->path, a, b);
    else if (column->width == info->width && column->n_row <= PROBLEM_MAX_PARAMETER &&
             (table->vector = arena_calloc(&problem->arena, column->n_row + 1,
                                            info->width * sizeof *table->vector)) &&
             hdf5_column_read_double(column, 0, (size_t)column->n_row, table->vector, &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    table->n = (size_t)column->n_row;
}

void problem_open_datasets(struct problem *problem)
{
    struct places places = {.n = 0};
    problem->owners[0] = (struct problem_owners){.path = "/datasets"};
    add_owners(&places, &problem->owners[0], false);
    open_places(problem, &places);
    check_ids(problem, &problem->owners[0], true);
    check_owners(problem, &problem->owners[0]);
}

void problem_open_all(struct problem *problem)
{
    struct problem_info *info = &problem->info;
    struct places places = {.n = 0};
    problem->owners[0] = (struct problem_owners){.path = "/datasets"};
    problem->owners[1] = (struct problem_owners){.path = "/experiments"};
    problem->has_experiments = hdf5_kind(&problem->file, "/experiments") == HDF5_GROUP;
    add_column(&places, "/model", "plugin", &problem->plugin);
    add_column(&places, "/model", "source", &problem->source);
    add_parameters(&places, problem->table);
    for (int k = 0; k < 2; k++)
        add_owners(&places, &problem->owners[k], k == 1);
    for (int g = 0; g < N_GROUP; g++) {
        struct problem_stream *stream = &problem->stream[g];
        init_stream(stream, (enum problem_group)g);
        stream->is_there = hdf5_kind(&problem->file, stream->path) == HDF5_GROUP;
        stream->of_experiments = g != GROUP_EXPERIMENTS && problem->has_experiments;
        add_stream(&places, stream);
    }
    add_texts(&places, "/measurements", "observable_error", &info->n_error,
              &info->observable_error, false);
    add_texts(&places, "/datasets", "petab", &info->petab.n, &info->petab.of, false);
    open_places(problem, &places);
}

void problem_check_tables(struct problem *problem)
{
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        struct problem_table *table = &problem->table[c];
        if (!table->column.dataset)
            continue;
        if (!is_number(&table->column)) {
            faults_add(&problem->faults, "%s: must be numbers", table->column.path);
            hdf5_column_close(&table->column);
        } else if (!parameter_columns[c].by_dataset) {
            read_numbers(problem, &parameter_columns[c], table);
        }
    }
}

void problem_check_streams(struct problem *problem)
{
    struct problem_owners *datasets = &problem->owners[0], *experiments = &problem->owners[1];
    check_ids(problem, datasets, true);
    check_owners(problem, datasets);
    for (int g = 0; g < N_GROUP; g++) {
        struct problem_stream *stream = &problem->stream[g];
        stream->n_owner = stream->of_experiments ? experiments->n : datasets->n;
        check_stream(problem, stream);
        if (g > GROUP_EXPERIMENTS || !problem->has_experiments)
            continue;
        experiments->n = stream->n_row;
        if (experiments->n > PROBLEM_MAX_DATASET)
            faults_add(&problem->faults,
                       "/experiments: has %" PRIu64 " rows; at most 2^32 - 2 are supported",
                       experiments->n);
        check_ids(problem, experiments, false);
        check_owners(problem, experiments);
        check_steady(problem);
        check_covariates(problem);
    }
}

void problem_close_columns(struct problem *problem)
{
    for (int g = 0; g < N_GROUP; g++) {
        hdf5_column_close(&problem->stream[g].owner);
        hdf5_column_close(&problem->stream[g].dataset);
        for (size_t i = 0; i < MAX_FIELD; i++) {
            hdf5_column_close(&problem->stream[g].field[i].column);
            problem_names_fini(&problem->stream[g].field[i].names);
        }
    }
    for (int c = 0; c < N_PARAMETER_COLUMN; c++)
        hdf5_column_close(&problem->table[c].column);
    hdf5_column_close(&problem->plugin);
    hdf5_column_close(&problem->source);
    own_reader_close(&problem->owners[0].own);
    for (int k = 0; k < 2; k++) {
#define CLOSE(field, ...) hdf5_column_close(&problem->owners[k].field);
        CONSTANT_LIST(CLOSE)
#undef CLOSE
        problem_names_fini(&problem->owners[k].names);
        problem_names_fini(&problem->owners[k].names_within);
    }
}

/* P values, or N x P. R and MATLAB write P x N; the error message says so. */
static bool settle_shape(struct problem *problem, struct problem_table *table, size_t n_parameter)
{
    const char *const path = table->column.path;
    struct hdf5_column *column = &table->column;
    uint64_t n_dataset = problem->info.n_dataset, a = column->n_row, b = column->width;
    /* of one dataset, too: values of the file, one per parameter */
    bool is_one_row = column->rank == 1 && a == n_parameter;
    table->per_dataset = (column->rank == 2 || n_parameter == 1) && a == n_dataset &&
                         b == n_parameter && !is_one_row;
    if (table->per_dataset)
        return true;
    if ((a == 1 || b == 1) && a * b == n_parameter)
        return hdf5_column_as_vector(column);
    if (column->rank == 2 && a == n_parameter && b == n_dataset)
        faults_add(&problem->faults,
                   "%s: is transposed: %" PRIu64 " x %" PRIu64 " where datasets x parameters = "
                                                               "%" PRIu64 " x %zu is expected (R "
                                                                          "and MATLAB write the "
                                                                          "transpose of what they "
                                                                          "show)",
                   path, a, b, n_dataset, n_parameter);
    else if (column->rank == 2)
        faults_add(&problem->faults,
                   "%s: is %" PRIu64 " x %" PRIu64 "; expected are %zu values (one per parameter) "
                   "or %" PRIu64 " x %zu (datasets x parameters)",
                   path, a, b, n_parameter, n_dataset, n_parameter);
    else
        faults_add(&problem->faults,
                   "%s: has %" PRIu64 " values; expected are %zu (one per parameter) or %" PRIu64
                   " x %zu (datasets x parameters)",
                   path, a, n_parameter, n_dataset, n_parameter);
    return false;
}

void problem_settle_tables(struct problem *problem, size_t n_parameter)
{
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        struct problem_table *table = &problem->table[c];
        struct error fault = {0};
        if (!parameter_columns[c].by_dataset || !table->column.dataset || table->vector ||
            table->per_dataset)
            continue;
        if (!settle_shape(problem, table, n_parameter)) {
            hdf5_column_close(&table->column);
            continue;
        }
        if (table->per_dataset)
            continue;
        table->vector = arena_calloc(&problem->arena, n_parameter, sizeof *table->vector);
        if (table->vector &&
            hdf5_column_read_double(&table->column, 0, n_parameter, table->vector, &fault))
            faults_add_error(&problem->faults, problem->file.path, &fault);
    }
}

struct parameters problem_tables(const struct problem *problem)
{
    struct parameters parameters = {.n = problem->n_parameter};
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        const struct problem_table *table = &problem->table[c];
        const void *array = table->text ? (const void *)table->text : table->vector;
        if (parameter_columns[c].kind != COLUMN_INT8)
            memcpy((char *)&parameters + parameter_columns[c].offset, &array, sizeof array);
    }
    return parameters;
}

enum status problem_read_table(struct problem *problem, int which, uint64_t first, size_t n,
                               double *out, struct error *error)
{
    const struct problem_table *table = &problem->table[which];
    size_t width = problem->n_parameter;
    if (table->per_dataset)
        return hdf5_column_read_double(&table->column, first, n, out, error);
    for (size_t d = 0; d < n; d++)
        memcpy(out + d * width, table->vector, width * sizeof *out);
    return STATUS_OK;
}
void problem_open_columns(struct problem *problem)
{
    const struct problem_owners *owners = &problem->owners[0];
    const struct own_columns *own = &problem->owners[0].own.columns;
    struct error fault = {0};
    if (own_reader_open(&problem->owners[0].own, &problem->file, "/datasets/columns",
                        OWN_MAX_COLUMN, owners->n, &problem->arena, &fault))
        faults_add_error(&problem->faults, problem->file.path, &fault);
    size_t n = owners->covariate.dataset && owners->covariate_name ? owners->n_covariate : 0;
    const char **name = arena_calloc(&problem->arena, own->n + n + 1, sizeof *name);
    bool *is_text = arena_calloc(&problem->arena, own->n + n + 1, sizeof *is_text);
    if (!name || !is_text || fault.status)
        return;
    for (size_t c = 0; c < own->n; c++) {
        name[c] = own->name[c];
        is_text[c] = own->is_text[c];
        if (words_find(name[c], owners->covariate_name, n) >= 0)
            faults_add(&problem->faults,
                       "/datasets/columns/%.100s: is in /datasets/covariate_names, too; name one "
                       "of them differently",
                       name[c]);
    }
    for (size_t c = 0; c < n; c++)
        name[own->n + c] = owners->covariate_name[c];
    problem->info.column = (struct own_columns){own->n + n, name, is_text, own->is_ordered};
}

/* A column of /datasets/covariates. */
static enum status read_covariate(const struct problem *problem, size_t which, uint64_t first,
                                  size_t n, struct own_value *out, size_t stride,
                                  struct error *error)
{
    const struct hdf5_column *column = &problem->owners[0].covariate;
    size_t width = column->width, piece = 1 + PIECE / width;
    double *room = malloc((piece < n ? piece : n + 1) * width * sizeof *room);
    enum status status = room ? STATUS_OK : problem_no_memory(problem, error);
    for (size_t done = 0; !status && done < n; done += piece) {
        size_t m = n - done < piece ? n - done : piece;
        status = hdf5_column_read_double(column, first + done, m, room, error);
        for (size_t i = 0; !status && i < m; i++)
            out[(done + i) * stride] = (struct own_value){room[i * width + which], NULL};
    }
    free(room);
    return status;
}

enum status problem_read_column(const struct problem *problem, size_t i, uint64_t first, size_t n,
                                struct arena *arena, struct own_value *out, size_t stride,
                                struct error *error)
{
    size_t n_own = problem->owners[0].own.columns.n;
    return i < n_own
               ? own_reader_column(&problem->owners[0].own, i, first, n, arena, out, stride, error)
               : read_covariate(problem, i - n_own, first, n, out, stride, error);
}

enum status problem_read_columns(const struct problem *problem, uint64_t first, size_t n,
                                 struct arena *arena, struct own_value *out, struct error *error)
{
    size_t n_column = problem->info.column.n;
    enum status status = STATUS_OK;
    for (size_t c = 0; !status && c < n_column; c++)
        status = problem_read_column(problem, c, first, n, arena, out + c, n_column, error);
    return status;
}
