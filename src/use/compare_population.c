/* SPDX-License-Identifier: BSD-3-Clause */
#include "use/compare_population.h"

#include "fit/objective/distribution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 1000 };

static bool has(const struct result_population *population, const char *name)
{
    for (size_t i = 0; i < population->m; i++)
        if (!strcmp(population->estimate_name[i], name))
            return true;
    return false;
}

/* Whether it is estimated there, too; a covariance may have its names in the other order, and a
 * shared parameter may be the mean of a random one. */
static bool is_estimated(const struct result_population *population, const char *name)
{
    char other[MAX_NAME], a[MAX_NAME / 2], b[MAX_NAME / 2];
    bool is_covariance = sscanf(name, "cov(%499[^,],%499[^)])", a, b) == 2;
    if (is_covariance)
        snprintf(other, sizeof other, "cov(%s,%s)", b, a);
    else
        snprintf(other, sizeof other, "mean(%.900s)", name);
    return has(population, name) || has(population, other);
}

bool compare_is_comparable(const struct result_population *a, const struct result_population *b)
{
    return !strcmp(a->head.likelihood, b->head.likelihood) && a->head.n_dataset == b->head.n_dataset
           && a->head.n_row == b->head.n_row;
}

/* P(X > statistic); of no degree of freedom X is 0. */
static double tail(double statistic, size_t freedom)
{
    if (freedom == 0)
        return statistic <= 0;
    return fmax(1 - distribution_chi_square(fmax(statistic, 0), (double)freedom), 1e-15);
}

bool compare_ratio_init(struct compare_ratio *ratio, const struct result_population *small,
                        const struct result_population *large)
{
    bool all = compare_is_comparable(small, large) && small->m < large->m
               && isnan(small->head.log_prior) && isnan(large->head.log_prior); /* else no maxima */
    for (size_t i = 0; i < small->m && all; i++)
        all = is_estimated(large, small->estimate_name[i]);
    if (!all)
        return false;
    ratio->freedom = large->m - small->m;
    ratio->n_variance = 0;
    for (size_t i = 0; i < large->m; i++)
        ratio->n_variance += !strncmp(large->estimate_name[i], "var(", 4)
                             && !has(small, large->estimate_name[i]);
    ratio->statistic = small->head.minus_2_log_likelihood - large->head.minus_2_log_likelihood;
    ratio->error = hypot(small->head.likelihood_error, large->head.likelihood_error);
    ratio->p = tail(ratio->statistic, ratio->freedom);
    if (ratio->n_variance == 1)
        ratio->p = 0.5 * ratio->p + 0.5 * tail(ratio->statistic, ratio->freedom - 1);
    return true;
}

bool compare_ratio_is_worse(const struct compare_ratio *ratio)
{
    return ratio->statistic < -1e-3 - 3 * ratio->error;
}
