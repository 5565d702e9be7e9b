/* Whether a population describes its data: quantiles of the measurements over time, beside those
 * of new datasets of the population (a visual predictive check: Holford 2005; Karlsson & Holford
 * 2008), also corrected for differences between the datasets (Bergstrand et al. 2011), and where
 * each measurement lies among its replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "use/fitted.h"

enum { CHECK_N_QUANTILE = 3 }; /* 5, 50 and 95 % */
extern const double check_share[CHECK_N_QUANTILE];

/* A measurement that is not missing. */
struct check_point {
    uint32_t observable;
    double time, value;
    /* as in struct measurements: value is the limit; 0 for one in an interval, whose value is one
     * that is possible in it */
    int8_t censored;
    double typical, individual, conditional, score, decorrelated; /* as in struct population_view */
    /* value * factor + shift: prediction-corrected; NaN: not possible */
    double factor, shift;
    size_t row;                 /* of its replicates in struct population_check */
};

/* Measurements of an observable at about one time; at most CHECK_MOST_BIN for each. */
enum { CHECK_MOST_BIN = 20, CHECK_N_BIN = 12 };
struct check_bin {
    uint32_t observable;
    size_t n;
    double time, first, last;   /* the median, the least and the largest */
    double data[CHECK_N_QUANTILE];
    /* of the replicates' quantiles: median, and 5 and 95 % */
    double middle[CHECK_N_QUANTILE], lower[CHECK_N_QUANTILE], upper[CHECK_N_QUANTILE];
};

struct check_options {
    uint64_t seed;
    size_t n_replicate;
};
/* The number of replicates if no option gives another one. */
enum { CHECK_N_REPLICATE = 200, CHECK_MOST_REPLICATE = 100000 };

struct population_check {
    size_t n_replicate, n_point, n_bin;
    uint64_t n_dataset;         /* those that were used: all, or every so many */
    struct check_point *point;  /* by observable, then time */
    struct check_bin *bin, *corrected; /* n_bin each, the same measurements */
    double *replicate;          /* n_point x n_replicate; NaN: cannot be computed */
    size_t n_covariate, r;      /* of the model; random parameters */
    double *dataset;            /* n_dataset x (n_covariate + r): covariates of its first
                                 * experiment, then its random parameters, natural scale (NaN: there
                                 * is no best fit) */
};

/* `fitted` is open, at its beginning, and has a population. Goes through all of it.
 * Zero-initialise; population_check_fini is legal after a failure. */
enum status population_check_make(struct population_check *check, struct fitted *fitted,
                                  const struct check_options *options, struct error *error);
/* Whether the correction of an observable is by differences: its predictions are not all above
 * zero, where ratios mean nothing. Of its points. */
bool population_check_differs(const struct population_check *check, uint32_t observable);
void population_check_fini(struct population_check *check);
