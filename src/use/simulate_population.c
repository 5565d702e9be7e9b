/* New datasets of a population: those of a result with random parameters, with their times, doses
 * and covariates, but random parameters and measurements drawn anew.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"
#include "fit/triangle.h"
#include "io/csv.h"
#include "io/result_population.h"
#include "use/simulate_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A dataset whose parameters cannot be simulated is drawn again, at most this often. */
enum { MAX_DRAW = 20 };

struct drawn {
    const struct simulate_options *options;
    struct fitted fitted;
    struct fitted_dataset data;
    struct simulate_copy copy;
    struct output truth;
    const struct result_population *population;
    struct arena arena;          /* of the population, and of what follows of it */
    double *factor;              /* r x r, column-major: lower, of the covariance */
    double *deviate;             /* r */
    size_t *random, *shared;     /* r, s: the file's parameters */
    double *p, *start;           /* n_parameter: the true ones, and where a fit begins */
    int8_t *fixed;               /* n_parameter */
    double *value, *prediction, *noise; /* n_room: of a dataset's measurements */
    size_t n_room, n_lost, n_row;
    uint64_t n_dataset;
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for new datasets");
}

/* Lower L with LL' = covariance; a variance of 0 has a row and column of zeros, and so has a
 * direction in which there is no spread. */
static void factor_covariance(const double *covariance, size_t r, double *factor)
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

static enum status find_parameter(const struct drawn *drawn, const char *name, size_t *index,
                                  struct error *error)
{
    size_t n = problem_n_parameter(drawn->fitted.problem);
    const char *const *names = problem_parameter_name(drawn->fitted.problem);
    for (*index = 0; *index < n; ++*index)
        if (!strcmp(names[*index], name))
            return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "%s: /population has the parameter '%.100s', which "
                     "the problem has not", drawn->options->files.result, name);
}

static enum status open_population(struct drawn *drawn, struct error *error)
{
    struct arena *arena = &drawn->arena;
    size_t n = problem_n_parameter(drawn->fitted.problem);
    enum status status = result_population_read(&drawn->population, drawn->fitted.result, arena,
                                                error);
    const struct result_population *population = drawn->population;
    if (!status && !population)
        status = error_set(error, STATUS_USAGE, "--population: %s has no random parameters "
                           "(stiffit run --random)", drawn->options->files.result);
    if (status)
        return status;
    size_t r = population->r, s = population->s;
    drawn->random = arena_calloc(arena, r + 1, sizeof *drawn->random);
    drawn->shared = arena_calloc(arena, s + 1, sizeof *drawn->shared);
    drawn->fixed = arena_calloc(arena, n + 1, 1);
    if (!drawn->random || !drawn->shared || !drawn->fixed
        || !ARENA_DOUBLES(arena, {&drawn->factor, r, r}, {&drawn->deviate, r, 1},
                          {&drawn->p, n, 1}, {&drawn->start, n, 1}))
        return no_memory(error);
    for (size_t i = 0; !status && i < r; i++)
        status = find_parameter(drawn, population->name[i], &drawn->random[i], error);
    for (size_t i = 0; !status && i < s; i++)
        status = find_parameter(drawn, population->shared_name[i], &drawn->shared[i], error);
    factor_covariance(population->covariance, r, drawn->factor);
    return status;
}

/* Names joined by commas; NULL: there are none, or no memory. */
static char *join(const char *const *name, size_t n, struct arena *arena)
{
    size_t length = 1, used = 0;
    for (size_t i = 0; i < n; i++)
        length += strlen(name[i]) + 1;
    char *text = n ? arena_calloc(arena, length, 1) : NULL;
    for (size_t i = 0; text && i < n; i++)
        used += (size_t)snprintf(text + used, length - used, "%s%s", i ? "," : "", name[i]);
    return text;
}

/* The option as the run's description has it; NULL: it is not there, or told by a hash. */
static char *described(const struct drawn *drawn, const char *option)
{
    const char *at = strstr(result_info(drawn->fitted.result)->identity.description, option);
    size_t n = at ? strcspn(at + strlen(option), " ") : 0;
    const char *value = at ? at + strlen(option) : NULL;
    return value && !memchr(value, ':', n) ? arena_strndup((struct arena *)&drawn->arena, value, n)
                                           : NULL;
}

