/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate_truth.h"

enum status simulate_truth_open(struct simulate_truth *truth,
                                const struct simulate_options *options, const char *const *name,
                                size_t n, struct error *error)
{
    if (!options->truth)
        return STATUS_OK;
    enum status status = output_open(&truth->output, options->truth, options->overwrite, error);
    if (status)
        return status;
    truth->writer = (struct csv_writer){.file = truth->output.file,
                                        .decimal_comma = options->decimal_comma,
                                        .types_row = options->types_row};
    truth->n = n;
    while (csv_head(&truth->writer)) {
        csv_put_column(&truth->writer, "dataset", CSV_TEXT);
        for (size_t i = 0; i < n; i++)
            csv_put_column(&truth->writer, name[i], CSV_NUMBER);
    }
    return STATUS_OK;
}

void simulate_truth_put(struct simulate_truth *truth, const char *id, const double *p)
{
    if (!truth->writer.file)
        return;
    csv_put_text(&truth->writer, id);
    for (size_t i = 0; i < truth->n; i++)
        csv_put_number(&truth->writer, p[i]);
    csv_end_row(&truth->writer);
}

enum status simulate_truth_finish(struct simulate_truth *truth, struct error *error)
{
    return truth->writer.file ? output_finish(&truth->output, error) : STATUS_OK;
}

void simulate_truth_close(struct simulate_truth *truth) { output_close(&truth->output); }
