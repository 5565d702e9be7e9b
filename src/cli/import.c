/* `stiffit import`: a problem file from CSV tables and a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "cli/command.h"
#include "cli/contained.h"
#include "cli/message.h"
#include "cli/model_text.h"
#include "cli/plugin_reference.h"
#include "cli/values.h"
#include "io/problem.h"
#include "run/campaign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct import_options {
    const char *measurements, *datasets, *model, *output;
    bool embed, overwrite, quiet;
    struct option_list fix, start, lower, upper, scale;
    int color;
};

#define FIELD(name) offsetof(struct import_options, name)

static const char *const when_words[] = {"auto", "always", "never", NULL};

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL", .offset = FIELD(model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "datasets", .letter = 'd', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(datasets), .is_file = true,
     .help = "a second CSV table with one row per dataset: its id in a column 'dataset', a column for each covariate of the "
     "model, and if wanted 't0' (initial time) and 'start_NAME' (start of parameter NAME)"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(output), .is_file = true,
     .default_text = "MEASUREMENTS.h5", .help = "the problem file to be written"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite), .help = "replace an existing file"},
    {.name = "embed", .kind = OPTION_FLAG, .offset = FIELD(embed),
     .help = "put a plugin itself into the problem file instead of its path; text is put there anyway"},
    {.name = "start", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(start),
     .default_text = "the model's", .help = "start of a parameter, natural scale; may be repeated"},
    {.name = "lower", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(lower), .default_text = "the model's",
     .help = "lower bound of a parameter; may be repeated"},
    {.name = "upper", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(upper), .default_text = "the model's",
     .help = "upper bound of a parameter; may be repeated"},
    {.name = "scale", .kind = OPTION_LIST, .metavar = "NAME=WORD", .offset = FIELD(scale), .default_text = "the model's",
     .help = "scale that the optimiser works in: lin, log or log10; may be repeated"},
    {.name = "fix", .kind = OPTION_LIST, .metavar = "NAME[=VALUE]", .offset = FIELD(fix),
     .help = "hold a parameter at its start, or at this value; may be repeated"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "do not say what was written"},
    {.name = "color", .kind = OPTION_CHOICE, .offset = FIELD(color), .choice = when_words, .metavar = "auto|always|never",
     .default_text = "auto", .help = "colours; goes before the environment's NO_COLOR"},
};

static struct option_table import_table(void) { return OPTION_TABLE(table); }

/* The parameters of the file to be: the model's, as the options change them. */
struct parameters {
    double *start, *lower, *upper;
    const char **scale;
    unsigned char *fixed;
};

static void parameters_fini(struct parameters *parameters)
{
    free(parameters->start);
    free(parameters->lower);
    free(parameters->upper);
    free(parameters->scale);
    free(parameters->fixed);
}

static enum status set_scales(struct parameters *parameters, const struct import_options *options,
                              const struct stiffit_model *abi, struct error *error)
{
    static const char *const words[] = {"lin", "log", "log10"};
    for (size_t i = 0; i < options->scale.n; i++) {
        size_t index, k = 0;
        const char *word;
        enum status status = values_find(options->scale.item[i], "scale", "parameter", abi->parameter_name, abi->n_parameter,
                                         &index, &word, error);
        if (status)
            return status;
        while (k < 3 && strcmp(words[k], word))
            k++;
        if (k == 3)
            return error_set(error, STATUS_USAGE, "--scale: '%.100s' is not one of lin, log, log10", word);
        parameters->scale[index] = words[k];
    }
    return STATUS_OK;
}

static enum status set_fixed(struct parameters *parameters, const struct import_options *options,
                             const struct stiffit_model *abi, struct error *error)
{
    for (size_t i = 0; i < options->fix.n; i++) {
        const struct option_list one = {.item = options->fix.item + i, .n = 1};
        size_t index;
        enum status status =
            strchr(options->fix.item[i], '=')
                ? values_set(&one, "fix", "parameter", abi->parameter_name, abi->n_parameter, parameters->start,
                             parameters->fixed, error)
                : values_name(options->fix.item[i], "fix", "parameter", abi->parameter_name, abi->n_parameter, &index, error);
        if (status)
            return status;
        if (!strchr(options->fix.item[i], '='))
            parameters->fixed[index] = 1;
    }
    return STATUS_OK;
}

/* per_dataset: starts may come from the table of datasets, so that a missing one is no fault yet. */
static enum status check_parameters(const struct parameters *parameters, const struct stiffit_model *abi, bool per_dataset,
                                    struct error *error)
{
    for (size_t i = 0; i < abi->n_parameter; i++) {
        const char *name = abi->parameter_name[i];
        if (parameters->lower[i] > parameters->upper[i])
            return error_set(error, STATUS_USAGE, "parameter '%s': lower bound %.17g above upper bound %.17g", name,
                             parameters->lower[i], parameters->upper[i]);
        if (per_dataset && isnan(parameters->start[i]))
            continue;
        if (!isfinite(parameters->start[i]))
            return error_set(error, STATUS_USAGE, "parameter '%s' has no start: give it with --start %s=VALUE", name, name);
        if (strcmp(parameters->scale[i], "lin") && !(parameters->start[i] > 0))
            return error_set(error, STATUS_USAGE, "parameter '%s': its start %.17g is not above 0, as scale %s needs", name,
                             parameters->start[i], parameters->scale[i]);
    }
    return STATUS_OK;
}

