/* Bootstrap problem files: one dataset's measurements as they are, then replicas drawn around its best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate.h"

#include "base/number.h"
#include "base/random.h"
#include "cli/fitted.h"
#include "cli/message.h"
#include "cli/plugin_reference.h"
#include "fit/bootstrap.h"
#include "io/problem_prior.h"

#include <stdlib.h>
#include <string.h>

struct bootstrap {
    const struct simulate_options *options;
    struct fitted fitted;
    struct fitted_dataset data;
    struct plugin_reference reference;
    struct problem_writer *writer;
    size_t n_row;
    struct fit_bootstrap draw;  /* how replicas are drawn (fit/bootstrap.h) */
    double *prediction, *scale, *replica; /* n_row */
    const char **error_word;    /* n_observable: the errors that were fitted */
};

/* Leaves the fitted files at the wanted dataset: the one with --id, or the only one. */
static enum status find_dataset(struct bootstrap *bootstrap, struct error *error)
{
    const char *id = bootstrap->options->id;
    uint64_t n = problem_info(bootstrap->fitted.problem)->n_dataset;
    bool more;
    if (!id && n != 1)
        return error_set(error, STATUS_USAGE, "%s holds %llu datasets: name one with --id", bootstrap->options->result,
                         (unsigned long long)n);
    for (;;) {
        enum status status = fitted_next(&bootstrap->fitted, &bootstrap->data, &more, error);
        if (status)
            return status;
        if (!more)
            return error_set(error, STATUS_USAGE, "--id: %s has no dataset '%.100s'", bootstrap->options->result, id);
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
    size_t n = bootstrap->n_row + 1;
    bootstrap->prediction = calloc(n, sizeof(double));
    bootstrap->scale = calloc(n, sizeof(double));
    bootstrap->replica = calloc(n, sizeof(double));
    bootstrap->draw.residual = calloc(n, sizeof(double));
    bootstrap->draw.first = calloc((size_t)bootstrap->fitted.model.abi.n_observable + 1, sizeof(size_t));
    bootstrap->error_word = calloc(bootstrap->fitted.model.abi.n_observable, sizeof *bootstrap->error_word);
    if (bootstrap->prediction && bootstrap->scale && bootstrap->replica && bootstrap->draw.residual &&
        bootstrap->draw.first && bootstrap->error_word)
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements", bootstrap->n_row);
}

static enum status predict(struct bootstrap *bootstrap, struct error *error)
{
    char reason[160];
    const struct problem_block *block = bootstrap->data.block;
    size_t n_covariate = bootstrap->fitted.model.abi.n_covariate;
    const struct predictor_rows rows = {
        .t0 = block->t0[bootstrap->data.row], .covariate = block->covariate + bootstrap->data.row * n_covariate,
        .n = bootstrap->n_row, .measured = bootstrap->draw.measured, .error = problem_errors(bootstrap->fitted.problem),
        .rtol = bootstrap->data.record->rtol,
        .n_sens = bootstrap->data.n_sens, .sens = bootstrap->data.sens};
    if (!predictor_run(&bootstrap->fitted.predictor, &rows, bootstrap->data.p, bootstrap->prediction, bootstrap->scale, reason))
        return error_set(error, STATUS_BAD_MODEL, "dataset '%s' cannot be simulated at its best fit: %s", bootstrap->data.id,
                         reason);
    const struct measurements *measured = &bootstrap->draw.measured;
    bootstrap->draw.is_sigma_known = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        if (isfinite(measured->sigma[i]))
            bootstrap->scale[i] = measured->sigma[i];
        if (isnan(bootstrap->scale[i])) {
            bootstrap->scale[i] = 1;
            bootstrap->draw.is_sigma_known = bootstrap->draw.is_sigma_known && isnan(measured->value[i]);
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
    draw->n_observable = bootstrap->fitted.model.abi.n_observable;
    draw->n_loose = fit_bootstrap_count_loose(n_parameter, bootstrap->data.record->parameter, block->lower + first,
                                              block->upper + first, block->fixed + first);
    draw->prediction = bootstrap->prediction;
    draw->scale = bootstrap->scale;
    draw->loss = bootstrap->fitted.errors.loss;
    draw->kind = bootstrap->options->method == METHOD_PARAMETRIC ? BOOTSTRAP_PARAMETRIC : BOOTSTRAP_RESIDUAL;
    if (fit_bootstrap_begin(draw, reason))
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': %s", bootstrap->data.id, reason);
}

/* The options that errors need. */
struct said_errors {
    size_t n;
    const char *name[3], *value[3];
    char number[2][NUMBER_SIZE];
};

static void say_error(struct said_errors *said, const char *name, const char *value)
{
    said->name[said->n] = name;
    said->value[said->n++] = value;
}

/* Replicas are to be fitted as the data were. */
static void say_errors(struct bootstrap *bootstrap, struct said_errors *said)
{
    const struct residual_options errors = residual_options_of(result_info(bootstrap->fitted.result)->identity.description);
    bool any[N_ERROR] = {false};
    for (uint32_t k = 0; k < bootstrap->fitted.model.abi.n_observable; k++) {
        enum error_kind kind = bootstrap->fitted.errors.loss[k].error;
        bootstrap->error_word[k] = error_kind_word[kind];
        any[kind] = true;
    }
    if (errors.error != ERROR_NORMAL)
        say_error(said, "error", error_kind_word[errors.error]);
    if (any[ERROR_HUBER])
        say_error(said, "huber_k", number_text(said->number[0], errors.huber_k));
    if (any[ERROR_STUDENT])
        say_error(said, "student_nu", number_text(said->number[1], errors.student_nu));
}

static enum status open_writer(struct bootstrap *bootstrap, struct error *error)
{
    const struct simulate_options *options = bootstrap->options;
    const struct problem_info *info = problem_info(bootstrap->fitted.problem);
    const struct stiffit_model *abi = &bootstrap->fitted.model.abi;
    const struct problem_block *block = bootstrap->data.block;
    size_t n_parameter = problem_n_parameter(bootstrap->fitted.problem), first = bootstrap->data.row * n_parameter;
    enum status status;
    if (info->model_bytes && !options->model && !bootstrap->fitted.model.source)
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
        .columns = (unsigned)measurements_have(&bootstrap->draw.measured, MEASUREMENT_sigma, 0, bootstrap->n_row)
                   << MEASUREMENT_sigma};
    plugin_reference_use(&bootstrap->reference, &header);
    struct said_errors said = {.n = 0};
    say_errors(bootstrap, &said);
    header.n_option = said.n;
    header.option_name = said.name;
    header.option_value = said.value;
    header.observable_error = info->observable_error || abi->observable_error ? bootstrap->error_word : NULL;
    return problem_writer_open(&bootstrap->writer, options->output, options->overwrite, &header, error);
}

static enum status write_all(struct bootstrap *bootstrap, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    size_t n_covariate = bootstrap->fitted.model.abi.n_covariate;
    struct problem_dataset dataset = {
        .id = bootstrap->data.id, .t0 = block->t0[bootstrap->data.row],
        .covariate = block->covariate + bootstrap->data.row * n_covariate, .n_row = bootstrap->n_row,
        .measured = bootstrap->draw.measured};
    int digits = snprintf(NULL, 0, "%lld", (long long)bootstrap->options->n_bootstrap);
    char id[600];
    enum status status = problem_writer_add(bootstrap->writer, &dataset, error);
    for (int64_t b = 1; !status && b <= bootstrap->options->n_bootstrap; b++) {
        if (!fit_bootstrap_draw(&bootstrap->draw, (uint64_t)bootstrap->options->seed,
                                random_stream((uint64_t)b, PURPOSE_BOOTSTRAP), bootstrap->replica))
            return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': a measurement of replica %lld is not a finite number",
                             bootstrap->data.id, (long long)b);
        snprintf(id, sizeof id, "%.500s/bootstrap-%0*lld", bootstrap->data.id, digits, (long long)b);
        dataset.id = id;
        dataset.measured.value = bootstrap->replica;
        status = problem_writer_add(bootstrap->writer, &dataset, error);
    }
    return status ? status : problem_writer_finish(bootstrap->writer, error);
}

