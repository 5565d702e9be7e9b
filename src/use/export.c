/* Walks through a result, once for each kind of row, and writes CSV or an array of JSON objects.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/export.h"

#include "io/result/tables.h"
#include "petab/export.h"
#include "use/fit_columns.h"
#include "use/view_csv.h"
#include "use/population_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096, KEPT_BYTES = 1 << 20 };

/* Input and output of one export. */
struct sheet {
    const struct export_options *options;
    struct result *result;
    const struct result_info *info;
    struct row_filter filter;
    struct output *output;
    struct csv_writer csv;
    struct json json;
    struct view row;
};

/* Writes the row, and empties it. */
static void put_row(struct sheet *sheet)
{
    if (sheet->row.failed) {
        return; /* export_write reports it */
    } else if (sheet->options->json) {
        json_object_begin(&sheet->json, NULL);
        view_json(&sheet->row, &sheet->json);
        json_object_end(&sheet->json);
    } else {
        view_csv_row(&sheet->row, &sheet->csv);
    }
    view_clear(&sheet->row);
}

static void put_head(struct sheet *sheet)
{
    if (!sheet->options->json && !sheet->row.failed)
        view_csv_head(&sheet->row, &sheet->csv);
    view_clear(&sheet->row);
}

/* `head`: n columns, or NULL. */
static enum status sheet_begin(struct sheet *sheet, const struct csv_column *head, size_t n,
                               struct error *error)
{
    enum status status =
        output_open(sheet->output, sheet->options->files.output, sheet->options->overwrite, error);
    if (status)
        return status;
    sheet->csv = (struct csv_writer){.file = sheet->output->file,
                                     .decimal_comma = sheet->options->decimal_comma,
                                     .types_row = sheet->options->types_row};
    if (sheet->options->json) {
        json_begin(&sheet->json, sheet->output->file);
        json_array_begin(&sheet->json, NULL);
    }
    while (n && csv_head(&sheet->csv))
        for (size_t i = 0; i < n; i++)
            csv_put_column(&sheet->csv, head[i].name, head[i].type);
    return STATUS_OK;
}

/* Each pair once; pairs without a covariance are skipped. */
static void put_covariance(struct sheet *sheet, const char *id, const struct fit_record *record)
{
    size_t n = sheet->info->n_parameter;
    for (size_t c = 0; c < n; c++)
        for (size_t d = c; d < n; d++) {
            if (isnan(record->covariance[d + c * n]))
                continue;
            csv_put_text(&sheet->csv, id);
            csv_put_text(&sheet->csv, sheet->info->parameter_name[c]);
            csv_put_text(&sheet->csv, sheet->info->parameter_name[d]);
            csv_put_number(&sheet->csv, record->covariance[d + c * n]);
            csv_put_number(&sheet->csv, fit_correlation(record, n, c, d));
            csv_end_row(&sheet->csv);
        }
}

static enum status put_fits(struct sheet *sheet, const struct fit_columns *columns,
                            struct error *error)
{
    struct result_block block = {0};
    enum status status = STATUS_OK;
    while (!output_failed(sheet->output) &&
           result_next(sheet->result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n; i++) {
            if (!row_filter_takes(&sheet->filter, block.id[i], &block.record[i])) {
                continue;
            } else if (!columns) {
                put_covariance(sheet, block.id[i], &block.record[i]);
            } else {
                fit_columns_row(columns, sheet->info, block.id[i], &block.record[i], &sheet->row);
                put_row(sheet);
            }
        }
    result_block_fini(&block);
    return status;
}

/* Columns that are not written are not read: covariances are by far the largest. */
static enum status export_fits(struct sheet *sheet, struct error *error)
{
    struct fit_columns columns = {.n = 0};
    bool wanted = false;
    enum status status = fit_columns_choose(&columns, sheet->result, sheet->options->columns,
                                            sheet->options->json ? "all" : NULL, error);
    if (!status)
        status = sheet_begin(sheet, NULL, 0, error);
    for (size_t i = 0; !status && i < columns.n; i++)
        wanted = wanted || columns.chosen[i].column == FIT_COLUMN_COVARIANCE;
    if (!status && !wanted)
        result_ignore(sheet->result, FIT_COLUMN_COVARIANCE);
    if (!status) {
        fit_columns_row(&columns, sheet->info, "", NULL, &sheet->row);
        put_head(sheet);
        status = put_fits(sheet, &columns, error);
    }
    fit_columns_fini(&columns);
    return status;
}

static enum status export_pairs(struct sheet *sheet, struct error *error)
{
    static const struct csv_column head[] = {{"id", CSV_TEXT},
                                             {"parameter", CSV_TEXT},
                                             {"with", CSV_TEXT},
                                             {"covariance", CSV_NUMBER},
                                             {"correlation", CSV_NUMBER}};
    if (fit_column_width(FIT_COLUMN_COVARIANCE, sheet->info->n_parameter) == 0 ||
        !result_has(sheet->result, FIT_COLUMN_COVARIANCE))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: holds no covariances (they are written for at most %d parameters)",
                         sheet->info->path, FIT_MAX_PAIR_PARAMETERS);
    enum status status = sheet_begin(sheet, head, sizeof head / sizeof *head, error);
    return status ? status : put_fits(sheet, NULL, error);
}

