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

/* The columns that the table may have; that of names is `parameter`. */
#define COLUMNS (PARAMETER_ALL & ~(PARAMETER_BIT(unit) | PARAMETER_BIT(from_model)))

static const char *column_name(int c)
{
    return c == PARAMETER_name ? "parameter" : parameter_columns[c].name;
}

struct table {
    struct csv_reader *reader;
    size_t column[N_PARAMETER_COLUMN];
};

/* Cells of the new parameters. */
static double *number_of(const struct import_parameters *parameters, int column, size_t i)
{
    return parameters_cell(&parameters->is, (enum parameter_column)column, i);
}

static const char **text_of(const struct import_parameters *parameters,
                            enum parameter_column column, size_t i)
{
    return parameters_cell(&parameters->is, column, i);
}

static uint8_t *fixed_of(const struct import_parameters *parameters)
{
    return parameters_cell(&parameters->is, PARAMETER_fixed, 0);
}

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
        const char *scale = find_word(word, scale_words, COUNT(scale_words));
        parameters_set_text(&parameters->is, PARAMETER_scale, index, scale);
        if (!scale)
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
                             number_of(parameters, PARAMETER_start, 0), fixed_of(parameters), error)
                : values_name(options->fix.item[i], "fix", "parameter", abi->parameter_name,
                              abi->n_parameter, &index, error);
        if (status)
            return status;
        if (!strchr(options->fix.item[i], '='))
            fixed_of(parameters)[index] = 1;
    }
    return status;
}

enum status import_parameters_check(const struct import_parameters *parameters,
                                    const struct stiffit_model *abi, bool per_dataset,
                                    struct error *error)
{
    for (size_t i = 0; i < abi->n_parameter; i++) {
        const char *name = abi->parameter_name[i];
        if (parameters->is.lower[i] > parameters->is.upper[i])
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': lower bound %.17g above upper bound %.17g", name,
                             parameters->is.lower[i], parameters->is.upper[i]);
        if (per_dataset && isnan(parameters->is.start[i]))
            continue;
        if (!isfinite(parameters->is.start[i]))
            return error_set(error, STATUS_USAGE,
                             "parameter '%s' has no start: give it with --start %s=VALUE", name,
                             name);
        if (strcmp(parameters->is.scale[i], "lin") && !(parameters->is.start[i] > 0) &&
            !(parameters->is.lower[i] > 0) && !parameters->is.fixed[i])
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': its start %.17g must be above 0 on scale %s", name,
                             parameters->is.start[i], parameters->is.scale[i]);
    }
    return STATUS_OK;
}

static enum status find_columns(struct table *table, const struct import_options *options,
                                struct error *error)
{
    const char *path = options->parameters;
    const struct csv_reader *reader = table->reader;
    const char *known[N_PARAMETER_COLUMN];
    size_t n_known = 0;
    for (int c = 0; c < N_PARAMETER_COLUMN; c++) {
        const bool is_known = COLUMNS >> c & 1;
        table->column[c] = is_known ? csv_find_column(reader, column_name(c)) : CSV_NO_COLUMN;
        if (is_known)
            known[n_known++] = column_name(c);
    }
    if (table->column[PARAMETER_name] == CSV_NO_COLUMN)
        table->column[PARAMETER_name] = csv_find_column(reader, "name");
    if (table->column[PARAMETER_name] == CSV_NO_COLUMN)
        return csv_need_column(reader, column_name(PARAMETER_name), &table->column[PARAMETER_name],
                               error);
    for (size_t j = 0; j < csv_n_column(reader); j++) {
        bool used = false;
        for (int c = 0; c < N_PARAMETER_COLUMN; c++)
            used = used || table->column[c] == j;
        const char *near = used ? NULL : nearest_name(csv_column_name(reader, j), known, n_known);
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
    const char *kind = NULL, *on = NULL;
    double number[N_PRIOR_NUMBER] = {NAN, NAN, NAN, NAN};
    bool is_more = false;
    enum status status =
        take_word(table, PARAMETER_prior, prior_words, COUNT(prior_words), &kind, error);
    if (!status)
        status = take_word(table, PARAMETER_prior_on, on_words, COUNT(on_words), &on, error);
    for (int k = 0; k < N_PRIOR_NUMBER && !status; k++) {
        status = take_number(table, PARAMETER_PRIORS + k, &number[k], error);
        is_more = is_more || !isnan(number[k]);
    }
    if (!status && !kind && (on || is_more))
        return csv_fault(table->reader, table->column[PARAMETER_name], error,
                         "its prior needs a kind, in a column 'prior'");
    if (status || !kind)
        return status;
    parameters_set_text(&parameters->is, PARAMETER_prior, i, kind);
    parameters_set_text(&parameters->is, PARAMETER_prior_on, i, on ? on : on_words[0]);
    for (int k = 0; k < N_PRIOR_NUMBER; k++)
        parameters_set(&parameters->is, (enum parameter_column)(PARAMETER_PRIORS + k), i,
                       number[k]);
    return STATUS_OK;
}

/* Other words than these are columns of groups, which the finished file is checked for. */
static enum status take_level(const struct table *table, struct import_parameters *parameters,
                              size_t i, struct error *error)
{
    const char *word =
        parameters->is.level ? csv_field(table->reader, table->column[PARAMETER_level]) : "";
    if (!*word)
        return STATUS_OK;
    const char *kept = *text_of(parameters, PARAMETER_level, i) = arena_strdup(&parameters->levels,
                                                                               word);
    return kept ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for levels");
}

static enum status take_row(const struct table *table, struct import_parameters *parameters,
                            const struct stiffit_model *abi, unsigned char *seen,
                            struct error *error)
{
    const size_t name_column = table->column[PARAMETER_name];
    const char *name = csv_field(table->reader, name_column);
    char hint[NEAREST_HINT];
    double fixed = 0;
    int i = words_find(name, abi->parameter_name, abi->n_parameter);
    if (i < 0)
        return csv_fault(table->reader, name_column, error,
                         "the model has no parameter '%.100s'%s", name,
                         nearest_hint(hint, "; did you mean '", "'?", name, abi->parameter_name,
                                      abi->n_parameter));
    if (seen[i]++)
        return csv_fault(table->reader, name_column, error, "parameter '%.100s' appears twice",
                         name);
    enum status status = STATUS_OK;
    for (int c = 0; c < PARAMETER_prior && !status; c++)
        if (COLUMNS >> c & 1 && parameter_columns[c].kind == COLUMN_DOUBLE)
            status = take_number(table, c, number_of(parameters, c, (size_t)i), error);
    if (!status)
        status = take_number(table, PARAMETER_fixed, &fixed, error);
    if (!status)
        status = take_word(table, PARAMETER_scale, scale_words, COUNT(scale_words),
                           text_of(parameters, PARAMETER_scale, (size_t)i), error);
    fixed_of(parameters)[i] = fixed != 0;
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
    if (!status && table.column[PARAMETER_level] == CSV_NO_COLUMN)
        parameters->is.level = NULL;
    for (int c = PARAMETER_prior; c < N_PARAMETER_COLUMN && !status; c++)
        parameters->has_prior = parameters->has_prior || table.column[c] != CSV_NO_COLUMN;
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
        bool is_kept = parameters->is.prior[i] == abi->parameter_prior[i];
        if (is_kept && !strcmp(parameters->is.prior_on[i], "optimizer") &&
            strcmp(parameters->is.scale[i], scale))
            return error_set(error, STATUS_USAGE,
                             "parameter '%s': the model's prior refers to scale %s, but the scale "
                             "here is %s: keep the scale, or give the parameter a new prior",
                             abi->parameter_name[i], scale, parameters->is.scale[i]);
    }
    return STATUS_OK;
}

