/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/population_draw.h"

#include "base/random.h"
#include "use/occasions.h"
#include "use/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dataset whose parameters cannot be simulated is drawn again, at most this often. */
enum { MAX_DRAW = 20 };

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for new datasets");
}

void population_draw_factor(const double *covariance, size_t r, double *factor)
{
    for (size_t j = 0; j < r; j++) {
        double left = covariance[j * r + j];
        for (size_t k = 0; k < j; k++)
            left -= factor[j + k * r] * factor[j + k * r];
        double root = left > 1e-14 * covariance[j * r + j] ? sqrt(left) : 0;
        factor[j + j * r] = root;
        for (size_t i = j + 1; i < r && root > 0; i++) {
            double sum = covariance[i * r + j];
            for (size_t k = 0; k < j; k++)
                sum -= factor[i + k * r] * factor[j + k * r];
            factor[i + j * r] = sum / root;
        }
    }
}

static enum status find_parameter(const struct population_draw *draw, const char *name,
                                  size_t *index, struct error *error)
{
    size_t n = problem_n_parameter(draw->fitted->problem);
    const char *const *names = problem_parameter_name(draw->fitted->problem);
    for (*index = 0; *index < n; ++*index)
        if (!strcmp(names[*index], name))
            return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "%s: /population has the parameter '%.100s', which "
                     "the problem has not", result_info(draw->fitted->result)->path, name);
}

enum status population_draw_init(struct population_draw *draw, struct fitted *fitted, uint64_t seed,
                                 const char *who, struct error *error)
{
    struct arena *arena = &draw->arena;
    size_t n = problem_n_parameter(fitted->problem);
    draw->fitted = fitted;
    draw->seed = seed;
    enum status status = STATUS_OK;
    const struct result_population *population = draw->population = fitted->population;
    if (!population)
        return error_set(error, STATUS_USAGE, "%s: %s has no random parameters (stiffit run "
                           "--random)", who, result_info(fitted->result)->path);
    size_t r = population->r, s = population->s;
    draw->random = arena_calloc(arena, r + s + 1, sizeof *draw->random);
    draw->fixed = arena_calloc(arena, n + 1, 1);
    if (!draw->random || !draw->fixed
        || !ARENA_DOUBLES(arena, {&draw->factor, r, r}, {&draw->deviate, r, 1}, {&draw->p, n, 1},
                          {&draw->start, n, 1}))
        return no_memory(error);
    draw->shared = draw->random + r;
    for (size_t i = 0; !status && i < r; i++)
        status = find_parameter(draw, population->name[i], &draw->random[i], error);
    for (size_t i = 0; !status && i < s; i++)
        status = find_parameter(draw, population->shared_name[i], &draw->shared[i], error);
    population_draw_factor(population->covariance, r, draw->factor);
    return status;
}

void population_draw_fini(struct population_draw *draw)
{
    arena_fini(&draw->arena);
    free(draw->value);
    free(draw->effect);
    free(draw->by_experiment);
}

/* Room for what experiments add to their parameters. */
static enum status reserve_effects(struct population_draw *draw, size_t n, struct error *error)
{
    size_t q = draw->population->q, n_parameter = problem_n_parameter(draw->fitted->problem);
    if (q == 0 || n <= draw->n_experiment)
        return STATUS_OK;
    free(draw->effect);
    free(draw->by_experiment);
    draw->n_experiment = n;
    draw->effect = calloc(n * q, sizeof *draw->effect);
    draw->by_experiment = calloc(n * n_parameter, sizeof *draw->by_experiment);
    return draw->effect && draw->by_experiment ? STATUS_OK : no_memory(error);
}

static enum status reserve(struct population_draw *draw, size_t n, struct error *error)
{
    if (n < draw->n_room)
        return STATUS_OK;
    free(draw->value);
    draw->n_room = 2 * n + 1;
    draw->value = calloc(3 * draw->n_room, sizeof *draw->value);
    if (!draw->value)
        return no_memory(error);
    draw->prediction = draw->value + draw->n_room;
    draw->noise = draw->value + 2 * draw->n_room;
    return STATUS_OK;
}

static size_t n_row_of(const struct fitted_dataset *data)
{
    return data->block->row[data->end] - data->block->row[data->first];
}

