/* Compares fits with random parameters as wholes: their likelihoods are of all datasets together.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/population.h"

/* A likelihood-ratio test of two of them: what `small` estimates is some of what `large` does. */
struct compare_ratio {
    size_t small, large;
    size_t freedom;     /* estimates that only `large` has */
    size_t n_variance;  /* variances among these: `small` has 0 there, on the border */
    double statistic, error; /* the difference of -2 log L, and its error */
    /* Of a chi-square, or with one variance of half a chi-square with freedom - 1 and half one with
     * `freedom` (Self & Liang 1987; Stram & Lee 1994, cases 5 and 6). With more variances the
     * weights depend on the data; the chi-square gives an upper bound. */
    double p;
};

/* Whether the likelihoods are of the same kind and as many data. */
bool compare_is_comparable(const struct result_population *a, const struct result_population *b);
/* False: they are not comparable, or `small` is not within `large`. Fills all but the numbers of
 * the results. */
bool compare_ratio_init(struct compare_ratio *ratio, const struct result_population *small,
                        const struct result_population *large);
/* The larger model fits worse, by more than the errors: it has missed the optimum. */
bool compare_ratio_is_worse(const struct compare_ratio *ratio);
