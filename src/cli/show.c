/* `stiffit show`: describes a problem or a result file, and how the run went.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include "cli/command.h"
#include "cli/contained.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1024 };

struct show_options {
    const char *path;
    bool json;
    const char *id;
    enum when color;
};

static const struct option table[] = {
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID", .offset = offsetof(struct show_options, id),
     .help = "details of this dataset of a result: standard errors, intervals, correlations, directions, criteria"},
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct show_options, json),
     .help = "print JSON instead of text"},
    OPTION_COLOR(offsetof(struct show_options, color)),
};

static enum status show_result(struct result *result, bool json, FILE *out, struct error *error)
{
    struct show_summary summary = {.n_fit = 0};
    enum status status = show_summarise(result, &summary, error);
    if (!status)
        (json ? show_result_json : show_result_text)(out, result_info(result), &summary);
    show_summary_fini(&summary);
    return status;
}

/* Finds the row of this id in the block; block.n: none. */
static enum status find_fit(struct result *result, const char *id, struct result_block *block, size_t *row, struct error *error)
{
    const struct result_info *info = result_info(result);
    for (uint64_t first = 0; first < info->n_fit; first += block->n) {
        enum status status = result_read(result, block, first, ROWS_AT_ONCE, error);
        if (status || block->n == 0)
            return status;
        for (*row = 0; *row < block->n; ++*row)
            if (!strcmp(block->id[*row], id))
                return STATUS_OK;
    }
    return error_set(error, STATUS_USAGE, "%s: has no dataset '%s'", info->path, id);
}

static enum status show_fit(struct result *result, const struct show_options *options, FILE *out, struct error *error)
{
    struct result_block block = {0};
    size_t row = 0, n = result_info(result)->n_parameter;
    size_t n_pair = fit_column_width(FIT_COLUMN_COVARIANCE, n);
    double *scratch = calloc((n_pair > n ? n_pair : n) + 1, sizeof *scratch);
    enum status status = scratch ? find_fit(result, options->id, &block, &row, error)
                                 : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    if (!status && options->json)
        show_fit_json(out, result, block.id[row], &block.record[row], scratch);
    else if (!status)
        show_fit_text(out, result_info(result), block.id[row], &block.record[row], scratch);
    result_block_fini(&block);
    free(scratch);
    return status;
}

/* Names in a foreign file must not control the terminal: text is collected and filtered. JSON escapes it. */
struct page {
    FILE *file;
    char *text;
    size_t n;
};

static FILE *page_open(struct page *page)
{
    return page->file = open_memstream(&page->text, &page->n);
}

static bool page_close(struct page *page)
{
    bool good = !ferror(page->file);
    good = !fclose(page->file) && good;
    if (good)
        terminal_put(stdout, page->text, page->n);
    free(page->text);
    return good;
}

/* The file may be a problem, a result, or a problem that contains its result (--in-place). */
static int show(void *context)
{
    const struct show_options *options = context;
    const char *path = options->path;
    struct error error = {.status = STATUS_OK}, problem_error = {.status = STATUS_OK};
    struct result *result = NULL;
    struct problem *problem = NULL;
    struct page page = {.file = NULL};
    enum status status = result_open(&result, path, &error);
    if (status != STATUS_SYSTEM && problem_open(&problem, path, &problem_error)) {
        problem_close(problem);
        problem = NULL;
    }
    FILE *out = options->json ? stdout : page_open(&page);
    if (!out) {
        status = error_set(&error, STATUS_NO_MEMORY, "out of memory for what is to be shown");
    } else if (!result && !problem) {
        if (status != STATUS_SYSTEM && !strstr(problem_error.message, "is a result file"))
            error = problem_error; /* it does not claim to be a result */
    } else if (options->id) {
        status = result ? show_fit(result, options, out, &error)
                        : error_set(&error, STATUS_USAGE, "%s: is a problem file without results; --id needs a result",
                                    path);
    } else {
        if (problem && (!result || !options->json))
            (options->json ? show_problem_json : show_problem_text)(out, problem_info(problem));
        if (problem && result && !options->json)
            fputc('\n', out);
        status = result ? show_result(result, options->json, out, &error) : STATUS_OK;
    }
    if (page.file && !page_close(&page) && !status)
        status = error_set(&error, STATUS_NO_MEMORY, "out of memory for what is to be shown");
    problem_close(problem);
    result_close(result);
    return status ? message_error(&error, options->color) : command_close_output(0);
}

static int run(int argc, char **argv)
{
    struct show_options options = {.json = false};
    struct option_words words;
    int code = command_parse(&command_show, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    options.path = words.positional[0];
    return contained_read(show, &options, options.path, options.color);
}

const struct command command_show = {
    .name = "show", .synopsis = "FILE.h5", .summary = "show a problem or result file, or how a run went",
    .example = "stiffit show wells.result.h5\nstiffit show wells.result.h5 --id A7",
    .needs = "file",
    .description =
        "For a problem: its model, datasets, parameters and options. For a result: how many fits converged by which test, the "
        "others grouped by status and message with a few of their ids, the distribution of each parameter, what the data do "
        "not determine, the slowest datasets, and the provenance; or one dataset in detail.",
    .table = COMMAND_TABLE(table), .run = run};
