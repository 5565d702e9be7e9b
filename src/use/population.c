/* Reads a result once and turns its best fits and covariances to the optimiser's scales.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/population.h"

#include "base/arena.h"
#include "base/words.h"
#include "fit/objective/distribution.h"
#include "fit/objective/map.h"
#include "fit/objective/matrix.h"
#include "run/plan/campaign.h"
#include "base/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_AT_ONCE = 4096 };
static const double CONFIDENCE = 0.95;

struct population_work {
    struct population population;
    struct result *result;
    struct arena ids;
    struct population_row *row;
    size_t n_kept;                   /* converged fits */
    size_t *kept_row;                /* n_kept */
    /* n_kept x n_parameter, n_kept x n_parameter^2; then of those used and chosen alone */
    double *estimate, *error;
    /* n_kept: sigma^2 of the covariance, and degrees of freedom to estimate it from. 1 and 0:
     * there are none; NaN: sigmas were known; infinite: they were parameters of the fit */
    double *variance, *freedom;
    unsigned char *has_prior;        /* n_kept */
    size_t *parameter;
    enum parameter_scale *scale;     /* n_parameter of the file */
    double *numbers;                 /* the results' arrays */
};

static enum status no_memory(const struct population_work *work, struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the fits of %s",
                     result_info(work->result)->path);
}

/* d natural / d number on the scale */
static double slope(enum parameter_scale scale, double natural)
{
    return scale == SCALE_LIN ? 1 : scale == SCALE_LOG ? natural : log(10) * natural;
}

/* One converged fit on the optimiser's scales; what it lacks is NaN. */
static void keep(struct population_work *work, const struct fit_record *record)
{
    size_t n = result_info(work->result)->n_parameter, i = work->n_kept++;
    double *estimate = work->estimate + i * n, *error = work->error + i * n * n;
    work->kept_row[i] = work->population.n_row;
    for (size_t j = 0; j < n; j++)
        estimate[j] = fit_scale_from_natural(work->scale[j], record->parameter[j]);
    for (size_t c = 0; c < n; c++)
        for (size_t d = 0; d < n; d++) {
            double both = slope(work->scale[c], record->parameter[c]) *
                          slope(work->scale[d], record->parameter[d]);
            error[d + c * n] = record->covariance[d + c * n] / both;
        }
    bool is_unknown = record->n_no_sigma > 0, has_freedom = is_unknown && record->n_freedom > 0;
    work->freedom[i] = has_freedom ? (double)record->n_freedom : 0;
    work->variance[i] = has_freedom ? record->residual_error * record->residual_error : 1;
    if (!is_unknown)
        work->variance[i] = record->n_own_noise > 0 ? (double)INFINITY : (double)NAN;
    work->has_prior[i] = !isnan(record->log_prior);
}

static enum status open_rows(struct population_work *work, struct error *error)
{
    const struct result_info *info = result_info(work->result);
    size_t n = info->n_parameter, most = info->n_fit + 1;
    if (n > TWO_STAGE_MOST)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: has %zu parameters; results with more than %d have no covariances",
                         info->path, n, TWO_STAGE_MOST);
    work->row = calloc(most, sizeof *work->row);
    work->kept_row = calloc(most, sizeof *work->kept_row);
    work->estimate = malloc(most * (n + 1) * sizeof *work->estimate);
    work->error = malloc(most * (n * n + 1) * sizeof *work->error);
    work->variance = calloc(2 * most, sizeof *work->variance);
    work->has_prior = calloc(most, 1);
    work->parameter = calloc(n + 1, sizeof *work->parameter);
    work->scale = campaign_scales(info->parameter_scale, n);
    work->numbers = calloc(3 * n + 2 * n * n + 1, sizeof *work->numbers);
    if (!work->row || !work->kept_row || !work->estimate || !work->error || !work->variance ||
        !work->has_prior || !work->parameter || !work->scale || !work->numbers)
        return no_memory(work, error);
    work->freedom = work->variance + most;
    return STATUS_OK;
}