/* A row of /parameters, which is written as its name. */
static bool is_parameter(const struct result_table_column *column)
{
    return !strcmp(column->name, "parameter");
}

/* Of profiles, starts and replicates: the tables of io/result/tables.h. values NULL: the head. */
static void add_kept(struct sheet *sheet, const struct result_table_shape *shape, const char *id,
                     const void *const *values)
{
    const char *const *name = sheet->info->parameter_name;
    VIEW_FACTS(&sheet->row, fact_word("id", "id", 0, id));
    for (size_t c = 1; c < shape->n_column; c++) {
        const struct result_table_column *column = &shape->column[c];
        const char *value = values ? values[c] : NULL;
        if (!column->width) {
            struct fact fact = fit_fact(column->name, column->name, column->kind, value);
            bool is_known = value && fact.value < (double)sheet->info->n_parameter;
            if (is_parameter(column))
                fact = fact_word(column->name, column->name, 0,
                                 is_known ? name[(size_t)fact.value] : "");
            VIEW_FACTS(&sheet->row, fact);
            continue;
        }
        view_group(&sheet->row, column->name, NULL, VIEW_HIDDEN);
        for (size_t j = 0; j < column->width; j++)
            VIEW_FACTS(&sheet->row,
                       fit_fact(name[j], name[j], column->kind,
                                value ? value + j * fit_kind_size(column->kind) : NULL));
        view_end(&sheet->row);
    }
}

/* Rows of datasets that are not wanted are passed over. */
static enum status put_kept_of(struct sheet *sheet, const struct result_table_shape *shape,
                               struct result_table_source *source, const char *id, uint64_t dataset,
                               bool wanted, struct error *error)
{
    const void *values[RESULT_TABLE_MAX_COLUMN];
    enum status status = STATUS_OK;
    for (bool there = true; there && !status;) {
        status = result_table_next(source, dataset, values, &there, error);
        if (!status && there && wanted) {
            add_kept(sheet, shape, id, values);
            put_row(sheet);
        }
    }
    return status;
}

