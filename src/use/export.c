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

static enum status sheet_begin(struct sheet *sheet, struct error *error)
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
    return STATUS_OK;
}

static void add_number(struct view *row, const char *name, double value)
{
    VIEW_FACTS(row, fact_number(NULL, name, 0, 0, value));
}

static void add_pair(struct view *row, const char *id, const char *parameter, const char *with,
                     double covariance, double correlation)
{
    VIEW_FACTS(row, fact_word(NULL, "id", 0, id), fact_word(NULL, "parameter", 0, parameter),
               fact_word(NULL, "with", 0, with));
    add_number(row, "covariance", covariance);
    add_number(row, "correlation", correlation);
}

/* Each pair once; pairs without a covariance are skipped. */
static void put_covariance(struct sheet *sheet, const char *id, const struct fit_record *record)
{
    size_t n = sheet->info->n_parameter;
    const char *const *name = sheet->info->parameter_name;
    for (size_t c = 0; c < n; c++)
        for (size_t d = c; d < n; d++)
            if (!isnan(record->covariance[d + c * n])) {
                add_pair(&sheet->row, id, name[c], name[d], record->covariance[d + c * n],
                         fit_correlation(record, n, c, d));
                put_row(sheet);
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
        status = sheet_begin(sheet, error);
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
    if (fit_column_width(FIT_COLUMN_COVARIANCE, sheet->info->n_parameter) == 0 ||
        !result_has(sheet->result, FIT_COLUMN_COVARIANCE))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: holds no covariances (they are written for at most %d parameters)",
                         sheet->info->path, FIT_MAX_PAIR_PARAMETERS);
    enum status status = sheet_begin(sheet, error);
    if (status)
        return status;
    add_pair(&sheet->row, "", "", "", NAN, NAN);
    put_head(sheet);
    return put_fits(sheet, NULL, error);
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
        status = sheet_begin(sheet, error);
    if (!status)
        status = put_all_kept(sheet, &shape, source, error);
    result_table_source_close(source);
    return status;
}

/* Measurement i of the dataset, of which the problem has such columns. Without a dataset, here and
 * below: the head. */
struct place {
    const struct fitted *fitted;
    const struct fitted_dataset *dataset;
    struct measurements measured; /* of the dataset */
    size_t i, e;                  /* e: the experiment; those of later rows are not before it */
};

static struct place place_in(const struct fitted *fitted, const struct fitted_dataset *dataset)
{
    const struct problem_block *block = dataset->block;
    return (struct place){fitted, dataset,
                          measurements_from(&block->measured, block->row[dataset->first]), 0,
                          dataset->first};
}

/* Which measurement it is. */
static void add_place(struct view *row, struct place *place)
{
    const struct fitted_dataset *dataset = place->dataset;
    const struct stiffit_model *abi = &place->fitted->model.abi;
    const char *experiment = "", *observable = "";
    if (dataset) {
        const struct problem_block *block = dataset->block;
        uint32_t k = place->measured.observable[place->i];
        while (block->row[place->e + 1] <= block->row[dataset->first] + place->i)
            place->e++;
        experiment = block->experiment[place->e].id;
        observable = k < abi->n_observable ? abi->observable_name[k] : "";
    }
    VIEW_FACTS(row, fact_word(NULL, "dataset", 0, dataset ? dataset->id : ""));
    if (problem_info(place->fitted->problem)->has_experiments)
        VIEW_FACTS(row, fact_word(NULL, "experiment", 0, experiment));
    add_number(row, "time", dataset ? place->measured.time[place->i] : (double)NAN);
    VIEW_FACTS(row, fact_word(NULL, "observable", 0, observable));
}

static void add_censored(struct view *row, const struct place *place)
{
    int8_t censored = place->dataset ? place->measured.censored[place->i] : 0;
    bool in_interval = place->dataset && measurements_in_interval(&place->measured, place->i);
    const char *word = censored > 0 ? "left" : "right";
    if (censored == 0 || in_interval)
        word = in_interval ? "interval" : "none";
    VIEW_FACTS(row, fact_word(NULL, "censored", 0, word));
    if (problem_has_limits(place->fitted->problem))
        add_number(row, "limit", in_interval ? place->measured.limit[place->i] : (double)NAN);
}

/* A prediction at the best fit, maybe with its residual. */
static void add_prediction(struct view *row, struct place *place,
                           const struct residual_kind *errors, bool residuals)
{
    struct residual residual = {.sigma = NAN};
    size_t i = place->i;
    double prediction = place->dataset ? place->fitted->prediction[i] : (double)NAN;
    if (place->dataset && residuals)
        residual = residual_of(errors, &place->measured, i, prediction, place->fitted->noise[i]);
    add_place(row, place);
    add_number(row, "prediction", prediction);
    if (!residuals)
        return;
    add_number(row, "value", place->dataset ? place->measured.value[i] : (double)NAN);
    add_number(row, "sigma", residual.sigma);
    add_number(row, "residual", residual.residual);
    add_number(row, "weighted_residual", residual.weighted);
    add_number(row, "weight", residual.weight);
    add_number(row, "loss", residual.loss);
    add_censored(row, place);
}

static void put_measurements(struct sheet *sheet, const struct fitted *fitted,
                             const struct fitted_dataset *dataset, bool residuals)
{
    const struct problem_block *block = dataset->block;
    struct place place = place_in(fitted, dataset);
    struct residual_kind errors = fitted_errors(fitted, dataset);
    size_t n = block->row[dataset->end] - block->row[dataset->first];
    for (; place.i < n; place.i++) {
        add_prediction(&sheet->row, &place, &errors, residuals);
        put_row(sheet);
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

/* Predictions and residuals as a table, or PEtab problems. */
static enum status export_measurements(struct sheet *sheet, struct error *error)
{
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
        status = options->petab ? open_petab(&petab, options, &fitted, error)
                                : sheet_begin(sheet, error);
    if (!status && !petab) {
        add_prediction(&sheet->row, &(struct place){.fitted = &fitted}, NULL, residuals);
        put_head(sheet);
    }
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
            put_measurements(sheet, &fitted, &dataset, residuals);
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

/* What a population says of a measurement. */
static void add_diagnostics(struct view *row, struct place *place,
                            const struct population_view *view)
{
    static const char *const name[] = {"population_prediction", "individual_prediction", "median",
                                       "iwres", "cwres", "npd", "npde"};
    const double *const number[] = {view->typical,     view->individual, view->middle,
                                    view->weighted,    view->conditional, view->score,
                                    view->decorrelated};
    add_place(row, place);
    add_number(row, "value", place->dataset ? place->measured.value[place->i] : (double)NAN);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        add_number(row, name[k], place->dataset ? number[k][place->i] : (double)NAN);
    add_censored(row, place);
}

/* Diagnostics of a fit with random parameters. */
static enum status export_diagnostics(struct sheet *sheet, struct error *error)
{
    const struct export_options *options = sheet->options;
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
        status = sheet_begin(sheet, error);
    if (!status) {
        add_diagnostics(&sheet->row, &(struct place){.fitted = &fitted}, &view);
        put_head(sheet);
    }
    while (!status && !output_failed(sheet->output)) {
        status = fitted_next(&fitted, &dataset, &more, error);
        if (status || !more)
            break;
        if (!row_filter_takes(&sheet->filter, dataset.id, dataset.record) || dataset.fault)
            continue;
        status = population_view_dataset(&view, &dataset, error);
        struct place place = place_in(&fitted, &dataset);
        for (; !status && place.i < view.n; place.i++) {
            add_diagnostics(&sheet->row, &place, &view);
            put_row(sheet);
        }
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