static enum status take_model(struct import_parameters *parameters, const struct stiffit_model *abi,
                              struct error *error)
{
    const struct parameters model = parameters_of_model(abi, PARAMETER_ALL);
    struct parameters *is = &parameters->is;
    size_t n = abi->n_parameter;
    if (!(parameters->block = calloc(parameters_bytes(n), 1)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    *is = parameters_place(n, parameters->block);
    for (size_t i = 0; i < n; i++) {
        for (int c = PARAMETER_start; c <= PARAMETER_upper; c++)
            parameters_set(is, (enum parameter_column)c, i, NAN);
        parameters_set_text(is, PARAMETER_name, i, model.name[i]);
        parameters_set_text(is, PARAMETER_level, i, "dataset");
        parameters_set_text(is, PARAMETER_prior, i, model.prior ? model.prior[i] : prior_words[0]);
        parameters_set_text(is, PARAMETER_prior_on, i,
                            model.prior && model.prior_on ? model.prior_on[i] : on_words[0]);
        for (int c = PARAMETER_PRIORS; c < N_PARAMETER_COLUMN; c++) {
            const double *number = parameters_cell(&model, (enum parameter_column)c, i);
            *number_of(parameters, c, i) = model.prior && number ? *number : (double)NAN;
        }
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
        double *from_model = number_of(parameters, PARAMETER_from_model, i);
        const char **own_scale = text_of(parameters, PARAMETER_scale, i);
        double *const value[3] = {number_of(parameters, PARAMETER_start, i),
                                  number_of(parameters, PARAMETER_lower, i),
                                  number_of(parameters, PARAMETER_upper, i)};
        bool is_own =
            words_find(abi->parameter_name[i], itself->parameter_name, itself->n_parameter) < 0;
        for (int k = 0; k < 3; k++) {
            from_model[FROM_MODEL_START + k] = isnan(*value[k]) && !is_own ? model[k] : (double)NAN;
            *value[k] = isnan(*value[k]) ? model[k] : *value[k];
        }
        const char *scale = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
        from_model[FROM_MODEL_SCALE] =
            *own_scale || is_own ? (double)NAN : problem_scale_number(scale);
        *own_scale = *own_scale ? *own_scale : scale;
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
    if (!options->parameters)
        parameters->is.level = NULL;
    if (status)
        return status;
    const struct { const struct option_list *list; enum parameter_column column; } changes[] = {
        {&options->start, PARAMETER_start},
        {&options->lower, PARAMETER_lower},
        {&options->upper, PARAMETER_upper}};
    for (size_t k = 0; !status && k < sizeof changes / sizeof *changes; k++)
        status = values_set(changes[k].list, parameter_columns[changes[k].column].name, "parameter",
                            abi->parameter_name, abi->n_parameter,
                            number_of(parameters, changes[k].column, 0), NULL, error);
    if (!status)
        status = set_scales(parameters, options, abi, error);
    if (!status)
        status = set_fixed(parameters, options, abi, error);
    fill_from_model(parameters, abi, &itself->abi);
    if (!options->measurements)
        memset(fixed_of(parameters), 1, abi->n_parameter);
    if (!status)
        status = check_kept_priors(parameters, abi, error);
    return status ? status
                  : import_parameters_check(parameters, abi, options->datasets != NULL, error);
}

void import_parameters_fini(struct import_parameters *parameters)
{
    free(parameters->block);
    arena_fini(&parameters->levels);
    memset(parameters, 0, sizeof *parameters);
}