static enum status read_rows(struct population_work *work, struct error *error)
{
    struct result_block block = {0};
    enum status status = open_rows(work, error);
    while (!status && result_next(work->result, &block, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; i < block.n && !status; i++) {
            const struct fit_record *record = &block.record[i];
            struct population_row *row = &work->row[work->population.n_row];
            *row =
                (struct population_row){arena_strdup(&work->ids, block.id[i]),
                                        (enum outcome)record->outcome, POPULATION_NOT_CONVERGED, 0};
            if (!row->id)
                status = no_memory(work, error);
            else if (outcome_is_success(row->outcome))
                keep(work, record);
            work->population.n_row++;
        }
    result_block_fini(&block);
    return status;
}

static bool varies(const struct population_work *work, size_t j)
{
    size_t n = result_info(work->result)->n_parameter;
    for (size_t i = 1; i < work->n_kept; i++)
        if (work->estimate[i * n + j] != work->estimate[j])
            return true;
    return false;
}

/* By name; without names all that are neither fixed to one value nor shared. */
static enum status choose(struct population_work *work, const char *names, struct error *error)
{
    const struct result_info *info = result_info(work->result);
    size_t *k = &work->population.k, j;
    for (j = 0; !names && j < info->n_parameter; j++)
        if (varies(work, j))
            work->parameter[(*k)++] = j;
    for (const char *at = names; at && *at;) {
        char name[NAME_BYTES];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
                 at);
        enum status status = values_name(name, "parameters", "parameter", info->parameter_name,
                                         info->n_parameter, &j, error);
        for (size_t i = 0; !status && i < *k; i++)
            if (work->parameter[i] == j)
                return error_set(error, STATUS_USAGE, "--parameters: '%s' is named twice", name);
        if (status)
            return status;
        if (!varies(work, j))
            return error_set(error, STATUS_USAGE,
                             "--parameters: '%s' has the same value in all converged fits", name);
        work->parameter[(*k)++] = j;
        at += length + (at[length] == ',');
    }
    return *k ? STATUS_OK
              : error_set(error, STATUS_BAD_PROBLEM,
                          "%s: no parameter differs between converged fits", info->path);
}

/* From the datasets that have degrees of freedom; those without share it. */
static double pool_sigma(const struct population_work *work, struct error *error)
{
    double sum = 0, freedom = 0;
    for (size_t i = 0; i < work->n_kept; i++) {
        const char *id = work->row[work->kept_row[i]].id;
        if (isinf(work->variance[i]))
            error_set(error, STATUS_USAGE,
                      "--pool-sigma: the sigma of '%s' is not unknown, but a parameter of its fit; "
                      "one that all datasets share comes from `stiffit run --share` with that "
                      "parameter",
                      id);
        else if (isnan(work->variance[i]))
            error_set(error, STATUS_USAGE, "--pool-sigma: the sigmas of '%s' are known", id);
        if (!isfinite(work->variance[i]))
            return NAN;
        sum += work->freedom[i] * work->variance[i];
        freedom += work->freedom[i];
    }
    if (!(freedom > 0))
        error_set(error, STATUS_BAD_PROBLEM,
                  "--pool-sigma: no dataset of %s has more measurements than fitted parameters, so "
                  "that sigma cannot be estimated",
                  result_info(work->result)->path);
    return sqrt(sum / freedom);
}

/* What the covariance of a kept fit is multiplied by. NaN: its scale is not known. */
static double rescaling(const struct population_work *work, size_t i)
{
    double sigma = work->population.sigma;
    bool is_missing = work->freedom[i] == 0 && work->variance[i] == 1;
    if (isnan(sigma))
        return is_missing ? (double)NAN : 1;
    return sigma * sigma / work->variance[i];
}

