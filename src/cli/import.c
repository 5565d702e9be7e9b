/* `stiffit import`: a problem file from CSV tables and a model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/import.h"

#include "base/error_kind.h"
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "import/format.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct import_options, name)

/* The columns of a table, from their list. */
#define OF_EXPERIMENT "columns 'dataset' (and 'experiment')"
#define COLUMN(field, name, type, presence, none, least, most, set, meaning) ", '" name \
    "' (" meaning ")"

#define FORMAT_FLAG(word, text) \
    {.name = #word, .kind = OPTION_FLAG, .offset = FIELD(is_format[IMPORT_FORMAT_##word]), \
     .help = text},

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL",
     .offset = FIELD(model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "datasets", .letter = 'd', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(datasets), .is_file = true,
     .help = "a second CSV table with one row per dataset: its id in a column 'dataset', a "
             "column for each covariate of the model, and optionally 't0' (initial time), "
             "'start_NAME' (start of parameter NAME) and 'fixed_NAME' (a value at which it is "
             "held); other columns, numbers or texts, are kept; or the plate's grid (columns 1, 2, "
             "... and rows A, B, ...)"},
    {.name = "experiments", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(experiments),
     .is_file = true,
     .help = "a CSV table with one row per experiment, if datasets have several: columns "
             "'dataset' and 'experiment' (as the measurements then have), covariates and 't0' as "
             "with --datasets, and optionally 'steady' (the experiment at whose steady state it "
             "begins)"},
    {.name = "doses", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(doses),
     .is_file = true,
     .help = "a CSV table with one row per dose: " OF_EXPERIMENT DOSE_LIST(COLUMN)
             "; a column may be missing or a cell empty where one state, one dose at once or "
             "nothing is meant, and a rate or a duration of -1 is the model's; a measurement at "
             "the time of a dose comes before it, unless its 'side' is after"},
    {.name = "inputs", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(inputs),
     .is_file = true,
     .help = "a CSV table of inputs, covariates that vary in time: " OF_EXPERIMENT
             KNOT_LIST(COLUMN) ", which is not needed if there is one"},
    {.name = "events", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(events),
     .is_file = true,
     .help = "a CSV table of events that the data make happen: " OF_EXPERIMENT
             CALL_LIST(COLUMN) ", which is not needed if there is one"},
    {.name = "substitutes", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(substitutes),
     .is_file = true,
     .help = "a CSV table of parameters of the model that have other ones, or numbers, in parts "
             "of the data: columns 'dataset' (and 'experiment'), 'parameter', 'by' (a parameter, "
             "of the model or a new one) or 'value' (a number), and optionally 'time' (from when "
             "on) or 'measurement' (the line of the only measurement for which it holds)"},
    {.name = "datasets-in-columns", .kind = OPTION_FLAG, .offset = FIELD(datasets_in_columns),
     .help = "the table of measurements has a row per time and a column per dataset, as plate "
             "readers write it: beside 'time', and 'observable' if the model has several, each "
             "column is a dataset, whose id is its name; if most are called like wells (A1, "
             "P2_H12), others are left out; there may be several such blocks, each below a line "
             "with the name of its observable or plate"},
    {.name = "id", .kind = OPTION_STRING, .metavar = "COLUMN[,...]", .offset = FIELD(id),
     .default_text = "the column 'dataset' or 'id'",
     .help = "the column that names the dataset, in all tables; of several, the words are joined "
             "by an underscore: plate,well gives P1_A1"},
    {.name = "column", .kind = OPTION_LIST, .metavar = "NAME=COLUMN", .offset = FIELD(column),
     .help = "in all tables, the column COLUMN is the one that this page calls NAME, as DV=CONC or "
             "time=Hours; may be repeated"},
    {.name = "where", .kind = OPTION_STRING, .metavar = "CONDITION", .offset = FIELD(where),
     .help = "only rows of the table of measurements for which this holds: comparisons of its "
             "columns with a number or word, joined by and: 'BLQ == 0 and DVID != pca'"},
    {.name = "missing", .kind = OPTION_LIST, .metavar = "WORD[,...]", .offset = FIELD(missing),
     .default_text = "an empty field, '.', NA and NaN",
     .help = "words that also mean a missing value, such as OVRFLW; may be "
     "repeated"},
    {.name = "units-row", .kind = OPTION_FLAG, .offset = FIELD(units_row),
     .help = "the table of measurements has a row of units below its header, which is left out"},
    IMPORT_FORMATS(FORMAT_FLAG)
    {.name = "cmt", .kind = OPTION_LIST, .metavar = "NUMBER=STATE", .offset = FIELD(cmt),
     .default_text = "the order of states",
     .help = "with --nonmem: the state that CMT means by a number; may be repeated"},
    {.name = "observables", .kind = OPTION_LIST, .metavar = "NUMBER=OBSERVABLE[,...]",
     .offset = FIELD(observables), .default_text = "the column DVID",
     .help = "with --nonmem: the observables that CMT, or DVID if there is no CMT, means by "
             "numbers, in measurements"},
    {.name = "ignore", .kind = OPTION_LIST, .metavar = "CHARACTER", .offset = FIELD(ignore),
     .default_text = "#, and words in a first column or a column C",
     .help = "with --nonmem: records that begin with this character are comments, as with "
             "NM-TRAN's IGNORE; @: with any letter; may be repeated"},
    {.name = "locf", .kind = OPTION_FLAG, .offset = FIELD(locf),
     .help = "with --nonmem: an input keeps each value until the next one, instead of taking the "
             "next one backward"},
    {.name = "parameters", .letter = 'p', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(parameters), .is_file = true,
     .help = "a CSV table with a row per parameter: its name in a column 'parameter', and "
             "optionally start, lower, upper, scale, fixed, level (dataset, shared, random, or a "
             "column of groups), prior, prior_location, prior_scale, prior_lower, prior_upper "
             "and prior_on; an empty field is the model's"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true,
     .is_output = true, .default_text = "MEASUREMENTS.h5, MODEL.ode",
     .help = "the problem file, or with SBML the text, to write"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    {.name = "embed", .kind = OPTION_FLAG, .offset = FIELD(embed),
     .help = "copy a plugin into the problem file instead of its path; text is always copied"},
    {.name = "start", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(start),
     .default_text = "the model's", .help = "start of a parameter, natural scale; may be repeated"},
    {.name = "lower", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(lower),
     .default_text = "the model's", .help = "lower bound of a parameter; may be repeated"},
    {.name = "upper", .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(upper),
     .default_text = "the model's", .help = "upper bound of a parameter; may be repeated"},
    {.name = "scale", .kind = OPTION_LIST, .metavar = "NAME=WORD", .offset = FIELD(scale),
     .default_text = "the model's",
     .help = "scale on which the optimiser works: lin, log or log10; may be repeated"},
    {.name = "fix", .kind = OPTION_LIST, .metavar = "NAME[=VALUE]", .offset = FIELD(fix),
     .help = "hold a parameter at its start, or at this value; may be repeated"},
    {.name = "error", .kind = OPTION_LIST, .metavar = "NAME=WORD", .offset = FIELD(error),
     .default_text = "the model's",
     .help = "distribution of an observable's measurement errors: " ERROR_WORDS
             " or default (the model's distribution, otherwise the run's --error); may be "
             "repeated"},
    {.name = "estimate", .kind = OPTION_LIST, .metavar = "ID", .offset = FIELD(estimate),
     .default_text = "all constants",
     .help = "with SBML: a parameter of the model, and the others become constants; of a "
             "species, its initial value; may be repeated"},
    {.name = "dataset-column", .kind = OPTION_STRING, .metavar = "COLUMN",
     .offset = FIELD(dataset_column),
     .help = "with PEtab: the column of its measurements, conditions or experiments that names "
             "the dataset; without it the problem is one dataset"},
    {.name = "outside", .kind = OPTION_FLAG, .offset = FIELD(outside),
     .help = "with PEtab: read files outside of the problem's folder, too"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
     .help = "do not report what was written"},
    OPTION_COLOR(FIELD(color)),
};