static enum status choose_parameters(struct parameters *parameters, const struct import_options *options,
                                     const struct model *model, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    size_t n = abi->n_parameter;
    parameters->start = malloc(n * sizeof(double));
    parameters->lower = malloc(n * sizeof(double));
    parameters->upper = malloc(n * sizeof(double));
    parameters->scale = malloc(n * sizeof(char *));
    parameters->fixed = calloc(n, 1);
    if (!parameters->start || !parameters->lower || !parameters->upper || !parameters->scale || !parameters->fixed)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    for (size_t i = 0; i < n; i++) {
        parameters->start[i] = abi->parameter_start ? abi->parameter_start[i] : (double)NAN;
        parameters->lower[i] = abi->parameter_lower ? abi->parameter_lower[i] : -(double)INFINITY;
        parameters->upper[i] = abi->parameter_upper ? abi->parameter_upper[i] : (double)INFINITY;
        parameters->scale[i] = abi->parameter_scale ? abi->parameter_scale[i] : "lin";
    }
    const struct { const struct option_list *list; const char *option; double *out; } changes[] = {
        {&options->start, "start", parameters->start},
        {&options->lower, "lower", parameters->lower},
        {&options->upper, "upper", parameters->upper}};
    enum status status = STATUS_OK;
    for (size_t k = 0; !status && k < sizeof changes / sizeof *changes; k++)
        status = values_set(changes[k].list, changes[k].option, "parameter", abi->parameter_name, n, changes[k].out, NULL,
                            error);
    if (!status)
        status = set_scales(parameters, options, abi, error);
    if (!status)
        status = set_fixed(parameters, options, abi, error);
    if (!status)
        status = check_parameters(parameters, abi, options->datasets != NULL, error);
    return status;
}

static enum status add_datasets(struct problem_writer *writer, const struct import_rows *rows, const size_t *first,
                                const struct import_subjects *subjects, struct error *error)
{
    size_t most = 0;
    for (uint32_t d = 0; d < rows->datasets.n; d++)
        most = first[d + 1] - first[d] > most ? first[d + 1] - first[d] : most;
    double *time = malloc(3 * (most + 1) * sizeof *time), *value = time + most, *sigma = value + most;
    uint32_t *observable = malloc((most + 1) * sizeof *observable);
    int8_t *censored = malloc(most + 1);
    enum status status = STATUS_OK;
    if (!time || !observable || !censored)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", most);
    for (uint32_t d = 0; !status && d < rows->datasets.n; d++) {
        size_t n = first[d + 1] - first[d];
        for (size_t i = 0; i < n; i++) {
            const struct import_row *row = &rows->row[first[d] + i];
            time[i] = row->time;
            value[i] = row->value;
            sigma[i] = row->sigma;
            observable[i] = row->observable;
            censored[i] = row->censored;
        }
        const struct problem_dataset dataset = {
            .id = rows->datasets.id[d], .t0 = subjects->t0[d], .covariate = subjects->covariate + d * subjects->n_covariate,
            .start = subjects->has_start ? subjects->start + d * subjects->n_parameter : NULL, .n_row = n, .time = time,
            .value = value, .sigma = sigma, .observable = observable, .censored = censored};
        status = problem_writer_add(writer, &dataset, error);
    }
    free(time);
    free(observable);
    free(censored);
    return status;
}

/* "x.csv" -> "x.h5"; free it. */
static char *default_output(const char *measurements)
{
    size_t n = strlen(measurements);
    if (n > 4 && !strcmp(measurements + n - 4, ".csv"))
        n -= 4;
    char *path = malloc(n + sizeof ".h5");
    if (path) {
        memcpy(path, measurements, n);
        strcpy(path + n, ".h5");
    }
    return path;
}

static enum status write_problem(const struct import_options *options, const char *path, const struct model *model,
                                 const struct parameters *parameters, const struct import_rows *rows, const size_t *first,
                                 const struct import_subjects *subjects, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    struct plugin_reference reference = {.path = NULL};
    struct problem_writer *writer = NULL;
    struct problem_header header = {
        .n_parameter = abi->n_parameter, .parameter_name = abi->parameter_name,
        .start = subjects->has_start ? NULL : parameters->start, .lower = parameters->lower, .upper = parameters->upper,
        .start_per_dataset = subjects->has_start, .scale = parameters->scale, .fixed = parameters->fixed,
        .n_covariate = abi->n_covariate, .covariate_name = abi->covariate_name, .n_observable = abi->n_observable,
        .observable_name = abi->observable_name, .has_sigma = rows->has_sigma, .has_t0 = subjects->has_t0,
        .has_censored = rows->has_censored};
    enum status status = plugin_reference_init(&reference, model, options->model, options->embed, error);
    if (!status) {
        plugin_reference_use(&reference, &header);
        status = problem_writer_open(&writer, path, options->overwrite, &header, error);
    }
    if (!status)
        status = add_datasets(writer, rows, first, subjects, error);
    if (!status)
        status = problem_writer_finish(writer, error);
    problem_writer_close(writer);
    plugin_reference_fini(&reference);
    return status;
}

