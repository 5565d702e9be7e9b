/* Bootstrap problem files: one dataset's measurements, then replicates drawn around its best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate.h"

#include "base/random.h"
#include "base/words.h"
#include "fit/bootstrap.h"
#include "io/problem_prior.h"
#include "use/fitted.h"
#include "use/plugin_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bootstrap {
    const struct simulate_options *options;
    struct fitted fitted;
    struct fitted_dataset data;
    struct plugin_reference reference;
    struct problem_writer *writer;
    struct measurements measured; /* of all experiments of the dataset, n_row */
    size_t n_row;
    struct fit_bootstrap draw;  /* how replicates are drawn (fit/bootstrap.h) */
    double *prediction, *scale, *replica; /* n_row */
    uint32_t *group;            /* n_row */
    const char **error_word;    /* n_observable: the errors of the fit */
};

/* Moves to the wanted dataset: the one with --id, or the only one. */
static enum status find_dataset(struct bootstrap *bootstrap, struct error *error)
{
    const char *id = bootstrap->options->id;
    uint64_t n = problem_info(bootstrap->fitted.problem)->n_dataset;
    bool more;
    if (!id && n != 1)
        return error_set(error, STATUS_USAGE, "%s holds %llu datasets: name one with --id", bootstrap->options->files.result,
                         (unsigned long long)n);
    for (;;) {
        enum status status = fitted_next(&bootstrap->fitted, &bootstrap->data, &more, error);
        if (status)
            return status;
        if (!more)
            return error_set(error, STATUS_USAGE, "--id: %s has no dataset '%.100s'", bootstrap->options->files.result, id);
        if (!id || !strcmp(bootstrap->data.id, id))
            break;
    }
    if (bootstrap->data.fault)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s' cannot be used: %s", bootstrap->data.id,
                         bootstrap->data.fault);
    if (!bootstrap->data.p)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s' has no best fit (%s)", bootstrap->data.id,
                         outcome_name((enum outcome)bootstrap->data.record->outcome));
    return STATUS_OK;
}

static enum status allocate(struct bootstrap *bootstrap, struct error *error)
{
    const struct fitted_dataset *data = &bootstrap->data;
    size_t n = bootstrap->n_row + 1, n_observable = bootstrap->fitted.model.abi.n_observable;
    double *block = calloc(4 * n, sizeof *block);
    bootstrap->prediction = block; /* and the others */
    bootstrap->scale = block + n;
    bootstrap->replica = block + 2 * n;
    bootstrap->draw.residual = block + 3 * n;
    bootstrap->draw.first = calloc((data->end - data->first) * n_observable + 2, sizeof(size_t));
    bootstrap->group = calloc(n, sizeof *bootstrap->group);
    bootstrap->error_word = calloc(n_observable, sizeof *bootstrap->error_word);
    if (block && bootstrap->draw.first && bootstrap->group && bootstrap->error_word)
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", bootstrap->n_row);
}

static enum status predict(struct bootstrap *bootstrap, struct error *error)
{
    char reason[160];
    const size_t *row = bootstrap->data.block->row, first = bootstrap->data.first;
    const struct measurements *measured = &bootstrap->measured;
    for (size_t e = first, i = 0; e < bootstrap->data.end; e++) {
        const struct predictor_rows rows = fitted_rows(&bootstrap->fitted, &bootstrap->data, e);
        if (!predictor_run(&bootstrap->fitted.predictor, &rows, bootstrap->prediction + i, bootstrap->scale + i, reason))
            return error_set(error, STATUS_BAD_MODEL, "dataset '%s' cannot be simulated at its best fit: %s",
                             bootstrap->data.id, reason);
        for (; i < row[e + 1] - row[first]; i++)
            bootstrap->group[i] = (uint32_t)(e - first) * bootstrap->fitted.model.abi.n_observable + measured->observable[i];
    }
    bootstrap->draw.is_sigma_given = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        if (isfinite(measured->sigma[i]))
            bootstrap->scale[i] = measured->sigma[i];
        if (isnan(bootstrap->scale[i])) {
            bootstrap->scale[i] = 1;
            bootstrap->draw.is_sigma_given = bootstrap->draw.is_sigma_given && isnan(measured->value[i]);
        }
    }
    return STATUS_OK;
}

