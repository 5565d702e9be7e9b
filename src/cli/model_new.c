/* `stiffit model new`: a commented model to start from.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/output.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct new_options {
    const char *output;
    bool overwrite, quiet;
};

#define FIELD(name) offsetof(struct new_options, name)

static const struct option table[] = {
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(output), .is_file = true,
     .default_text = "NAME.ode", .help = "write to this file; - is standard output"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite), .help = "replace an existing file"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "do not print the next steps"},
};

/* A model that runs: each construct of the language once, alternatives in comments. %1$s: the model's name. */
static const char *const text =
    "# %1$s: an example to start from; `man 5 stiffit-model` describes the language.\n"
    "# A dose is absorbed into the blood and eliminated by an enzyme that saturates.\n"
    "\n"
    "model %1$s \"absorption and saturable elimination of one dose\"\n"
    "time unit \"h\"\n"
    "\n"
    "# What is fitted: start, bounds, the scale in which the optimiser works, a unit (only a label).\n"
    "parameter ka   = 1.5 in [0.01, 50]  scale log unit \"1/h\"    # absorption\n"
    "parameter Vmax = 20  in [0.1, 1000] scale log unit \"mg/h\"   # elimination at its fastest\n"
    "parameter Km   = 2   in [0.01, 100] scale log unit \"mg/L\"   # concentration at half of that\n"
    "parameter V    = 30  in [1, 500]    scale log unit \"L\"      # volume\n"
    "parameter cv   = 0.1 in [0.001, 1]  scale log               # relative error of the measurements\n"
    "\n"
    "# A named number, and a value known for each dataset: a column of the table of subjects.\n"
    "constant F = 0.8                          # share of the dose that arrives\n"
    "covariate dose unit \"mg\"\n"
    "\n"
    "# A function of your own; intermediates, in any order.\n"
    "saturation(x, K) = x/(K + x)\n"
    "uptake = ka*gut\n"
    "c = blood/V\n"
    "\n"
    "# States: each has an initial value and a derivative.\n"
    "gut(0)   = F*dose unit \"mg\"\n"
    "blood(0) = 0      unit \"mg\"\n"
    "gut'   = -uptake\n"
    "blood' = uptake - Vmax*saturation(c, Km)\n"
    "\n"
    "# What is measured, with the standard deviation of its error. Without `sd`, the sigma comes from the\n"
    "# data; without that, all measurements have equal weights.\n"
    "observe conc = c sd 0.01 + cv*conc unit \"mg/L\"\n"
    "\n"
    "# Choices look like these:\n"
    "#   infusion = if t < 2 then 5 else 0\n"
    "#   infusion = piecewise(0, t < 1, 5, t < 3, 0)      # value, condition, ..., otherwise\n"
    "# Jumps at a known time are located beforehand; at a state's threshold or a fitted time, prefer a smooth step:\n"
    "#   infusion = 5/(1 + exp((t - 2)/0.05))\n";

/* The last part of the path without .ode, made a name of the language. */
static void model_name(const char *path, char name[101])
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t length = strlen(from), n = 0;
    if (length > 4 && !strcmp(from + length - 4, ".ode"))
        length -= 4;
    if (length == 0 || isdigit((unsigned char)from[0]))
        name[n++] = '_';
    for (size_t i = 0; i < length && n < 100; i++)
        name[n++] = isalnum((unsigned char)from[i]) && (unsigned char)from[i] < 128 ? from[i] : '_';
    name[n] = '\0';
}

/* NAME as a path with the ending; free it. */
static char *default_path(const char *name)
{
    size_t length = strlen(name);
    bool has_ending = length > 4 && !strcmp(name + length - 4, ".ode");
    char *path = malloc(length + 5);
    if (path)
        snprintf(path, length + 5, "%s%s", name, has_ending ? "" : ".ode");
    return path;
}

static void say_next(const char *path, const char *name)
{
    message_say("%s is written. Change it to your model; then", path);
    message_say("  stiffit model show %s", path);
    message_say("  stiffit import data.csv --datasets subjects.csv --model %s -o %s.h5", path, name);
    message_say("  stiffit run %s.h5", name);
}

static int run(int argc, char **argv)
{
    struct new_options options = {.output = NULL};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(&command_model_new, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    char name[101];
    model_name(words.positional[0], name);
    struct output output = {.file = NULL};
    char *path = options.output ? strdup(options.output) : default_path(words.positional[0]);
    enum status status = path ? output_open(&output, path, options.overwrite, &error)
                              : error_set(&error, STATUS_NO_MEMORY, "out of memory");
    if (!status) {
        fprintf(output.file, text, name);
        status = output_finish(&output, &error);
    }
    output_close(&output);
    if (!status && strcmp(path, "-") && !options.quiet)
        say_next(path, name);
    free(path);
    return status ? message_error(&error, WHEN_AUTO) : command_close_output(0);
}

const struct command command_model_new = {
    .name = "model new", .synopsis = "NAME", .summary = "write a commented example to start from",
    .example = "stiffit model new wells",
    .needs = "name for the model",
    .description =
        "Writes NAME.ode: a small model that can be run as it is, with a comment at each construct of the language. A file "
        "that exists is kept.",
    .table = COMMAND_TABLE(table), .run = run};