/* "x.csv" -> "x.h5"; free it. */
static char *default_output(const char *measurements)
{
    size_t n = strlen(measurements);
    if (n > 4 && !strcmp(measurements + n - 4, ".csv"))
        n -= 4;
    char *path = NULL;
    return asprintf(&path, "%.*s.h5", (int)n, measurements) < 0 ? NULL : path;
}

static enum status import_all(const struct import_options *options, const char *path,
                              struct error *error)
{
    struct model model = {.handle = NULL};
    enum status status =
        model_text_load(&model, options->model, true, options->quiet, options->color, error);
    if (status)
        return status;
    status = import_tables(options, &model, path, error);
    model_unload(&model);
    return status;
}

static int import(void *context)
{
    const struct import_options *options = context;
    struct error error = {.status = STATUS_OK};
    char *path = options->output ? strdup(options->output) : default_output(options->measurements);
    const char *const input[] = {options->measurements, options->datasets,   options->experiments,
                                 options->doses,        options->inputs,     options->events,
                                 options->substitutes,  options->parameters, options->model};
    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        if (spare_file(path, input[i], &error)) { /* the default output, too */
            free(path);
            return message_usage("import", &error, options->color);
        }
    enum status status = path ? import_all(options, path, &error)
                              : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    free(path);
    return status ? message_usage("import", &error, options->color) : 0;
}

