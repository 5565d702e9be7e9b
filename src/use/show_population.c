/* Puts together what is shown of the population of a result: of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/show_view.h"

#include "base/memory.h"
#include "base/words.h"
#include "use/population_draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = -12 }; /* width of the first column */
/* A correlation this close to 1 is 1. */
static const double LAST_DIGITS = 1e-9;
/* Estimates with a larger condition number cannot be told apart by data of the usual precision. */
static const double HIGH_CONDITION = 1e6;
/* A standard normal deviate is below this with a probability of 97.5 %. */
static const double NORMAL_97_5 = 1.959963984540054;

static void add_head(struct view *view, const struct result_population *population)
{
    const struct population_head *head = &population->head;
    char flat[POPULATION_FLAT];
    view_say(view, "  -2 log L %.10g", head->minus_2_log_likelihood);
    if (head->likelihood_error > 0)
        view_say(view, " +- %.2g", head->likelihood_error);
    view_say(view, " (%s), AIC %.10g, BIC %.10g (with the number of datasets)\n",
             strcmp(head->likelihood, "laplace") ? "exact likelihood" : "Laplace's approximation",
             head->aic, head->bic);
    view_say(view, "  %zu estimates from %llu measurements", population->m,
             (unsigned long long)head->n_row);
    if (head->n_left_out)
        view_say(view, "; %llu dataset%s left out", (unsigned long long)head->n_left_out,
                 head->n_left_out == 1 ? " was" : "s were");
    if (!isnan(head->log_prior))
        view_say(view, "; with priors, whose log density is %.6g", head->log_prior);
    if (isfinite(head->condition))
        view_say(view, "; condition number %.3g%s", head->condition,
                 head->condition > HIGH_CONDITION
                     ? ", which is high: some of them cannot be told apart" : "");
    view_say(view, "\n");
    if (*result_population_flat(population, flat, sizeof flat))
        view_say(view, "  %s\n", flat);
    population_facts(view, head);
}

static const char *remark(double deviation, bool is_fixed)
{
    if (!(deviation > 0))
        return is_fixed ? "its mean is fixed; no variance was found" : "no variance was found";
    return is_fixed ? "its mean is fixed" : "";
}

/* The interval of 95 % of a standard deviation, by the normal distribution of its logarithm: it is
 * within what can be, and as skewed as the likelihood. */
static void add_interval(struct view *view, double deviation, double error)
{
    double factor = deviation > 0 ? exp(NORMAL_97_5 * error / deviation) : (double)NAN,
           lower = deviation / factor, upper = deviation * factor;
    const char *word = isfinite(factor) ? view_word(view, "%.3g to %.3g", lower, upper) : "-";
    VIEW_FACTS(view, fact_number("standard_deviation_lower", NULL, 0, 0, lower),
               fact_number("standard_deviation_upper", NULL, 0, 0, upper),
               fact_word(NULL, "deviation, 95 %", 17, word));
}

static void add_random(struct view *view, const struct result_population *population)
{
    view_table(view, "random", "Random parameters", VIEW_PLAIN);
    for (size_t i = 0; i < population->r; i++) {
        const char *name = population->name[i], *scale = population->scale[i];
        double deviation = population->standard_deviation[i],
               error = result_population_deviation_error(population, name, "", deviation),
               variation = result_population_variation(scale, deviation);
        bool is_fixed = result_population_is_fixed(population, name);
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_word("name", "random", NAME, name),
                   fact_word("scale", NULL, 0, scale),
                   fact_number("mean", NULL, 0, 0, population->mean[i]),
                   fact_truth("mean_is_fixed", is_fixed),
                   fact_number("natural_mean", "typical", 12, 5, population->natural_mean[i]),
                   fact_number("natural_standard_error", "std. error", 12, 3,
                               population->natural_error[i]),
                   fact_number("standard_deviation", "deviation", 12, 4, deviation),
                   fact_number("standard_deviation_error", "std. error", 12, 3, error));
        add_interval(view, deviation, error);
        VIEW_FACTS(view, fact_number("coefficient_of_variation", NULL, 0, 0, variation),
                   fact_number(NULL, "CV %", 8, 4, 100 * variation),
                   fact_number("shrinkage", "shrinkage", 10, 3, population->shrinkage[i]),
                   fact_how(FACT_NOT_IN_PAGE,
                            fact_word(NULL, "", -1, remark(deviation, is_fixed))));
        view_end(view);
    }
    view_end(view);
    view_say(view, "  (typical: the mean, of a logarithmic scale the median; deviation: standard "
             "deviation over\n   the population, on the optimiser's scale)\n");
}

static bool is_at_border(double correlation) { return fabs(correlation) > 1 - LAST_DIGITS; }

/* Whether some combination of the parameters that vary does not. */
static bool is_singular(const struct result_population *population)
{
    size_t r = population->r;
    bool is = false;
    double *factor = memory_calloc(r * r + 1, sizeof *factor);
    if (!factor)
        return false;
    population_draw_factor(population->covariance, r, factor);
    for (size_t j = 0; j < r; j++) {
        double variance = population->covariance[j * r + j],
               own = factor[j + j * r] * factor[j + j * r];
        is = is || (variance > 0 && own < LAST_DIGITS * variance);
    }
    free(factor);
    return is;
}

