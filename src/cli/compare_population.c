/* What `stiffit compare` prints of fits with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/compare_population.h"

#include <math.h>
#include <string.h>

static double least_of(const struct comparison *comparison, bool is_bic)
{
    double least = INFINITY;
    for (size_t r = 0; r < comparison->n_result; r++)
        if (comparison->population[r])
            least = fmin(least, is_bic ? comparison->population[r]->head.bic
                                       : comparison->population[r]->head.aic);
    return least;
}

static size_t count_populations(const struct comparison *comparison)
{
    size_t n = 0;
    for (size_t r = 0; r < comparison->n_result; r++)
        n += comparison->population[r] != NULL;
    return n;
}

bool compare_all_populations(const struct comparison *comparison)
{
    return count_populations(comparison) == comparison->n_result;
}

static void print_ratio(FILE *file, const struct compare_ratio *ratio)
{
    fprintf(file,
            "\nLikelihood-ratio test; valid if model %zu is nested in model %zu: difference of -2 "
            "log L %.6g",
            ratio->small + 1, ratio->large + 1, ratio->statistic);
    if (ratio->error > 0)
        fprintf(file, " +- %.2g", ratio->error);
    bool is_bound = ratio->p <= 1e-15 || ratio->n_variance > 1;
    fprintf(file, ", p %s %.3g\n", is_bound ? "<" : "=", ratio->p);
    if (ratio->n_variance == 0)
        fprintf(file, "  (chi-square with %zu degree%s of freedom)\n", ratio->freedom,
                ratio->freedom == 1 ? "" : "s");
    else if (ratio->n_variance == 1)
        fprintf(file,
                "  (one variance is 0 in model %zu: p is the mean of the two for chi-square with "
                "%zu and with %zu degrees of freedom)\n",
                ratio->small + 1, ratio->freedom - 1, ratio->freedom);
    else
        fprintf(file,
                "  (%zu variances are 0 in model %zu: chi-square with %zu degrees of freedom, an "
                "upper bound)\n",
                ratio->n_variance, ratio->small + 1, ratio->freedom);
    if (compare_ratio_is_worse(ratio))
        fprintf(file,
                "  model %zu fits worse than model %zu: it missed the optimum (try --starts), or "
                "the models are not nested\n",
                ratio->large + 1, ratio->small + 1);
}

void compare_population_text(FILE *file, const struct comparison *comparison)
{
    double aic = least_of(comparison, false), bic = least_of(comparison, true);
    const struct result_population *first = NULL;
    bool is_same = true;
    if (count_populations(comparison) == 0)
        return;
    fprintf(file, "\nPopulations\n%15s %15s %9s %14s %12s %14s %12s\n", "estimates", "-2 log L",
            "+-", "AIC", "difference", "BIC", "difference");
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct result_population *population = comparison->population[r];
        if (!population)
            continue;
        first = first ? first : population;
        is_same = is_same && compare_is_comparable(first, population);
        fprintf(file, "  %zu %11zu %15.9g %9.2g %14.9g %12.5g %14.9g %12.5g\n", r + 1,
                population->m, population->head.minus_2_log_likelihood,
                population->head.likelihood_error, population->head.aic, population->head.aic - aic,
                population->head.bic, population->head.bic - bic);
    }
    if (!is_same)
        fputs("  Not comparable: the results differ in the number of datasets or measurements, or "
              "some likelihoods are\n  exact and others Laplace's approximation\n",
              file);
    for (size_t i = 0; i < comparison->n_ratio; i++)
        print_ratio(file, &comparison->ratio[i]);
}

static void put_ratio(struct json *json, const struct compare_ratio *ratio)
{
    json_object_begin(json, NULL);
    json_unsigned(json, "small", ratio->small + 1);
    json_unsigned(json, "large", ratio->large + 1);
    json_number(json, "statistic", ratio->statistic);
    json_number(json, "error", ratio->error);
    json_unsigned(json, "degrees_of_freedom", ratio->freedom);
    json_unsigned(json, "variances_on_the_border", ratio->n_variance);
    json_number(json, "p", ratio->p);
    json_boolean(json, "p_is_upper_bound", ratio->n_variance > 1);
    json_boolean(json, "large_is_worse", compare_ratio_is_worse(ratio));
    json_object_end(json);
}

void compare_population_json(struct json *json, const struct comparison *comparison)
{
    if (count_populations(comparison) == 0)
        return;
    json_array_begin(json, "populations");
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct result_population *population = comparison->population[r];
        if (!population)
            continue;
        json_object_begin(json, NULL);
        json_unsigned(json, "result", r + 1);
        json_unsigned(json, "estimates", population->m);
        population_head_json(json, &population->head);
        json_object_end(json);
    }
    json_array_end(json);
    json_array_begin(json, "population_ratio");
    for (size_t i = 0; i < comparison->n_ratio; i++)
        put_ratio(json, &comparison->ratio[i]);
    json_array_end(json);
}