static enum status begin_draws(struct bootstrap *bootstrap, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    size_t n_parameter = problem_n_parameter(bootstrap->fitted.problem), first = bootstrap->data.row * n_parameter;
    struct fit_bootstrap *draw = &bootstrap->draw;
    char reason[160];
    draw->n_row = bootstrap->n_row;
    draw->n_group = (bootstrap->data.end - bootstrap->data.first) * bootstrap->fitted.model.abi.n_observable;
    draw->group = bootstrap->group;
    int64_t n_noise = bootstrap->data.record->n_own_noise;
    draw->n_noise = n_noise > 0 ? (size_t)n_noise : 0;
    draw->n_loose = fit_bootstrap_count_loose(n_parameter, bootstrap->data.record->parameter, block->lower + first,
                                              block->upper + first, block->fixed + first, draw->n_noise);
    draw->prediction = bootstrap->prediction;
    draw->scale = bootstrap->scale;
    draw->loss = bootstrap->fitted.errors.loss;
    draw->kind = bootstrap->options->method == METHOD_PARAMETRIC ? BOOTSTRAP_PARAMETRIC : BOOTSTRAP_RESIDUAL;
    if (fit_bootstrap_begin(draw, reason))
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': %s", bootstrap->data.id, reason);
}

/* The options that the errors need. */
struct said_errors {
    size_t n;
    const char *name[1 + N_ERROR], *value[1 + N_ERROR];
    char word[N_ERROR][40], number[N_ERROR][NUMBER_SIZE];
};

static void say_error(struct said_errors *said, const char *name, const char *value)
{
    said->name[said->n] = name;
    said->value[said->n++] = value;
}

/* Replicas are fitted with the same errors as the data. */
static void say_errors(struct bootstrap *bootstrap, struct said_errors *said)
{
    const struct recipe *recipe = &bootstrap->fitted.recipe;
    bool any[N_ERROR] = {false};
    for (uint32_t k = 0; k < bootstrap->fitted.model.abi.n_observable; k++) {
        enum error_kind kind = bootstrap->fitted.errors.loss[k].error;
        bootstrap->error_word[k] = error_kind_word[kind];
        any[kind] = true;
    }
    if (recipe->error != ERROR_NORMAL)
        say_error(said, "error", error_kind_word[recipe->error]);
    for (int k = 0; k < N_ERROR; k++) {
        if (!any[k] || !error_tuning[k].option)
            continue;
        snprintf(said->word[k], sizeof said->word[k], "%s", error_tuning[k].option);
        for (char *dash; (dash = strchr(said->word[k], '-')) != NULL;)
            *dash = '_'; /* attributes of /options are written with underscores */
        say_error(said, said->word[k], number_text(said->number[k], recipe->tuning[k]));
    }
}

/* The optional columns that measurements have. */
static unsigned columns_of(const struct bootstrap *bootstrap)
{
    static const enum measurement_column optional[] = {MEASUREMENT_sigma, MEASUREMENT_side};
    unsigned columns = 0;
    for (size_t k = 0; k < sizeof optional / sizeof *optional; k++)
        columns |= (unsigned)measurements_have(&bootstrap->measured, optional[k], 0, bootstrap->n_row) << optional[k];
    return columns;
}

static enum status open_writer(struct bootstrap *bootstrap, struct error *error)
{
    const struct simulate_options *options = bootstrap->options;
    const struct problem_info *info = problem_info(bootstrap->fitted.problem);
    const struct stiffit_model *abi = &bootstrap->fitted.model.abi;
    const struct problem_block *block = bootstrap->data.block;
    size_t n_parameter = problem_n_parameter(bootstrap->fitted.problem), first = bootstrap->data.row * n_parameter;
    enum status status;
    if (info->model_bytes && !options->files.model && !bootstrap->fitted.model.source)
        status = plugin_reference_embed(&bootstrap->reference, info->model_bytes, info->n_model_byte, error);
    else
        status = plugin_reference_init(&bootstrap->reference, &bootstrap->fitted.model, bootstrap->fitted.model.path,
                                       options->embed, error);
    if (status)
        return status;
    struct problem_header header = {
        .n_parameter = n_parameter, .parameter_name = problem_parameter_name(bootstrap->fitted.problem),
        .start = bootstrap->data.record->parameter, .lower = block->lower + first, .upper = block->upper + first,
        .scale = problem_parameter_scale(bootstrap->fitted.problem), .fixed = block->fixed + first,
        .n_covariate = abi->n_covariate, .covariate_name = abi->covariate_name, .n_observable = abi->n_observable,
        .observable_name = abi->observable_name, .has_t0 = true,
        .has_experiments = info->has_experiments, .has_steady = info->has_steady,
        .has_dose_rates = info->has_dose_rates, .has_steady_doses = info->has_periods, .n_target = abi->n_state,
        .target_name = abi->state_name,
        .n_input = abi->n_input, .input_name = abi->input_name, .n_event = abi->n_event, .event_name = abi->event_name,
        .n_substituted = abi->n_parameter, .substituted_name = abi->parameter_name,
        .has_substitute_times = info->has_times, .has_substitute_rows = info->has_own, .columns = columns_of(bootstrap)};
    plugin_reference_use(&bootstrap->reference, &header);
    struct said_errors said = {.n = 0};
    say_errors(bootstrap, &said);
    header.n_option = said.n;
    header.option_name = said.name;
    header.option_value = said.value;
    header.observable_error = info->observable_error || abi->observable_error ? bootstrap->error_word : NULL;
    return problem_writer_open(&bootstrap->writer, options->files.output, options->overwrite, &header, error);
}

