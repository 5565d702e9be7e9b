/* What `stiffit compare` prints of fits with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/compare_population.h"

#include "base/words.h"

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

static void add_ratio(struct view *view, const struct compare_ratio *ratio)
{
    VIEW_ROW(view, fact_count("small", NULL, 0, (int64_t)ratio->small + 1),
             fact_count("large", NULL, 0, (int64_t)ratio->large + 1),
             fact_number("statistic", NULL, 0, 0, ratio->statistic),
             fact_number("error", NULL, 0, 0, ratio->error),
             fact_count("degrees_of_freedom", NULL, 0, (int64_t)ratio->freedom),
             fact_count("variances_on_the_border", NULL, 0, (int64_t)ratio->n_variance),
             fact_number("p", NULL, 0, 0, ratio->p),
             fact_truth("p_is_upper_bound", ratio->n_variance > 1),
             fact_truth("large_is_worse", compare_ratio_is_worse(ratio)));
}

static void say_ratio(struct view *view, const struct compare_ratio *ratio)
{
    bool is_bound = ratio->p <= 1e-15 || ratio->n_variance > 1;
    view_say(view,
             "\nLikelihood-ratio test; valid if model %zu is nested in model %zu: difference of -2 "
             "log L %.6g",
             ratio->small + 1, ratio->large + 1, ratio->statistic);
    if (ratio->error > 0)
        view_say(view, " +- %.2g", ratio->error);
    view_say(view, ", p %s %.3g\n", is_bound ? "<" : "=", ratio->p);
    if (ratio->n_variance == 0)
        view_say(view, "  (chi-square with %zu degree%s of freedom)\n", ratio->freedom,
                 plural(ratio->freedom));
    else if (ratio->n_variance == 1)
        view_say(view,
                 "  (one variance is 0 in model %zu: p is the mean of the two for chi-square with "
                 "%zu and with %zu degrees of freedom)\n",
                 ratio->small + 1, ratio->freedom - 1, ratio->freedom);
    else
        view_say(view,
                 "  (%zu variances are 0 in model %zu: chi-square with %zu degrees of freedom, an "
                 "upper bound)\n",
                 ratio->n_variance, ratio->small + 1, ratio->freedom);
    if (compare_ratio_is_worse(ratio))
        view_say(view,
                 "  model %zu fits worse than model %zu: it missed the optimum (try --starts), or "
                 "the models are not nested\n",
                 ratio->large + 1, ratio->small + 1);
}

void compare_add_populations(struct view *view, const struct comparison *comparison)
{
    double aic = least_of(comparison, false), bic = least_of(comparison, true);
    const struct result_population *first = NULL;
    bool is_same = true;
    if (count_populations(comparison) == 0)
        return;
    view_table(view, "populations", "Populations", VIEW_PLAIN);
    for (size_t r = 0; r < comparison->n_result; r++) {
        const struct result_population *population = comparison->population[r];
        if (!population)
            continue;
        const struct population_head *head = &population->head;
        first = first ? first : population;
        is_same = is_same && compare_is_comparable(first, population);
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_count("result", "", 1, (int64_t)r + 1),
                   fact_count("estimates", "estimates", 11, (int64_t)population->m),
                   fact_number(NULL, "-2 log L", 15, 9, head->minus_2_log_likelihood),
                   fact_number(NULL, "+-", 9, 2, head->likelihood_error),
                   fact_number(NULL, "AIC", 14, 9, head->aic),
                   fact_number(NULL, "difference", 12, 5, head->aic - aic),
                   fact_number(NULL, "BIC", 14, 9, head->bic),
                   fact_number(NULL, "difference", 12, 5, head->bic - bic));
        population_facts(view, head);
        view_end(view);
    }
    view_end(view);
    if (!is_same)
        view_say(view,
                 "  Not comparable: the results differ in the number of datasets or measurements, "
                 "or some likelihoods are\n  exact and others Laplace's approximation\n");
    view_table(view, "population_ratio", NULL, VIEW_HIDDEN);
    for (size_t i = 0; i < comparison->n_ratio; i++)
        add_ratio(view, &comparison->ratio[i]);
    view_end(view);
    for (size_t i = 0; i < comparison->n_ratio; i++)
        say_ratio(view, &comparison->ratio[i]);
}