static enum status put_all_kept(struct sheet *sheet, const struct result_table_shape *shape,
                                struct result_table_source *source, struct error *error)
{
    struct result_block fits = {0};
    enum status status = STATUS_OK;
    add_kept(sheet, shape, "", NULL);
    put_head(sheet);
    if (sheet->filter.is_open)
        result_read_only(sheet->result, FIT_COLUMN_DATASET, FIT_COLUMN_DATASET);
    while (!output_failed(sheet->output) &&
           result_next(sheet->result, &fits, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < fits.n && !status && !output_failed(sheet->output); i++)
            status =
                put_kept_of(sheet, shape, source, fits.id[i], fits.record[i].dataset,
                            row_filter_takes(&sheet->filter, fits.id[i], &fits.record[i]), error);
    result_block_fini(&fits);
    return status || output_failed(sheet->output)
               ? status
               : put_kept_of(sheet, shape, source, "", UINT64_MAX, false, error);
}

static enum status export_kept(struct sheet *sheet, struct error *error)
{
    const enum kept_table table = sheet->options->what == EXPORT_STARTS    ? KEPT_STARTS
                                  : sheet->options->what == EXPORT_PROFILE ? KEPT_PROFILES
                                                                           : KEPT_BOOTSTRAP;
    struct result_table_shape shape = kept_shape(table, sheet->info->n_parameter);
    struct result_table_source *source = NULL;
    enum status status =
        result_table_source_open(&source, sheet->result, &shape, KEPT_BYTES, error);
    if (!status && !source)
        status =
            error_set(error, STATUS_BAD_PROBLEM, "%s: has no %s: `stiffit run` writes it with %s",
                      sheet->info->path, shape.group, kept_options(table));
    if (!status)
        status = sheet_begin(sheet, NULL, 0, error);
    if (!status)
        status = put_all_kept(sheet, &shape, source, error);
    result_table_source_close(source);
    return status;
}

/* The columns of a censored measurement; the second one if the file has limits. */
static void put_censored(struct csv_writer *writer, const struct fitted *fitted,
                         const struct measurements *measured, size_t i)
{
    int8_t censored = measured->censored[i];
    bool in_interval = measurements_in_interval(measured, i);
    csv_put_text(writer, censored == 0  ? "none"
                         : in_interval  ? "interval"
                         : censored > 0 ? "left"
                                        : "right");
    if (problem_has_limits(fitted->problem))
        csv_put_number(writer, in_interval ? measured->limit[i] : (double)NAN);
}

static void put_residual(struct csv_writer *writer, const struct residual_kind *errors,
                         const struct measurements *measured, size_t i, double prediction,
                         double noise)
{
    struct residual residual = residual_of(errors, measured, i, prediction, noise);
    const double number[] = {measured->value[i], residual.sigma,  residual.residual,
                             residual.weighted,  residual.weight, residual.loss};
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        csv_put_number(writer, number[k]);
}

/* Which measurement it is: row i of the dataset. *e: the experiment of an earlier row, or the
 * first; becomes that of this row. */
static void put_place(struct csv_writer *writer, const struct fitted *fitted,
                      const struct fitted_dataset *dataset, size_t i, size_t *e)
{
    const struct problem_block *block = dataset->block;
    size_t row = block->row[dataset->first] + i;
    while (block->row[*e + 1] <= row)
        ++*e;
    uint32_t observable = block->measured.observable[row];
    csv_put_text(writer, dataset->id);
    if (problem_info(fitted->problem)->has_experiments)
        csv_put_text(writer, block->experiment[*e].id);
    csv_put_number(writer, block->measured.time[row]);
    csv_put_text(writer, observable < fitted->model.abi.n_observable
                             ? fitted->model.abi.observable_name[observable]
                             : "");
}

/* The rows of measurements: predictions at the best fits, and residuals. */
static void put_measurements(struct csv_writer *writer, const struct fitted *fitted,
                             const struct fitted_dataset *dataset, bool residuals)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->first], n = block->row[dataset->end] - first,
           e = dataset->first;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct residual_kind errors = fitted_errors(fitted, dataset);
    for (size_t i = 0; i < n; i++) {
        put_place(writer, fitted, dataset, i, &e);
        csv_put_number(writer, fitted->prediction[i]);
        if (residuals) {
            put_residual(writer, &errors, &measured, i, fitted->prediction[i], fitted->noise[i]);
            put_censored(writer, fitted, &measured, i);
        }
        csv_end_row(writer);
    }
}

/* A dataset as a PEtab problem. */
static enum status put_petab(struct petab_export *petab, const struct fitted *fitted,
                             const struct fitted_dataset *dataset, const double *prediction,
                             struct error *error)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->first], n = block->row[dataset->end] - first;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct residual_kind errors = fitted_errors(fitted, dataset);
    double squares = 0; /* PEtab's chi2, whatever the distribution */
    for (size_t i = 0; i < n; i++) {
        double weighted =
            residual_of(&errors, &measured, i, prediction[i], fitted->noise[i]).weighted;
        squares += isnan(measured.value[i]) ? 0 : weighted * weighted;
    }
    const struct petab_fit fit = {.id = dataset->id,
                                  .number = (size_t)block->dataset[dataset->row],
                                  .n_parameter = problem_n_parameter(fitted->problem),
                                  .parameter = dataset->p, .n = n,
                                  .value = block->measured.value + first, .simulation = prediction,
                                  .llh = dataset->record->log_likelihood, .chi2 = squares,
                                  .log_prior = dataset->record->log_prior};
    return petab_export_put(petab, &fit, error);
}

