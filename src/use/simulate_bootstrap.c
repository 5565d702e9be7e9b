/* Bootstrap problem files: one dataset's measurements, then replicates drawn around its best fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate.h"

#include "base/random.h"
#include "fit/refits/bootstrap.h"
#include "io/problem/prior.h"
#include "use/fitted.h"
#include "use/simulate_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bootstrap {
    const struct simulate_options *options;
    struct fitted fitted;
    struct fitted_dataset data;
    struct simulate_copy copy;
    struct measurements measured; /* of all experiments of the dataset, n_row */
    size_t n_row;
    struct fit_bootstrap draw;  /* how replicates are drawn (fit/refits/bootstrap.h) */
    double *prediction, *scale, *replica; /* n_row */
    uint32_t *group;            /* n_row */
};

/* Moves to the wanted dataset: the one with --id, or the only one. */
static enum status find_dataset(struct bootstrap *bootstrap, struct error *error)
{
    const char *id = bootstrap->options->id;
    uint64_t n = problem_info(bootstrap->fitted.problem)->n_dataset;
    bool more;
    if (!id && n != 1)
        return error_set(error, STATUS_USAGE, "%s holds %llu datasets: name one with --id",
                         bootstrap->options->files.result, (unsigned long long)n);
    for (;;) {
        enum status status = fitted_next(&bootstrap->fitted, &bootstrap->data, &more, error);
        if (status)
            return status;
        if (!more)
            return error_set(error, STATUS_USAGE, "--id: %s has no dataset '%.100s'",
                             bootstrap->options->files.result, id);
        if (!id || !strcmp(bootstrap->data.id, id))
            break;
    }
    if (bootstrap->data.fault)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s' cannot be used: %s",
                         bootstrap->data.id, bootstrap->data.fault);
    if (!bootstrap->data.p)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s' has no best fit (%s)",
                         bootstrap->data.id,
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
    if (block && bootstrap->draw.first && bootstrap->group)
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu measurements",
                     bootstrap->n_row);
}

static enum status predict(struct bootstrap *bootstrap, struct error *error)
{
    char reason[160];
    const size_t *row = bootstrap->data.block->row, first = bootstrap->data.first;
    const struct measurements *measured = &bootstrap->measured;
    for (size_t e = first, i = 0; e < bootstrap->data.end; e++) {
        const struct predictor_rows rows = fitted_rows(&bootstrap->fitted, &bootstrap->data, e);
        if (!predictor_run(&bootstrap->fitted.predictor, &rows, bootstrap->prediction + i,
                           bootstrap->scale + i, reason))
            return error_set(error, STATUS_BAD_MODEL,
                             "dataset '%s' cannot be simulated at its best fit: %s",
                             bootstrap->data.id, reason);
        for (; i < row[e + 1] - row[first]; i++)
            bootstrap->group[i] = (uint32_t)(e - first) * bootstrap->fitted.model.abi.n_observable +
                                  measured->observable[i];
    }
    bootstrap->draw.is_sigma_given = true;
    for (size_t i = 0; i < bootstrap->n_row; i++) {
        if (isfinite(measured->sigma[i]))
            bootstrap->scale[i] = measured->sigma[i];
        if (isnan(bootstrap->scale[i])) {
            bootstrap->scale[i] = 1;
            bootstrap->draw.is_sigma_given =
                bootstrap->draw.is_sigma_given && isnan(measured->value[i]);
        }
    }
    return STATUS_OK;
}

static enum status begin_draws(struct bootstrap *bootstrap, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    size_t n_parameter = problem_n_parameter(bootstrap->fitted.problem),
           first = bootstrap->data.row * n_parameter;
    struct fit_bootstrap *draw = &bootstrap->draw;
    char reason[160];
    draw->n_row = bootstrap->n_row;
    draw->n_group =
        (bootstrap->data.end - bootstrap->data.first) * bootstrap->fitted.model.abi.n_observable;
    draw->group = bootstrap->group;
    int64_t n_noise = bootstrap->data.record->n_own_noise;
    draw->n_noise = n_noise > 0 ? (size_t)n_noise : 0;
    draw->n_loose = fit_bootstrap_count_loose(n_parameter, bootstrap->data.record->parameter,
                                              block->lower + first, block->upper + first,
                                              block->fixed + first, draw->n_noise);
    draw->prediction = bootstrap->prediction;
    draw->scale = bootstrap->scale;
    draw->loss = bootstrap->fitted.errors.loss;
    draw->kind =
        bootstrap->options->method == METHOD_PARAMETRIC ? BOOTSTRAP_PARAMETRIC : BOOTSTRAP_RESIDUAL;
    if (fit_bootstrap_begin(draw, reason))
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "dataset '%s': %s", bootstrap->data.id, reason);
}