/* Reads back what was written, as a run will: what it would complain about is better said now. */
static enum status check_written(const char *path, const struct model *model, bool quiet, struct error *error)
{
    struct problem *problem = NULL;
    const struct problem_expectation expectation = campaign_expectation(model);
    unsigned char hash[32];
    uint64_t n_bad = 0;
    enum status status = problem_open(&problem, path, error);
    if (!status)
        status = problem_validate(problem, &expectation, hash, &n_bad, error);
    if (!status && !quiet) {
        char line[600];
        const struct problem_info *info = problem_info(problem);
        snprintf(line, sizeof line, "%.300s: %llu %s, %llu measurement%s, %u parameter%s", path,
                 (unsigned long long)info->n_dataset, info->n_dataset == 1 ? "dataset" : "datasets",
                 (unsigned long long)info->n_measurement, info->n_measurement == 1 ? "" : "s", model->abi.n_parameter,
                 model->abi.n_parameter == 1 ? "" : "s");
        message_say(line);
        snprintf(line, sizeof line, "note: %llu dataset%s cannot be fitted as %s; `stiffit run` says why",
                 (unsigned long long)n_bad, n_bad == 1 ? "" : "s", n_bad == 1 ? "it is" : "they are");
        if (n_bad)
            message_say(line);
    }
    problem_close(problem);
    return status;
}

static enum status import_all(const struct import_options *options, const char *path, struct error *error)
{
    struct model model = {.handle = NULL};
    struct parameters parameters = {.start = NULL};
    struct import_rows rows = {.n = 0};
    struct import_subjects subjects = {.n_covariate = 0};
    size_t *first = NULL;
    enum status status = model_text_load(&model, options->model, true, options->quiet, (enum when)options->color, error);
    if (status)
        return status;
    status = choose_parameters(&parameters, options, &model, error);
    if (!status)
        status = import_measurements(&rows, options->measurements, &model, error);
    if (!status)
        status = import_sort(&rows, &first, error);
    if (!status)
        status = import_subjects_read(&subjects, options->datasets, &rows.datasets, &model, parameters.start, error);
    if (!status && !subjects.has_start)
        status = check_parameters(&parameters, &model.abi, false, error);
    if (!status && subjects.n_unused > 0 && !options->quiet) {
        char line[200];
        snprintf(line, sizeof line, "note: %llu dataset%s of %.100s without measurements: left out",
                 (unsigned long long)subjects.n_unused, subjects.n_unused == 1 ? "" : "s", options->datasets);
        message_say(line);
    }
    if (!status)
        status = write_problem(options, path, &model, &parameters, &rows, first, &subjects, error);
    import_subjects_fini(&subjects);
    import_rows_fini(&rows);
    free(first);
    if (!status)
        status = check_written(path, &model, options->quiet, error);
    parameters_fini(&parameters);
    model_unload(&model);
    return status;
}

static int import(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path = options->output ? strdup(options->output) : default_output(options->measurements);
    enum status status = path ? import_all(options, path, &error) : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    free(path);
    return status ? message_usage("import", &error, (enum when)options->color) : 0;
}

static int run(int argc, char **argv)
{
    struct import_options options = {.model = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(&command_import, &options, &words, 1, argc, argv);
    if (code < 0) {
        options.measurements = words.n_positional ? words.positional[0] : NULL;
        if (!options.measurements)
            error_set(&error, STATUS_USAGE, "which table of measurements? None was given");
        else if (!options.model)
            error_set(&error, STATUS_USAGE, "which model? Give one with --model");
        else if (!options.output && !strcmp(options.measurements, "-"))
            error_set(&error, STATUS_USAGE, "--output is needed where the measurements come from standard input");
        code = error.status ? message_usage("import", &error, (enum when)options.color)
                            : contained_run(import, &options, options.model, (enum when)options.color);
    }
    struct option_list *const lists[] = {&options.fix, &options.start, &options.lower, &options.upper, &options.scale};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        option_list_fini(lists[i]);
    return code;
}

const struct command command_import = {
    .name = "import", .synopsis = "MEASUREMENTS.csv", .summary = "make a problem file from CSV tables",
    .example = "stiffit import data/theophylline-measurements.csv --datasets data/theophylline-subjects.csv \\\n"
               "    --model build/models/theophylline.so -o theophylline.h5",
    .description =
        "MEASUREMENTS.csv has a header line and a row per measurement, with the columns dataset, time, observable, value and "
        "if wanted sigma and censored (1 or left: the measurement lies below its value; -1 or right: above it), in any "
        "order. Rows of a dataset need not stand together; datasets are written in the order in which "
        "they appear first. Without a column 'observable' the model must have one only; without 'dataset' all rows are one. "
        "An empty value, NA or NaN is a missing measurement. Names, starts, bounds and scales of the parameters come from "
        "the model.",
    .table = import_table, .run = run};
