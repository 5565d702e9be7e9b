/* `stiffit population`: mean and covariance of the parameters over the datasets, without their
 * estimation errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/json.h"
#include "base/output.h"
#include "cli/contain.h"
#include "use/fit_columns.h"
#include "use/fitted.h"
#include "use/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_N_CORRELATION = 12 }; /* parameters */

struct population_call {
    struct population_options options;
    bool json, overwrite, types_row;
    const char *output, *priors;
    enum when color;
};

#define FIELD(name) offsetof(struct population_call, name)

static const struct option table[] = {
    {.name = "parameters", .letter = 'p', .kind = OPTION_STRING, .metavar = "NAME[,NAME...]",
     .offset = FIELD(options.parameters), .default_text = "all that differ between the fits",
     .help = "only these parameters; fits without a covariance of all of them are left out"},
    {.name = "pool-sigma", .kind = OPTION_FLAG, .offset = FIELD(options.pools_sigma),
     .help = "the unknown sigma is the same in all datasets: take its best estimate over all of "
             "them instead of each one's own"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(output), .is_file = true, .is_output = true,
     .help = "write a CSV table with a row for each dataset, its shrunken estimates, to this "
             "file (-: standard output, instead of the summary)"},
    {.name = "priors", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(priors),
     .is_file = true, .is_output = true,
     .help = "write the population as priors to this file: a CSV table for import --parameters"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace existing files"},
    {.name = "json", .kind = OPTION_FLAG, .offset = FIELD(json),
     .help = "print the summary as JSON instead of text"},
    OPTION_TYPES_ROW(FIELD(types_row)),
    OPTION_COLOR(FIELD(color)),
};

static unsigned long long count(uint64_t n) { return n; }

static const char *name_of(const struct population *population, size_t j)
{
    return population->info->parameter_name[population->parameter[j]];
}

static const char *scale_of(const struct population *population, size_t j)
{
    return population->info->parameter_scale[population->parameter[j]];
}

static double correlation(const struct population *population, size_t c, size_t d)
{
    double spread = population_deviation(population, c) * population_deviation(population, d);
    return c == d       ? 1
           : spread > 0 ? population->found.covariance[d + c * population->k] / spread
                        : (double)NAN;
}

static double error_of(const struct population *population, size_t j)
{
    return sqrt(population->found.mean_covariance[j + j * population->k]);
}

static int widest(const struct population *population)
{
    size_t width = sizeof "parameter" - 1;
    for (size_t j = 0; j < population->k; j++)
        width = strlen(name_of(population, j)) > width ? strlen(name_of(population, j)) : width;
    return width < 40 ? (int)width : 40;
}

static void print_head(FILE *file, const struct population *population)
{
    const struct two_stage *found = &population->found;
    fprintf(file, "%s: %zu of %llu datasets\n", population->info->path, found->n,
            count(population->n_row));
    if (population->n_left[POPULATION_NOT_CONVERGED])
        fprintf(file, "  %10llu left out, which did not converge\n",
                count(population->n_left[POPULATION_NOT_CONVERGED]));
    if (population->n_left[POPULATION_NO_COVARIANCE])
        fprintf(file,
                "  %10llu left out, which converged without a covariance of these parameters (at a "
                "bound, not determined, or too few data)\n",
                count(population->n_left[POPULATION_NO_COVARIANCE]));
    if (population->n_with_prior)
        fprintf(file,
                "  %10llu fitted with priors, which draw the estimates together: the spread is too "
                "small\n",
                count(population->n_with_prior));
    if (!isnan(population->sigma))
        fprintf(file, "sigma of all datasets: %.6g\n", population->sigma);
    if (!found->is_converged)
        fprintf(file, "not converged after %zu passes\n", found->n_pass);
}

static void print_text(FILE *file, const void *context)
{
    const struct population *population = context;
    int width = widest(population);
    print_head(file, population);
    fprintf(file, "\n  %-*s %-5s  %-57s%s\n", width, "", "", "on this scale", "natural units");
    fprintf(file, "  %-*s %-5s %11s %11s %11s %11s %10s %11s %11s %11s\n", width, "parameter",
            "scale", "mean", "std. error", "std. dev.", "fits' s.d.", "shrinkage", "median", "16 %",
            "84 %");
    for (size_t j = 0; j < population->k; j++) {
        double mean = population->found.mean[j], spread = population_deviation(population, j);
        fprintf(file, "  %-*s %-5s %11.5g %11.3g %11.4g %11.4g %10.2g %11.5g %11.5g %11.5g\n",
                width, name_of(population, j), scale_of(population, j), mean,
                error_of(population, j), spread, population->raw_deviation[j],
                population->shrinkage[j], population_natural(population, j, mean),
                population_natural(population, j, mean - spread),
                population_natural(population, j, mean + spread));
    }
    if (population->k > 1 && population->k <= TEXT_N_CORRELATION) {
        fputs("\nCorrelations over the population\n", file);
        for (size_t c = 0; c < population->k; c++) {
            fprintf(file, "  %-*s", width, name_of(population, c));
            for (size_t d = 0; d <= c; d++)
                fprintf(file, " %7.3f", correlation(population, c, d));
            fputc('\n', file);
        }
    }
}

static void put_matrix(struct json *json, const char *key, const struct population *population,
                       bool correlations)
{
    json_array_begin(json, key);
    for (size_t c = 0; c < population->k; c++) {
        json_array_begin(json, NULL);
        for (size_t d = 0; d < population->k; d++)
            json_number(json, NULL,
                        correlations ? correlation(population, c, d)
                                     : population->found.covariance[d + c * population->k]);
        json_array_end(json);
    }
    json_array_end(json);
}

static void print_json(FILE *file, const void *context)
{
    const struct population *population = context;
    const struct two_stage *found = &population->found;
    struct json json;
    json_begin(&json, file);
    json_object_begin(&json, NULL);
    json_string(&json, "file", population->info->path);
    json_unsigned(&json, "datasets", population->n_row);
    for (int use = POPULATION_USED; use <= POPULATION_NO_COVARIANCE; use++)
        json_unsigned(&json, population_use_name((enum population_use)use),
                      population->n_left[use]);
    json_unsigned(&json, "with_prior", population->n_with_prior);
    json_number(&json, "sigma", population->sigma);
    json_number(&json, "log_likelihood", found->log_likelihood);
    json_unsigned(&json, "passes", found->n_pass);
    json_boolean(&json, "converged", found->is_converged);
    json_array_begin(&json, "parameters");
    for (size_t j = 0; j < population->k; j++) {
        double mean = found->mean[j], half = population_half_interval(population, j);
        json_object_begin(&json, NULL);
        json_string(&json, "name", name_of(population, j));
        json_string(&json, "scale", scale_of(population, j));
        json_number(&json, "mean", mean);
        json_number(&json, "standard_error", error_of(population, j));
        json_number(&json, "interval_lower", mean - half);
        json_number(&json, "interval_upper", mean + half);
        json_number(&json, "standard_deviation", population_deviation(population, j));
        json_number(&json, "standard_deviation_of_fits", population->raw_deviation[j]);
        json_number(&json, "shrinkage", population->shrinkage[j]);
        json_number(&json, "median", population_natural(population, j, mean));
        json_object_end(&json);
    }
    json_array_end(&json);
    put_matrix(&json, "covariance", population, false);
    put_matrix(&json, "correlation", population, true);
    fit_columns_json_matrix(&json, "mean_covariance", population->k, found->mean_covariance);
    json_object_end(&json);
    json_end(&json);
}

static enum status write_table(const struct population *population,
                               const struct population_call *call, bool is_priors,
                               struct error *error)
{
    struct output output = {.file = NULL};
    const char *path = is_priors ? call->priors : call->output;
    enum status status = fitted_spare(population->info, path, error);
    if (!status)
        status = output_open(&output, path, call->overwrite, error);
    if (!status) {
        /* Priors are read by import, which knows its columns. */
        struct csv_writer writer = {.file = output.file,
                                    .types_row = call->types_row && !is_priors};
        bool good = true;
        if (is_priors)
            population_priors(population, &writer);
        else
            good = population_csv(population, &writer);
        status = good ? output_finish(&output, error)
                      : error_set(error, STATUS_NO_MEMORY, "out of memory for the table");
    }
    output_close(&output);
    return status;
}

static bool is_standard(const char *path) { return path && !strcmp(path, "-"); }

static int population(void *context)
{
    const struct population_call *call = context;
    struct population_work *work = NULL;
    struct error error = {.status = STATUS_OK};
    enum status status = population_read(&work, &call->options, &error);
    if (!status && call->output)
        status = write_table(population_get(work), call, false, &error);
    if (!status && call->priors)
        status = write_table(population_get(work), call, true, &error);
    if (!status && !is_standard(call->output) && !is_standard(call->priors))
        status = print_safely(call->json ? print_json : print_text, population_get(work), &error);
    population_free(work);
    return status ? message_usage("population", &error, call->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct population_call call = {.json = false};
    struct option_words words;
    struct error error = {.status = STATUS_OK};
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code >= 0)
        return code;
    if (is_standard(call.output) && is_standard(call.priors)) {
        error_set(&error, STATUS_USAGE, "--output and --priors cannot both go to standard output");
        return message_usage("population", &error, call.color);
    }
    call.options.result = words.positional[0];
    return contained_read(population, &call, words.positional[0], call.color);
}

const struct command command_population = {
    .name = "population", .synopsis = "RESULT.h5",
    .summary = "spread of the parameters over the datasets, without errors of the fits",
    .example = "stiffit population subjects.result.h5\n"
               "stiffit population subjects.result.h5 --parameters k,V -o shrunken.csv --priors "
               "population.csv",
    .needs = "result file",
    .description =
        "Estimates the distribution of the parameters from which the datasets come (normal on the "
        "optimiser's scale), from independent fits and their covariances; and what it says about "
        "each dataset: shrunken estimates, which help where the data are weak.",
    .table = COMMAND_TABLE(table), .run = run};
