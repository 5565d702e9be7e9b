/* What a fit with random parameters has found of the population: mean and covariance of these
 * parameters over the datasets, shared ones, and the likelihood. The process that fits leaves it
 * in the journal, the finishing one writes it to /population.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "io/journal/journal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which likelihood was maximised. */
enum likelihood { LIKELIHOOD_EXACT, LIKELIHOOD_LAPLACE };
const char *likelihood_name(int number); /* NULL beyond the last */

/* Numbers are on the optimiser's scale (log, log10 or lin, by parameter). Matrices are symmetric.
 * Estimates are, in this order: the means of the random parameters, in their order, but for those
 * that are fixed; the entries
 * (row i >= column j) of the covariance that are estimated, column after column; the variances over
 * the experiments of a dataset; the values of the shared parameters. */
struct mixed_result {
    size_t r, s, m;         /* random parameters; shared ones that are fitted; estimates */
    size_t q;               /* parameters that vary between the experiments of a dataset */
    uint32_t *random;       /* r: the file's indices, increasing */
    uint32_t *shared;       /* s: the file's indices, increasing */
    uint8_t *is_estimated;  /* r x r: the entries of the covariance; the others are 0 */
    uint8_t *is_fixed;      /* r: this mean is no estimate */
    uint8_t *is_flat;       /* m: estimates that cannot be told apart: the flattest direction's */
    double *mean;           /* r */
    double *covariance;     /* r x r; a variance that went to zero is 0 with its row and column */
    double *value;          /* s */
    uint32_t *occasion;     /* q: the file's indices, increasing */
    double *variance;       /* q: over the experiments */
    double *standard_error; /* m: from the second derivatives of the log-likelihood; NaN: unknown,
                             * or it is held by a bound */
    double *by_scores;      /* m: from the outer products of its gradients by dataset */
    double *sandwich;       /* m: robust, from both */
    double *error_covariance; /* m x m: squares of standard_error on its diagonal */
    double *shrinkage;      /* r: mean of the conditional variances / variance; NaN: that is 0 */
    double minus_2_log_likelihood; /* with all constants */
    double log_prior;              /* of the estimates' density; NaN: there are no priors */
    double likelihood_error;       /* its error, by what more points changed; 0: Laplace's */
    double condition;       /* number of the correlation matrix of the estimates */
    uint64_t n_dataset, n_left_out, n_row; /* datasets that count; others; measurements of these */
    int likelihood;         /* enum likelihood */
    int outcome;            /* enum outcome */
    int64_t n_iteration;
};

/* Room for r, s, m and q, which are set, in `arena`, all zeros. False: out of memory. */
bool mixed_result_init(struct mixed_result *result, struct arena *arena);
/* The journal has the population of the best of the first n_start starts, or nothing if none of
 * them has one: the payload of a frame whose number is n_start. Its bytes, to be freed; NULL: out
 * of memory. */
unsigned char *mixed_result_bytes(const struct mixed_result *result, size_t *n);
/* *n_start: those that it covers; 0: the journal has no such frame, or only damaged ones.
 * *is_there: there is a population. An error: the frame cannot be read, or out of memory. */
enum status mixed_result_read(struct mixed_result *result, bool *is_there, uint32_t *n_start,
                              struct journal_reader *journal, struct arena *arena,
                              struct error *error);
/* Reads a population from a frame's n bytes. *is_there: false if they hold none. */
enum status mixed_result_decode(struct mixed_result *result, bool *is_there,
                                const unsigned char *bytes, size_t n, struct arena *arena,
                                struct error *error);
/* All m estimates, in their order. */
void mixed_result_estimates(const struct mixed_result *result, double *estimate);
/* What was minimised: -log of the likelihood times the priors' density. */
double mixed_result_objective(const struct mixed_result *result);
/* Akaike's criterion; Schwarz's with the number of datasets, or of measurements. */
double mixed_result_aic(const struct mixed_result *result);
double mixed_result_bic(const struct mixed_result *result, uint64_t n);
