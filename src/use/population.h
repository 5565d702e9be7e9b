/* `stiffit population`: what the fits of a result say about the population from which the
 * datasets come.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/statistics/two_stage.h"
#include "fit/objective/types.h"
#include "io/table/csv.h"
#include "io/result/result.h"

struct population_options {
    const char *result;
    /* names between commas; NULL: all that differ between the converged fits */
    const char *parameters;
    bool pools_sigma;       /* all datasets have one unknown sigma */
};

enum population_use { POPULATION_USED, POPULATION_NOT_CONVERGED, POPULATION_NO_COVARIANCE };
const char *population_use_name(enum population_use use);
/* A dataset of the result. */
struct population_row {
    const char *id;
    enum outcome outcome;
    enum population_use use;
    size_t fit; /* among those that are used */
};

/* Numbers are on the optimiser's scales (log, log10, lin) unless they are called natural. */
struct population {
    const struct result_info *info;
    size_t k;                     /* parameters */
    const size_t *parameter;      /* k: of the file */
    const enum parameter_scale *scale; /* of all the file's parameters */
    uint64_t n_row, n_left[3];    /* datasets; by enum population_use */
    uint64_t n_with_prior;        /* used fits that had priors, which count twice here */
    const struct population_row *row;
    struct two_stage found;
    /* k: standard deviation of the estimates, which includes their errors */
    const double *raw_deviation;
    /* k: 1 - standard deviation of the shrunken estimates / that of the population */
    const double *shrinkage;
    double sigma;                 /* pooled; NaN: it is not */
};

struct population_work;
/* Keeps k + k k numbers of each converged fit in memory. STATUS_USAGE: unknown names, or fits
 * that the options do not suit; STATUS_BAD_PROBLEM: fewer than two fits can be used.
 * population_free is legal after a failure; it ends the population. */
enum status population_read(struct population_work **work, const struct population_options *options,
                            struct error *error);
const struct population *population_get(const struct population_work *work);
void population_free(struct population_work *work);

/* Standard deviation of parameter j over the population. */
double population_deviation(const struct population *population, size_t j);
/* Half the length of the 95 % interval of the mean (Student's t, n - 1). */
double population_half_interval(const struct population *population, size_t j);
/* The natural value of a number on the scale of parameter j. */
double population_natural(const struct population *population, size_t j, double value);

/* A row for each dataset: its shrunken estimates with their standard errors, and its fit;
 * natural scale. False: out of memory. */
bool population_csv(const struct population *population, struct csv_writer *writer);
/* The population as priors: a table for `stiffit import --parameters`. Parameters that do not
 * vary are left out. */
void population_priors(const struct population *population, struct csv_writer *writer);
