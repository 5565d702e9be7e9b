/* The parameters of a new problem file: the model's, changed by a table of parameters and by
 * single options.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/import.h"

#include "base/values.h"
#include "base/words.h"
#include "import/tables.h"
#include "io/csv.h"
#include "io/problem_adopt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const scale_words[] = {"lin", "log", "log10"};
static const char *const prior_words[] = {"none", "normal", "log-normal", "laplace", "uniform"};
static const char *const on_words[] = {"natural", "optimizer"};
#define COUNT(words) (sizeof(words) / sizeof *(words))

enum {
    NAME,
    START,
    LOWER,
    UPPER,
    SCALE,
    FIXED,
    LEVEL,
    PRIOR,
    PRIOR_ON,
    LOCATION,
    WIDTH,
    FROM,
    TO,
    N_TABLE_COLUMN
};
static const char *const column_name[N_TABLE_COLUMN] =
    {"parameter", "start",    "lower",          "upper",       "scale",       "fixed",      "level",
     "prior",     "prior_on", "prior_location", "prior_scale", "prior_lower", "prior_upper"};

struct table {
    struct csv_reader *reader;
    size_t column[N_TABLE_COLUMN];
};

/* The word as it is in the list; NULL: it is not. */
static const char *find_word(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (nearest_is_same(word, words[i]))
            return words[i];
    return NULL;
}

static enum status set_scales(struct import_parameters *parameters,
                              const struct import_options *options, const struct stiffit_model *abi,
                              struct error *error)
{
    enum status status = values_once(&options->scale, "scale", error);
    for (size_t i = 0; !status && i < options->scale.n; i++) {
        size_t index;
        const char *word;
        status = values_find(options->scale.item[i], "scale", "parameter", abi->parameter_name,
                             abi->n_parameter, &index, &word, error);
        if (status)
            return status;
        parameters->scale[index] = find_word(word, scale_words, COUNT(scale_words));
        if (!parameters->scale[index])
            return error_set(error, STATUS_USAGE, "--scale: '%.100s' is not one of lin, log, log10",
                             word);
    }
    return status;
}

static enum status set_fixed(struct import_parameters *parameters,
                             const struct import_options *options, const struct stiffit_model *abi,
                             struct error *error)
{
    enum status status = values_once(&options->fix, "fix", error);
    for (size_t i = 0; !status && i < options->fix.n; i++) {
        const struct option_list one = {.item = options->fix.item + i, .n = 1};
        size_t index;
        status =
            strchr(options->fix.item[i], '=')
                ? values_set(&one, "fix", "parameter", abi->parameter_name, abi->n_parameter,
                             parameters->start, parameters->fixed, error)
                : values_name(options->fix.item[i], "fix", "parameter", abi->parameter_name,
                              abi->n_parameter, &index, error);
        if (status)
            return status;
        if (!strchr(options->fix.item[i], '='))
            parameters->fixed[index] = 1;
    }
    return status;
}

enum status import_parameters_check(const struct import_parameters *parameters,
                                    const struct stiffit_model *abi, bool per_dataset,
                                    struct error *error)
{
    for (size_t i = 0; i < abi->n_parameter; i++) {
        const char *name = abi->parameter_name[i];
        if (parameters->lower[i] > parameters->upper[i])
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': lower bound %.17g above upper bound %.17g", name,
                             parameters->lower[i], parameters->upper[i]);
        if (per_dataset && isnan(parameters->start[i]))
            continue;
        if (!isfinite(parameters->start[i]))
            return error_set(error, STATUS_USAGE,
                             "parameter '%s' has no start: give it with --start %s=VALUE", name,
                             name);
        if (strcmp(parameters->scale[i], "lin") && !(parameters->start[i] > 0) &&
            !(parameters->lower[i] > 0) && !parameters->fixed[i])
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': its start %.17g must be above 0 on scale %s", name,
                             parameters->start[i], parameters->scale[i]);
    }
    return STATUS_OK;
}