/* A dataset as it was fitted, and replicates that begin at its best fit. */
static enum status open_copy(struct bootstrap *bootstrap, struct error *error)
{
    const struct problem_block *block = bootstrap->data.block;
    size_t first = bootstrap->data.row * problem_n_parameter(bootstrap->fitted.problem);
    const struct simulate_copy_parameters parameters = {
        .is = {.start = bootstrap->data.record->parameter, .lower = block->lower + first,
               .upper = block->upper + first, .fixed = block->fixed + first}};
    return simulate_copy_open(&bootstrap->copy, &bootstrap->fitted, bootstrap->options, &parameters,
                              error);
}

static enum status write_all(struct bootstrap *bootstrap, struct error *error)
{
    int digits = snprintf(NULL, 0, "%lld", (long long)bootstrap->options->n_bootstrap);
    char id[600];
    enum status status = simulate_copy_add(&bootstrap->copy, &bootstrap->data, bootstrap->data.id,
                                           bootstrap->measured.value, NULL, error);
    for (int64_t b = 1; !status && b <= bootstrap->options->n_bootstrap; b++) {
        if (!fit_bootstrap_draw(&bootstrap->draw, (uint64_t)bootstrap->options->seed,
                                random_stream((uint64_t)b, PURPOSE_BOOTSTRAP), bootstrap->replica))
            return error_set(error, STATUS_BAD_PROBLEM,
                             "dataset '%s': a measurement of replicate %lld is not a finite number",
                             bootstrap->data.id, (long long)b);
        snprintf(id, sizeof id, "%.500s/bootstrap-%0*lld", bootstrap->data.id, digits,
                 (long long)b);
        status = simulate_copy_add(&bootstrap->copy, &bootstrap->data, id, bootstrap->replica, NULL,
                                   error);
    }
    return status ? status : problem_writer_finish(bootstrap->copy.writer, error);
}

/* As in a run's own bootstrap. */
static enum status refuse_unknown(const struct bootstrap *bootstrap, struct error *error)
{
    if (problem_prior(bootstrap->fitted.problem))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: there are priors, and the spread of replicates does not reflect "
                         "them",
                         bootstrap->options->files.result);
    for (size_t i = 0; i < bootstrap->n_row; i++)
        if (bootstrap->measured.censored[i])
            return error_set(error, STATUS_BAD_PROBLEM,
                             "dataset '%s': some measurements are censored, and it is not known "
                             "which measurements of a replicate would be",
                             bootstrap->data.id);
    return STATUS_OK;
}

enum status simulate_bootstrap(const struct simulate_options *options, struct simulate_made *made,
                               struct error *error)
{
    struct bootstrap bootstrap = {.options = options};
    enum status status = fitted_open(&bootstrap.fitted, &options->files, error);
    if (!status)
        status = find_dataset(&bootstrap, error);
    if (!status) {
        const struct fitted_dataset *data = &bootstrap.data;
        bootstrap.n_row = data->block->row[data->end] - data->block->row[data->first];
        bootstrap.measured =
            measurements_from(&data->block->measured, data->block->row[data->first]);
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
        simulate_say_size(options, (double)options->n_bootstrap + 1, (double)bootstrap.n_row);
    if (!status)
        status = open_copy(&bootstrap, error);
    if (!status)
        status = write_all(&bootstrap, error);
    *made = (struct simulate_made){.n_dataset = (uint64_t)options->n_bootstrap + 1,
                                   .n_row = bootstrap.n_row};
    simulate_copy_close(&bootstrap.copy);
    free(bootstrap.prediction);
    free(bootstrap.draw.first);
    free(bootstrap.group);
    fitted_close(&bootstrap.fitted);
    return status;
}
