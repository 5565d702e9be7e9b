/* A row per measurement: predictions at the best fits, and residuals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/export.h"

#include "cli/fitted.h"
#include "cli/message.h"
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    size_t capacity;
    double *prediction, *noise;
};

static enum status reserve(struct buffer *buffer, size_t n, struct error *error)
{
    if (n <= buffer->capacity)
        return STATUS_OK;
    free(buffer->prediction);
    free(buffer->noise);
    buffer->capacity = 0;
    buffer->prediction = malloc(n * sizeof(double));
    buffer->noise = malloc(n * sizeof(double));
    if (!buffer->prediction || !buffer->noise)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", n);
    buffer->capacity = n;
    return STATUS_OK;
}

static void put_head(struct csv_writer *writer, bool residuals)
{
    static const char *const names[] = {"dataset", "time", "observable", "prediction", "value", "sigma", "residual",
                                        "weighted_residual", "weight", "loss", "censored"};
    for (size_t i = 0; i < (residuals ? sizeof names / sizeof *names : 4); i++)
        csv_put_text(writer, names[i]);
    csv_end_row(writer);
}

static void put_residual(struct csv_writer *writer, const struct residual_kind *errors, const struct measurements *measured,
                         size_t i, double prediction, double noise)
{
    struct residual residual = residual_of(errors, measured, i, prediction, noise);
    const double number[] = {measured->value[i], residual.sigma, residual.residual, residual.weighted, residual.weight,
                             residual.loss};
    int8_t censored = measured->censored[i];
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        csv_put_number(writer, number[k]);
    csv_put_text(writer, censored == 0 ? "none" : censored > 0 ? "left" : "right");
}

/* As the fit has it: a measurement without a known scale leaves its dataset without a likelihood. */
static struct residual_kind errors_of(const struct fitted *fitted, const struct fitted_dataset *dataset,
                                      const struct measurements *measured, size_t n)
{
    struct residual_kind errors = fitted->errors;
    size_t n_value = 0, n_sigma = 0;
    for (size_t i = 0; i < n && !fitted->model.abi.noise; i++) {
        errors.likelihood = errors.likelihood && (isnan(measured->value[i]) || !isnan(measured->sigma[i]));
        n_value += !isnan(measured->value[i]);
        n_sigma += !isnan(measured->value[i]) && !isnan(measured->sigma[i]);
    }
    if (n_value > 0 && errors.loss[measured->observable[0]].error == ERROR_LAPLACE && n_sigma == 0)
        errors.unit = dataset->record->chi_square / (double)n_value;
    return errors;
}

static void put_rows(struct csv_writer *writer, const struct fitted *fitted, const struct fitted_dataset *dataset,
                     const struct buffer *buffer, bool residuals)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->row], n = block->row[dataset->row + 1] - first;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct residual_kind errors = errors_of(fitted, dataset, &measured, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t observable = measured.observable[i];
        csv_put_text(writer, dataset->id);
        csv_put_number(writer, measured.time[i]);
        csv_put_text(writer, observable < fitted->model.abi.n_observable ? fitted->model.abi.observable_name[observable] : "");
        csv_put_number(writer, buffer->prediction[i]);
        if (residuals)
            put_residual(writer, &errors, &measured, i, buffer->prediction[i], buffer->noise[i]);
        csv_end_row(writer);
    }
}

static enum status predict(struct fitted *fitted, const struct fitted_dataset *dataset, struct buffer *buffer,
                           bool *predicted, struct error *error)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->row], n = block->row[dataset->row + 1] - first;
    char reason[160];
    enum status status = reserve(buffer, n + 1, error);
    if (status)
        return status;
    const struct predictor_rows rows = {
        .t0 = block->t0[dataset->row], .covariate = block->covariate + dataset->row * fitted->model.abi.n_covariate, .n = n,
        .measured = measurements_from(&block->measured, first), .error = problem_errors(fitted->problem),
        .rtol = dataset->record->rtol, .n_sens = dataset->n_sens, .sens = dataset->sens};
    *predicted = dataset->p && !dataset->fault &&
                 predictor_run(&fitted->predictor, &rows, dataset->p, buffer->prediction, buffer->noise, reason);
    for (size_t i = 0; !*predicted && i < n; i++)
        buffer->prediction[i] = buffer->noise[i] = NAN;
    return STATUS_OK;
}

enum status export_rows(const struct export_options *options, struct output *output, struct error *error)
{
    struct fitted fitted;
    struct fitted_dataset dataset;
    struct buffer buffer = {0, NULL, NULL};
    const struct fitted_options fitted_options = {.result = options->result, .problem = options->problem,
                                                  .model = options->model, .output = options->output, .trust = options->trust};
    bool residuals = options->what == EXPORT_RESIDUALS, other_model = false, more = true;
    uint64_t n_without = 0;
    enum status status = fitted_open(&fitted, &fitted_options, &other_model, error);
    if (!status && other_model)
        message_say("note: this is not the very model that was fitted (its bytes differ)");
    if (!status)
        status = output_open(output, options->output, options->overwrite, error);
    struct csv_writer writer = {.file = output->file};
    if (!status)
        put_head(&writer, residuals);
    while (!status && !output_failed(output)) {
        bool predicted;
        status = fitted_next(&fitted, &dataset, &more, error);
        if (status || !more)
            break;
        status = predict(&fitted, &dataset, &buffer, &predicted, error);
        if (!status) {
            put_rows(&writer, &fitted, &dataset, &buffer, residuals);
            n_without += !predicted;
        }
    }
    if (!status && n_without > 0) {
        char line[120];
        snprintf(line, sizeof line, "note: %llu dataset%s no best fit to predict from; predictions there are NaN",
                 (unsigned long long)n_without, n_without == 1 ? " has" : "s have");
        message_say(line);
    }
    free(buffer.prediction);
    free(buffer.noise);
    fitted_close(&fitted);
    return status;
}