static enum status open_petab(struct petab_export **petab, const struct export_options *options,
                              const struct fitted *fitted, struct error *error)
{
    const struct petab_source *made_from = &problem_info(fitted->problem)->petab;
    struct petab_source source = *made_from;
    if (source.n && options->petab_yaml)
        return error_set(error, STATUS_USAGE,
                         "--petab-yaml: %s is of %zu PEtab problems, which must be where they were",
                         options->files.result, source.n);
    if (options->petab_yaml)
        source.yaml = options->petab_yaml;
    if (result_has(fitted->result, FIT_COLUMN_RANDOM_MEAN))
        return error_set(error, STATUS_USAGE, "--petab: %s has random parameters, which PEtab has "
                         "not", options->files.result);
    if (!source.yaml && !source.n)
        return error_set(error, STATUS_USAGE, "--petab: %s was not made from a PEtab problem",
                         options->files.result);
    return petab_export_open(petab, source.n ? made_from : &source, options->petab_yaml,
                             options->petab, options->overwrite, error);
}

/* The columns that the problem has. */
static size_t choose(const struct csv_column *head, size_t n, const struct fitted *fitted,
                     struct csv_column *wanted)
{
    size_t n_wanted = 0;
    for (size_t k = 0; k < n; k++) {
        bool is_there = !strcmp(head[k].name, "experiment")
                            ? problem_info(fitted->problem)->has_experiments
                        : !strcmp(head[k].name, "limit") ? problem_has_limits(fitted->problem)
                                                         : true;
        if (is_there)
            wanted[n_wanted++] = head[k];
    }
    return n_wanted;
}

/* Predictions and residuals as a table, or PEtab problems. */
static enum status export_measurements(struct sheet *sheet, struct error *error)
{
    static const struct csv_column head[] = {
        {"dataset", CSV_TEXT},      {"experiment", CSV_TEXT},
        {"time", CSV_NUMBER},       {"observable", CSV_TEXT},
        {"prediction", CSV_NUMBER}, {"value", CSV_NUMBER},
        {"sigma", CSV_NUMBER},      {"residual", CSV_NUMBER},
        {"weighted_residual", CSV_NUMBER}, {"weight", CSV_NUMBER},
        {"loss", CSV_NUMBER},       {"censored", CSV_TEXT}, {"limit", CSV_NUMBER}};
    struct csv_column wanted[sizeof head / sizeof *head];
    size_t n_head = 0;
    const struct export_options *options = sheet->options;
    struct fitted fitted;
    struct fitted_dataset dataset;
    struct petab_export *petab = NULL;
    bool residuals = options->what == EXPORT_RESIDUALS, more = true, predicted;
    uint64_t n_without = 0;
    enum status status = fitted_open(&fitted, &options->files, error);
    if (!status)
        status = row_filter_init(&sheet->filter, &options->rows, fitted.result, error);
    if (!status)
        n_head = choose(head, residuals ? sizeof head / sizeof *head : 5, &fitted, wanted);
    if (!status)
        status = options->petab ? open_petab(&petab, options, &fitted, error)
                                : sheet_begin(sheet, wanted, n_head, error);
    while (!status && (petab || !output_failed(sheet->output))) {
        status = fitted_next(&fitted, &dataset, &more, error);
        if (status || !more)
            break;
        if (!row_filter_takes(&sheet->filter, dataset.id, dataset.record))
            continue;
        status = fitted_predict(&fitted, &dataset, &predicted, error);
        if (status)
            break;
        n_without += !predicted;
        if (!petab)
            put_measurements(&sheet->csv, &fitted, &dataset, residuals);
        else if (predicted)
            status = put_petab(petab, &fitted, &dataset, fitted.prediction, error);
    }
    if (!status && n_without > 0 && options->files.listener.tell) {
        char line[120];
        snprintf(line, sizeof line, "note: %llu dataset%s no best fit to predict from; %s",
                 (unsigned long long)n_without, n_without == 1 ? " has" : "s have",
                 petab ? "they are left out" : "predictions there are NaN");
        options->files.listener.tell(options->files.listener.context, line);
    }
    petab_export_close(petab);
    fitted_close(&fitted);
    return status;
}

