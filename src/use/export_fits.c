/* A row per fit; and covariances, a row per pair of parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/export.h"

#include "use/fit_columns.h"

#include <math.h>

enum { ROWS_AT_ONCE = 4096 };

static const char table_columns[] =
    "id,status,objective,parameters,standard_error,at_bound,stopping_test,gradient_norm,residual_error,degrees_of_freedom,"
    "chi_square,aic,aicc,bic,r_squared,flat_directions,tight_objective_change,tight_decrease,rtol,iterations,evaluations,steps,"
    "seconds,start,starts_at_optimum,other_optimum_lower,other_optimum_upper,profile_lower,profile_upper,profile_lower_status,"
    "profile_upper_status,bootstrap_n,bootstrap_standard_error,bootstrap_lower,bootstrap_upper,bootstrap_percentile_lower,"
    "bootstrap_percentile_upper,notes,message";

struct rows {
    const struct export_options *options;
    const struct result_info *info;
    struct fit_columns columns;
    struct csv_writer writer;
    struct json json;
};

static enum status put_head(struct rows *rows, const struct result *result, struct error *error)
{
    static const char *const pair[] = {"id", "parameter", "with", "covariance", "correlation"};
    if (rows->options->what == EXPORT_COVARIANCE) {
        if (fit_column_width(FIT_COLUMN_COVARIANCE, rows->info->n_parameter) == 0 || !result_has(result, FIT_COLUMN_COVARIANCE))
            return error_set(error, STATUS_BAD_PROBLEM, "%s: holds no covariances (they are kept up to %d parameters)",
                             rows->info->path, FIT_MAX_PAIR_PARAMETERS);
        for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
            csv_put_text(&rows->writer, pair[i]);
        csv_end_row(&rows->writer);
    } else if (rows->options->json) {
        json_array_begin(&rows->json);
    } else {
        fit_columns_csv_head(&rows->columns, rows->info, &rows->writer);
    }
    return STATUS_OK;
}

/* Each pair once; those that have none are left out. */
static void put_covariance(struct rows *rows, const char *id, const struct fit_record *record)
{
    size_t n = rows->info->n_parameter;
    for (size_t c = 0; c < n; c++)
        for (size_t d = c; d < n; d++) {
            double product = record->covariance[c + c * n] * record->covariance[d + d * n];
            if (isnan(record->covariance[d + c * n]))
                continue;
            csv_put_text(&rows->writer, id);
            csv_put_text(&rows->writer, rows->info->parameter_name[c]);
            csv_put_text(&rows->writer, rows->info->parameter_name[d]);
            csv_put_number(&rows->writer, record->covariance[d + c * n]);
            csv_put_number(&rows->writer, c == d && product > 0 ? 1 : record->covariance[d + c * n] / sqrt(product));
            csv_end_row(&rows->writer);
        }
}

static void put_fit(struct rows *rows, const char *id, struct fit_record *record)
{
    if (rows->options->what == EXPORT_COVARIANCE) {
        put_covariance(rows, id, record);
    } else if (rows->options->json) {
        json_object_begin(&rows->json);
        fit_columns_json(&rows->columns, rows->info, id, record, &rows->json);
        json_object_end(&rows->json);
    } else {
        fit_columns_csv_row(&rows->columns, rows->info, id, record, &rows->writer);
    }
}

/* What is not written is not read: covariances are by far the largest. */
static void ignore_covariance(const struct rows *rows, struct result *result)
{
    bool wanted = rows->options->what == EXPORT_COVARIANCE;
    for (size_t i = 0; i < rows->columns.n; i++)
        wanted = wanted || rows->columns.column[i] == FIT_COLUMN_COVARIANCE;
    if (!wanted)
        result_ignore(result, FIT_COLUMN_COVARIANCE);
}

enum status export_fits(const struct export_options *options, struct output *output, struct error *error)
{
    struct result *result = NULL;
    struct result_block block = {0};
    struct rows rows = {.options = options};
    enum status status = result_open(&result, options->result, error);
    if (!status)
        status = fit_columns_choose(&rows.columns, result, options->columns, options->json ? "all" : table_columns, error);
    if (!status)
        status = output_open(output, options->output, options->overwrite, error);
    if (status)
        goto done;
    rows.info = result_info(result);
    rows.writer.file = output->file;
    if (options->json)
        json_begin(&rows.json, output->file, true);
    if ((status = put_head(&rows, result, error)))
        goto done;
    ignore_covariance(&rows, result);
    for (uint64_t first = 0; first < rows.info->n_fit && !output_failed(output); first += block.n) {
        if ((status = result_read(result, &block, first, ROWS_AT_ONCE, error)) || block.n == 0)
            break;
        for (size_t i = 0; i < block.n; i++)
            put_fit(&rows, block.id[i], &block.record[i]);
    }
    if (options->json && !status) {
        json_array_end(&rows.json);
        json_end(&rows.json);
    }
done:
    result_block_fini(&block);
    result_close(result);
    return status;
}
