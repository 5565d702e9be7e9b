/* The population of a result: what `stiffit show` prints of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/show.h"

#include "use/fit_columns.h"

#include <math.h>
#include <string.h>

enum { LEAST_WIDTH = 12 };

static int width_of(const char *const *names, size_t n, int width)
{
    for (size_t i = 0; i < n; i++)
        width = (int)strlen(names[i]) > width ? (int)strlen(names[i]) : width;
    return width;
}

static void print_head(FILE *file, const struct result_population *population)
{
    struct fact fact[POPULATION_MOST_FACTS];
    fprintf(file, "\nPopulation of %llu dataset%s\n  -2 log L %.10g",
            (unsigned long long)population->head.n_dataset,
            population->head.n_dataset == 1 ? "" : "s", population->head.minus_2_log_likelihood);
    if (population->head.likelihood_error > 0)
        fprintf(file, " +- %.2g", population->head.likelihood_error);
    fprintf(file, " (%s), AIC %.10g, BIC %.10g (with the number of datasets)\n",
            strcmp(population->head.likelihood, "laplace") ? "exact likelihood"
                                                      : "Laplace's approximation",
            population->head.aic, population->head.bic);
    fprintf(file, "  %zu estimates from %llu measurements", population->m,
            (unsigned long long)population->head.n_row);
    if (population->head.n_left_out)
        fprintf(file, "; %llu dataset%s left out",
                (unsigned long long)population->head.n_left_out,
                population->head.n_left_out == 1 ? " was" : "s were");
    if (!isnan(population->head.log_prior))
        fprintf(file, "; with priors, whose log density is %.6g", population->head.log_prior);
    if (isfinite(population->head.condition))
        fprintf(file, "; condition number %.3g", population->head.condition);
    fputc('\n', file);
    facts_text(file, fact, population_facts(&population->head, fact));
}

static void print_random(FILE *file, const struct result_population *population, int width)
{
    fprintf(file, "\n  %-*s %12s %12s %12s %12s %8s %10s\n", width, "random", "typical",
            "std. error", "deviation", "std. error", "CV %", "shrinkage");
    for (size_t i = 0; i < population->r; i++) {
        double cv = result_population_variation(population->scale[i],
                                                population->standard_deviation[i]);
        fprintf(file, "  %-*s %12.5g %12.3g %12.4g %12.3g ", width, population->name[i],
                population->natural_mean[i], population->natural_error[i],
                population->standard_deviation[i],
                result_population_deviation_error(population, population->name[i], "",
                                                  population->standard_deviation[i]));
        if (isnan(cv))
            fprintf(file, "%8s", "");
        else
            fprintf(file, "%8.4g", 100 * cv);
        fprintf(file, " %10.3g%s\n", population->shrinkage[i],
                population->standard_deviation[i] > 0 ? "" : "  no variance was found");
    }
    fprintf(file, "  (typical: the mean, of a logarithmic scale the median; deviation: standard "
            "deviation over\n   the population, on the optimiser's scale)\n");
}

static void print_occasions(FILE *file, const struct result_population *population, int width)
{
    if (population->q)
        fprintf(file, "\n  %-*s %12s %12s\n", width, "by experiment", "deviation", "std. error");
    for (size_t i = 0; i < population->q; i++)
        fprintf(file, "  %-*s %12.4g %12.3g\n", width, population->occasion_name[i],
                population->occasion_deviation[i],
                result_population_deviation_error(population, population->occasion_name[i],
                                                  "@experiment",
                                                  population->occasion_deviation[i]));
}

static void print_replicates(FILE *file, const struct result_population *population)
{
    int width = width_of(population->estimate_name, population->m, LEAST_WIDTH);
    if (population->n_bootstrap == 0)
        return;
    fprintf(file, "\n  %-*s %12s %12s %12s %12s\n", width, "bootstrap", "estimate", "std. error",
            "from", "to");
    for (size_t k = 0; k < population->m; k++)
        fprintf(file, "  %-*s %12.5g %12.3g %12.5g %12.5g\n", width, population->estimate_name[k],
                population->estimate[k], population->bootstrap_error[k],
                population->bootstrap_lower[k], population->bootstrap_upper[k]);
    fprintf(file, "  (%llu replicates of the datasets; on the optimiser's scale; 95 %% "
            "percentiles)\n", (unsigned long long)population->n_bootstrap);
}

static void print_correlations(FILE *file, const struct result_population *population, int width)
{
    size_t i = 0, j = 0;
    bool any = false;
    for (; result_population_next_pair(population, &i, &j); any = true)
        fprintf(file, "%s  %-*s %-*s %8.4f\n", any ? "" : "\n  Correlations over the "
                "population\n", width, population->name[j], width, population->name[i],
                population->correlation[i * population->r + j]);
}

static void print_shared(FILE *file, const struct result_population *population, int width)
{
    if (population->s)
        fprintf(file, "\n  %-*s %12s %12s\n", width, "shared", "value", "std. error");
    for (size_t i = 0; i < population->s; i++)
        fprintf(file, "  %-*s %12.5g %12.3g\n", width, population->shared_name[i],
                population->shared[i], population->shared_error[i]);
}

void show_population_text(FILE *file, const struct result_population *population)
{
    int width = width_of(population->name, population->r, LEAST_WIDTH);
    width = width_of(population->shared_name, population->s, width);
    print_head(file, population);
    print_random(file, population, width);
    print_correlations(file, population, width);
    print_occasions(file, population, width);
    print_shared(file, population, width);
    print_replicates(file, population);
}

static void put_estimates(struct json *json, const struct result_population *population)
{
    json_array_begin(json, "estimates");
    for (size_t i = 0; i < population->m; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", population->estimate_name[i]);
        json_number(json, "value", population->estimate[i]);
        json_number(json, "standard_error", population->error[i]);
        json_number(json, "standard_error_scores", population->error_scores[i]);
        json_number(json, "standard_error_sandwich", population->error_sandwich[i]);
        if (population->n_bootstrap) {
            json_number(json, "bootstrap_standard_error", population->bootstrap_error[i]);
            json_number(json, "bootstrap_lower", population->bootstrap_lower[i]);
            json_number(json, "bootstrap_upper", population->bootstrap_upper[i]);
        }
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_random(struct json *json, const struct result_population *population)
{
    json_array_begin(json, "random");
    for (size_t i = 0; i < population->r; i++) {
        double deviation = population->standard_deviation[i];
        json_object_begin(json, NULL);
        json_string(json, "name", population->name[i]);
        json_string(json, "scale", population->scale[i]);
        json_number(json, "mean", population->mean[i]);
        json_number(json, "natural_mean", population->natural_mean[i]);
        json_number(json, "natural_standard_error", population->natural_error[i]);
        json_number(json, "standard_deviation", deviation);
        json_number(json, "standard_deviation_error",
                    result_population_deviation_error(population, population->name[i], "",
                                                      deviation));
        json_number(json, "coefficient_of_variation",
                    result_population_variation(population->scale[i], deviation));
        json_number(json, "shrinkage", population->shrinkage[i]);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_occasions(struct json *json, const struct result_population *population)
{
    json_array_begin(json, "by_experiment");
    for (size_t i = 0; i < population->q; i++) {
        double deviation = population->occasion_deviation[i];
        json_object_begin(json, NULL);
        json_string(json, "name", population->occasion_name[i]);
        json_number(json, "standard_deviation", deviation);
        json_number(json, "standard_deviation_error",
                    result_population_deviation_error(population, population->occasion_name[i],
                                                      "@experiment", deviation));
        json_object_end(json);
    }
    json_array_end(json);
}

void show_population_json(struct json *json, const struct result_population *population)
{
    json_object_begin(json, "population");
    population_head_json(json, &population->head);
    put_random(json, population);
    put_occasions(json, population);
    fit_columns_json_matrix(json, "covariance", population->r, population->covariance);
    fit_columns_json_matrix(json, "correlation", population->r, population->correlation);
    json_array_begin(json, "shared");
    for (size_t i = 0; i < population->s; i++) {
        json_object_begin(json, NULL);
        json_string(json, "name", population->shared_name[i]);
        json_number(json, "value", population->shared[i]);
        json_number(json, "standard_error", population->shared_error[i]);
        json_object_end(json);
    }
    json_array_end(json);
    put_estimates(json, population);
    json_object_end(json);
}
