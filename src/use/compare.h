/* Compares results of the same data, dataset by dataset: other models, or the same model fitted
 * before and after a change.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/table/csv.h"
#include "use/compare_population.h"
#include "use/show.h"

enum { COMPARE_MOST = 16, COMPARE_UNKNOWN = -1 };

/* A dataset's fit in one result. */
struct compare_cell {
    bool is_there;
    enum outcome outcome;      /* not_run if it is not there */
    /* measurements; or COMPARE_UNKNOWN, in a fit with shared parameters */
    int64_t n_row;
    double log_likelihood, aic, aicc, bic;
    double k;                  /* fitted parameters, as AIC counts them: an unknown sigma is one;
                                * of shared ones, this dataset's share */
};

/* Sums over the datasets that are compared: those that converged in all results, with the same
 * number of measurements. */
struct compare_total {
    const struct result_info *info;
    const char *path, *model;  /* model: its name, or "" */
    uint64_t n_fit, n_converged;
    double k, log_likelihood, aic, aicc, bic;
    double weight;             /* Akaike's, of the sums */
    uint64_t n_least_aic, n_least_bic; /* datasets for which this result has the least one */
};

/* Likelihood-ratio tests of `small`, which is `large` with restrictions: one for each set of
 * datasets that is whole fits in both results (use/compare_fits.h), without shared parameters one
 * for each dataset. */
struct compare_nested {
    size_t small, large;
    bool is_joint;             /* some fits may be of several datasets */
    /* sets with more fitted parameters in `large`; of these, with p below 0.05 */
    uint64_t n, n_significant;
    /* sets in which the larger model fits worse, each by its first dataset: it has not found its
     * optimum, or they are not nested */
    struct digest_examples worse;
    /* datasets that are compared, but whose fit has others that are not: they are not tested */
    struct digest_examples cut;
    double statistic, freedom; /* summed */
    double *p;                 /* of each id: of its set's test; NaN: there is none */
};

/* Datasets whose status differs from that in the first result. */
struct compare_change {
    size_t other;
    enum outcome from, to;
    struct digest_examples fits;
};

/* Datasets in which a parameter differs by more than its standard error in the first result. */
struct compare_moved {
    size_t other, parameter;   /* of the first result */
    uint64_t n;                /* datasets that have both values and the error */
    struct digest_examples fits;
};

struct comparison {
    size_t n_result;
    struct compare_total total[COMPARE_MOST];
    /* all ids; compared; converged in all, but with other numbers of measurements */
    uint64_t n_id, n_compared, n_other_data;
    uint64_t n_no_criteria;    /* converged in all, but without AIC in some */
    const char *const *id;     /* n_id, in the order of their appearance */
    /* columns of the datasets, those of the first result: n_id x n_own values, each from the
     * first result that has the dataset */
    size_t n_own;
    const struct csv_column *own_column;
    const struct own_value *own;
    const struct compare_cell *cell; /* n_id x n_result */
    size_t n_nested, n_change, n_moved;
    struct compare_nested *nested;
    struct compare_change *change;
    struct compare_moved *moved; /* only those with datasets */
    const char *const *parameter_name; /* of the first result */
    const struct result_population *population[COMPARE_MOST]; /* NULL: without random parameters */
    size_t n_ratio;
    struct compare_ratio *ratio; /* tests of populations */
};

struct compare_work;
/* Reads 2 to COMPARE_MOST results; holds a cell of 64 bytes for each fit, 8 bytes for each dataset
 * and test, and the first result's parameters and columns, in memory. where: only datasets for
 * whose row of the first result this holds (use/row_filter.h); NULL: all. The comparison is valid
 * until compare_free, which is legal after a failure. */
enum status compare_read(struct compare_work **work, const char *const *path, size_t n,
                         const char *where, struct error *error);
const struct comparison *compare_get(const struct compare_work *work);
void compare_free(struct compare_work *work);

/* P(X >= statistic), at least 1e-15 (what is left of 1 - P). */
double compare_tail(double statistic, double freedom);
/* Akaike weights of the results for one dataset; NaN if it is not compared. */
void compare_weights(const struct comparison *comparison, uint64_t id, double weight[COMPARE_MOST]);
/* A row for each dataset: the results' columns end in their numbers, from 1. */
void compare_csv(const struct comparison *comparison, struct csv_writer *writer);
