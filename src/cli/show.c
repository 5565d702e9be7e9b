/* `stiffit show`: what is in a problem or a result file, and how the run went.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include "cli/command.h"
#include "cli/contained.h"
#include "cli/message.h"
#include "cli/show_text.h"

#include <stdlib.h>
#include <string.h>

struct show_options {
    bool json;
    int color;
};

static const char *const when_words[] = {"auto", "always", "never", NULL};

static const struct option table[] = {
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct show_options, json),
     .help = "print JSON instead of text"},
    {.name = "color", .kind = OPTION_CHOICE, .offset = offsetof(struct show_options, color), .choice = when_words,
     .metavar = "auto|always|never", .default_text = "auto", .help = "colours; goes before the environment's NO_COLOR"},
};

static struct option_table show_table(void) { return OPTION_TABLE(table); }

/* What is in a file of somebody else's must not steer the terminal. JSON escapes it. */
static enum status show_text(const struct problem_info *problem, const struct result_info *result,
                             const struct show_summary *summary, struct error *error)
{
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (memory && problem)
        show_problem_text(memory, problem);
    if (memory && result)
        show_result_text(memory, result, summary);
    bool failed = !memory || ferror(memory);
    failed = (memory && fclose(memory)) || failed;
    if (!failed)
        terminal_put(stdout, text, n);
    free(text);
    return failed ? error_set(error, STATUS_NO_MEMORY, "out of memory for what is to be shown") : STATUS_OK;
}

static enum status show_result(struct result *result, bool json, struct error *error)
{
    struct show_summary summary = {.n_fit = 0};
    enum status status = show_summarise(result, &summary, error);
    if (!status)
        status = json ? STATUS_OK : show_text(NULL, result_info(result), &summary, error);
    if (!status && json)
        show_result_json(stdout, result_info(result), &summary);
    show_summary_fini(&summary);
    return status;
}

/* A file may be a problem, a result, or a problem that holds its result (--in-place). */
static int show(const char *path, const struct show_options *options)
{
    struct error error = {.status = STATUS_OK}, problem_error = {.status = STATUS_OK};
    struct result *result = NULL;
    struct problem *problem = NULL;
    enum status shown = STATUS_OK, status = result_open(&result, path, &error);
    if (status != STATUS_SYSTEM && problem_open(&problem, path, &problem_error)) {
        problem_close(problem);
        problem = NULL;
    }
    if (problem && !options->json)
        shown = show_text(problem_info(problem), NULL, NULL, &problem_error);
    if (problem && !result && options->json)
        show_problem_json(stdout, problem_info(problem));
    if (problem && result && !options->json)
        fputc('\n', stdout);
    if (result)
        status = show_result(result, options->json, &error);
    else if (problem)
        status = shown;
    else if (status != STATUS_SYSTEM && !strstr(problem_error.message, "is a result file"))
        error = problem_error; /* it does not claim to be a result */
    if (status && status == shown)
        error = problem_error;
    problem_close(problem);
    result_close(result);
    return status ? message_error(&error, (enum when)options->color) : command_close_output(0);
}

struct show_call {
    const char *path;
    const struct show_options *options;
};

static int show_inside(void *context)
{
    const struct show_call *call = context;
    return show(call->path, call->options);
}

static int run(int argc, char **argv)
{
    struct show_options options = {.json = false};
    struct option_words words;
    struct error error;
    int code = command_parse(&command_show, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (words.n_positional < 1) {
        error_set(&error, STATUS_USAGE, "which file? None was given");
        return message_usage("show", &error, (enum when)options.color);
    }
    struct show_call call = {words.positional[0], &options};
    return contained_run(show_inside, &call, words.positional[0], (enum when)options.color);
}

const struct command command_show = {
    .name = "show", .synopsis = "FILE.h5", .summary = "what is in a problem or result file; how a run went",
    .example = "stiffit show wells.result.h5",
    .description =
        "Of a problem: its model, datasets, parameters and options. Of a result: how many fits converged, the others grouped "
        "by status and message with a few of their ids, the distribution of each parameter, the slowest datasets, and where "
        "the result comes from.",
    .table = show_table, .run = run};
