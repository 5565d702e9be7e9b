/* The group /population of a result: what a fit with random parameters found of their distribution.
 * Separate from mixed_result.h, which knows parameters by number and the optimiser's scale alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/view.h"
#include "io/result/mixed_result.h"
#include "io/result/result.h"

enum { POPULATION_FLAT = 300 }; /* bytes of result_population_flat */

/* What a population says as a whole. */
struct population_head {
    double minus_2_log_likelihood, likelihood_error, aic, bic, condition;
    double log_prior;                     /* NaN: there are no priors, or a file does not say it */
    uint64_t n_dataset, n_left_out, n_row;
    const char *likelihood;               /* likelihood_name, or what a file says instead */
};

/* r random parameters, q that vary between the experiments of a dataset, s shared ones that were
 * fitted, m estimates. "Optimiser's scale": log, log10
 * or lin, as `scale` says of each random parameter. */
struct result_population {
    size_t r, q, s, m;
    const char *const *name, *const *scale, *const *occasion_name, *const *shared_name,
        *const *estimate_name;
    /* r each; covariance and correlation r x r */
    double *mean, *covariance, *standard_deviation; /* on the optimiser's scale */
    double *natural_mean, *natural_error; /* of a log scale: the median, and its standard error */
    double *correlation;                  /* NaN where a variance is 0 */
    double *shrinkage;
    double *occasion_deviation;           /* q: over experiments, on the optimiser's scale */
    double *shared, *shared_error;        /* s, natural scale */
    /* m, and m x m: means, entries of the covariance, variances over experiments, shared ones;
     * optimiser's scale */
    double *estimate, *error, *error_scores, *error_sandwich, *error_covariance;
    double *flat; /* m: 1 for estimates of a direction that the data do not determine, or 0 */
    struct population_head head;
    /* M: of bootstrap replicates, if n_bootstrap of them succeeded: standard deviations, and the
     * ends of 95 % intervals; as `estimate`. */
    uint64_t n_bootstrap;
    double *bootstrap_error, *bootstrap_lower, *bootstrap_upper;
};

/* "mean(e), AF and AP cannot be told apart", or that the data do not determine one; "": neither. */
const char *result_population_flat(const struct result_population *population, char *text,
                                   size_t n);
/* Adds the facts of a population to the open group. */
void population_facts(struct view *view, const struct population_head *head);

/* In `arena`; NULL: out of memory. Parameters have these names and scales in the file's order. */
struct result_population *result_population_make(const struct mixed_result *from,
                                                 const char *const *name, const char *const *scale,
                                                 struct arena *arena);
enum status result_writer_population(struct result_writer *writer,
                                     const struct result_population *population,
                                     struct error *error);
/* *population is NULL if the result has none. */
enum status result_population_read(const struct result_population **population,
                                   const struct result *result, struct arena *arena,
                                   struct error *error);
/* The standard deviation of a natural value relative to its mean, of a normal distribution with
 * that standard deviation on a scale log or log10 (of which exp(s^2) - 1 is the square); NaN on
 * scale lin. */
double result_population_variation(const char *scale, double standard_deviation);
/* The standard error of a standard deviation, of that random parameter or, with "@experiment", over
 * experiments; NaN: unknown. */
double result_population_deviation_error(const struct result_population *population,
                                         const char *name, const char *by, double deviation);
/* Whether the mean of that random parameter was fixed: it is no estimate. */
bool result_population_is_fixed(const struct result_population *population, const char *name);
/* The next pair of random parameters, j < i, that are known to be correlated: begin with i = j = 0.
 * False: there is none. */
bool result_population_next_pair(const struct result_population *population, size_t *i, size_t *j);
/* From the optimiser's scale to the natural one, and the derivative of that. */
double result_population_natural(const char *scale, double value, double *slope);