/* The first option of a table beside the measurements; NULL: there is none. */
static const char *table_given(const struct import_options *options)
{
    return options->datasets      ? "datasets"
           : options->experiments ? "experiments"
           : options->doses       ? "doses"
           : options->inputs      ? "inputs"
           : options->events      ? "events"
           : options->substitutes ? "substitutes"
                                  : NULL;
}

static bool is_given(const struct option_words *words, const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (words->given >> i & 1 && !strcmp(table[i].name, name))
            return true;
    return false;
}

/* The first given option of a format that is not chosen, and the format; NULL: there is none. */
static const char *strange_option(const struct import_options *options,
                                  const struct option_words *words,
                                  const struct import_format **format)
{
    for (size_t i = 0; i < N_IMPORT_FORMAT; i++) {
        *format = import_formats[i];
        for (const char *const *name = (*format)->option; *name && !options->is_format[i]; name++)
            if (is_given(words, *name))
                return *name;
    }
    return NULL;
}

/* The first word of --ignore that is not one character; NULL: there is none. */
static const char *bad_mark(const struct import_options *options)
{
    for (size_t i = 0; i < options->ignore.n; i++)
        if (strlen(options->ignore.item[i]) != 1)
            return options->ignore.item[i];
    return NULL;
}

/* The first item of --column that is not NAME=COLUMN; NULL: there is none. */
static const char *bad_name(const struct import_options *options)
{
    for (size_t i = 0; i < options->column.n; i++) {
        const char *equals = strchr(options->column.item[i], '=');
        if (!equals || equals == options->column.item[i] || !equals[1])
            return options->column.item[i];
    }
    return NULL;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct import_options options = {.say = message_say};
    const char *marks, *name;
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &options, &words, OPTION_MAX_POSITIONAL, argc, argv);
    if (code < 0) {
        bool is_sbml = import_is_sbml(words.positional[0]),
             is_petab = import_is_petab(words.positional[0]);
        const struct import_format *format = import_format_of(&options), *other;
        options.measurements = words.positional[0];
        options.petab.yaml = words.positional;
        options.petab.n = words.n_positional;
        if (options.estimate.n && !is_sbml)
            error_set(&error, STATUS_USAGE, "--estimate: is for SBML (.xml or .sbml)");
        else if ((options.dataset_column || options.outside) && !is_petab)
            error_set(&error, STATUS_USAGE, "--%s: is for PEtab (.yaml)",
                      options.outside ? "outside" : "dataset-column");
        else if (!options.model && !is_sbml && !is_petab)
            error_set(&error, STATUS_USAGE, "no model: give one with --model");
        else if (format && table_given(&options))
            error_set(&error, STATUS_USAGE, "--%s: the one table has it all; leave out --%s",
                      format->name, table_given(&options));
        else if ((name = strange_option(&options, &words, &other)))
            error_set(&error, STATUS_USAGE, "--%s: is for --%s", name, other->name);
        else if ((marks = bad_mark(&options)))
            error_set(&error, STATUS_USAGE,
                      "--ignore: '%.40s' is not one character; conditions are given with --where",
                      marks);
        else if (options.id && format)
            error_set(&error, STATUS_USAGE,
                      "--id: with --%s it is the column %s; say --column %s=%.100s",
                      format->name, format->id, format->id, options.id);
        else if ((name = bad_name(&options)))
            error_set(&error, STATUS_USAGE, "--column: '%.100s' is not NAME=COLUMN", name);
        else if ((options.column.n || options.where) && (is_sbml || is_petab))
            error_set(&error, STATUS_USAGE, "--%s: is for tables of measurements",
                      options.column.n ? "column" : "where");
        else if (options.datasets_in_columns && (format || options.experiments))
            error_set(&error, STATUS_USAGE, "--datasets-in-columns: leave out --%s",
                      format ? format->name : "experiments");
        else if (words.n_positional > 1 && !is_petab)
            error_set(&error, STATUS_USAGE,
                      "'%s': only one table of measurements is expected; several files are for "
                      "PEtab (.yaml)",
                      words.positional[1]);
        else if (!options.output && !strcmp(options.measurements, "-"))
            error_set(&error, STATUS_USAGE,
                      "--output is needed when the measurements come from standard input");
        code = error.status ? message_usage("import", &error, options.color)
               : is_sbml    ? import_sbml(&options)
               : is_petab   ? import_petab(&options)
                            : contained_run(import, &options, options.model, options.color);
    }
    struct option_list *const lists[] = {&options.fix,     &options.start,       &options.lower,
                                         &options.upper,   &options.scale,       &options.error,
                                         &options.cmt,     &options.observables, &options.ignore,
                                         &options.missing, &options.estimate,
                                         &options.column};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        option_list_fini(lists[i]);
    return code;
}

