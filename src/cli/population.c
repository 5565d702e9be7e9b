/* `stiffit population`: mean and covariance of the parameters over the datasets, without their
 * estimation errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"

#include "base/output.h"
#include "cli/contain.h"
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

static void add_head(struct view *view, const struct population *population)
{
    const struct two_stage *found = &population->found;
    VIEW_FACTS(view, fact_word("file", NULL, 0, population->info->path),
               fact_count("datasets", NULL, 0, population->n_row));
    for (int use = POPULATION_USED; use <= POPULATION_NO_COVARIANCE; use++)
        VIEW_FACTS(view, fact_count(population_use_name((enum population_use)use), NULL, 0,
                                    population->n_left[use]));
    VIEW_FACTS(view, fact_count("with_prior", NULL, 0, population->n_with_prior),
               fact_number("sigma", NULL, 0, 0, population->sigma),
               fact_number("log_likelihood", NULL, 0, 0, found->log_likelihood),
               fact_count("passes", NULL, 0, (int64_t)found->n_pass),
               fact_truth("converged", found->is_converged));
    view_say(view, "%s: %zu of %llu datasets\n", population->info->path, found->n,
             (unsigned long long)population->n_row);
    const struct {
        uint64_t n;
        const char *what;
    } remark[] = {
        {population->n_left[POPULATION_NOT_CONVERGED], "left out, which did not converge"},
        {population->n_left[POPULATION_NO_COVARIANCE],
         "left out, which converged without a covariance of these parameters (at a bound, not "
         "determined, or too few data)"},
        {population->n_with_prior,
         "fitted with priors, which draw the estimates together: the spread is too small"},
    };
    view_table(view, NULL, NULL, VIEW_BARE);
    for (size_t k = 0; k < sizeof remark / sizeof *remark; k++)
        if (remark[k].n)
            VIEW_ROW(view, fact_count(NULL, "", 10, remark[k].n),
                     fact_word(NULL, "", -1, remark[k].what));
    view_end(view);
    if (!isnan(population->sigma))
        view_say(view, "sigma of all datasets: %.6g\n", population->sigma);
    if (!found->is_converged)
        view_say(view, "not converged after %zu passes\n", found->n_pass);
}

static void add_parameters(struct view *view, const struct population *population)
{
    view_table(view, "parameters", "", VIEW_PLAIN);
    for (size_t j = 0; j < population->k; j++) {
        double mean = population->found.mean[j], spread = population_deviation(population, j),
               half = population_half_interval(population, j);
        VIEW_ROW(view, fact_word("name", "parameter", -9, name_of(population, j)),
                 fact_word("scale", "scale", -5, scale_of(population, j)),
                 fact_number("mean", "mean", 11, 5, mean),
                 fact_number("standard_error", "std. error", 11, 3, error_of(population, j)),
                 fact_number("interval_lower", NULL, 0, 0, mean - half),
                 fact_number("interval_upper", NULL, 0, 0, mean + half),
                 fact_number("standard_deviation", "std. dev.", 11, 4, spread),
                 fact_number("standard_deviation_of_fits", "fits' s.d.", 11, 4,
                             population->raw_deviation[j]),
                 fact_number("shrinkage", "shrinkage", 10, 2, population->shrinkage[j]),
                 fact_number("median", "median", 11, 5, population_natural(population, j, mean)),
                 fact_number(NULL, "16 %", 11, 5, population_natural(population, j, mean - spread)),
                 fact_number(NULL, "84 %", 11, 5,
                             population_natural(population, j, mean + spread)));
    }
    view_end(view);
    view_say(view, "  (on the scale, but median, 16 %% and 84 %%: natural units)\n");
}

static void add_correlations(struct view *view, const struct population *population)
{
    size_t k = population->k;
    double *matrix = arena_calloc(&view->arena, k * k + 1, sizeof *matrix);
    view->failed = view->failed || !matrix;
    for (size_t i = 0; matrix && i < k * k; i++)
        matrix[i] = correlation(population, i / k, i % k);
    VIEW_FACTS(view, fact_matrix("covariance", population->found.covariance, k),
               fact_matrix("correlation", matrix, matrix ? k : 0),
               fact_matrix("mean_covariance", population->found.mean_covariance, k));
    if (k <= 1 || k > TEXT_N_CORRELATION)
        return;
    view_table(view, NULL, "Correlations over the population", VIEW_HEADLESS);
    for (size_t c = 0; c < k; c++) {
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_word(NULL, "", -9, name_of(population, c)));
        for (size_t d = 0; d <= c; d++)
            VIEW_FACTS(view, fact_word(NULL, "", 7,
                                       view_word(view, "%.3f", correlation(population, c, d))));
        view_end(view);
    }
    view_end(view);
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
    struct view view = {.n = 0};
    struct error error = {.status = STATUS_OK};
    enum status status = population_read(&work, &call->options, &error);
    if (!status && call->output)
        status = write_table(population_get(work), call, false, &error);
    if (!status && call->priors)
        status = write_table(population_get(work), call, true, &error);
    if (!status && !is_standard(call->output) && !is_standard(call->priors)) {
        add_head(&view, population_get(work));
        add_parameters(&view, population_get(work));
        add_correlations(&view, population_get(work));
        status = command_print(&view, call->json, &error);
    }
    view_fini(&view);
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