/* What a population says of each measurement. */
static void put_view(struct csv_writer *writer, const struct population_view *view,
                     const struct fitted_dataset *dataset)
{
    const struct fitted *fitted = view->draw.fitted;
    const struct problem_block *block = dataset->block;
    const struct measurements measured = measurements_from(&block->measured,
                                                           block->row[dataset->first]);
    size_t e = dataset->first;
    for (size_t i = 0; i < view->n; i++) {
        put_place(writer, fitted, dataset, i, &e);
        const double number[] = {measured.value[i], view->typical[i], view->individual[i],
                                 view->middle[i], view->weighted[i], view->conditional[i],
                                 view->score[i], view->decorrelated[i]};
        for (size_t k = 0; k < sizeof number / sizeof *number; k++)
            csv_put_number(writer, number[k]);
        put_censored(writer, fitted, &measured, i);
        csv_end_row(writer);
    }
}

/* Diagnostics of a fit with random parameters. */
static enum status export_diagnostics(struct sheet *sheet, struct error *error)
{
    static const struct csv_column head[] = {{"dataset", CSV_TEXT},
                                             {"experiment", CSV_TEXT},
                                             {"time", CSV_NUMBER},
                                             {"observable", CSV_TEXT},
                                             {"value", CSV_NUMBER},
                                             {"population_prediction", CSV_NUMBER},
                                             {"individual_prediction", CSV_NUMBER},
                                             {"median", CSV_NUMBER},
                                             {"iwres", CSV_NUMBER},
                                             {"cwres", CSV_NUMBER},
                                             {"npd", CSV_NUMBER},
                                             {"npde", CSV_NUMBER},
                                             {"censored", CSV_TEXT},
                                             {"limit", CSV_NUMBER}};
    struct csv_column wanted[sizeof head / sizeof *head];
    const struct export_options *options = sheet->options;
    size_t n_head = 0;
    struct fitted fitted;
    struct fitted_dataset dataset;
    struct population_view view = {.n = 0};
    bool more = true;
    enum status status = fitted_open(&fitted, &options->files, error);
    if (!status)
        status = row_filter_init(&sheet->filter, &options->rows, fitted.result, error);
    if (!status)
        status = population_view_init(&view, &fitted, (uint64_t)options->seed,
                                      (size_t)options->n_replicate, "--what diagnostics", error);
    if (!status)
        n_head = choose(head, sizeof head / sizeof *head, &fitted, wanted);
    if (!status)
        status = sheet_begin(sheet, wanted, n_head, error);
    while (!status && !output_failed(sheet->output)) {
        status = fitted_next(&fitted, &dataset, &more, error);
        if (status || !more)
            break;
        if (!row_filter_takes(&sheet->filter, dataset.id, dataset.record) || dataset.fault)
            continue;
        status = population_view_dataset(&view, &dataset, error);
        if (!status)
            put_view(&sheet->csv, &view, &dataset);
    }
    population_view_fini(&view);
    fitted_close(&fitted);
    return status;
}

bool export_computes(const struct export_options *options)
{
    return options->petab || options->what == EXPORT_PREDICTIONS
           || options->what == EXPORT_RESIDUALS || options->what == EXPORT_DIAGNOSTICS;
}

enum status export_write(const struct export_options *options, struct output *output,
                         struct error *error)
{
    struct sheet sheet = {.options = options, .output = output};
    bool computes = export_computes(options);
    enum status status = computes ? (options->what == EXPORT_DIAGNOSTICS
                                         ? export_diagnostics : export_measurements)(&sheet, error)
                                  : result_open(&sheet.result, options->files.result, error);
    if (!status && !computes)
        status = fitted_spare(result_info(sheet.result), options->files.output, error);
    if (!status && !computes) {
        sheet.info = result_info(sheet.result);
        status = row_filter_init(&sheet.filter, &options->rows, sheet.result, error);
    }
    if (!status && !computes)
        status = (options->what == EXPORT_FITS         ? export_fits
                  : options->what == EXPORT_COVARIANCE ? export_pairs
                                                       : export_kept)(&sheet, error);
    if (!status && sheet.row.failed)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for a row of the table");
    if (!status && options->json)
        json_end(&sheet.json);
    if (!status && (options->petab || !output_failed(output)))
        status = row_filter_end(&sheet.filter, &options->rows, error);
    view_fini(&sheet.row);
    row_filter_fini(&sheet.filter);
    result_close(sheet.result);
    return status;
}
