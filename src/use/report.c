/* Opens the result and what it was made from, and has the parts of the report made, in three
 * passes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/report.h"

#include "use/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result alone will do, unless the user has named a problem or a model. */
static enum status open_files(struct report *report, struct error *error)
{
    const struct report_options *options = report->options;
    enum status status = fitted_open(&report->fitted, &options->files, error);
    report->has_model = !status;
    bool is_missing = status == STATUS_BAD_PROBLEM || status == STATUS_BAD_MODEL ||
                      status == STATUS_SYSTEM;
    if (is_missing && report->fitted.result && !options->files.problem && !options->files.model) {
        const char *end = strchr(error->message, '\n');
        snprintf(report->no_model, sizeof report->no_model, "%.*s",
                 end ? (int)(end - error->message) : 380, error->message);
        if (options->files.listener.tell)
            options->files.listener.tell(options->files.listener.context, "note: without the "
                                                                          "problem and its model "
                                                                          "the report has no "
                                                                          "curves and no "
                                                                          "residuals:");
        if (options->files.listener.tell)
            options->files.listener.tell(options->files.listener.context, report->no_model);
        status = STATUS_OK;
    }
    return status;
}

static enum status open_temporary(struct report *report, struct error *error)
{
    FILE **const file[] = {&report->rows, &report->gallery};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (!(*file[i] = temporary_file(error)))
            return STATUS_SYSTEM;
    return STATUS_OK;
}

enum status report_write(const struct report_options *options, struct output *output,
                         struct error *error)
{
    struct report report = {.options = options};
    struct row_words words = options->rows;
    words.id = NULL;
    enum status status = open_files(&report, error);
    if (!status) /* before the model is called: it may print */
        status = output_open(output, options->files.output, options->overwrite, error);
    if (!status)
        status = open_temporary(&report, error);
    if (!status) {
        report.info = result_info(report.fitted.result);
        status = show_summarise(report.fitted.result, &words, &report.summary, error);
    }
    if (!status)
        status = report_population_open(&report, error);
    if (!status)
        status = report_choose(&report, error);
    if (!status)
        status = report_rows(&report, error);
    if (!status)
        status = report_page(&report, output->file, error);
    FILE *const file[] = {report.rows, report.gallery};
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (file[i])
            fclose(file[i]);
    view_fini(&report.table);
    show_summary_fini(&report.summary);
    free(report.pick);
    free(report.pair);
    free(report.residual);
    population_check_fini(&report.check);
    arena_fini(&report.arena);
    fitted_close(&report.fitted);
    return status;
}
