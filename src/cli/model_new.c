/* `stiffit model new`: a commented model to start from, one of the library's templates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/words.h"
#include "cli/command.h"
#include "cli/model_templates.h"

#include "base/output.h"
#include "cli/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct new_options {
    const char *output;
    int from; /* index of the template; -1: the example */
    bool list, overwrite, quiet;
};

#define FIELD(name) offsetof(struct new_options, name)

static const struct option table[] = {
    {.name = "from", .kind = OPTION_CHOICE, .metavar = "TEMPLATE", .offset = FIELD(from),
     .choice = model_template_name,
     .default_text = "example", .help = "the template to start from; --list names them"},
    {.name = "list", .kind = OPTION_FLAG, .offset = FIELD(list),
     .help = "list the templates and exit"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true,
     .default_text = "NAME.ode", .help = "write to this file; - is standard output"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing file"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
     .help = "do not print the next steps"},
};

/* The last part of the path without .ode, made a name of the language. */
static void model_name(const char *path, char name[101])
{
    const char *from = words_file(path);
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

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The template with the model's name and file in it. */
static void put_text(FILE *file, const char *text, const char *name, const char *path)
{
    static const char word[] = "NAME";
    const size_t length = sizeof word - 1;
    const char *from = text, *at;
    for (const char *next = text; (at = strstr(next, word)); next = at + length) {
        bool is_word = !is_letter(at[length]) && (at == text || !is_letter(at[-1]));
        if (!is_word)
            continue;
        fwrite(from, 1, (size_t)(at - from), file);
        from = at + length;
        if (strncmp(from, ".ode", 4)) {
            fputs(name, file);
        } else {
            from += 4;
            shell_word(file, path);
        }
    }
    fputs(from, file);
}

static void say_next(const char *path, const char *name, const char *text)
{
    bool has_covariates = strstr(text, "\ncovariate ") != NULL;
    message_say("%s is written. Change it to your model; then", path);
    message_say("  stiffit model show %s", path);
    const char *datasets = has_covariates ? " --datasets subjects.csv" : "";
    message_say("  stiffit import data.csv%s --model %s -o %s.h5", datasets, path, name);
    message_say("  stiffit run %s.h5", name);
}

/* A name and what stands in quotes after `model NAME`, a line a template. */
static int list_templates(void)
{
    for (size_t i = 0; model_template_name[i]; i++) {
        const char *label = strstr(model_template_text[i], "\nmodel NAME \"");
        label = label ? label + strlen("\nmodel NAME \"") : "\"";
        printf("%-22s %.*s\n", model_template_name[i], (int)strcspn(label, "\""), label);
    }
    return command_close_output(0);
}

/* The index of the template that is asked for. */
static size_t find_template(const struct new_options *options)
{
    size_t i = 0;
    while (options->from < 0 && strcmp(model_template_name[i], "example") != 0)
        i++;
    return options->from < 0 ? i : (size_t)options->from;
}

static enum status write_model(const struct new_options *options, const char *asked,
                               struct error *error)
{
    const char *text = model_template_text[find_template(options)];
    struct output output = {.file = NULL};
    char name[101], *path = options->output ? strdup(options->output) : default_path(asked);
    if (!path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    model_name(asked, name);
    bool is_file = strcmp(path, "-") != 0;
    char *shown = is_file && !strchr(path, '\n') ? path : default_path(name);
    enum status status = shown ? output_open(&output, path, options->overwrite, error)
                               : error_set(error, STATUS_NO_MEMORY, "out of memory");
    if (!status) {
        put_text(output.file, text, name, shown);
        status = output_finish(&output, error);
    }
    output_close(&output);
    if (!status && is_file && !options->quiet)
        say_next(path, name, text);
    if (shown != path)
        free(shown);
    free(path);
    return status;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct new_options options = {.from = -1};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (options.list)
        return list_templates();
    if (words.n_positional == 0) {
        error_set(&error, STATUS_USAGE, "no name for the model was given");
        return message_usage(self->name, &error, WHEN_AUTO);
    }
    return write_model(&options, words.positional[0], &error) ? message_error(&error, WHEN_AUTO)
                                                              : command_close_output(0);
}

const struct command command_model_new = {
    .name = "model new", .synopsis = "NAME", .summary = "write a commented model to start from",
    .example = "stiffit model new wells\n"
               "stiffit model new --list\n"
               "stiffit model new subjects --from pk-oral-1",
    .description =
        "Writes NAME.ode, a small model that can be run as it is: one of the library's templates, "
        "with units, starts, bounds and the commands that try it on simulated data, or without "
        "--from an example of each construct of the language. A file that exists is kept.",
    .table = COMMAND_TABLE(table), .run = run};