static void add_correlations(struct view *view, const struct result_population *population)
{
    size_t i = 0, j = 0;
    bool any = false;
    view_group(view, NULL, "  Correlations over the population", VIEW_PLAIN);
    view_table(view, NULL, "Correlations over the population", VIEW_HEADLESS);
    while (result_population_next_pair(population, &i, &j)) {
        double correlation = population->correlation[i * population->r + j];
        VIEW_ROW(view, fact_word(NULL, "parameter", NAME, population->name[j]),
                 fact_word(NULL, "and", NAME, population->name[i]),
                 fact_word(NULL, "correlation", 8, view_word(view, "%.4f", correlation)),
                 fact_how(FACT_NOT_IN_PAGE, fact_word(NULL, "", -1, is_at_border(correlation)
                                                      ? "at its border" : "")));
        any = any || is_at_border(correlation);
    }
    view_end(view);
    if (any)
        view_say(view, "  (a correlation of 1 or -1 means that the data do not show these "
                 "parameters to vary\n   separately; standard errors of their covariance are not "
                 "valid there and left out;\n   --random-covariance diagonal fits without "
                 "correlations)\n");
    else if (is_singular(population))
        view_say(view, "  (the covariance is singular: some combination of these parameters does "
                 "not vary over the\n   population; standard errors of the covariance are not "
                 "valid there and left out)\n");
    view_end(view);
}

static void add_occasions(struct view *view, const struct result_population *population)
{
    view_table(view, "by_experiment", "By experiment", VIEW_PLAIN);
    for (size_t i = 0; i < population->q; i++) {
        const char *name = population->occasion_name[i];
        double deviation = population->occasion_deviation[i],
               error = result_population_deviation_error(population, name, "@experiment",
                                                         deviation);
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_word("name", "by experiment", NAME, name),
                   fact_number("standard_deviation", "deviation", 12, 4, deviation),
                   fact_number("standard_deviation_error", "std. error", 12, 3, error));
        add_interval(view, deviation, error);
        view_end(view);
    }
    view_end(view);
}

static void add_shared(struct view *view, const struct result_population *population)
{
    view_table(view, "shared", "Shared parameters", VIEW_PLAIN);
    for (size_t i = 0; i < population->s; i++)
        VIEW_ROW(view, fact_word("name", "shared", NAME, population->shared_name[i]),
                 fact_number("value", "value", 12, 5, population->shared[i]),
                 fact_number("standard_error", "std. error", 12, 3, population->shared_error[i]));
    view_end(view);
}

static void add_estimates(struct view *view, const struct result_population *population)
{
    bool has_bootstrap = population->n_bootstrap > 0;
    view_table(view, "estimates", "Bootstrap", has_bootstrap ? VIEW_PLAIN : VIEW_HIDDEN);
    for (size_t k = 0; k < population->m; k++) {
        view_row(view, NULL, VIEW_PLAIN);
        VIEW_FACTS(view, fact_word("name", "bootstrap", NAME, population->estimate_name[k]),
                   fact_number("value", "estimate", 12, 5, population->estimate[k]),
                   fact_number("standard_error", NULL, 0, 0, population->error[k]),
                   fact_number("standard_error_scores", NULL, 0, 0, population->error_scores[k]),
                   fact_number("standard_error_sandwich", NULL, 0, 0,
                               population->error_sandwich[k]),
                   fact_truth("flat", population->flat[k] != 0));
        if (has_bootstrap)
            VIEW_FACTS(view,
                       fact_number("bootstrap_standard_error", "std. error", 12, 3,
                                   population->bootstrap_error[k]),
                       fact_number("bootstrap_lower", "from", 12, 5,
                                   population->bootstrap_lower[k]),
                       fact_number("bootstrap_upper", "to", 12, 5,
                                   population->bootstrap_upper[k]));
        view_end(view);
    }
    view_end(view);
    if (has_bootstrap)
        view_say(view, "  (%llu replicates of the datasets; on the optimiser's scale; 95 %% "
                 "percentiles)\n", (unsigned long long)population->n_bootstrap);
}

void show_population(struct view *view, const struct result_population *population)
{
    size_t r = population->r;
    unsigned long long n = population->head.n_dataset;
    void (*const part[])(struct view *view, const struct result_population *population) = {
        add_random, add_correlations, add_occasions, add_shared, add_estimates};
    view_group(view, "population", view_word(view, "Population of %llu dataset%s", n, plural(n)),
               VIEW_PLAIN);
    add_head(view, population);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        view_group(view, NULL, "", VIEW_PLAIN);
        part[i](view, population);
        view_end(view);
    }
    VIEW_FACTS(view, fact_matrix("covariance", population->covariance, r),
               fact_matrix("correlation", population->correlation, r));
    view_end(view);
}
