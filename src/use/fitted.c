/* Finds problem and model of a result, and walks through both files side by side.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/fitted.h"

#include "base/sha256.h"
#include "base/output.h"
#include "base/words.h"
#include "fit/map.h"
#include "ode/task.h"
#include "run/plan/campaign.h"
#include "run/plan/recipe_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATASETS_AT_ONCE = 4096, ROWS_AT_ONCE = 65536 };

/* `name` relative to the folder of `beside`; free it. */
static char *beside(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    size_t n = slash && name[0] != '/' ? (size_t)(slash + 1 - file) : 0;
    char *path = malloc(n + strlen(name) + 1);
    if (path) {
        memcpy(path, file, n);
        strcpy(path + n, name);
    }
    return path;
}

/* What the result names is kept whether it can be opened or not: the files may be damaged, or not
 * trusted. */
static enum status spare_named(const struct fitted *fitted, const struct fitted_options *options,
                               struct error *error)
{
    const struct provenance *provenance = &result_info(fitted->result)->provenance;
    const char *problem = provenance_fact(provenance, "problem_file");
    char *path = problem ? beside(options->result, words_file(problem)) : NULL;
    enum status status = spare_file(options->output, path, error);
    free(path);
    if (!status)
        status = spare_file(options->output, problem, error);
    const char *model = provenance_fact(provenance, "model_file");
    return status ? status : spare_file(options->output, model, error);
}

static enum status spare_plugin(const struct fitted *fitted, const struct fitted_options *options,
                                struct error *error)
{
    bool has_plugin = problem_info(fitted->problem)->model.plugin != NULL;
    char *path = has_plugin ? problem_model_path(fitted->problem) : NULL;
    enum status status = spare_file(options->output, path, error);
    free(path);
    return status;
}

/* Opens the problem: the user's, the result's own file (--in-place), or the one named in the
 * result, beside the result or relative to the working directory. */
static enum status open_problem(struct fitted *fitted, const struct fitted_options *options,
                                struct error *error)
{
    if (options->problem)
        return problem_open(&fitted->problem, options->problem, error);
    if (!problem_open(&fitted->problem, options->result, error))
        return STATUS_OK;
    const char *name = provenance_fact(&result_info(fitted->result)->provenance, "problem_file");
    if (!name)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s does not say which problem it was made from; give it with --problem",
                         options->result);
    struct error ignored;
    char *path = beside(options->result, words_file(name));
    enum status status = path ? problem_open(&fitted->problem, path, &ignored) : STATUS_NO_MEMORY;
    free(path);
    if (status && problem_open(&fitted->problem, name, error))
        return error_context(error,
                             "cannot open the problem that %s was made from (give it with "
                             "--problem)",
                             options->result);
    return STATUS_OK;
}

/* Opens the model: the text that was fitted, if the result has it; otherwise the problem's, or
 * the file that the result names. `portable`: text is compiled as it was then, for the same
 * bits. */
static enum status open_model(struct fitted *fitted, const struct fitted_options *options,
                              struct error *error)
{
    const struct problem_info *info = problem_info(fitted->problem);
    const struct result_info *result = result_info(fitted->result);
    const char *path = provenance_fact(&result->provenance, "model_file");
    const char *text = provenance_fact(&result->provenance, "model_source");
    const char *sha256 = provenance_fact(&result->provenance, "model_sha256");
    const struct model_choice choice = {
        .given = options->model, .trust = options->trust,
        .build = {.portable = fitted->recipe.portable, .listener = options->listener}};
    if (!options->model && text && path)
        return model_load_text(&fitted->model, text, strlen(text), path, sha256, &choice.build,
                               error);
    if (options->model || info->model.plugin || info->model.bytes || info->model.source || !path)
        return campaign_load_model(&fitted->model, fitted->problem, &choice, error);
    char who[1400];
    snprintf(who, sizeof who, "%.600s was made with the plugin %.600s", options->result, path);
    return campaign_load_named(&fitted->model, path, sha256, &choice, who, path, error);
}

