/* `stiffit import`: a problem file from CSV tables and a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "base/output.h"
#include "cli/command.h"
#include "cli/contained.h"
#include "cli/model_text.h"
#include "io/problem.h"
#include "run/plan/campaign.h"
#include "use/plugin_reference.h"
#include "use/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct import_options, name)

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL", .offset = FIELD(model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "datasets", .letter = 'd', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(datasets), .is_file = true,
     .help = "a second CSV table with one row per dataset: its id in a column 'dataset', a column for each covariate of the "
     "model, and optionally 't0' (initial time) and 'start_NAME' (start of parameter NAME)"},
    {.name = "parameters", .letter = 'p', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(parameters),
     .is_file = true,
     .help = "a CSV table with a row per parameter: its name in a column 'parameter', and optionally start, lower, upper, "
     "scale, fixed, prior, prior_location, prior_scale, prior_lower, prior_upper and prior_on; an empty field is the model's"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(output), .is_file = true,
     .is_output = true, .default_text = "MEASUREMENTS.h5", .help = "the problem file to write"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite), .help = "replace an existing file"},
    {.name = "embed", .kind = OPTION_FLAG, .offset = FIELD(embed),
     .help = "copy a plugin into the problem file instead of its path; text is always copied"},
    {.name = "start", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(start),
     .default_text = "the model's", .help = "start of a parameter, natural scale; may be repeated"},
    {.name = "lower", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(lower), .default_text = "the model's",
     .help = "lower bound of a parameter; may be repeated"},
    {.name = "upper", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(upper), .default_text = "the model's",
     .help = "upper bound of a parameter; may be repeated"},
    {.name = "scale", .kind = OPTION_LIST, .metavar = "NAME=WORD", .offset = FIELD(scale), .default_text = "the model's",
     .help = "scale on which the optimiser works: lin, log or log10; may be repeated"},
    {.name = "fix", .kind = OPTION_LIST, .metavar = "NAME[=VALUE]", .offset = FIELD(fix),
     .help = "hold a parameter at its start, or at this value; may be repeated"},
    {.name = "error", .kind = OPTION_LIST, .metavar = "NAME=WORD", .offset = FIELD(error), .default_text = "the model's",
     .help = "distribution of an observable's measurement errors: " ERROR_WORDS " or default (the model's distribution, "
         "otherwise the run's --error); may be repeated"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "do not report what was written"},
    OPTION_COLOR(FIELD(color)),
};

static enum status add_datasets(struct problem_writer *writer, const struct import_rows *rows, const size_t *first,
                                const struct import_subjects *subjects, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t d = 0; !status && d < rows->datasets.n; d++) {
        const struct problem_dataset dataset = {
            .id = rows->datasets.id[d], .t0 = subjects->t0[d], .covariate = subjects->covariate + d * subjects->n_covariate,
            .start = subjects->has_start ? subjects->start + d * subjects->n_parameter : NULL,
            .n_row = first[d + 1] - first[d], .measured = measurements_from(&rows->measured, first[d])};
        status = problem_writer_add(writer, &dataset, error);
    }
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

/* The errors of each observable from --error, which the caller frees; NULL without --error. */
static enum status choose_errors(const struct import_options *options, const struct stiffit_model *abi, const char ***words,
                                 struct error *error)
{
    if (options->error.n > 0 && !(*words = malloc(abi->n_observable * sizeof **words)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u observables", abi->n_observable);
    for (uint32_t k = 0; *words && k < abi->n_observable; k++)
        (*words)[k] = error_kind_default;
    for (size_t i = 0; i < options->error.n; i++) {
        size_t index;
        const char *word;
        enum status status = values_find(options->error.item[i], "error", "observable", abi->observable_name,
                                         abi->n_observable, &index, &word, error);
        if (status)
            return status;
        int kind = error_kind_of(word);
        if (kind < 0 && strcmp(word, error_kind_default))
            return error_set(error, STATUS_USAGE, "--error: '%.100s' is not one of " ERROR_WORDS ", default", word);
        (*words)[index] = kind < 0 ? error_kind_default : error_kind_word[kind];
    }
    return STATUS_OK;
}

static enum status write_problem(const struct import_options *options, const char *path, const struct model *model,
                                 const struct import_parameters *parameters, const char *const *error_words,
                                 const struct import_rows *rows, const size_t *first,
                                 const struct import_subjects *subjects, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    const char *slash = strrchr(options->measurements, '/');
    struct plugin_reference reference = {.path = NULL};
    struct problem_writer *writer = NULL;
    struct problem_header header = {
        .n_parameter = abi->n_parameter, .parameter_name = abi->parameter_name,
        .start = subjects->has_start ? NULL : parameters->start, .lower = parameters->lower, .upper = parameters->upper,
        .start_per_dataset = subjects->has_start, .scale = parameters->scale, .fixed = parameters->fixed,
        .from_model = parameters->from_model,
        .n_covariate = abi->n_covariate, .covariate_name = abi->covariate_name, .n_observable = abi->n_observable,
        .observable_name = abi->observable_name, .observable_error = error_words,
        .has_t0 = subjects->has_t0, .line_file = slash ? slash + 1 :
        strcmp(options->measurements, "-") ? options->measurements : "standard input",
        .prior = parameters->has_prior ? parameters->prior : NULL, .prior_on = parameters->prior_on,
        .prior_number = {parameters->prior_number[0], parameters->prior_number[1], parameters->prior_number[2],
                         parameters->prior_number[3]}};
    for (int c = 0; c < N_MEASUREMENT; c++)
        header.columns |= (unsigned)measurements_have(&rows->measured, (enum measurement_column)c, 0, rows->n) << c;
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

/* Reads the written file as a run does, in order to report now what a run would complain about. */
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
        const struct problem_info *info = problem_info(problem);
        message_say("%.300s: %llu dataset%s, %llu measurement%s, %u parameter%s", path, (unsigned long long)info->n_dataset,
                    plural(info->n_dataset), (unsigned long long)info->n_measurement, plural(info->n_measurement),
                    model->abi.n_parameter, plural(model->abi.n_parameter));
        if (n_bad)
            message_say("note: %llu dataset%s cannot be fitted as %s: bad_data in the result, with the reason",
                        (unsigned long long)n_bad, plural(n_bad), n_bad == 1 ? "it is" : "they are");
    }
    problem_close(problem);
    return status;
}

static void say_faults(const struct import_faults *faults)
{
    if (faults->n == 1)
        message_say("note: %s", faults->first.message);
    else if (faults->n)
        message_say("note: %s (the first of %llu such fields)", faults->first.message, (unsigned long long)faults->n);
}

static enum status import_all(const struct import_options *options, const char *path, struct error *error)
{
    struct model model = {.handle = NULL};
    struct import_parameters parameters = {.start = NULL};
    struct import_rows rows = {.n = 0};
    struct import_subjects subjects = {.n_covariate = 0};
    size_t *first = NULL;
    const char **error_words = NULL;
    enum status status = model_text_load(&model, options->model, true, options->quiet, options->color, error);
    if (status)
        return status;
    status = import_parameters_choose(&parameters, options, &model, error);
    if (!status)
        status = choose_errors(options, &model.abi, &error_words, error);
    if (!status)
        status = import_measurements(&rows, options->measurements, &model, error);
    if (!status)
        status = import_sort(&rows, &first, error);
    if (!status)
        status = import_subjects_read(&subjects, options->datasets, &rows.datasets, &model, parameters.start, error);
    if (!status && !subjects.has_start)
        status = import_parameters_check(&parameters, &model.abi, false, error);
    if (!status && subjects.n_unused > 0 && !options->quiet)
        message_say("note: %llu dataset%s of %.100s without measurements left out", (unsigned long long)subjects.n_unused,
                    plural(subjects.n_unused), options->datasets);
    if (!status)
        status = write_problem(options, path, &model, &parameters, error_words, &rows, first, &subjects, error);
    if (!status && !options->quiet) {
        say_faults(&rows.faults);
        say_faults(&subjects.faults);
    }
    import_subjects_fini(&subjects);
    import_rows_fini(&rows);
    free(first);
    free(error_words);
    if (!status)
        status = check_written(path, &model, options->quiet, error);
    import_parameters_fini(&parameters);
    model_unload(&model);
    return status;
}

static int import(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path = options->output ? strdup(options->output) : default_output(options->measurements);
    const char *const input[] = {options->measurements, options->datasets, options->parameters, options->model};
    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        if (spare_file(path, input[i], &error)) { /* the default output, too */
            free(path);
            return message_usage("import", &error, options->color);
        }
    enum status status = path ? import_all(options, path, &error) : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    free(path);
    return status ? message_usage("import", &error, options->color) : 0;
}

static int run(int argc, char **argv)
{
    struct import_options options = {.model = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(&command_import, &options, &words, 1, argc, argv);
    if (code < 0) {
        options.measurements = words.positional[0];
        if (!options.model)
            error_set(&error, STATUS_USAGE, "no model: give one with --model");
        else if (!options.output && !strcmp(options.measurements, "-"))
            error_set(&error, STATUS_USAGE, "--output is needed when the measurements come from standard input");
        code = error.status ? message_usage("import", &error, options.color)
                            : contained_run(import, &options, options.model, options.color);
    }
    struct option_list *const lists[] = {&options.fix, &options.start, &options.lower, &options.upper, &options.scale,
                                         &options.error};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        option_list_fini(lists[i]);
    return code;
}

const struct command command_import = {
    .name = "import", .synopsis = "MEASUREMENTS.csv", .summary = "make a problem file from CSV tables",
    .example = "stiffit import data/theophylline-measurements.csv --datasets data/theophylline-subjects.csv \\\n"
               "    --model models/theophylline/theophylline.ode -o theophylline.h5",
    .needs = "table of measurements",
    .description =
        "MEASUREMENTS.csv has a header line and a row per measurement, with the columns dataset, time, observable, value and "
        "optionally sigma and censored (1 or left: the measurement lies below its value; -1 or right: above it), in any "
        "order. Rows of a dataset need not be adjacent; datasets are written in order of their first row. Without a column "
        "'observable' the model must have a single observable; without 'dataset' all rows form one dataset. "
        "An empty value, NA or NaN is a missing measurement. Names, starts, bounds, scales and priors of the parameters come "
        "from the model, unless the table of parameters or an option overrides them.",
    .table = COMMAND_TABLE(table), .run = run};
