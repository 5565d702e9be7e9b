/* `stiffit merge`: joins the results of shards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "cli/contain.h"
#include "cli/shell.h"
#include "io/result/result.h"
#include "run/finish/obsolete.h"
#include "run/merge/merge.h"
#include "run/merge/shard_set.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct merge_options {
    const struct option_words *words;
    char *command_line;
    int64_t n_shard;
    const char *output;
    bool overwrite, partial;
    struct run_shown shown;
};

#define FIELD(name) offsetof(struct merge_options, name)

static const struct option table[] = {
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true, .default_text = "PROBLEM.result.h5",
     .help = "the merged result; needed if shards are named one by one"},
    {.name = "shards", .kind = OPTION_INTEGER, .offset = FIELD(n_shard), .min = 1,
     .max = SHARD_SET_MAX,
     .default_text = "from the files next to the problem", .help = "number of shards of PROBLEM"},
    {.name = "partial", .kind = OPTION_FLAG, .offset = FIELD(partial),
     .help = "merge the existing shards and report the missing ones"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing result"},
    {.name = "accept-failed", .kind = OPTION_COUNT_OR_PERCENT, .offset = FIELD(shown.accept_failed),
     .min = 0, .max = 1.0 / 0.0,
     .default_text = "0", .help = "exit with 0 if no more than this many fits failed"},
    {.name = "strict", .kind = OPTION_FLAG, .offset = FIELD(shown.strict),
     .help = "converged fits that are doubtful (the notes poor_fit and all_at_bounds) count as "
             "failures"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(shown.json),
     .help = "print the summary as JSON on standard output"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(shown.quiet),
     .help = "print only errors"},
    OPTION_COLOR(FIELD(shown.color)),
};

/* The results to merge. */
struct shard_list {
    char **path, *output; /* the caller frees these */
    size_t n;
};

static void list_fini(struct shard_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->path[i]);
    free(list->path);
    free(list->output);
}

static void say(void *context, const char *line)
{
    if (!((const struct merge_options *)context)->shown.quiet)
        message_say("%s", line);
}

/* A shard that has a result and a journal is being run again, or was interrupted while it was. */
static void say_if_begun(struct merge_options *options, const char *problem, const char *result,
                         uint32_t k, uint32_t n)
{
    char line[200], *journal = shard_journal_path(problem, k, n);
    if (journal && access(journal, F_OK) == 0 && !obsolete_is(result, journal)) {
        snprintf(line, sizeof line,
                 "note: shard %u is being fitted again (it has a journal): its existing result is "
                 "merged",
                 k);
        say(options, line);
    }
    free(journal);
}

/* Lists the shards of the problem that exist. */
static enum status list_of_problem(struct shard_list *list, struct merge_options *options,
                                   struct error *error)
{
    const char *problem = options->words->positional[0];
    uint32_t n = (uint32_t)options->n_shard;
    enum status status = n ? STATUS_OK : shard_set_find(problem, &n, error);
    if (status)
        return status;
    if (n == 0)
        return error_set(error, STATUS_SYSTEM,
                         "%s: there are no results of its shards in the same folder: make them "
                         "with `stiffit run %s --shard k/K`",
                         problem, problem);
    list->path = calloc(n, sizeof *list->path);
    list->output = options->output ? NULL : shard_result_path(problem, 0, 0);
    if (!list->path || !(list->output || options->output))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of %u shards", n);
    for (uint32_t k = 1; k <= n; k++) {
        char *path = shard_result_path(problem, k, n);
        if (!path)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of %u shards",
                             n);
        if (access(path, F_OK)) {
            free(path);
            continue;
        }
        list->path[list->n++] = path;
        say_if_begun(options, problem, path, k, n);
    }
    if (list->n == 0)
        return error_set(error, STATUS_SYSTEM,
                         "%s: none of its %u shards has a result yet; `stiffit status %s` shows "
                         "their progress",
                         problem, n, problem);
    return STATUS_OK;
}

static enum status list_shards(struct shard_list *list, struct merge_options *options,
                               struct error *error)
{
    const struct option_words *words = options->words;
    if (words->n_positional == 1 && (options->n_shard || !result_is_there(words->positional[0])))
        return list_of_problem(list, options, error);
    if (!options->output)
        return error_set(error, STATUS_USAGE,
                         "no output was given: name the merged result with -o");
    list->path = calloc(words->n_positional, sizeof *list->path);
    while (list->path && list->n < words->n_positional &&
           (list->path[list->n] = strdup(words->positional[list->n])))
        list->n++;
    return list->n == words->n_positional
               ? STATUS_OK
               : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu shards",
                           words->n_positional);
}

static int merge(void *context)
{
    struct merge_options *options = context;
    struct shard_list list = {.path = NULL};
    struct run_summary summary = {.result_path = NULL};
    struct error error;
    const struct run_hooks hooks = {.say = say, .context = options};
    enum status status = list_shards(&list, options, &error);
    if (!status) {
        const struct merge_request request = {.path = (const char *const *)list.path,
                                              .n = list.n,
                                              .output =
                                                  options->output ? options->output : list.output,
                                              .overwrite = options->overwrite,
                                              .partial = options->partial,
                                              .command_line = options->command_line,
                                              .hooks = &hooks};
        status = run_merge(&request, &summary, &error);
    }
    int code;
    if (status) {
        code = message_usage("merge", &error, options->shown.color);
    } else {
        run_report(&summary, &options->shown);
        code =
            command_close_output(status_exit_code(run_summary_status(&summary, &options->shown)));
    }
    run_summary_fini(&summary);
    list_fini(&list);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct option_words words;
    struct merge_options options = {.words = &words};
    struct error error;
    int code = command_parse(self, &options, &words, OPTION_MAX_POSITIONAL, argc, argv);
    if (code >= 0)
        return code;
    options.command_line = shell_line("stiffit merge", argc, argv);
    if (!options.command_line) {
        error_set(&error, STATUS_NO_MEMORY, "out of memory for the command line");
        return message_error(&error, (enum when)options.shown.color);
    }
    code = contained_read(merge, &options, words.positional[0], (enum when)options.shown.color);
    free(options.command_line);
    return code;
}

const struct command command_merge = {
    .name = "merge", .synopsis = "PROBLEM.h5 | SHARD.result.h5...",
    .summary = "merge the results of shards",
    .example = "stiffit merge wells.h5\n"
               "stiffit merge wells.shard-*-of-8.result.h5 -o wells.result.h5",
    .needs = "problem, or results of shards,",
    .description =
        "Writes the rows of all shards in the problem's order: the result that one run of the "
        "whole problem would have given, with the same bits (except times). Shards that do not "
        "belong together, and missing ones, are refused.\n"
        "The exit code is that of a run: 0 if every fit has converged, 1 if not (see "
        "--accept-failed).",
    .table = COMMAND_TABLE(table), .run = run};
