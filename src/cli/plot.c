/* `stiffit plot`: one fit as a picture.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/contain.h"
#include "use/plot.h"
#include "use/population_check.h"

#include <string.h>
#include <strings.h>

struct plot_call {
    struct plot_options options;
    bool vpc;
    enum when color;
};

#define FIELD(name) offsetof(struct plot_call, options.name)

static const struct option table[] = {
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID[,ID...]", .offset = FIELD(rows.id),
     .default_text = "the worst fit",
     .help = "the dataset to be drawn; several have a page each, in a .pdf or in characters"},
    {.name = "all", .kind = OPTION_FLAG, .offset = FIELD(all),
     .help = "draw all datasets, or all that --failed, --status and --where select, a page each"},
    OPTION_ROWS(FIELD(rows)),
    {.name = "observable", .kind = OPTION_LIST, .metavar = "NAME", .offset = FIELD(observable),
     .default_text = "those that were measured",
     .help = "draw this observable; may be given several times"},
    {.name = "vpc", .kind = OPTION_FLAG, .offset = offsetof(struct plot_call, vpc),
     .help = "draw a visual predictive check of a fit with random parameters instead: quantiles of "
             "the measurements over time, and of replicates of them"},
    {.name = "prediction-corrected", .kind = OPTION_FLAG, .offset = FIELD(corrects),
     .help = "with --vpc: divide measurements and replicates by the population's prediction, and "
             "multiply them by its median in their bin: doses and covariates may differ"},
    {.name = "replicates", .kind = OPTION_INTEGER, .metavar = "N", .offset = FIELD(n_replicate),
     .min = 20, .max = CHECK_MOST_REPLICATE, .default_text = "200",
     .help = "with --vpc: draw so many replicates of each dataset"},
    {.name = "log", .kind = OPTION_FLAG, .offset = FIELD(log_values),
     .help = "a logarithmic axis of values"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(files.output), .is_file = true, .is_output = true,
     .default_text = "a chart in characters on standard output",
     .help = "write a picture to this file, whose name ends in .svg, .png or .pdf; .txt: the chart "
             "in characters"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    FITTED_OPTION_ROWS(FIELD(files)),
    OPTION_COLOR(offsetof(struct plot_call, color)),
};

/* By the file's name; -1: none of them. */
static int format_of(const char *path)
{
    static const char *const ends[] = {".txt", ".svg", ".png", ".pdf"};
    const char *end = path && strcmp(path, "-") ? strrchr(path, '.') : ends[PLOT_TEXT];
    for (int i = 0; end && i < (int)(sizeof ends / sizeof *ends); i++)
        if (!strcasecmp(end, ends[i]))
            return i;
    return -1;
}

static int plot(void *context)
{
    const struct plot_call *call = context;
    struct error error = {.status = STATUS_OK};
    struct output output = {.file = NULL};
    enum status status = (call->vpc ? plot_check_write : plot_write)(&call->options, &output,
                                                                     &error);
    return command_close_file("plot", &output, status, &error, call->color);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct plot_call call = {.options = {.files.listener = {.tell = message_hear},
                                         .n_replicate = CHECK_N_REPLICATE}};
    struct plot_options *options = &call.options;
    struct option_words words;
    struct error error;
    int code = command_parse(self, &call, &words, 1, argc, argv);
    const struct row_words *rows = &options->rows;
    int format = format_of(options->files.output);
    if (code < 0 && format < 0) {
        error_set(&error, STATUS_USAGE,
                  "--output: the name '%.200s' ends neither in .svg, .png, .pdf nor in .txt",
                  options->files.output);
        code = message_usage("plot", &error, call.color);
    } else if (code < 0 && call.vpc
               && (rows->id || options->all || rows->failed || rows->status || rows->where)) {
        error_set(&error, STATUS_USAGE, "--vpc is about all datasets: it excludes --id, --all, "
                  "--failed, --status and --where");
        code = message_usage("plot", &error, call.color);
    } else if (code < 0 && !call.vpc
               && (options->corrects || options->n_replicate != CHECK_N_REPLICATE)) {
        error_set(&error, STATUS_USAGE, "%s works only with --vpc",
                  options->corrects ? "--prediction-corrected" : "--replicates");
        code = message_usage("plot", &error, call.color);
    } else if (code < 0 && rows->id && options->all) {
        error_set(&error, STATUS_USAGE, "--id and --all exclude each other");
        code = message_usage("plot", &error, call.color);
    } else if (code < 0 && rows->id && (rows->failed || rows->status || rows->where)) {
        error_set(&error, STATUS_USAGE,
                  "--id excludes --failed, --status and --where, which choose among several fits");
        code = message_usage("plot", &error, call.color);
    } else if (code < 0) {
        options->files.result = words.positional[0];
        options->format = (enum plot_format)format;
        options->color = !options->files.output && terminal_color(stdout, call.color);
        options->width = options->files.output ? 100 : terminal_width(stdout);
        code = contained_run(plot, &call, words.positional[0], call.color);
    }
    option_list_fini(&options->observable);
    return code;
}

const struct command command_plot = {
    .name = "plot", .synopsis = "RESULT.h5", .summary = "draw a fit: its data, curve and residuals",
    .example = "stiffit plot wells.result.h5\n"
               "stiffit plot wells.result.h5 --id A7 -o A7.svg\n"
               "stiffit plot wells.result.h5 --all -o fits.pdf\n"
               "stiffit plot wells.result.h5 --where 'k > 2' --log\n"
               "stiffit plot subjects.result.h5 --vpc -o vpc.svg\n"
               "stiffit plot subjects.result.h5 --vpc --prediction-corrected -o pcvpc.svg",
    .needs = "result file",
    .description =
        "Draws one dataset at its best fit, or a page for each of several: the measurements with "
        "error bars, the curve on a fine grid, and the residuals.\n"
        "It needs the problem and the model, which the result names, and gnuplot.",
    .table = COMMAND_TABLE(table), .run = run};
