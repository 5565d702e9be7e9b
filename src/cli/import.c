/* `stiffit import`: a problem file from CSV tables and a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import_happenings.h"

#include "base/output.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/model_text.h"
#include "io/problem.h"
#include "run/plan/campaign.h"
#include "use/plugin_reference.h"
#include "use/values.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct import_options, name)

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL", .offset = FIELD(model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "datasets", .letter = 'd', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(datasets), .is_file = true,
     .help = "a second CSV table with one row per dataset: its id in a column 'dataset', a column for each covariate of the "
     "model, and optionally 't0' (initial time), 'start_NAME' (start of parameter NAME) and 'fixed_NAME' (a value at which "
     "it is held)"},
    {.name = "experiments", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(experiments), .is_file = true,
     .help = "a CSV table with one row per experiment, if datasets have several: columns 'dataset' and 'experiment' (as the "
     "measurements then have), covariates and 't0' as with --datasets, and optionally 'steady' (the experiment at whose "
     "steady state it begins)"},
    {.name = "doses", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(doses), .is_file = true,
     .help = "a CSV table with one row per dose: columns 'dataset' (and 'experiment'), 'time', 'amount', 'target' (the state; "
     "not needed if there is one), and optionally 'duration' or 'rate', 'interval', 'count' and 'steady' (1: the steady "
     "state of such doses, 2: added to what is there); a measurement at the time of a dose comes before it, unless its "
     "'side' is after"},
    {.name = "inputs", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(inputs), .is_file = true,
     .help = "a CSV table of inputs, covariates that vary in time: columns 'dataset' (and 'experiment'), 'time', 'value' and "
     "'input' (its name; not needed if there is one)"},
    {.name = "events", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(events), .is_file = true,
     .help = "a CSV table of events that the data make happen: columns 'dataset' (and 'experiment'), 'time' and 'event' (its "
     "name; not needed if there is one)"},
    {.name = "substitutes", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(substitutes), .is_file = true,
     .help = "a CSV table of parameters of the model that have other ones, or numbers, in parts of the data: columns "
     "'dataset' (and 'experiment'), 'parameter', 'by' (a parameter, of the model or a new one) or 'value' (a number), and "
     "optionally 'time' (from when on) or 'measurement' (the line of the only measurement for which it holds)"},
    {.name = "units-row", .kind = OPTION_FLAG, .offset = FIELD(units_row),
     .help = "the table of measurements has a row of units below its header, which is left out"},
    {.name = "nonmem", .kind = OPTION_FLAG, .offset = FIELD(nonmem),
     .help = "the table is in NONMEM's style: rows of doses and measurements by ID and TIME"},
    {.name = "cmt", .kind = OPTION_LIST, .metavar = "NUMBER=STATE", .offset = FIELD(cmt), .default_text = "the order of states",
     .help = "with --nonmem: the state that CMT means by a number; may be repeated"},
    {.name = "locf", .kind = OPTION_FLAG, .offset = FIELD(locf),
     .help = "with --nonmem: an input keeps each value until the next one, instead of taking the next one backward"},
    {.name = "parameters", .letter = 'p', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(parameters),
     .is_file = true,
     .help = "a CSV table with a row per parameter: its name in a column 'parameter', and optionally start, lower, upper, "
     "scale, fixed, level (dataset, shared, random, or a column of groups), prior, prior_location, "
     "prior_scale, prior_lower, prior_upper and prior_on; an empty field is the model's"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(output), .is_file = true,
     .is_output = true, .default_text = "MEASUREMENTS.h5, MODEL.ode",
     .help = "the problem file, or with SBML the text, to write"},
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
    {.name = "estimate", .kind = OPTION_LIST, .metavar = "ID", .offset = FIELD(estimate), .default_text = "all constants",
     .help = "with SBML: a parameter of the model, and the others become constants; of a species, its initial value; "
     "may be repeated"},
    {.name = "dataset-column", .kind = OPTION_STRING, .metavar = "COLUMN", .offset = FIELD(dataset_column),
     .help = "with PEtab: the column of its measurements, conditions or experiments that names the dataset; without it the "
     "problem is one dataset"},
    {.name = "outside", .kind = OPTION_FLAG, .offset = FIELD(outside),
     .help = "with PEtab: read files outside of the problem's folder, too"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "do not report what was written"},
    OPTION_COLOR(FIELD(color)),
};

/* All that the new file gets. */
struct contents {
    struct import_rows rows;
    struct import_subjects subjects;
    struct import_happenings happenings;
    struct import_substitutes substitutes;
    size_t *first; /* row of each experiment */
};