static enum status open_outputs(struct drawn *drawn, struct error *error)
{
    const struct problem_block *block = drawn->data.block;
    const struct simulate_options *options = drawn->options;
    const struct result_population *population = drawn->population;
    struct arena *arena = &drawn->arena;
    size_t n = problem_n_parameter(drawn->fitted.problem), first = drawn->data.row * n;
    double *bound;
    if (!ARENA_DOUBLES(arena, {&bound, 2 * n, 1}))
        return no_memory(error);
    memcpy(bound, block->lower + first, n * sizeof *bound);
    memcpy(bound + n, block->upper + first, n * sizeof *bound);
    const struct simulate_copy_parameters parameters = {
        .lower = bound, .upper = bound + n, .random = join(population->name, population->r, arena),
        .share = join(population->shared_name, population->s, arena),
        .random_covariance = described(drawn, " random-covariance=")};
    unsigned columns = MEASUREMENT_BIT(sigma) | MEASUREMENT_BIT(side);
    enum status status = simulate_copy_open(&drawn->copy, &drawn->fitted, options, &parameters,
                                            columns, error);
    if (status || !options->truth)
        return status;
    if ((status = output_open(&drawn->truth, options->truth, options->overwrite, error)))
        return status;
    struct csv_writer writer = {.file = drawn->truth.file, .decimal_comma = options->decimal_comma};
    csv_put_text(&writer, "dataset");
    for (size_t i = 0; i < n; i++)
        csv_put_text(&writer, problem_parameter_name(drawn->fitted.problem)[i]);
    csv_end_row(&writer);
    return STATUS_OK;
}

/* What is not drawn: typical values, shared ones, and those that the problem holds. */
static void set_starts(struct drawn *drawn)
{
    const struct problem_block *block = drawn->data.block;
    const struct result_population *population = drawn->population;
    size_t n = problem_n_parameter(drawn->fitted.problem), first = drawn->data.row * n;
    for (size_t i = 0; i < n; i++) {
        drawn->fixed[i] = (int8_t)(block->fixed[first + i] != 0);
        drawn->start[i] = block->start[first + i];
    }
    for (size_t i = 0; i < population->r; i++)
        drawn->start[drawn->random[i]] = population->natural_mean[i];
    for (size_t i = 0; i < population->s; i++)
        drawn->start[drawn->shared[i]] = population->shared[i];
    memcpy(drawn->p, drawn->start, n * sizeof *drawn->p);
}

static void draw_parameters(struct drawn *drawn, uint64_t stream)
{
    const struct result_population *population = drawn->population;
    size_t r = population->r;
    for (size_t i = 0; i < r; i++)
        drawn->deviate[i] = random_normal((uint64_t)drawn->options->seed, stream, i);
    for (size_t i = 0; i < r; i++) {
        double value = population->mean[i], slope;
        for (size_t j = 0; j <= i; j++)
            value += drawn->factor[i + j * r] * drawn->deviate[j];
        drawn->p[drawn->random[i]] =
            result_population_natural(population->scale[i], value, &slope);
    }
}

/* Predictions of all measurements at drawn->p; false: the model cannot be simulated there. */
static bool predict(struct drawn *drawn)
{
    const struct fitted_dataset *data = &drawn->data;
    const size_t *row = data->block->row;
    struct fit_record record = *data->record;
    struct fitted_dataset there = *data;
    char reason[160];
    bool good = true;
    record.parameter = drawn->p;
    there.record = &record;
    there.p = drawn->p;
    for (size_t e = data->first; e < data->end && good; e++) {
        const struct predictor_rows rows = fitted_rows(&drawn->fitted, &there, e);
        size_t at = row[e] - row[data->first];
        good = predictor_run(&drawn->fitted.predictor, &rows, drawn->prediction + at,
                             drawn->noise + at, reason);
    }
    return good;
}

/* Missing measurements stay missing; censored ones are drawn like the others. */
static void draw_values(struct drawn *drawn, size_t n, bool is_good, uint64_t stream)
{
    const struct fitted_dataset *data = &drawn->data;
    const struct measurements measured =
        measurements_from(&data->block->measured, data->block->row[data->first]);
    for (size_t i = 0; i < n; i++) {
        const struct fit_loss *loss = &drawn->fitted.errors.loss[measured.observable[i]];
        double scale = isfinite(measured.sigma[i]) ? measured.sigma[i] : drawn->noise[i];
        double z = fit_loss_draw(loss, (uint64_t)drawn->options->seed, stream, i);
        double value = drawn->prediction[i] + scale * z;
        if (loss->is_log)
            value = drawn->prediction[i] > 0 ? drawn->prediction[i] * exp(scale * z) : (double)NAN;
        drawn->value[i] = is_good && !isnan(measured.value[i]) ? value : (double)NAN;
        drawn->n_lost += !isnan(measured.value[i]) && !isfinite(drawn->value[i]);
        if (!isfinite(drawn->value[i]))
            drawn->value[i] = NAN;
    }
    drawn->n_row += n;
}

