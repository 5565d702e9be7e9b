/* `stiffit report`: a result as a page for a browser.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/contain.h"
#include "use/population_check.h"
#include "use/report.h"

struct report_call {
    struct report_options options;
    enum when color;
};

#define FIELD(name) offsetof(struct report_call, options.name)

static const struct option table[] = {
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(files.output), .is_file = true,
     .is_output = true, .help = "write the page to this file; needed (-: standard output)"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID[,ID...]", .offset = FIELD(rows.id),
     .help = "show these datasets in the gallery, besides those that are chosen"},
    OPTION_ROWS(FIELD(rows)),
    {.name = "gallery", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(n_gallery),
     .min = 0, .max = REPORT_N_GALLERY, .default_text = "60",
     .help = "number of datasets in the gallery: the worst, best, median, random and failed fits"},
    {.name = "seed", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(seed), .min = 0,
     .max = 9007199254740992.0,
     .default_text = "1", .help = "of the choice of random fits, and of replicates"},
    {.name = "replicates", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(n_replicate),
     .min = 20, .max = CHECK_MOST_REPLICATE, .default_text = "200",
     .help = "of a fit with random parameters: draw so many replicates of each dataset"},
    {.name = "full", .kind = OPTION_FLAG, .offset = FIELD(full),
     .help = "put every fit into the page's table, not only the "
     "2,000 worst ones"},
    FITTED_OPTION_ROWS(FIELD(files)),
    OPTION_COLOR(offsetof(struct report_call, color)),
};

static int report(void *context)
{
    const struct report_call *call = context;
    struct error error = {.status = STATUS_OK};
    struct output output = {.file = NULL};
    enum status status = report_write(&call->options, &output, &error);
    return command_close_file("report", &output, status, &error, call->color);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct report_call call = {.options = {.n_gallery = 60,
                                           .seed = 1,
                                           .n_replicate = CHECK_N_REPLICATE,
                                           .files.listener = {.tell = message_hear}}};
    struct option_words words;
    struct error error;
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (!call.options.files.output) {
        error_set(&error, STATUS_USAGE,
                  "--output is needed: the page to be written, as -o report.html");
        return message_usage("report", &error, call.color);
    }
    call.options.files.result = words.positional[0];
    return contained_run(report, &call, words.positional[0], call.color);
}

const struct command command_report = {
    .name = "report", .synopsis = "RESULT.h5",
    .summary = "write a page for a browser: health, distributions, fits as charts",
    .example = "stiffit report wells.result.h5 -o wells.html\n"
               "stiffit report wells.result.h5 -o poor.html --where 'notes == poor_fit'\n"
               "stiffit report wells.result.h5 -o wells.html --id A7,B2 --gallery 120",
    .needs = "result file",
    .description =
        "Writes one file that any browser opens, without a network: how well the fits went, "
        "distributions of parameters, residuals, costs, a gallery of fits and a table to sort and "
        "filter.\n"
        "Curves and residuals need the problem and the model, which the result names; without "
        "them the page says so.",
    .table = COMMAND_TABLE(table), .run = run};