static enum status add_datasets(struct problem_writer *writer, const struct contents *contents, const struct model *model,
                                struct error *error)
{
    const struct import_rows *rows = &contents->rows;
    const struct import_owners *owners = &rows->owners;
    const struct import_subjects *subjects = &contents->subjects;
    const struct import_happenings *happenings = &contents->happenings;
    const struct import_substitutes *substitutes = &contents->substitutes;
    uint32_t *order = NULL, *first = NULL, *place = calloc((size_t)owners->experiment.n + 1, sizeof *place);
    enum status status = place ? import_owners_order(owners, &order, &first, error)
                               : error_set(error, STATUS_NO_MEMORY, "out of memory for %u experiments", owners->experiment.n);
    for (uint32_t k = 0; !status && k < owners->experiment.n; k++)
        place[order[k]] = k;
    for (uint32_t d = 0; !status && d < owners->dataset.n; d++)
        for (uint32_t k = first[d]; !status && k < first[d + 1]; k++) {
            uint32_t e = order[k], source = subjects->steady ? subjects->steady[e] : ID_NONE;
            const struct problem_dataset dataset = {
                .id = k == first[d] ? owners->dataset.id[d] : NULL, .experiment_id = import_experiment_id(owners, e),
                .steady = source == ID_NONE ? EXPERIMENT_NONE : place[source] - first[d],
                .t0 = subjects->t0[e], .covariate = subjects->covariate + e * subjects->n_covariate,
                .start = subjects->has_start ? subjects->start + d * subjects->n_parameter : NULL,
                .fixed = subjects->has_fixed ? subjects->fixed + d * subjects->n_parameter : NULL,
                .n_row = contents->first[e + 1] - contents->first[e],
                .measured = measurements_from(&rows->measured, contents->first[e]),
                .n_dose = happenings->first_dose[e + 1] - happenings->first_dose[e],
                .dose = happenings->sorted + happenings->first_dose[e],
                .input = happenings->input + e * model->abi.n_input,
                .n_call = happenings->first_call[e + 1] - happenings->first_call[e],
                .call = happenings->sorted_call + happenings->first_call[e],
                .n_substitute = substitutes->first[e + 1] - substitutes->first[e],
                .substitute = substitutes->sorted + substitutes->first[e]};
            status = problem_writer_add(writer, &dataset, error);
        }
    free(order);
    free(first);
    free(place);
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

/* Reads the written file as a run does, before it gets its name: what a run would complain about is reported now, and no file
 * is left that a run would refuse. */
static enum status check_written(const char *written, const char *path, const struct model *model, bool quiet,
                                 struct error *error)
{
    struct problem *problem = NULL;
    const struct problem_expectation expectation = campaign_expectation(model);
    unsigned char hash[32];
    uint64_t n_bad = 0;
    enum status status = problem_open(&problem, written, error);
    if (!status)
        status = problem_validate(problem, &expectation, hash, &n_bad, error);
    if (!status && !quiet) {
        const struct problem_info *info = problem_info(problem);
        const struct { uint64_t n; const char *what; } counts[] = {
            {info->has_experiments ? info->n_experiment : 0, "experiment"}, {info->n_dose, "dose"},
            {info->n_knot, "input value"}, {info->n_call, "event"}, {info->n_substitute, "substitute"}};
        char more[120] = "";
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (counts[i].n)
                words_add(more, sizeof more, ", %llu %s%s", (unsigned long long)counts[i].n, counts[i].what,
                          plural(counts[i].n));
        message_say("%.300s: %llu dataset%s%s, %llu measurement%s, %u parameter%s", path, (unsigned long long)info->n_dataset,
                    plural(info->n_dataset), more, (unsigned long long)info->n_measurement, plural(info->n_measurement),
                    (unsigned)info->n_parameter, plural(info->n_parameter));
        if (n_bad)
            message_say("note: %llu dataset%s cannot be fitted as %s: bad_data in the result, with the reason",
                        (unsigned long long)n_bad, plural(n_bad), n_bad == 1 ? "it is" : "they are");
    }
    problem_close(problem);
    size_t n = strlen(written);
    if (status && !strncmp(error->message, written, n)) { /* by the name that it would have got */
        const struct error fault = *error;
        error_set(error, status, "%.300s (not written)%s", path, fault.message + n);
    }
    return status;
}

static enum status write_problem(const struct import_options *options, const char *path, const struct model *model,
                                 const struct import_parameters *parameters, const char *const *error_words,
                                 const struct contents *contents, struct error *error)
{
    const struct stiffit_model *abi = &contents->substitutes.wide.abi;
    const struct import_rows *rows = &contents->rows;
    const struct import_subjects *subjects = &contents->subjects;
    struct plugin_reference reference = {.path = NULL};
    struct problem_writer *writer = NULL;
    const char *written;
    struct problem_header header = {
        .n_parameter = abi->n_parameter, .parameter_name = abi->parameter_name,
        .start = subjects->has_start ? NULL : parameters->start, .lower = parameters->lower, .upper = parameters->upper,
        .start_per_dataset = subjects->has_start, .fixed_per_dataset = subjects->has_fixed, .scale = parameters->scale,
        .fixed = parameters->fixed, .from_model = parameters->from_model,
        .n_covariate = abi->n_covariate, .covariate_name = abi->covariate_name, .n_observable = abi->n_observable,
        .observable_name = abi->observable_name, .observable_error = error_words,
        .has_t0 = subjects->has_t0, .has_experiments = rows->owners.has_experiments, .has_steady = subjects->has_steady,
        .n_target = abi->n_state, .target_name = abi->state_name, .n_input = abi->n_input, .input_name = abi->input_name,
        .n_event = abi->n_event, .event_name = abi->event_name, .n_substituted = model->abi.n_parameter,
        .substituted_name = model->abi.parameter_name, .has_substitute_times = contents->substitutes.has_times,
        .has_substitute_rows = contents->substitutes.has_rows,
        .line_file = strcmp(options->measurements, "-") ? words_file(options->measurements) : "standard input",
        .level = (const char *const *)parameters->level,
        .prior = parameters->has_prior ? parameters->prior : NULL, .prior_on = parameters->prior_on,
        .prior_number = {parameters->prior_number[0], parameters->prior_number[1], parameters->prior_number[2],
                         parameters->prior_number[3]}};
    for (size_t i = 0; i < contents->happenings.n_dose; i++) {
        header.has_dose_rates = header.has_dose_rates || contents->happenings.sorted[i].rate != 0;
        header.has_steady_doses = header.has_steady_doses || contents->happenings.sorted[i].steady;
    }
    for (int c = 0; c < N_MEASUREMENT; c++)
        header.columns |= (unsigned)measurements_have(&rows->measured, (enum measurement_column)c, 0, rows->n) << c;
    enum status status = plugin_reference_init(&reference, model, options->model, options->embed, error);
    if (!status) {
        plugin_reference_use(&reference, &header);
        status = problem_writer_open(&writer, path, options->overwrite, &header, error);
    }
    if (!status)
        status = add_datasets(writer, contents, model, error);
    if (!status)
        status = problem_writer_complete(writer, &written, error);
    if (!status)
        status = check_written(written, path, model, options->quiet, error);
    if (!status)
        status = problem_writer_finish(writer, error);
    problem_writer_close(writer);
    plugin_reference_fini(&reference);
    return status;
}

static void say_faults(const struct import_faults *faults)
{
    if (faults->n == 1)
        message_say("note: %s", faults->first.message);
    else if (faults->n)
        message_say("note: %s (the first of %llu such fields)", faults->first.message, (unsigned long long)faults->n);
}

static void say_unused(uint64_t n, const char *what, const char *path)
{
    if (n > 0)
        message_say("note: %llu %s%s of %.100s without measurements left out", (unsigned long long)n, what, plural(n), path);
}

/* Reads the tables, or the one of NONMEM's style, and sorts what they hold; chooses the parameters on the way. */
static enum status read_contents(struct contents *contents, const struct import_options *options, const struct model *model,
                                 struct import_parameters *parameters, struct error *error)
{
    struct import_rows *rows = &contents->rows;
    struct import_happenings *happenings = &contents->happenings;
    struct import_substitutes *substitutes = &contents->substitutes;
    const struct import_owners *owners = &rows->owners;
    enum status status = STATUS_OK;
    if (options->nonmem)
        status = import_nonmem(rows, &contents->subjects, happenings, options, model, error);
    else
        status = import_measurements(rows, options->measurements, model, options->experiments != NULL, options->units_row,
                                     error);
    if (!status && options->experiments)
        status = import_steady_read(rows, options->experiments, error);
    if (!status)
        status = import_sort(rows, &contents->first, error);
    if (!status && options->substitutes)
        status = import_substitutes_read(substitutes, options->substitutes, rows, contents->first, model, error);
    if (!status)
        status = import_substitutes_widen(substitutes, model, owners->experiment.n, error);
    if (!status)
        status = import_parameters_choose(parameters, options, &substitutes->wide, model, error);
    /* the model's own priors know its names only */
    parameters->has_prior = parameters->has_prior || (substitutes->n && substitutes->wide.abi.parameter_prior);
    if (!status && !options->nonmem)
        status = import_subjects_read(&contents->subjects, options, owners, &substitutes->wide, parameters->start,
                                      parameters->fixed, error);
    const double *t0 = contents->subjects.t0;
    if (!status)
        status = import_substitutes_sort(substitutes, options->substitutes, t0, owners->experiment.n, error);
    if (!status && options->doses)
        status = import_doses(happenings, options->doses, owners, model, t0, error);
    if (!status && options->inputs)
        status = import_inputs(happenings, options->inputs, owners, model, error);
    if (!status && options->events)
        status = import_events(happenings, options->events, owners, model, t0, error);
    if (!status)
        status = import_happenings_sort(happenings, options->inputs, owners->experiment.n, model->abi.n_input, error);
    if (!status && !contents->subjects.has_start)
        status = import_parameters_check(parameters, &substitutes->wide.abi, false, error);
    return status;
}

static void say_contents(const struct contents *contents, const struct import_options *options)
{
    const char *const path[] = {options->doses, options->inputs, options->events, options->substitutes};
    const char *only = "the tables";
    size_t n = 0;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        if (path[i])
            only = n++ == 0 ? path[i] : "the tables";
    uint64_t n_unused = contents->happenings.n_unused + contents->substitutes.n_unused;
    say_unused(contents->subjects.n_unused[0], "dataset", options->datasets);
    say_unused(contents->subjects.n_unused[1], "experiment", options->experiments);
    if (n_unused > 0)
        message_say("note: %llu row%s of %.100s left out (datasets or experiments without measurements)",
                    (unsigned long long)n_unused, plural(n_unused), only);
    say_faults(&contents->rows.faults);
    say_faults(&contents->subjects.faults);
}

static enum status import_all(const struct import_options *options, const char *path, struct error *error)
{
    struct model model = {.handle = NULL};
    struct import_parameters parameters = {.start = NULL};
    struct contents contents = {.first = NULL};
    const char **error_words = NULL;
    enum status status = model_text_load(&model, options->model, true, options->quiet, options->color, error);
    if (status)
        return status;
    status = choose_errors(options, &model.abi, &error_words, error);
    if (!status)
        status = read_contents(&contents, options, &model, &parameters, error);
    if (!status && !options->quiet)
        say_contents(&contents, options);
    if (!status)
        status = write_problem(options, path, &model, &parameters, error_words, &contents, error);
    import_happenings_fini(&contents.happenings);
    import_subjects_fini(&contents.subjects);
    import_substitutes_fini(&contents.substitutes);
    import_rows_fini(&contents.rows);
    free(contents.first);
    free(error_words);
    import_parameters_fini(&parameters);
    model_unload(&model);
    return status;
}

static int import(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path = options->output ? strdup(options->output) : default_output(options->measurements);
    const char *const input[] = {options->measurements, options->datasets, options->experiments, options->doses,
                                 options->inputs, options->events, options->substitutes, options->parameters, options->model};
    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        if (spare_file(path, input[i], &error)) { /* the default output, too */
            free(path);
            return message_usage("import", &error, options->color);
        }
    enum status status = path ? import_all(options, path, &error) : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    free(path);
    return status ? message_usage("import", &error, options->color) : 0;
}

/* The first option of a table beside the measurements; NULL: there is none. */
static const char *table_given(const struct import_options *options)
{
    return options->datasets ? "datasets" : options->experiments ? "experiments" : options->doses ? "doses"
           : options->inputs ? "inputs" : options->events ? "events" : options->substitutes ? "substitutes" : NULL;
}

static int run(int argc, char **argv)
{
    struct import_options options = {.model = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(&command_import, &options, &words, OPTION_MAX_POSITIONAL, argc, argv);
    if (code < 0) {
        bool is_sbml = import_is_sbml(words.positional[0]), is_petab = import_is_petab(words.positional[0]);
        options.measurements = words.positional[0];
        options.petab = words.positional;
        options.n_petab = words.n_positional;
        if (options.estimate.n && !is_sbml)
            error_set(&error, STATUS_USAGE, "--estimate: is for SBML (.xml or .sbml)");
        else if ((options.dataset_column || options.outside) && !is_petab)
            error_set(&error, STATUS_USAGE, "--%s: is for PEtab (.yaml)", options.outside ? "outside" : "dataset-column");
        else if (!options.model && !is_sbml && !is_petab)
            error_set(&error, STATUS_USAGE, "no model: give one with --model");
        else if (options.nonmem && table_given(&options))
            error_set(&error, STATUS_USAGE, "--nonmem: the one table has it all; leave out --%s", table_given(&options));
        else if (!options.nonmem && (options.cmt.n || options.locf))
            error_set(&error, STATUS_USAGE, "--%s: is for --nonmem", options.locf ? "locf" : "cmt");
        else if (words.n_positional > 1 && !is_petab)
            error_set(&error, STATUS_USAGE, "'%s': only one table of measurements is expected; several files are for PEtab "
                      "(.yaml)", words.positional[1]);
        else if (!options.output && !strcmp(options.measurements, "-"))
            error_set(&error, STATUS_USAGE, "--output is needed when the measurements come from standard input");
        code = error.status ? message_usage("import", &error, options.color)
               : is_sbml    ? import_sbml(&options)
               : is_petab   ? import_petab(&options)
                            : contained_run(import, &options, options.model, options.color);
    }
    struct option_list *const lists[] = {&options.fix, &options.start, &options.lower, &options.upper, &options.scale,
                                         &options.error, &options.cmt, &options.estimate};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        option_list_fini(lists[i]);
    return code;
}

const struct command command_import = {
    .name = "import", .synopsis = "MEASUREMENTS.csv|MODEL.xml|PROBLEM.yaml...",
    .summary = "make a problem file from CSV tables, or model text from SBML",
    .example = "stiffit import data/theophylline-measurements.csv --datasets data/theophylline-subjects.csv \\\n"
               "    --model models/theophylline/theophylline.ode -o theophylline.h5",
    .needs = "table of measurements",
    .description =
        "MEASUREMENTS.csv has a header line and a row per measurement, with the columns dataset, time, observable, value and "
        "optionally sigma, censored (1 or left: the measurement lies below its value; -1 or right: above it) and side (before "
        "or after: at the very time of a dose), in any order. Rows of a dataset need not be adjacent; datasets are written in "
        "order of their first row. Without a column 'observable' the model must have a single observable; without 'dataset' "
        "all rows form one dataset. An empty value, '.', NA or NaN is a missing measurement. In wide form there is no column "
        "'value' but one for each observable, and optionally sigma_NAME and censored_NAME. Columns may be separated by "
        "semicolons, and numbers then have decimal commas. Names, starts, bounds, scales and "
        "priors of the parameters come from the model, unless the table of parameters or an option overrides them.\n"
        "MODEL.xml (or .sbml) is SBML, which becomes model text: MODEL.ode.\n"
        "PROBLEM.yaml is a PEtab problem; of several ones with the same model each becomes a dataset.",
    .table = COMMAND_TABLE(table), .run = run};