static void print_truth(struct drawn *drawn, const char *id)
{
    struct csv_writer writer = {.file = drawn->truth.file,
                                .decimal_comma = drawn->options->decimal_comma};
    if (!drawn->truth.file)
        return;
    csv_put_text(&writer, id);
    for (size_t i = 0; i < problem_n_parameter(drawn->fitted.problem); i++)
        csv_put_number(&writer, drawn->p[i]);
    csv_end_row(&writer);
}

static enum status reserve(struct drawn *drawn, size_t n, struct error *error)
{
    if (n < drawn->n_room)
        return STATUS_OK;
    free(drawn->value);
    drawn->n_room = 2 * n + 1;
    drawn->value = calloc(3 * drawn->n_room, sizeof *drawn->value);
    if (!drawn->value)
        return no_memory(error);
    drawn->prediction = drawn->value + drawn->n_room;
    drawn->noise = drawn->value + 2 * drawn->n_room;
    return STATUS_OK;
}

/* All replicates of the dataset. */
static enum status draw_dataset(struct drawn *drawn, struct error *error)
{
    const struct fitted_dataset *data = &drawn->data;
    const size_t *row = data->block->row;
    uint64_t dataset = data->block->dataset[data->row];
    size_t n = row[data->end] - row[data->first];
    int digits = snprintf(NULL, 0, "%lld", (long long)drawn->options->n_population);
    enum status status = reserve(drawn, n, error);
    char id[600];
    set_starts(drawn);
    for (int64_t k = 1; !status && k <= drawn->options->n_population; k++) {
        uint64_t of = random_stream(dataset, (uint64_t)k);
        bool is_good = false;
        for (uint64_t draw = 0; draw < MAX_DRAW && !is_good; draw++) {
            draw_parameters(drawn, random_stream(of, PURPOSE_PARAMETER + 256 * draw));
            is_good = predict(drawn);
        }
        draw_values(drawn, n, is_good, random_stream(of, PURPOSE_NOISE));
        snprintf(id, sizeof id, "%.500s/%0*lld", data->id, digits, (long long)k);
        print_truth(drawn, id);
        const struct simulate_copy_start start = {drawn->start, drawn->fixed};
        status = simulate_copy_add(&drawn->copy, data, id, drawn->value, &start, error);
        drawn->n_dataset++;
    }
    return status;
}

static enum status draw_all(struct drawn *drawn, struct error *error)
{
    const char *wanted = drawn->options->id;
    enum status status = STATUS_OK;
    bool more = true;
    while (!status && !(status = fitted_next(&drawn->fitted, &drawn->data, &more, error)) && more) {
        if (drawn->data.fault || (wanted && strcmp(drawn->data.id, wanted)))
            continue;
        if (!drawn->copy.writer)
            status = open_outputs(drawn, error);
        if (!status)
            status = draw_dataset(drawn, error);
    }
    if (!status && !drawn->copy.writer && wanted)
        status = error_set(error, STATUS_USAGE, "--id: %s has no dataset '%.100s' that can be used",
                           drawn->options->files.result, wanted);
    if (!status && !drawn->copy.writer)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: no dataset can be used",
                           drawn->options->files.result);
    if (!status && drawn->truth.file)
        status = output_finish(&drawn->truth, error);
    return status ? status : problem_writer_finish(drawn->copy.writer, error);
}

enum status simulate_population(const struct simulate_options *options, struct simulate_made *made,
                                struct error *error)
{
    struct drawn drawn = {.options = options};
    enum status status = fitted_open(&drawn.fitted, &options->files, error);
    if (!status)
        status = open_population(&drawn, error);
    if (!status)
        status = draw_all(&drawn, error);
    *made = (struct simulate_made){.n_dataset = drawn.n_dataset, .n_row = drawn.n_row,
                                   .n_lost = drawn.n_lost};
    simulate_copy_close(&drawn.copy);
    output_close(&drawn.truth);
    fitted_close(&drawn.fitted);
    arena_fini(&drawn.arena);
    free(drawn.value);
    return status;
}
