/* What fits and evaluations need besides the data: the objective, the options and an engine, made
 * once for all of them; and the problem of one dataset.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "library/problem.h"

#include "base/faults.h"
#include "run/plan/campaign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct stiffit_model *abi_of(const struct stiffit_problem *problem)
{
    return &problem->system->model.abi;
}

void library_unprepare(struct stiffit_problem *problem)
{
    struct library_ready *ready = &problem->ready;
    ode_alone_fini(&ready->alone);
    arena_fini(&ready->arena);
    free(ready->loss);
    free(ready->scale);
    *ready = (struct library_ready){.loss = NULL};
}

/* The distribution of each observable: the model's, else the option's. One that is not measured
 * has that of the first measurement, as in a problem file. */
static const enum error_kind *find_errors(struct stiffit_problem *problem)
{
    const struct stiffit_model *abi = abi_of(problem);
    const struct library_data *data = &problem->data;
    size_t n = abi->n_observable;
    enum error_kind *kind = arena_calloc(&problem->ready.arena, n, sizeof *kind);
    bool *is_measured = arena_calloc(&problem->ready.arena, n, sizeof *is_measured);
    if (!kind || !is_measured)
        return NULL;
    for (size_t k = 0; k < n; k++) {
        int own = abi->observable_error ? error_kind_of(abi->observable_error[k]) : -1;
        kind[k] = (enum error_kind)(own >= 0 ? own : problem->options.recipe.error);
    }
    for (size_t i = 0; i < data->n_row; i++)
        is_measured[data->measured.observable[i]] = true;
    for (size_t k = 0; k < n && data->n_row; k++)
        if (!is_measured[k])
            kind[k] = kind[data->measured.observable[0]];
    return kind;
}

/* The model's priors, on the problem's scales. */
static enum status take_priors(struct stiffit_problem *problem, struct error *error)
{
    struct library_ready *ready = &problem->ready;
    const struct stiffit_model *abi = abi_of(problem);
    const struct problem_expectation model = problem_expectation_of(abi);
    const struct prior_source source = {model.parameter, true};
    struct faults faults = {.n = 0};
    if (!abi->parameter_prior)
        return STATUS_OK;
    struct problem_prior *prior = arena_calloc(&ready->arena, abi->n_parameter, sizeof *prior);
    struct fit_prior *of_fit = arena_calloc(&ready->arena, abi->n_parameter, sizeof *of_fit);
    if (!prior || !of_fit)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for priors");
    for (uint32_t i = 0; i < abi->n_parameter; i++) {
        const char *name = abi->parameter_name[i], *scale = problem->data.parameter[i].scale;
        const char *other = prior_other_scale(&model, i, scale);
        if (other)
            faults_add(&faults, "the scale of %.60s is %s, but the model's prior refers to scale "
                       "%s: keep that scale", name, scale, other);
        prior_match(&source, i, name, scale, &faults, &prior[i]);
        of_fit[i] = (struct fit_prior){prior[i].kind, prior[i].on_optimizer, prior[i].location,
                                       prior[i].scale};
    }
    ready->prior = prior;
    ready->setting.prior = of_fit;
    return faults_report(&faults, abi->name, error);
}

/* The setting of a dataset in memory. */
static enum status make_setting(struct stiffit_problem *problem, struct error *error)
{
    struct library_ready *ready = &problem->ready;
    const struct stiffit_model *abi = abi_of(problem);
    const struct recipe *recipe = &problem->options.recipe;
    size_t n = abi->n_parameter;
    const enum error_kind *kind = find_errors(problem);
    uint32_t *to_model = arena_calloc(&ready->arena, n, sizeof *to_model);
    const char **scale = arena_calloc(&ready->arena, n, sizeof *scale);
    for (size_t i = 0; to_model && scale && i < n; i++) {
        to_model[i] = (uint32_t)i;
        scale[i] = problem->data.parameter[i].scale;
    }
    if (kind && to_model && scale) {
        ready->loss = campaign_losses(kind, abi->n_observable, recipe->tuning);
        ready->scale = campaign_scales(scale, n);
    }
    if (!ready->loss || !ready->scale)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    ready->setting = (struct fit_setting){
        .model = &problem->system->model, .error = kind, .loss = ready->loss,
        .mixes = error_kinds_mix(kind, abi->n_observable), .n_parameter = n,
        .parameter_name = abi->parameter_name, .to_model = to_model, .scale = ready->scale,
        .max_step = recipe->ode.max_step, .seed = (uint64_t)recipe->seed,
        .n_start = (uint32_t)recipe->n_start};
    return take_priors(problem, error);
}

static bool has_periods(const struct library_data *data)
{
    for (size_t i = 0; i < data->experiment.n_dose; i++)
        if (data->dose[i].steady)
            return true;
    return false;
}

static enum status prepare_data(struct stiffit_problem *problem, struct ode_options *ode,
                                struct error *error)
{
    struct recipe *recipe = &problem->options.recipe;
    struct library_ready *ready = &problem->ready;
    bool periods = has_periods(&problem->data);
    enum engine_kind kind;
    enum status status = run_options_settle(&problem->options, error);
    if (!status)
        status = make_setting(problem, error);
    if (!status)
        status = campaign_engine(recipe, &problem->system->model,
                                 (struct engine_use){.has_periods = periods}, &kind, error);
    if (status)
        return status;
    *ode = recipe->ode;
    ready->fit = campaign_fit_options(recipe, ready->setting.n_parameter);
    ode->engine = ready->fit.engine = kind;
    ode->n_none = periods ? abi_of(problem)->n_state : 0;
    return STATUS_OK;
}

enum status library_prepare(struct stiffit_problem *problem, struct error *error)
{
    struct library_ready *ready = &problem->ready;
    struct ode_options ode;
    enum status status = STATUS_OK;
    if (ready->alone.engine && !problem->is_changed)
        return STATUS_OK;
    library_unprepare(problem);
    if (problem->is_changed) { /* a file is opened again with the options */
        library_file_close(problem->file);
        problem->file = NULL;
    }
    problem->is_changed = false;
    if (!problem->file && !problem->system)
        status = library_file_open(&problem->file, &problem->options, error);
    if (!status && problem->file) {
        library_file_prepare(problem->file, &ready->setting, &ready->fit, &ode);
        problem->n_dataset = library_file_n_dataset(problem->file);
        problem->n_parameter = ready->setting.n_parameter;
    } else if (!status) {
        status = prepare_data(problem, &ode, error);
    }
    if (!status)
        status = ode_alone_init(&ready->alone, ready->setting.model, &ode, error);
    if (status)
        library_unprepare(problem);
    return status;
}

enum status library_dataset(struct stiffit_problem *problem, size_t dataset, uint32_t number,
                            bool is_fit, struct fit_problem *out, const char **fault,
                            struct error *error)
{
    struct problem_block own;
    const struct problem_block *block = &own;
    size_t row = 0;
    enum status status = STATUS_OK;
    *fault = NULL;
    if (problem->file)
        status = library_file_block(problem->file, dataset, &block, &row, error);
    else if (dataset > 0)
        status = error_set(error, STATUS_USAGE, "there is no dataset %zu: one is in memory, 0",
                           dataset);
    else
        status = library_data_block(problem, is_fit, &own, &problem->arena, error);
    if (status)
        return status;
    *fault = block->fault[row];
    *out = (struct fit_problem){.model = problem->ready.setting.model};
    if (!*fault && !dataset_problem(out, &problem->ready.setting, block, row, number,
                                    &problem->arena))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a dataset");
    return STATUS_OK;
}