/* Writes the dataset with these values, experiment by experiment. */
static enum status write_dataset(struct bootstrap *bootstrap, const char *id, double *value, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    const struct stiffit_model *abi = &bootstrap->fitted.model.abi;
    enum status status = STATUS_OK;
    for (size_t e = bootstrap->data.first; !status && e < bootstrap->data.end; e++) {
        size_t first_dose = block->first_dose[e], first = block->first_substitute[e], row = block->row[e];
        struct problem_dataset dataset = {
            .id = e == bootstrap->data.first ? id : NULL, .t0 = block->t0[e],
            .covariate = block->covariate + e * abi->n_covariate,
            .n_row = block->row[e + 1] - row, .measured = measurements_from(&block->measured, row),
            .experiment_id = block->experiment_id[e],
            .steady = block->steady && block->steady[e] != EXPERIMENT_NONE
                          ? block->steady[e] - (uint32_t)bootstrap->data.first : EXPERIMENT_NONE,
            .n_dose = block->first_dose[e + 1] - first_dose,
            .dose = block->dose + first_dose, .input = abi->n_input ? block->input + e * abi->n_input : NULL,
            .n_call = block->first_call ? block->first_call[e + 1] - block->first_call[e] : 0,
            .call = block->first_call ? block->call + block->first_call[e] : NULL,
            .n_substitute = block->first_substitute[e + 1] - first, .substitute = block->substitute + first};
        dataset.measured.value = value + row - block->row[bootstrap->data.first];
        status = problem_writer_add(bootstrap->writer, &dataset, error);
    }
    return status;
}

static enum status write_all(struct bootstrap *bootstrap, struct error *error)
{
    int digits = snprintf(NULL, 0, "%lld", (long long)bootstrap->options->n_bootstrap);
    char id[600];
    enum status status = write_dataset(bootstrap, bootstrap->data.id, bootstrap->measured.value, error);
    for (int64_t b = 1; !status && b <= bootstrap->options->n_bootstrap; b++) {
        if (!fit_bootstrap_draw(&bootstrap->draw, (uint64_t)bootstrap->options->seed,
                                random_stream((uint64_t)b, PURPOSE_BOOTSTRAP), bootstrap->replica))
            return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': a measurement of replicate %lld is not a finite number",
                             bootstrap->data.id, (long long)b);
        snprintf(id, sizeof id, "%.500s/bootstrap-%0*lld", bootstrap->data.id, digits, (long long)b);
        status = write_dataset(bootstrap, id, bootstrap->replica, error);
    }
    return status ? status : problem_writer_finish(bootstrap->writer, error);
}

/* As in a run's own bootstrap. */
static enum status refuse_unknown(const struct bootstrap *bootstrap, struct error *error)
{
    if (problem_prior(bootstrap->fitted.problem))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: there are priors, and the spread of replicates does not reflect "
                                                    "them", bootstrap->options->files.result);
    for (size_t i = 0; i < bootstrap->n_row; i++)
        if (bootstrap->measured.censored[i])
            return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': some measurements are censored, and it is not known "
                                                        "which measurements of a replicate would be", bootstrap->data.id);
    return STATUS_OK;
}

enum status simulate_bootstrap(const struct simulate_options *options, struct simulate_made *made, struct error *error)
{
    struct bootstrap bootstrap = {.options = options};
    enum status status = fitted_open(&bootstrap.fitted, &options->files, error);
    if (!status)
        status = find_dataset(&bootstrap, error);
    if (!status) {
        const struct fitted_dataset *data = &bootstrap.data;
        bootstrap.n_row = data->block->row[data->end] - data->block->row[data->first];
        bootstrap.measured = measurements_from(&data->block->measured, data->block->row[data->first]);
        bootstrap.draw.measured = bootstrap.measured;
        status = refuse_unknown(&bootstrap, error);
    }
    if (!status)
        status = allocate(&bootstrap, error);
    if (!status)
        status = predict(&bootstrap, error);
    if (!status)
        status = begin_draws(&bootstrap, error);
    if (!status)
        status = open_writer(&bootstrap, error);
    if (!status)
        status = write_all(&bootstrap, error);
    *made = (struct simulate_made){.n_dataset = (uint64_t)options->n_bootstrap + 1, .n_row = bootstrap.n_row};
    problem_writer_close(bootstrap.writer);
    plugin_reference_fini(&bootstrap.reference);
    free(bootstrap.prediction);
    free(bootstrap.draw.first);
    free(bootstrap.group);
    free(bootstrap.error_word);
    fitted_close(&bootstrap.fitted);
    return status;
}