/* What is not drawn: typical values, shared ones, and those that the problem holds. */
enum status population_draw_dataset(struct population_draw *draw,
                                    const struct fitted_dataset *data, struct error *error)
{
    const struct problem_block *block = data->block;
    const struct result_population *population = draw->population;
    size_t n = problem_n_parameter(draw->fitted->problem), first = data->row * n;
    for (size_t i = 0; i < n; i++) {
        draw->fixed[i] = block->fixed[first + i] != 0;
        draw->start[i] = block->start[first + i];
    }
    for (size_t i = 0; i < population->r; i++)
        draw->start[draw->random[i]] = population->natural_mean[i];
    for (size_t i = 0; i < population->s; i++)
        draw->start[draw->shared[i]] = population->shared[i];
    memcpy(draw->p, draw->start, n * sizeof *draw->p);
    enum status status = reserve_effects(draw, data->end - data->first, error);
    return status ? status : reserve(draw, n_row_of(data), error);
}

static void draw_parameters(struct population_draw *draw, uint64_t stream)
{
    const struct result_population *population = draw->population;
    size_t r = population->r;
    for (size_t i = 0; i < r; i++)
        draw->deviate[i] = random_normal(draw->seed, stream, i);
    for (size_t i = 0; i < r; i++) {
        double value = population->mean[i], slope;
        for (size_t j = 0; j <= i; j++)
            value += draw->factor[i + j * r] * draw->deviate[j];
        draw->p[draw->random[i]] = result_population_natural(population->scale[i], value, &slope);
    }
}

/* What each experiment adds to the parameters that vary between them. */
static void draw_effects(struct population_draw *draw, size_t n_experiment, uint64_t stream)
{
    const struct result_population *population = draw->population;
    for (size_t k = 0; k < n_experiment * population->q; k++)
        draw->effect[k] = population->occasion_deviation[k % population->q]
                          * random_normal(draw->seed, stream, population->r + k);
}

const double *population_draw_each(struct population_draw *draw, const struct fitted_dataset *data,
                                   const double *p, const double *effect)
{
    if (draw->population->q == 0)
        return NULL;
    occasions_apply(draw->fitted, data->end - data->first, p, effect, draw->by_experiment);
    return draw->by_experiment;
}

bool population_draw_predict(struct population_draw *draw, const struct fitted_dataset *data,
                             double *p, const double *effect)
{
    const size_t *row = data->block->row;
    struct fit_record record = *data->record;
    struct fitted_dataset there = *data;
    char reason[160];
    bool good = true;
    record.parameter = p;
    there.record = &record;
    there.p = p;
    there.by_experiment = population_draw_each(draw, data, p, effect);
    for (size_t e = data->first; e < data->end && good; e++) {
        const struct predictor_rows rows = fitted_rows_at(draw->fitted, &there, e);
        size_t at = row[e] - row[data->first];
        good = predictor_run(&draw->fitted->predictor, &rows, draw->prediction + at,
                             draw->noise + at, reason);
    }
    for (size_t i = 0; i < n_row_of(data) && !good; i++)
        draw->prediction[i] = NAN;
    return good;
}

/* Missing measurements stay missing; censored ones are drawn like the others. */
static void draw_values(struct population_draw *draw, const struct fitted_dataset *data,
                        uint64_t stream)
{
    const struct measurements measured =
        measurements_from(&data->block->measured, data->block->row[data->first]);
    for (size_t i = 0; i < n_row_of(data); i++) {
        const struct fit_loss *loss = &draw->fitted->errors.loss[measured.observable[i]];
        double scale = isfinite(measured.sigma[i]) ? measured.sigma[i] : draw->noise[i];
        double error = scale * fit_loss_draw(loss, draw->seed, stream, i);
        double value = draw->prediction[i] + error;
        if (loss->is_log) /* a value that is not above 0 has no logarithm */
            value = draw->prediction[i] > 0 ? draw->prediction[i] * exp(error) : (double)NAN;
        draw->value[i] = isfinite(value) && !isnan(measured.value[i]) ? value : (double)NAN;
        draw->n_lost += !isnan(measured.value[i]) && isnan(draw->value[i]);
    }
}

void population_draw_replicate(struct population_draw *draw, const struct fitted_dataset *data,
                               uint64_t k)
{
    uint64_t of = random_stream(data->block->dataset[data->row], k);
    bool is_good = false;
    for (uint64_t again = 0; again < MAX_DRAW && !is_good; again++) {
        uint64_t stream = random_stream(of, PURPOSE_PARAMETER + 256 * again);
        draw_parameters(draw, stream);
        draw_effects(draw, data->end - data->first, stream);
        is_good = population_draw_predict(draw, data, draw->p, draw->effect);
    }
    draw_values(draw, data, random_stream(of, PURPOSE_NOISE));
}