static enum status find_columns(struct table *table, const struct import_options *options,
                                struct error *error)
{
    const char *path = options->parameters;
    const struct csv_reader *reader = table->reader;
    for (int k = 0; k < N_TABLE_COLUMN; k++)
        table->column[k] = csv_find_column(reader, column_name[k]);
    if (table->column[NAME] == CSV_NO_COLUMN)
        table->column[NAME] = csv_find_column(reader, "name");
    if (table->column[NAME] == CSV_NO_COLUMN)
        return csv_need_column(reader, column_name[NAME], &table->column[NAME], error);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        bool used = false;
        for (int k = 0; k < N_TABLE_COLUMN; k++)
            used = used || table->column[k] == j;
        const char *near =
            used ? NULL : nearest_name(csv_column_name(reader, j), column_name, N_TABLE_COLUMN);
        if (near) /* a prior with a misspelt name must not be ignored */
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: unknown column '%.100s'; did you mean '%s'?", path,
                             csv_column_name(reader, j), near);
        if (!used)
            import_say_unused_column(options, path, csv_column_name(reader, j), "");
    }
    return STATUS_OK;
}

/* A number of the row; an empty cell leaves *value as it is. */
static enum status take_number(const struct table *table, int which, double *value,
                               struct error *error)
{
    double number = NAN;
    size_t column = table->column[which];
    enum status status =
        column == CSV_NO_COLUMN ? STATUS_OK : csv_number(table->reader, column, &number, error);
    if (!status && !isnan(number))
        *value = number;
    return status;
}

static enum status take_word(const struct table *table, int which, const char *const *words,
                             size_t n, const char **value, struct error *error)
{
    size_t column = table->column[which];
    const char *field = column == CSV_NO_COLUMN ? "" : csv_field(table->reader, column);
    if (!*field)
        return STATUS_OK;
    *value = find_word(field, words, n);
    if (*value)
        return STATUS_OK;
    char list[100] = "";
    for (size_t i = 0; i < n; i++)
        words_add(list, sizeof list, "%s%s", i ? ", " : "", words[i]);
    return csv_fault(table->reader, column, error, "'%.40s' is not one of %s", field, list);
}

/* A row's prior replaces the whole prior of the model. */
static enum status take_prior(const struct table *table, struct import_parameters *parameters,
                              size_t i, struct error *error)
{
    static const int columns[] = {LOCATION, WIDTH, FROM, TO};
    const char *kind = NULL;
    const char *on = NULL;
    double number[4] = {NAN, NAN, NAN, NAN};
    bool is_more = false;
    enum status status = take_word(table, PRIOR, prior_words, COUNT(prior_words), &kind, error);
    if (!status)
        status = take_word(table, PRIOR_ON, on_words, COUNT(on_words), &on, error);
    for (int k = 0; k < 4 && !status; k++) {
        status = take_number(table, columns[k], &number[k], error);
        is_more = is_more || !isnan(number[k]);
    }
    if (!status && !kind && (on || is_more))
        return csv_fault(table->reader, table->column[NAME], error,
                         "its prior needs a kind, in a column 'prior'");
    if (status || !kind)
        return status;
    parameters->prior[i] = kind;
    parameters->prior_on[i] = on ? on : on_words[0];
    for (int k = 0; k < 4; k++)
        parameters->prior_number[k][i] = number[k];
    return STATUS_OK;
}

/* Other words than these are columns of groups, which the finished file is checked for. */
static enum status take_level(const struct table *table, struct import_parameters *parameters,
                              size_t i, struct error *error)
{
    const char *word = parameters->level ? csv_field(table->reader, table->column[LEVEL]) : "";
    if (!*word)
        return STATUS_OK;
    free(parameters->level[i]);
    parameters->level[i] = strdup(word);
    return parameters->level[i] ? STATUS_OK
                                : error_set(error, STATUS_NO_MEMORY, "out of memory for levels");
}

/* All are "dataset" at first. */
static enum status begin_levels(struct import_parameters *parameters, size_t n, struct error *error)
{
    parameters->level = calloc(n + 1, sizeof *parameters->level);
    bool is_good = parameters->level != NULL;
    for (parameters->n_level = 0; is_good && parameters->n_level < n; parameters->n_level++)
        is_good = (parameters->level[parameters->n_level] = strdup("dataset")) != NULL;
    return is_good ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for levels");
}