/* Squeezes the arrays to the chosen parameters of the fits with a covariance of them. */
static void squeeze(struct population_work *work)
{
    struct population *population = &work->population;
    size_t n = result_info(work->result)->n_parameter, k = population->k, n_used = 0;
    const size_t *chosen = work->parameter;
    double *factor = work->numbers, *copy = factor + k * k;
    uint32_t index[TWO_STAGE_MOST];
    for (size_t j = 0; j < TWO_STAGE_MOST; j++)
        index[j] = (uint32_t)j;
    for (size_t i = 0; i < work->n_kept; i++) {
        struct population_row *row = &work->row[work->kept_row[i]];
        double pooled = rescaling(work, i);
        bool good = true;
        for (size_t c = 0; c < k; c++)
            for (size_t d = 0; d < k; d++) {
                copy[d + c * k] = pooled * work->error[i * n * n + chosen[d] + chosen[c] * n];
                good = good && isfinite(copy[d + c * k]);
            }
        for (size_t c = 0; c < k; c++)
            good = good && isfinite(work->estimate[i * n + chosen[c]]);
        good = good && matrix_factor(k, copy, k, index, factor);
        row->use = good ? POPULATION_USED : POPULATION_NO_COVARIANCE;
        if (!good)
            continue;
        double *estimate = copy + k * k;
        for (size_t c = 0; c < k; c++)
            estimate[c] = work->estimate[i * n + chosen[c]];
        memcpy(work->estimate + n_used * k, estimate, k * sizeof *estimate);
        memcpy(work->error + n_used * k * k, copy, k * k * sizeof *copy);
        population->n_with_prior += work->has_prior[i];
        row->fit = n_used++;
    }
    population->found.n = n_used;
}

static double deviation(size_t n, size_t step, const double *x)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i * step] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (x[i * step] - mean) * (x[i * step] - mean);
    return sqrt(sum / (double)(n - 1));
}

/* Needs the covariance. */
static bool fill_shrinkage(const struct population *population, double *shrinkage)
{
    const struct two_stage *found = &population->found;
    size_t k = found->k;
    double *shrunken = malloc((found->n * k + 4 * k * k + k) * sizeof *shrunken),
           *rest = shrunken + found->n * k;
    for (size_t i = 0; shrunken && i < found->n; i++)
        two_stage_shrink(found, i, shrunken + i * k, rest, rest + k * k);
    for (size_t j = 0; shrunken && j < k; j++)
        shrinkage[j] =
            1 - deviation(found->n, k, shrunken + j) / population_deviation(population, j);
    free(shrunken);
    return shrunken;
}

static enum status find(struct population_work *work, struct error *error)
{
    struct population *population = &work->population;
    struct two_stage *found = &population->found;
    size_t k = population->k, kk = k * k;
    squeeze(work);
    for (uint64_t i = 0; i < population->n_row; i++)
        population->n_left[work->row[i].use]++;
    if (found->n < 2)
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: %zu of %llu fits converged with a covariance of these parameters; at "
                         "least 2 are needed (--parameters names fewer parameters)",
                         result_info(work->result)->path, found->n,
                         (unsigned long long)population->n_row);
    double *raw = work->numbers, *shrinkage = raw + k;
    found->k = k;
    found->estimate = work->estimate;
    found->error = work->error;
    found->mean = shrinkage + k;
    found->covariance = found->mean + k;
    found->mean_covariance = found->covariance + kk;
    for (size_t j = 0; j < k; j++)
        raw[j] = deviation(found->n, k, work->estimate + j);
    if (!two_stage_fit(found) || !fill_shrinkage(population, shrinkage))
        return no_memory(work, error);
    population->raw_deviation = raw;
    population->shrinkage = shrinkage;
    return STATUS_OK;
}

enum status population_read(struct population_work **work, const struct population_options *options,
                            struct error *error)
{
    *work = calloc(1, sizeof **work);
    if (!*work)
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    struct population *population = &(*work)->population;
    enum status status = result_open(&(*work)->result, options->result, error);
    if (status)
        return status;
    population->info = result_info((*work)->result);
    population->sigma = NAN;
    if (result_has((*work)->result, FIT_COLUMN_RANDOM_MEAN))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: its parameters are random, not fitted "
                         "independently: `stiffit show` prints their distribution",
                         options->result);
    if (!result_has((*work)->result, FIT_COLUMN_COVARIANCE))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: has no covariances", options->result);
    if ((status = read_rows(*work, error)) || (status = choose(*work, options->parameters, error)))
        return status;
    population->parameter = (*work)->parameter;
    population->row = (*work)->row;
    population->scale = (*work)->scale;
    if (options->pools_sigma && isnan(population->sigma = pool_sigma(*work, error)))
        return error->status;
    return find(*work, error);
}

