/* The parameters of a new problem file: the model's, changed by a table of parameters and by
 * single options.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/import.h"

#include "base/values.h"
#include "base/words.h"
#include "import/table.h"
#include "io/problem/adopt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const scale_words[] = {"lin", "log", "log10"};
static const char *const prior_words[] = {"none", "normal", "log-normal", "laplace", "uniform"};
static const char *const on_words[] = {"natural", "optimizer"};
#define COUNT(words) (sizeof(words) / sizeof *(words))

/* These words, with their places in the arrays above. */
static const struct import_word scale_cells[] = {{"lin", 0}, {"log", 1}, {"log10", 2}};
static const struct import_word prior_cells[] = {{"none", 0}, {"normal", 1}, {"log-normal", 2},
                                                 {"lognormal", 2}, {"laplace", 3}, {"uniform", 4}};
static const struct import_word on_cells[] = {{"natural", 0}, {"optimizer", 1}};

/* What cells are that are not simply numbers. */
static const struct import_column special[N_PARAMETER_COLUMN] = {
    [PARAMETER_name] = {.is_needed = true, .or_name = "name", .what = "parameter"},
    [PARAMETER_scale] = {.word = scale_cells, .n_word = COUNT(scale_cells),
                         .expected = "lin, log, log10"},
    [PARAMETER_level] = {.is_text = true},
    [PARAMETER_prior] = {.word = prior_cells, .n_word = COUNT(prior_cells),
                         .expected = "none, normal, log-normal, laplace, uniform"},
    [PARAMETER_prior_on] = {.word = on_cells, .n_word = COUNT(on_cells),
                            .expected = "natural, optimizer"}};

/* The columns that the table may have; that of names is `parameter`. */
#define COLUMNS (PARAMETER_ALL & ~(PARAMETER_BIT(unit) | PARAMETER_BIT(from_model)))

/* The table while it is read. */
struct reading {
    struct import_parameters *parameters;
    size_t cell[N_PARAMETER_COLUMN]; /* of COLUMNS */
    unsigned char *seen;             /* the model's parameters */
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

static const char *find_scale(const char *word)
{
    int found = words_find(word, scale_words, COUNT(scale_words));
    return found < 0 ? NULL : scale_words[found];
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
        const char *scale = find_scale(word);
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

/* A row's prior replaces the whole prior of the model. */
static enum status take_prior(const struct import_table *table, const struct reading *reading,
                              size_t i, struct error *error)
{
    const double *cell = table->cell;
    const double kind = cell[reading->cell[PARAMETER_prior]],
                 on = cell[reading->cell[PARAMETER_prior_on]];
    struct parameters *is = &reading->parameters->is;
    bool is_more = !isnan(on);
    for (int c = PARAMETER_PRIORS; c < PARAMETER_PRIORS + N_PRIOR_NUMBER; c++)
        is_more = is_more || !isnan(cell[reading->cell[c]]);
    if (isnan(kind))
        return is_more ? csv_fault(table->reader, table->column[reading->cell[PARAMETER_name]],
                                   error, "its prior needs a kind, in a column 'prior'")
                       : STATUS_OK;
    parameters_set_text(is, PARAMETER_prior, i, prior_words[(int)kind]);
    parameters_set_text(is, PARAMETER_prior_on, i, on_words[isnan(on) ? 0 : (int)on]);
    for (int c = PARAMETER_PRIORS; c < PARAMETER_PRIORS + N_PRIOR_NUMBER; c++)
        parameters_set(is, (enum parameter_column)c, i, cell[reading->cell[c]]);
    return STATUS_OK;
}

/* Other words than these are columns of groups, which the finished file is checked for. */
static enum status take_level(const struct import_table *table, const struct reading *reading,
                              size_t i, struct error *error)
{
    struct import_parameters *parameters = reading->parameters;
    const char *word = import_table_text(table, reading->cell[PARAMETER_level]);
    if (!*word)
        return STATUS_OK;
    const char *kept = *text_of(parameters, PARAMETER_level, i) = arena_strdup(&parameters->levels,
                                                                               word);
    return kept ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for levels");
}

static enum status take_row(struct import_table *table, uint32_t owner, void *context,
                            struct error *error)
{
    const struct reading *reading = context;
    struct import_parameters *parameters = reading->parameters;
    const double *cell = table->cell, scale = cell[reading->cell[PARAMETER_scale]],
                 fixed = cell[reading->cell[PARAMETER_fixed]];
    const size_t i = (size_t)cell[reading->cell[PARAMETER_name]];
    (void)owner;
    if (reading->seen[i]++)
        return csv_fault(table->reader, table->column[reading->cell[PARAMETER_name]], error,
                         "parameter '%.100s' appears twice", parameters->is.name[i]);
    for (int c = 0; c < PARAMETER_prior; c++)
        if (COLUMNS >> c & 1 && parameter_columns[c].kind == COLUMN_DOUBLE &&
            !isnan(cell[reading->cell[c]]))
            *number_of(parameters, c, i) = cell[reading->cell[c]];
    if (!isnan(scale))
        *text_of(parameters, PARAMETER_scale, i) = scale_words[(int)scale];
    fixed_of(parameters)[i] = !isnan(fixed) && fixed != 0;
    enum status status = take_level(table, reading, i, error);
    return status ? status : take_prior(table, reading, i, error);
}

static enum status list_columns(struct import_table *table, struct reading *reading,
                                const struct stiffit_model *abi, struct error *error)
{
    enum status status = STATUS_OK;
    for (int c = 0; c < N_PARAMETER_COLUMN && !status; c++) {
        struct import_column column = special[c];
        if (!(COLUMNS >> c & 1))
            continue;
        column.name = parameter_columns[c].name;
        if (c == PARAMETER_name) {
            column.name = "parameter";
            column.names = abi->parameter_name;
            column.n_name = abi->n_parameter;
        }
        reading->cell[c] = table->n;
        status = import_table_list(table, &column, 1, error);
        if (!status && c >= PARAMETER_prior && table->column[reading->cell[c]] != CSV_NO_COLUMN)
            reading->parameters->has_prior = true;
    }
    return status;
}

static enum status read_table(struct import_parameters *parameters,
                              const struct import_options *options, const struct stiffit_model *abi,
                              struct error *error)
{
    struct import_options plain = *options; /* its rows belong to no dataset, so have no --id */
    struct reading reading = {.parameters = parameters,
                              .seen = calloc((size_t)abi->n_parameter + 1, 1)};
    struct import_table table = {.options = &plain,
                                 .path = options->parameters,
                                 .form = FORM_TABLE,
                                 .ownership = IMPORT_BY_NOBODY,
                                 .row = take_row,
                                 .context = &reading};
    plain.id = NULL;
    enum status status = reading.seen ? import_table_open(&table, error)
                                      : error_set(error, STATUS_NO_MEMORY,
                                                  "out of memory for %u parameters",
                                                  abi->n_parameter);
    if (!status)
        status = list_columns(&table, &reading, abi, error);
    if (!status && table.column[reading.cell[PARAMETER_level]] == CSV_NO_COLUMN)
        parameters->is.level = NULL;
    if (!status)
        status = import_table_read(&table, error);
    import_table_close(&table);
    free(reading.seen);
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