static enum status take_row(const struct table *table, struct import_parameters *parameters,
                            const struct stiffit_model *abi, unsigned char *seen,
                            struct error *error)
{
    const char *name = csv_field(table->reader, table->column[NAME]);
    char hint[NEAREST_HINT];
    double fixed = 0;
    int i = words_find(name, abi->parameter_name, abi->n_parameter);
    if (i < 0)
        return csv_fault(table->reader, table->column[NAME], error,
                         "the model has no parameter '%.100s'%s", name,
                         nearest_hint(hint, "; did you mean '", "'?", name, abi->parameter_name,
                                      abi->n_parameter));
    if (seen[i]++)
        return csv_fault(table->reader, table->column[NAME], error,
                         "parameter '%.100s' appears twice", name);
    enum status status = take_number(table, START, &parameters->start[i], error);
    if (!status)
        status = take_number(table, LOWER, &parameters->lower[i], error);
    if (!status)
        status = take_number(table, UPPER, &parameters->upper[i], error);
    if (!status)
        status = take_number(table, FIXED, &fixed, error);
    if (!status)
        status =
            take_word(table, SCALE, scale_words, COUNT(scale_words), &parameters->scale[i], error);
    parameters->fixed[i] = fixed != 0;
    if (!status)
        status = take_level(table, parameters, (size_t)i, error);
    return status ? status : take_prior(table, parameters, (size_t)i, error);
}

static enum status read_table(struct import_parameters *parameters,
                              const struct import_options *options, const struct stiffit_model *abi,
                              struct error *error)
{
    struct table table = {.reader = NULL};
    bool more = true;
    unsigned char *seen = calloc((size_t)abi->n_parameter + 1, 1);
    enum status status = seen ? csv_open(&table.reader, options->parameters, error)
                              : error_set(error, STATUS_NO_MEMORY,
                                          "out of memory for %u parameters", abi->n_parameter);
    if (!status)
        status = find_columns(&table, options, error);
    if (!status && table.column[LEVEL] != CSV_NO_COLUMN)
        status = begin_levels(parameters, abi->n_parameter, error);
    for (int k = PRIOR; k < N_TABLE_COLUMN && !status; k++)
        parameters->has_prior = parameters->has_prior || table.column[k] != CSV_NO_COLUMN;
    while (!status) {
        status = csv_next(table.reader, &more, error);
        if (status || !more)
            break;
        status = take_row(&table, parameters, abi, seen, error);
    }
    csv_close(table.reader);
    free(seen);
    return status;
}

/* Only the file's priors count: those copied from the model must mean the same there. */
static enum status check_kept_priors(const struct import_parameters *parameters,
                                     const struct stiffit_model *abi, struct error *error)
{
    for (size_t i = 0; parameters->has_prior && abi->parameter_prior && i < abi->n_parameter; i++) {
        const char *scale = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
        bool is_kept = parameters->prior[i] == abi->parameter_prior[i];
        if (is_kept && !strcmp(parameters->prior_on[i], "optimizer") &&
            strcmp(parameters->scale[i], scale))
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': the model's prior refers to scale %s, but the scale "
                             "here is %s: keep the scale, or give the parameter a new prior",
                             abi->parameter_name[i], scale, parameters->scale[i]);
    }
    return STATUS_OK;
}