static enum status check_same(const struct fitted *fitted, const unsigned char problem[32],
                              struct error *error)
{
    const struct result_info *info = result_info(fitted->result);
    if (memcmp(problem, info->identity.problem, 32))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s does not hold the data that %s was made from: they have changed "
                         "since, or it is another problem (--problem names it)",
                         problem_info(fitted->problem)->path, info->path);
    if (info->n_parameter != problem_n_parameter(fitted->problem))
        return error_set(error, STATUS_BAD_PROBLEM, "%s has %zu parameters, %s has %zu", info->path,
                         info->n_parameter, problem_info(fitted->problem)->path,
                         problem_n_parameter(fitted->problem));
    return STATUS_OK;
}

enum status fitted_open(struct fitted *fitted, const struct fitted_options *options,
                        struct error *error)
{
    unsigned char hash[32], model[32];
    uint64_t n_bad;
    memset(fitted, 0, sizeof *fitted);
    enum status status = result_open(&fitted->result, options->result, error);
    if (!status)
        recipe_read(&fitted->recipe, NULL, result_info(fitted->result)->identity.description);
    if (!status)
        status = spare_named(fitted, options, error);
    if (!status)
        status = open_problem(fitted, options, error);
    if (!status)
        status = spare_file(options->output, problem_info(fitted->problem)->path, error);
    if (!status)
        status = spare_plugin(fitted, options, error);
    if (!status)
        status = open_model(fitted, options, error);
    if (!status)
        status = spare_file(options->output, fitted->model.path, error);
    if (status)
        return status;
    struct problem_expectation expectation = problem_expectation_of(&fitted->model.abi);
    const struct recipe *recipe = &fitted->recipe;
    expectation.error = (enum error_kind)recipe->error;
    status = problem_validate(fitted->problem, &expectation, hash, &n_bad, error);
    if (!status)
        status = check_same(fitted, hash, error);
    if (status)
        return status;
    const enum error_kind *kind = problem_errors(fitted->problem);
    size_t n_observable = fitted->model.abi.n_observable;
    fitted->errors.likelihood = fitted->model.abi.noise ||
                                problem_n_censored(fitted->problem) > 0 ||
                                error_kinds_mix(kind, n_observable);
    fitted->errors.loss = campaign_losses(kind, n_observable, recipe->tuning);
    if (!fitted->errors.loss)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu observables",
                         n_observable);
    sha256_of(fitted->model.sha256, strlen(fitted->model.sha256), model);
    if (memcmp(model, result_info(fitted->result)->identity.model, sizeof model) &&
        options->listener.tell)
        options->listener.tell(options->listener.context, "note: this is not exactly the model "
                                                          "that was fitted (its bytes differ)");
    /* Always the same solver: a plot of the same fits has the same bits on every machine. */
    const struct problem_info *info = problem_info(fitted->problem);
    enum engine_kind engine = recipe->engine > 0 && recipe->engine <= N_ENGINE
                                  ? (enum engine_kind)(recipe->engine - 1)
                                  : ENGINE_REFERENCE;
    fitted->engine = engine_refusal(engine, &fitted->model.abi) ? ENGINE_REFERENCE : engine;
    const struct ode_options ode = {.rtol = recipe->ode.rtol,
                                    .atol = recipe->ode.atol, .max_step = recipe->ode.max_step,
                                    .linear_solver = LINEAR_AUTO, .engine = fitted->engine,
                                    .n_none = problem_n_none(fitted->problem) +
                                              (info->has_periods ? fitted->model.abi.n_state : 0)};
    return predictor_init(&fitted->predictor, &fitted->model, &ode, recipe->fit.max_steps, error);
}

