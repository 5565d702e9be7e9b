/* Times, parameters and covariates of simulations, as given on the command line.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate.h"

#include "cli/message.h"
#include "use/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum status wanted_observables(const struct simulate_options *options, const struct model *model,
                                      unsigned char *wanted, size_t *n_wanted, struct error *error)
{
    size_t n = model->abi.n_observable;
    memset(wanted, options->observable.n == 0, n);
    for (size_t i = 0; i < options->observable.n; i++) {
        size_t index;
        enum status status = values_name(options->observable.item[i], "observable", "observable", model->abi.observable_name, n,
                                         &index, error);
        if (status)
            return status;
        wanted[index] = 1;
    }
    *n_wanted = 0;
    for (size_t i = 0; i < n; i++)
        *n_wanted += wanted[i];
    return STATUS_OK;
}

enum status simulate_grid_init(struct simulate_grid *grid, const struct simulate_options *options, const struct model *model,
                               struct error *error)
{
    double *times = NULL;
    size_t n_time, n_wanted, row = 0;
    memset(grid, 0, sizeof *grid);
    if (!options->times)
        return error_set(error, STATUS_USAGE, "--times is needed, for example --times 0:10:0.5 or --times 1,2,5");
    grid->t0 = isnan(options->t0) ? model->abi.t0 : options->t0;
    unsigned char *wanted = calloc(model->abi.n_observable, 1);
    enum status status = wanted ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for the observables");
    if (!status)
        status = values_times(options->times, &times, &n_time, error);
    if (!status)
        status = wanted_observables(options, model, wanted, &n_wanted, error);
    for (size_t i = 0; !status && i < n_time; i++)
        if (times[i] < grid->t0)
            status = error_set(error, STATUS_USAGE, "--times: %.17g lies before the initial time %.17g (--t0 sets it)",
                               times[i], grid->t0);
    if (status)
        goto done;
    grid->n = n_time * n_wanted;
    grid->time = malloc((grid->n + 1) * sizeof *grid->time);
    grid->observable = malloc((grid->n + 1) * sizeof *grid->observable);
    if (!grid->time || !grid->observable) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", grid->n);
        goto done;
    }
    for (size_t i = 0; i < n_time; i++)
        for (uint32_t j = 0; j < model->abi.n_observable; j++)
            if (wanted[j]) {
                grid->time[row] = times[i];
                grid->observable[row++] = j;
            }
done:
    free(times);
    free(wanted);
    return status;
}

void simulate_grid_fini(struct simulate_grid *grid)
{
    free(grid->time);
    free(grid->observable);
    memset(grid, 0, sizeof *grid);
}

enum status simulate_parameters(const struct simulate_options *options, const struct model *model, double *out,
                                struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    for (size_t i = 0; i < abi->n_parameter; i++)
        out[i] = abi->parameter_start ? abi->parameter_start[i] : (double)NAN;
    enum status status = values_set(&options->set, "set", "parameter", abi->parameter_name, abi->n_parameter, out, NULL, error);
    for (size_t i = 0; !status && i < abi->n_parameter; i++)
        if (!isfinite(out[i]))
            status = error_set(error, STATUS_USAGE, "parameter '%s' has no value: give it with --set %s=VALUE",
                               abi->parameter_name[i], abi->parameter_name[i]);
    return status;
}

enum status simulate_covariates_init(struct simulate_covariates *covariates, const struct simulate_options *options,
                                     const struct model *model, struct error *error)
{
    const struct stiffit_model *abi = &model->abi;
    enum status status = STATUS_OK;
    covariates->n = abi->n_covariate;
    covariates->value = calloc(covariates->n + 1, sizeof *covariates->value);
    covariates->n_value = calloc(covariates->n + 1, sizeof *covariates->n_value);
    if (!covariates->value || !covariates->n_value)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the covariates");
    for (size_t i = 0; !status && i < options->covariate.n; i++) {
        size_t index;
        const char *numbers;
        status = values_find(options->covariate.item[i], "covariate", "covariate", abi->covariate_name, abi->n_covariate,
                             &index, &numbers, error);
        if (status)
            break;
        free(covariates->value[index]);
        covariates->value[index] = NULL;
        status = values_numbers(numbers, "covariate", &covariates->value[index], &covariates->n_value[index], error);
    }
    for (size_t i = 0; !status && i < covariates->n; i++)
        if (!covariates->value[i])
            status = error_set(error, STATUS_USAGE, "covariate '%s' has no value: give it with --covariate %s=VALUE[,VALUE...]",
                               abi->covariate_name[i], abi->covariate_name[i]);
    return status;
}

void simulate_covariates_fini(struct simulate_covariates *covariates)
{
    for (size_t i = 0; covariates->value && i < covariates->n; i++)
        free(covariates->value[i]);
    free(covariates->value);
    free(covariates->n_value);
    memset(covariates, 0, sizeof *covariates);
}

void simulate_covariates_take(const struct simulate_covariates *covariates, uint64_t dataset, double *out)
{
    for (size_t i = 0; i < covariates->n; i++)
        out[i] = covariates->value[i][dataset % covariates->n_value[i]];
}

void simulate_say_written(const struct simulate_options *options, uint64_t n_dataset, size_t n_row)
{
    char line[600];
    snprintf(line, sizeof line, "%.400s: %llu datasets of %zu measurements each", options->output,
             (unsigned long long)n_dataset, n_row);
    if (!options->quiet)
        message_say(line);
}