static enum status take_model(struct import_parameters *parameters, const struct stiffit_model *abi,
                              struct error *error)
{
    const double *const prior_number[] = {abi->parameter_prior_location, abi->parameter_prior_scale,
                                          abi->parameter_prior_lower, abi->parameter_prior_upper};
    size_t n = abi->n_parameter;
    parameters->start = malloc((7 + N_FROM_MODEL) * n * sizeof(double));
    parameters->scale = malloc(3 * n * sizeof(char *));
    parameters->fixed = calloc(n, 1);
    if (!parameters->start || !parameters->scale || !parameters->fixed)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    parameters->lower = parameters->start + n;
    parameters->upper = parameters->lower + n;
    parameters->prior = parameters->scale + n;
    parameters->prior_on = parameters->prior + n;
    for (size_t k = 0; k < 4; k++)
        parameters->prior_number[k] = parameters->upper + (k + 1) * n;
    parameters->from_model = parameters->prior_number[3] + n;
    for (size_t i = 0; i < n; i++) {
        parameters->start[i] = parameters->lower[i] = parameters->upper[i] = NAN;
        parameters->scale[i] = NULL;
        parameters->prior[i] = abi->parameter_prior ? abi->parameter_prior[i] : prior_words[0];
        parameters->prior_on[i] = abi->parameter_prior && abi->parameter_prior_on
                                      ? abi->parameter_prior_on[i]
                                      : on_words[0];
        for (size_t k = 0; k < 4; k++)
            parameters->prior_number[k][i] =
                abi->parameter_prior && prior_number[k] ? prior_number[k][i] : (double)NAN;
    }
    return STATUS_OK;
}

/* Settings that nobody has chosen come from the model, and the file says so. A parameter that
 * the model itself lacks, which substitutes others, is the file's own: a run with another model
 * keeps it. */
static void fill_from_model(struct import_parameters *parameters, const struct stiffit_model *abi,
                            const struct stiffit_model *itself)
{
    for (size_t i = 0; i < abi->n_parameter; i++) {
        const double model[3] = {abi->parameter_start ? abi->parameter_start[i] : (double)NAN,
                                 abi->parameter_lower ? abi->parameter_lower[i] : -(double)INFINITY,
                                 abi->parameter_upper ? abi->parameter_upper[i] : (double)INFINITY};
        double *from_model = parameters->from_model + i * N_FROM_MODEL;
        double *const value[3] = {parameters->start + i, parameters->lower + i,
                                  parameters->upper + i};
        bool is_own =
            words_find(abi->parameter_name[i], itself->parameter_name, itself->n_parameter) < 0;
        for (int k = 0; k < 3; k++) {
            from_model[FROM_MODEL_START + k] = isnan(*value[k]) && !is_own ? model[k] : (double)NAN;
            *value[k] = isnan(*value[k]) ? model[k] : *value[k];
        }
        const char *scale = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
        from_model[FROM_MODEL_SCALE] =
            parameters->scale[i] || is_own ? (double)NAN : problem_scale_number(scale);
        parameters->scale[i] = parameters->scale[i] ? parameters->scale[i] : scale;
    }
}

enum status import_parameters_choose(struct import_parameters *parameters,
                                     const struct import_options *options,
                                     const struct model *model, const struct model *itself,
                                     struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    enum status status = take_model(parameters, abi, error);
    if (!status && options->parameters)
        status = read_table(parameters, options, abi, error);
    if (status)
        return status;
    const struct { const struct option_list *list; const char *option; double *out; } changes[] = {
        {&options->start, "start", parameters->start},
        {&options->lower, "lower", parameters->lower},
        {&options->upper, "upper", parameters->upper}};
    for (size_t k = 0; !status && k < sizeof changes / sizeof *changes; k++)
        status = values_set(changes[k].list, changes[k].option, "parameter", abi->parameter_name,
                            abi->n_parameter, changes[k].out, NULL, error);
    if (!status)
        status = set_scales(parameters, options, abi, error);
    if (!status)
        status = set_fixed(parameters, options, abi, error);
    fill_from_model(parameters, abi, &itself->abi);
    if (!options->measurements)
        memset(parameters->fixed, 1, abi->n_parameter);
    if (!status)
        status = check_kept_priors(parameters, abi, error);
    return status ? status
                  : import_parameters_check(parameters, abi, options->datasets != NULL, error);
}

void import_parameters_fini(struct import_parameters *parameters)
{
    free(parameters->start);
    free(parameters->scale);
    free(parameters->fixed);
    for (size_t i = 0; i < parameters->n_level; i++)
        free(parameters->level[i]);
    free(parameters->level);
    memset(parameters, 0, sizeof *parameters);
}