enum status fitted_open_given(struct fitted *fitted, const char *problem, struct model *model,
                              const struct ode_options *ode, struct error *error)
{
    unsigned char hash[32];
    uint64_t n_bad;
    memset(fitted, 0, sizeof *fitted);
    fitted->model = *model;
    *model = (struct model){.handle = NULL};
    const struct problem_expectation expectation = problem_expectation_of(&fitted->model.abi);
    enum status status = problem_open(&fitted->problem, problem, error);
    if (!status)
        status = problem_validate(fitted->problem, &expectation, hash, &n_bad, error);
    if (status)
        return status;
    fitted->engine = ENGINE_REFERENCE;
    fitted->errors.loss = campaign_losses(problem_errors(fitted->problem),
                                          fitted->model.abi.n_observable, fitted->recipe.tuning);
    if (!fitted->errors.loss)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the observables");
    return predictor_init(&fitted->predictor, &fitted->model, ode, 10000000, error);
}

void fitted_close(struct fitted *fitted)
{
    predictor_fini(&fitted->predictor);
    problem_block_fini(&fitted->data);
    result_block_fini(&fitted->fits);
    model_unload(&fitted->model);
    problem_close(fitted->problem);
    result_close(fitted->result);
    free(fitted->errors.loss);
    arena_fini(&fitted->arena);
    free(fitted->prediction);
    free(fitted->noise);
    memset(fitted, 0, sizeof *fitted);
}

/* Reads blocks so that both hold a row, unless a file has ended. */
static enum status fill(struct fitted *fitted, struct error *error)
{
    enum status status = STATUS_OK;
    if (fitted->i_data >= fitted->data.n) {
        fitted->i_data = 0;
        status =
            problem_read(fitted->problem, &fitted->data, DATASETS_AT_ONCE, ROWS_AT_ONCE, error);
    }
    if (!status && fitted->result && fitted->i_fit >= fitted->fits.n) {
        uint64_t next = fitted->fits.first + fitted->fits.n;
        fitted->i_fit = 0;
        status = result_read(fitted->result, &fitted->fits, next, DATASETS_AT_ONCE, error);
    }
    return status;
}

/* The next dataset of a problem alone. */
static enum status next_given(struct fitted *fitted, struct fitted_dataset *dataset, bool *more,
                              struct error *error)
{
    enum status status = fill(fitted, error);
    const struct problem_block *block = &fitted->data;
    *more = !status && block->n > 0;
    if (!*more)
        return status;
    size_t d = fitted->i_data++;
    fitted->given =
        (struct fit_record){.parameter = block->start + d * problem_n_parameter(fitted->problem)};
    *dataset = (struct fitted_dataset){.id = block->id[d],
                                       .fault = block->fault[d],
                                       .record = &fitted->given,
                                       .block = block, .row = d,
                                       .first = block->first_experiment[d],
                                       .end = block->first_experiment[d + 1],
                                       .p = fitted->given.parameter};
    return STATUS_OK;
}

/* Skips datasets for which a partial result (--shard, --only) has no row. */
static enum status skip_others(struct fitted *fitted, struct error *error)
{
    enum status status = STATUS_OK;
    while (!status && fitted->data.n > 0 && fitted->fits.n > 0 &&
           fitted->data.dataset[fitted->i_data] < fitted->fits.record[fitted->i_fit].dataset) {
        fitted->i_data++;
        status = fill(fitted, error);
    }
    return status;
}

