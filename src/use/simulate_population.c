/* New datasets of a population: those of a result with random parameters, with their times, doses
 * and covariates, but random parameters and measurements drawn anew.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/table/csv.h"
#include "use/population_draw.h"
#include "use/row_filter.h"
#include "use/simulate_copy.h"
#include "use/simulate_truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drawn {
    const struct simulate_options *options;
    struct fitted fitted;
    struct fitted_dataset data;
    struct population_draw draw;
    struct simulate_copy copy;
    struct simulate_truth truth;
    size_t n_row;
    uint64_t n_dataset;
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for new datasets");
}

/* Names joined by commas, behind others (NULL: none), each with `by`; NULL: there are none, or no
 * memory. */
static char *join(const char *before, const char *const *name, size_t n, const char *by,
                  struct arena *arena)
{
    size_t length = (before ? strlen(before) : 0) + 2, used = 0;
    for (size_t i = 0; i < n; i++)
        length += strlen(name[i]) + strlen(by) + 1;
    char *text = n || before ? arena_calloc(arena, length, 1) : NULL;
    if (text && before)
        used += (size_t)snprintf(text, length, "%s", before);
    for (size_t i = 0; text && i < n; i++)
        used +=
            (size_t)snprintf(text + used, length - used, "%s%s%s", used ? "," : "", name[i], by);
    return text;
}

/* The option as the run's description has it; NULL: it is not there, or told by a hash. */
static char *described(struct drawn *drawn, const char *option)
{
    const char *at = strstr(result_info(drawn->fitted.result)->identity.description, option);
    size_t n = at ? strcspn(at + strlen(option), " ") : 0;
    const char *value = at ? at + strlen(option) : NULL;
    return value && !memchr(value, ':', n) ? arena_strndup(&drawn->draw.arena, value, n) : NULL;
}

static enum status open_outputs(struct drawn *drawn, struct error *error)
{
    const struct problem_block *block = drawn->data.block;
    const struct simulate_options *options = drawn->options;
    const struct result_population *population = drawn->draw.population;
    struct arena *arena = &drawn->draw.arena;
    size_t n = problem_n_parameter(drawn->fitted.problem), first = drawn->data.row * n;
    double *bound;
    if (!ARENA_DOUBLES(arena, {&bound, 2 * n, 1}))
        return no_memory(error);
    memcpy(bound, block->lower + first, n * sizeof *bound);
    memcpy(bound + n, block->upper + first, n * sizeof *bound);
    const struct simulate_copy_parameters parameters = {
        .is = {.lower = bound, .upper = bound + n},
        .random = join(join(NULL, population->name, population->r, "", arena),
                       population->occasion_name, population->q, "@experiment", arena),
        .share = join(NULL, population->shared_name, population->s, "", arena),
        .random_covariance = described(drawn, " random-covariance=")};
    enum status status = simulate_copy_open(&drawn->copy, &drawn->fitted, options, &parameters,
                                            error);
    return status ? status
                  : simulate_truth_open(&drawn->truth, options,
                                        problem_parameter_name(drawn->fitted.problem), n, error);
}

/* All replicates of the dataset. */
static enum status draw_dataset(struct drawn *drawn, struct error *error)
{
    const struct fitted_dataset *data = &drawn->data;
    struct population_draw *draw = &drawn->draw;
    int digits = snprintf(NULL, 0, "%lld", (long long)drawn->options->n_population);
    enum status status = population_draw_dataset(draw, data, error);
    char id[600];
    for (int64_t k = 1; !status && k <= drawn->options->n_population; k++) {
        population_draw_replicate(draw, data, (uint64_t)k);
        snprintf(id, sizeof id, "%.500s/%0*lld", data->id, digits, (long long)k);
        simulate_truth_put(&drawn->truth, id, draw->p);
        const struct parameters start = {.start = draw->start, .fixed = draw->fixed};
        status = simulate_copy_add(&drawn->copy, data, id, draw->value, &start, error);
        drawn->n_dataset++;
        drawn->n_row += data->block->row[data->end] - data->block->row[data->first];
    }
    return status;
}

static enum status draw_all(struct drawn *drawn, struct error *error)
{
    const struct row_words words = {.id = drawn->options->id};
    struct row_filter filter;
    enum status status = row_filter_init(&filter, &words, drawn->fitted.result, error);
    bool more = true;
    while (!status && !(status = fitted_next(&drawn->fitted, &drawn->data, &more, error)) && more) {
        if (drawn->data.fault
            || !row_filter_takes(&filter, drawn->data.id, drawn->data.record))
            continue;
        if (!drawn->copy.writer) {
            const struct problem_info *info = problem_info(drawn->fitted.problem);
            double n_dataset = (double)info->n_dataset, n_named = 1;
            for (const char *at = words.id; at && *at; at++)
                n_named += *at == ',';
            simulate_say_size(drawn->options,
                              (double)drawn->options->n_population *
                                  (words.id ? fmin(n_named, n_dataset) : n_dataset),
                              (double)info->n_measurement / n_dataset);
            status = open_outputs(drawn, error);
        }
        if (!status)
            status = draw_dataset(drawn, error);
    }
    if (!status)
        status = row_filter_end(&filter, &words, error);
    row_filter_fini(&filter);
    if (!status && !drawn->copy.writer)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: no dataset can be used",
                           drawn->options->files.result);
    if (!status)
        status = simulate_truth_finish(&drawn->truth, error);
    return status ? status : problem_writer_finish(drawn->copy.writer, error);
}

enum status simulate_population(const struct simulate_options *options, struct simulate_made *made,
                                struct error *error)
{
    struct drawn drawn = {.options = options};
    enum status status = fitted_open(&drawn.fitted, &options->files, error);
    if (!status)
        status = population_draw_init(&drawn.draw, &drawn.fitted, (uint64_t)options->seed,
                                      "--population", error);
    if (!status)
        status = draw_all(&drawn, error);
    *made = (struct simulate_made){.n_dataset = drawn.n_dataset, .n_row = drawn.n_row,
                                   .n_lost = drawn.draw.n_lost};
    simulate_copy_close(&drawn.copy);
    simulate_truth_close(&drawn.truth);
    fitted_close(&drawn.fitted);
    population_draw_fini(&drawn.draw);
    return status;
}
