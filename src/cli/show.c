/* `stiffit show`: describes a problem or a result file, and how the run went.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include "base/arena.h"
#include "cli/command.h"
#include "cli/contain.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1024 };

struct show_options {
    const char *path;
    bool json, ids;
    const char *id;
    struct row_words rows;
    enum when color;
};

static const struct option table[] = {
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID[,ID...]",
     .offset = offsetof(struct show_options, id),
     .help = "details of these datasets of a result: standard errors, intervals, correlations, "
             "directions, criteria"},
    OPTION_ROWS(offsetof(struct show_options, rows)),
    {.name = "ids", .kind = OPTION_FLAG, .offset = offsetof(struct show_options, ids),
     .help = "print the ids of the datasets of a problem or a result, one on each line, and "
             "nothing else"},
    {.name = "json", .kind = OPTION_FLAG, .offset = offsetof(struct show_options, json),
     .help = "print JSON instead of text"},
    OPTION_COLOR(offsetof(struct show_options, color)),
};

static enum status show_of_result(struct result *result, const struct show_options *options,
                                  FILE *out, struct error *error)
{
    struct show_summary summary = {.n_success = 0};
    const struct result_population *population = NULL;
    struct view view = {.n = 0};
    enum status status = show_summarise(result, &options->rows, &summary, error);
    if (!status)
        status = result_population_read(&population, result, &view.arena, error);
    if (!status)
        show_result(&view, result_info(result), population, &summary);
    if (!status)
        status = view_put(&view, options->json, out, error);
    show_summary_fini(&summary);
    view_fini(&view);
    return status;
}

static enum status show_of_problem(struct problem *problem, const struct show_options *options,
                                   FILE *out, struct error *error)
{
    struct view view = {.n = 0};
    show_problem(&view, problem_info(problem));
    enum status status = view_put(&view, options->json, out, error);
    view_fini(&view);
    return status;
}

/* One on each line: of a result's rows, or of a problem. */
static enum status show_ids(struct result *result, struct problem *problem,
                            const struct row_words *rows, FILE *out, struct error *error)
{
    struct result_block block = {0};
    struct row_filter filter = {.n_condition = 0};
    struct arena arena = {0};
    enum status status = result ? row_filter_init(&filter, rows, result, error) : STATUS_OK;
    if (result)
        result_ignore(result, FIT_COLUMN_COVARIANCE);
    while (result && !status && result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++)
            if (row_filter_takes(&filter, block.id[i], &block.record[i]))
                fprintf(out, "%s\n", block.id[i]);
    uint64_t n = result ? 0 : problem_info(problem)->n_dataset;
    for (uint64_t first = 0; !status && first < n; first += ROWS_AT_ONCE) {
        char *id[ROWS_AT_ONCE];
        size_t n_id = n - first < ROWS_AT_ONCE ? (size_t)(n - first) : ROWS_AT_ONCE;
        arena_reset(&arena);
        status = problem_read_ids(problem, first, n_id, &arena, id, error);
        for (size_t i = 0; !status && i < n_id; i++)
            fprintf(out, "%s\n", id[i]);
    }
    row_filter_fini(&filter);
    result_block_fini(&block);
    arena_fini(&arena);
    return status;
}

/* The fits of these ids, in the result's order. */
static enum status show_fits(struct result *result, const struct show_options *options, FILE *out,
                             struct error *error)
{
    struct result_block block = {0};
    struct row_filter filter;
    const struct row_words words = {.id = options->id};
    const struct result_info *info = result_info(result);
    size_t n = info->n_parameter, n_pair = fit_column_width(FIT_COLUMN_COVARIANCE, n);
    double *scratch = calloc((n_pair > n ? n_pair : n) + 1, sizeof *scratch);
    enum status status = row_filter_init(&filter, &words, result, error);
    if (!status && !scratch)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    while (!status && !row_filter_is_done(&filter) &&
           result_next(result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++) {
            if (!row_filter_takes(&filter, block.id[i], &block.record[i]))
                continue;
            if (filter.n_taken > 1 && !options->json)
                fputc('\n', out);
            struct fit_record *record = &block.record[i];
            if (!status && options->json)
                status = show_fit_json(out, result, block.id[i], record, scratch, error);
            else if (!status)
                status = show_fit_text(out, info, block.id[i], record, scratch, error);
        }
    if (!status)
        status = row_filter_end(&filter, &words, error);
    row_filter_fini(&filter);
    result_block_fini(&block);
    free(scratch);
    return status;
}

/* Names in a foreign file must not control the terminal: text is collected and filtered. JSON
 * escapes it. */
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
    } else if (options->ids) {
        status = show_ids(result, problem, &options->rows, out, &error);
    } else if (options->id) {
        status =
            result ? show_fits(result, options, out, &error)
                   : error_set(&error, STATUS_USAGE,
                               "%s: is a problem file without results; --id needs a result", path);
    } else {
        status = STATUS_OK;
        if (problem && (!result || !options->json))
            status = show_of_problem(problem, options, out, &error);
        if (problem && result && !options->json)
            fputc('\n', out);
        if (result && !status)
            status = show_of_result(result, options, out, &error);
    }
    if (page.file && !page_close(&page) && !status)
        status = error_set(&error, STATUS_NO_MEMORY, "out of memory for what is to be shown");
    problem_close(problem);
    result_close(result);
    return status ? message_error(&error, options->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct show_options options = {.json = false};
    struct option_words words;
    int code = command_parse(self, &options, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    options.path = words.positional[0];
    return contained_read(show, &options, options.path, options.color);
}

const struct command command_show = {
    .name = "show", .synopsis = "FILE.h5",
    .summary = "contents of a problem or result file; summary of a run",
    .example = "stiffit show wells.result.h5\nstiffit show wells.result.h5 --id A7\n"
               "stiffit show wells.result.h5 --where 'reduced_chi_square > 5'",
    .needs = "file",
    .description =
        "For a problem: its model, datasets, parameters and options. For a result: how many fits "
        "converged by which test, the others grouped by status and message with a few of their "
        "ids, the distribution of each parameter, what the data do not determine, the slowest "
        "datasets, and the provenance; or one dataset in detail.",
    .table = COMMAND_TABLE(table), .run = run};