const struct population *population_get(const struct population_work *work)
{
    return &work->population;
}

void population_free(struct population_work *work)
{
    if (!work)
        return;
    result_close(work->result);
    arena_fini(&work->ids);
    free(work->row);
    free(work->kept_row);
    free(work->estimate);
    free(work->error);
    free(work->variance);
    free(work->has_prior);
    free(work->parameter);
    free(work->scale);
    free(work->numbers);
    free(work);
}

double population_deviation(const struct population *population, size_t j)
{
    return sqrt(population->found.covariance[j + j * population->k]);
}

double population_half_interval(const struct population *population, size_t j)
{
    double quantile =
        distribution_t_quantile(0.5 + 0.5 * CONFIDENCE, (double)(population->found.n - 1));
    return quantile * sqrt(population->found.mean_covariance[j + j * population->k]);
}

double population_natural(const struct population *population, size_t j, double value)
{
    return fit_scale_to_natural(population->scale[population->parameter[j]], value);
}

bool population_csv(const struct population *population, struct csv_writer *writer)
{
    static const char *const head[] = {"", "standard_error_", "fit_"};
    size_t k = population->k;
    char text[600];
    double *shrunken = malloc((k + 4 * k * k + k) * sizeof *shrunken), *variance = shrunken + k;
    while (csv_head(writer)) {
        csv_put_column(writer, "id", CSV_TEXT);
        csv_put_column(writer, "status", CSV_TEXT);
        csv_put_column(writer, "population", CSV_TEXT);
        for (size_t h = 0; h < 3; h++)
            for (size_t j = 0; j < k; j++) {
                snprintf(text, sizeof text, "%s%s", head[h],
                         population->info->parameter_name[population->parameter[j]]);
                csv_put_column(writer, text, CSV_NUMBER);
            }
    }
    for (uint64_t i = 0; shrunken && i < population->n_row; i++) {
        const struct population_row *row = &population->row[i];
        bool used = row->use == POPULATION_USED;
        if (used)
            two_stage_shrink(&population->found, row->fit, shrunken, variance, variance + k * k);
        csv_put_text(writer, row->id);
        csv_put_text(writer, outcome_name((int)row->outcome));
        csv_put_text(writer, population_use_name(row->use));
        for (size_t h = 0; h < 3; h++)
            for (size_t j = 0; j < k; j++) {
                const double *estimate =
                    h == 2 ? population->found.estimate + row->fit * k : shrunken;
                double natural =
                    used ? population_natural(population, j, estimate[j]) : (double)NAN;
                double to_natural =
                    fabs(slope(population->scale[population->parameter[j]], natural));
                csv_put_number(writer, h == 1 ? to_natural * sqrt(variance[j + j * k]) : natural);
            }
        csv_end_row(writer);
    }
    free(shrunken);
    return shrunken;
}

const char *population_use_name(enum population_use use)
{
    static const char *const names[] = {"used", "not_converged", "no_covariance"};
    return names[use];
}

void population_priors(const struct population *population, struct csv_writer *writer)
{
    static const char *const head[] = {"parameter", "prior", "prior_location", "prior_scale",
                                       "prior_on"};
    for (size_t h = 0; h < sizeof head / sizeof *head; h++)
        csv_put_text(writer, head[h]);
    csv_end_row(writer);
    for (size_t j = 0; j < population->k; j++) {
        if (!(population_deviation(population, j) > 0))
            continue;
        csv_put_text(writer, population->info->parameter_name[population->parameter[j]]);
        csv_put_text(writer, "normal");
        csv_put_number(writer, population->found.mean[j]);
        csv_put_number(writer, population_deviation(population, j));
        csv_put_text(writer, "optimizer");
        csv_end_row(writer);
    }
}
