/* `stiffit export`: results as CSV or JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/contain.h"
#include "use/export.h"
#include "use/population_check.h"

struct export_call {
    struct export_options options;
    enum when color;
};

enum { N_REPLICATE = 1000 };
#define FIELD(name) offsetof(struct export_call, options.name)

static const char *const what_words[] = {"fits",       "predictions", "residuals",
                                         "diagnostics", "covariance", "starts",
                                         "profile",    "bootstrap",   NULL};

static const struct option table[] = {
    {.name = "what", .letter = 'w', .kind = OPTION_CHOICE, .offset = FIELD(what),
     .choice = what_words, .default_text = "fits",
     .help = "fits: a row per dataset; predictions: at the measurements' times, at the best fit;"
             " residuals: these and the measurements; diagnostics: of a fit with random "
             "parameters, predictions of the population and of each dataset, CWRES, NPD and NPDE"
             " of each measurement; covariance: a row for each pair of parameters; starts, "
             "profile, bootstrap: the tables of --keep-starts, --keep-profile and --keep-"
             "bootstrap of the run, a row for each start, point or replicate"},
    {.name = "columns", .kind = OPTION_STRING, .metavar = "NAME[,NAME...]",
     .offset = FIELD(columns), .default_text = "the usual ones; with --json, all",
     .help = "fits: columns of /fits in the result file, or 'all' (all "
     "but the covariance); k or standard_error_k is that of the parameter k alone"},
    {.name = "replicates", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(n_replicate),
     .min = 20, .max = CHECK_MOST_REPLICATE, .default_text = "1000",
     .help = "diagnostics: draw so many replicates of each dataset for NPD and NPDE"},
    {.name = "seed", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(seed), .min = 0,
     .max = 9007199254740992.0, .default_text = "1", .help = "diagnostics: of the replicates"},
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID[,ID...]", .offset = FIELD(rows.id),
     .help = "only these datasets"},
    OPTION_ROWS(FIELD(rows)),
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(files.output), .is_file = true,
     .is_output = true, .default_text = "standard output", .help = "write to this file"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "fits, starts, profile and bootstrap as JSON, an array of objects, instead of CSV"},
    OPTION_DECIMAL_COMMA(FIELD(decimal_comma)),
    OPTION_TYPES_ROW(FIELD(types_row)),
    {.name = "petab", .kind = OPTION_STRING, .metavar = "DIR", .offset = FIELD(petab),
     .is_file = true, .is_output = true,
     .help = "write a PEtab problem with the fitted parameters and simulations into this folder, "
             "instead of a table; with a dataset column, a folder for each dataset"},
    {.name = "petab-yaml", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(petab_yaml),
     .is_file = true, .default_text = "where it was imported from",
     .help = "with --petab: the PEtab problem that was fitted; its files may be outside of its "
             "folder"},
    FITTED_OPTION_ROWS(FIELD(files)),
    OPTION_COLOR(offsetof(struct export_call, color)),
};

static int export(void *context)
{
    const struct export_call *call = context;
    struct error error = {.status = STATUS_OK};
    struct output output = {.file = NULL};
    enum status status = export_write(&call->options, &output, &error);
    return command_close_file("export", &output, status, &error, call->color);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct export_call call = {.options = {.what = EXPORT_FITS,
                                           .n_replicate = N_REPLICATE,
                                           .seed = 1,
                                           .files.listener = {.tell = message_hear}}};
    struct export_options *options = &call.options;
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (options->json && options->what != EXPORT_FITS && options->what < EXPORT_STARTS)
        error_set(&error, STATUS_USAGE,
                  "--json works only with --what fits, starts, profile or bootstrap");
    else if (options->columns && options->what != EXPORT_FITS)
        error_set(&error, STATUS_USAGE, "--columns works only with --what fits");
    else if (options->json && options->decimal_comma)
        error_set(&error, STATUS_USAGE, "--json has no decimal commas: JSON's numbers have points");
    else if (options->json && options->types_row)
        error_set(&error, STATUS_USAGE, "--types-row is a row of CSV, which --json does not write");
    else if (options->what != EXPORT_DIAGNOSTICS
             && (options->n_replicate != N_REPLICATE || options->seed != 1))
        error_set(&error, STATUS_USAGE, "%s works only with --what diagnostics",
                  options->seed != 1 ? "--seed" : "--replicates");
    else if (options->petab && (options->what != EXPORT_FITS || options->files.output ||
                                options->json || options->columns || options->decimal_comma ||
                                options->types_row))
        error_set(&error, STATUS_USAGE,
                  "--petab excludes --what, --columns, --output, --json, --decimal-comma and "
                  "--types-row");
    else if (options->petab_yaml && !options->petab)
        error_set(&error, STATUS_USAGE, "--petab-yaml works only with --petab");
    if (error.status)
        return message_usage("export", &error, call.color);
    options->files.result = words.positional[0];
    bool computes = export_computes(options);
    return (computes ? contained_run : contained_read)(export, &call, words.positional[0],
                                                       call.color);
}

const struct command command_export = {
    .name = "export", .synopsis = "RESULT.h5",
    .summary = "write results as CSV or JSON: fits, predictions, residuals, ...",
    .example = "stiffit export wells.result.h5 -o fits.csv\n"
               "stiffit export wells.result.h5 --columns "
               "id,parameters,interval_lower,interval_upper\n"
               "stiffit export wells.result.h5 --what residuals --id A7,B2\n"
               "stiffit export wells.result.h5 --failed --columns id,status,message",
    .needs = "result file",
    .description =
        "Writes a result as a CSV table with one header line; numbers read back to the same "
        "bits.\n"
        "Predictions and residuals need the problem and the model: the result records where they "
        "are.",
    .table = COMMAND_TABLE(table), .run = run};
