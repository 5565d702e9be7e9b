/* Finds problem and model of a result, and walks through both files side by side.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/fitted.h"

#include "base/sha256.h"
#include "base/output.h"
#include "base/words.h"
#include "io/result/population.h"
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

enum status fitted_spare(const struct result_info *info, const char *output, struct error *error)
{
    const char *problem = provenance_fact(&info->provenance, "problem_file");
    char *path = problem ? beside(info->path, words_file(problem)) : NULL;
    enum status status = spare_file(output, path, error);
    free(path);
    if (!status)
        status = spare_file(output, problem, error);
    const char *model = provenance_fact(&info->provenance, "model_file");
    return status ? status : spare_file(output, model, error);
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

/* The parameters that vary between experiments. */
static enum status open_population(struct fitted *fitted, struct error *error)
{
    struct arena *arena = &fitted->of_population;
    size_t n = problem_n_parameter(fitted->problem);
    const char *const *names = problem_parameter_name(fitted->problem);
    enum status status = result_population_read(&fitted->population, fitted->result, arena, error);
    const struct result_population *population = fitted->population;
    if (status || !population)
        return status;
    fitted->occasion = arena_calloc(arena, population->q + 1, sizeof *fitted->occasion);
    if (!fitted->occasion)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu random parameters",
                         population->r);
    for (size_t o = 0; o < population->q; o++) {
        size_t *i = &fitted->occasion[o];
        while (*i < n && strcmp(names[*i], population->occasion_name[o]))
            ++*i;
        if (*i == n)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: /population has the parameter '%.100s', which the problem has "
                             "not", result_info(fitted->result)->path,
                             population->occasion_name[o]);
    }
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
        status = fitted_spare(result_info(fitted->result), options->output, error);
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
    expectation.allows_empty = recipe->random != NULL;
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
    status = predictor_init(&fitted->predictor, &fitted->model, &ode, recipe->fit.max_steps, error);
    return status ? status : open_population(fitted, error);
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
    recipe_read(&fitted->recipe, NULL, ""); /* without a run: what a run without options has */
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
    arena_fini(&fitted->of_population);
    arena_fini(&fitted->of_occasions);
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