const struct command command_import = {
    .name = "import", .synopsis = "MEASUREMENTS.csv|MODEL.xml|PROBLEM.yaml...",
    .summary = "make a problem file from CSV tables, or model text from SBML",
    .example = "stiffit import data/theophylline-measurements.csv --datasets "
               "data/theophylline-subjects.csv \\\n"
               "    --model models/theophylline/theophylline.ode -o theophylline.h5",
    .needs = "table of measurements",
    .description =
        "MEASUREMENTS.csv has a header line and a row per measurement, with the columns dataset, "
        "time, observable, value and optionally sigma, censored (1 or left: the measurement lies "
        "below its value; -1 or right: above it), limit (of a censored one: it lies between this "
        "and its value) and side (before or after: at the very time of a dose), in any order. "
        "Rows of a dataset need not be adjacent; datasets are written in order of their first "
        "row. Without a column 'observable' the model must have a single observable; without "
        "'dataset' all rows form one dataset. An empty value, '.', NA or NaN is a missing "
        "measurement. In wide form there is no column 'value' but one for each observable, and "
        "optionally sigma_NAME, censored_NAME and limit_NAME. Columns may be separated by "
        "semicolons, and numbers then have decimal commas. Names, starts, bounds, scales and "
        "priors of the parameters come from the model, unless the table of parameters or an "
        "option overrides them.\n"
        "MODEL.xml (or .sbml) is SBML, which becomes model text: MODEL.ode.\n"
        "PROBLEM.yaml is a PEtab problem; of several ones with the same model each becomes a "
        "dataset.",
    .table = COMMAND_TABLE(table), .run = run};