/* As in a run's own bootstrap. */
static enum status refuse_unknown(const struct bootstrap *bootstrap, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    size_t row = bootstrap->data.row;
    if (problem_prior(bootstrap->fitted.problem))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: there are priors, and the spread of replicas says nothing of what "
                         "they know", bootstrap->options->result);
    for (size_t i = block->row[row]; i < block->row[row + 1]; i++)
        if (block->measured.censored[i])
            return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': some measurements are censored, and it is not known at "
                             "which values those of a replica would be", bootstrap->data.id);
    return STATUS_OK;
}

enum status simulate_bootstrap(const struct simulate_options *options, struct error *error)
{
    struct bootstrap bootstrap = {.options = options};
    const struct fitted_options fitted_options = {.result = options->result, .problem = options->problem,
                                                  .model = options->model, .output = options->output, .trust = options->trust};
    bool other_model = false;
    enum status status = fitted_open(&bootstrap.fitted, &fitted_options, &other_model, error);
    if (!status && other_model)
        message_say("note: this is not the very model that was fitted (its bytes differ)");
    if (!status)
        status = find_dataset(&bootstrap, error);
    if (!status)
        status = refuse_unknown(&bootstrap, error);
    if (!status) {
        const struct problem_block *block = bootstrap.data.block;
        size_t first = block->row[bootstrap.data.row];
        bootstrap.n_row = block->row[bootstrap.data.row + 1] - first;
        bootstrap.draw.measured = measurements_from(&block->measured, first);
        status = allocate(&bootstrap, error);
    }
    if (!status)
        status = predict(&bootstrap, error);
    if (!status)
        status = begin_draws(&bootstrap, error);
    if (!status)
        status = open_writer(&bootstrap, error);
    if (!status)
        status = write_all(&bootstrap, error);
    if (!status)
        simulate_say_written(options, (uint64_t)options->n_bootstrap + 1, bootstrap.n_row);
    problem_writer_close(bootstrap.writer);
    plugin_reference_fini(&bootstrap.reference);
    free(bootstrap.prediction);
    free(bootstrap.scale);
    free(bootstrap.replica);
    free(bootstrap.draw.residual);
    free(bootstrap.draw.first);
    free(bootstrap.error_word);
    fitted_close(&bootstrap.fitted);
    return status;
}