enum status fitted_next(struct fitted *fitted, struct fitted_dataset *dataset, bool *more,
                        struct error *error)
{
    if (!fitted->result)
        return next_given(fitted, dataset, more, error);
    bool is_part = result_has(fitted->result, FIT_COLUMN_DATASET);
    enum status status = fill(fitted, error);
    if (!status && is_part)
        status = skip_others(fitted, error);
    if (status)
        return status;
    *more = fitted->data.n > 0 && fitted->fits.n > 0;
    if (!*more && ((fitted->data.n > 0 && !is_part) || fitted->fits.n > 0))
        return error_set(error, STATUS_BAD_PROBLEM, "%s and %s have different numbers of datasets",
                         problem_info(fitted->problem)->path, result_info(fitted->result)->path);
    if (!*more)
        return STATUS_OK;
    *dataset = (struct fitted_dataset){.id = fitted->data.id[fitted->i_data],
                                       .fault = fitted->data.fault[fitted->i_data],
                                       .record = &fitted->fits.record[fitted->i_fit],
                                       .block = &fitted->data, .row = fitted->i_data,
                                       .first = fitted->data.first_experiment[fitted->i_data],
                                       .end = fitted->data.first_experiment[fitted->i_data + 1],
                                       .p = fitted->fits.record[fitted->i_fit].parameter};
    if (strcmp(dataset->id, fitted->fits.id[fitted->i_fit]))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: row %llu is dataset '%s', but '%s' in the problem",
                         result_info(fitted->result)->path,
                         (unsigned long long)(fitted->fits.first + fitted->i_fit),
                         fitted->fits.id[fitted->i_fit], dataset->id);
    for (size_t i = 0; i < problem_n_parameter(fitted->problem); i++)
        if (!isfinite(dataset->record->parameter[i]))
            dataset->p = NULL;
    fitted->i_data++;
    fitted->i_fit++;
    return STATUS_OK;
}

/* The model's parameters in an experiment, and those that were free, as in the fit's
 * evaluations. False: out of memory. */
static bool fill_parameters(struct fitted *fitted, const struct fitted_dataset *dataset, size_t e,
                            struct predictor_rows *rows)
{
    const struct problem_block *block = dataset->block;
    struct arena *arena = &fitted->arena;
    size_t n = problem_n_parameter(fitted->problem);
    struct ode_task task = {.n_phase = 0};
    struct fit_binding binding;
    uint32_t *column_of = arena_alloc(arena, (n + 1) * sizeof *column_of);
    for (size_t i = 0, k = dataset->row * n; column_of && i < n; i++, k++)
        column_of[i] =
            block->fixed[k] || !(block->lower[k] < block->upper[k]) ? FIT_NO_COLUMN : (uint32_t)i;
    if (!column_of ||
        !ode_task_substitute(&task, rows->n_substitute, rows->substitute, rows->n_measured,
                             arena) ||
        !fit_binding_init(&binding, &fitted->model.abi, n, problem_to_model(fitted->problem),
                          column_of, &task, rows->n_substitute, rows->substitute, arena))
        return false;
    double *number = arena_alloc(arena, fit_binding_n_number(&binding) * sizeof *number);
    if (!number)
        return false;
    const double *p = dataset->by_experiment ? dataset->by_experiment + (e - dataset->first) * n
                                             : dataset->record->parameter;
    fit_binding_numbers(&binding, p, number);
    struct evaluation evaluation;
    fit_binding_set(&binding, number, &evaluation);
    rows->p = evaluation.p;
    rows->own = evaluation.own;
    rows->own_sens = evaluation.own_sens;
    rows->n_sens = binding.n_sens;
    rows->sens = binding.sens;
    rows->column = binding.column;
    rows->n_fitted = n;
    return true;
}

/* Whether another experiment begins at the steady state of experiment e. */
static bool goes_to_rest(const struct fitted_dataset *dataset, size_t e)
{
    for (size_t other = dataset->first; dataset->block->steady && other < dataset->end; other++)
        if (dataset->block->steady[other] == e)
            return true;
    return false;
}

static struct predictor_rows rows_of(struct fitted *fitted, const struct fitted_dataset *dataset,
                                     size_t e)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[e], n = block->row[e + 1] - first;
    bool by_cvodes = dataset->record->notes & NOTE_changed_engine ||
                     dataset->record->gradient == GRADIENT_adjoint;
    struct predictor_rows rows = {.t0 = block->t0[e],
                                  .covariate = block->covariate + e * fitted->model.abi.n_covariate,
                                  .n_dose = block->first_dose[e + 1] - block->first_dose[e],
                                  .dose = block->dose + block->first_dose[e],
                                  .n_call = block->first_call[e + 1] - block->first_call[e],
                                  .call = block->call + block->first_call[e],
                                  .n_substitute =
                                      block->first_substitute[e + 1] - block->first_substitute[e],
                                  .substitute = block->substitute + block->first_substitute[e],
                                  .input = block->input + e * fitted->model.abi.n_input,
                                  .goes_to_rest = goes_to_rest(dataset, e), .n = n, .n_measured = n,
                                  .measured = measurements_from(&block->measured, first),
                                  .error = problem_errors(fitted->problem),
                                  .rtol = dataset->record->rtol,
                                  .engine = by_cvodes ? ENGINE_REFERENCE : fitted->engine};
    if (!fill_parameters(fitted, dataset, e, &rows))
        rows.p = NULL;
    return rows;
}

struct predictor_rows fitted_rows(struct fitted *fitted, const struct fitted_dataset *dataset,
                                  size_t e)
{
    arena_reset(&fitted->arena);
    struct predictor_rows rows = rows_of(fitted, dataset, e);
    const uint32_t *steady = dataset->block->steady;
    if (steady && steady[e] != EXPERIMENT_NONE) {
        fitted->before = rows_of(fitted, dataset, steady[e]);
        rows.before = &fitted->before;
    }
    return rows;
}

static enum status reserve(struct fitted *fitted, size_t n, struct error *error)
{
    if (n <= fitted->n_room)
        return STATUS_OK;
    free(fitted->prediction);
    free(fitted->noise);
    fitted->n_room = 0;
    fitted->prediction = malloc(n * sizeof(double));
    fitted->noise = malloc(n * sizeof(double));
    if (!fitted->prediction || !fitted->noise)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", n);
    fitted->n_room = n;
    return STATUS_OK;
}

enum status fitted_predict(struct fitted *fitted, const struct fitted_dataset *dataset,
                           bool *predicted, struct error *error)
{
    const size_t *row = dataset->block->row;
    size_t first = row[dataset->first], n = row[dataset->end] - first;
    char reason[160];
    enum status status = reserve(fitted, n + 1, error);
    if (status)
        return status;
    *predicted = dataset->p && !dataset->fault;
    for (size_t e = dataset->first; *predicted && e < dataset->end; e++) {
        const struct predictor_rows rows = fitted_rows(fitted, dataset, e);
        *predicted = predictor_run(&fitted->predictor, &rows, fitted->prediction + row[e] - first,
                                   fitted->noise + row[e] - first, reason);
    }
    for (size_t i = 0; !*predicted && i < n; i++)
        fitted->prediction[i] = fitted->noise[i] = NAN;
    return STATUS_OK;
}

/* A measurement without a known scale leaves its dataset without a likelihood. */
struct residual_kind fitted_errors(const struct fitted *fitted,
                                   const struct fitted_dataset *dataset)
{
    const struct problem_block *block = dataset->block;
    size_t first = block->row[dataset->first], n = block->row[dataset->end] - first;
    const struct measurements measured = measurements_from(&block->measured, first);
    struct residual_kind errors = fitted->errors;
    size_t n_value = 0, n_sigma = 0;
    for (size_t i = 0; i < n && !fitted->model.abi.noise; i++) {
        errors.likelihood =
            errors.likelihood && (isnan(measured.value[i]) || !isnan(measured.sigma[i]));
        n_value += !isnan(measured.value[i]);
        n_sigma += !isnan(measured.value[i]) && !isnan(measured.sigma[i]);
    }
    if (n_value > 0 && errors.loss[measured.observable[0]].has_kink && n_sigma == 0)
        errors.unit = dataset->record->chi_square / (double)n_value;
    return errors;
}
