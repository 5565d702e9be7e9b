/* A block of datasets of a problem file, in the model's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/experiment.h"
#include "base/measurements.h"

/* The n selected datasets among [first, end), and their experiments: those of dataset d of the
 * block are [first_experiment[d], first_experiment[d + 1]), in the file's order. A dataset of a
 * file without /experiments is one experiment, so that t0[d] is that of dataset d. Rows of
 * experiment e are [row[e], row[e + 1]), in the file's order, those of doses, events and
 * substitutes alike; input i of the model has its knots in input[e * n_input + i]. Valid until
 * the next read into the block. A dataset with a fault may have any numbers, and no experiment.
 * On a logarithmic scale lower <= 0 is no fault: it means no lower bound. */
struct problem_block {
    uint64_t first, end;
    size_t n;
    uint64_t *dataset;     /* the number of each in the file */
    char **id;
    char **fault;          /* why this dataset is bad, NULL if it is not */
    double *start, *lower, *upper; /* n x n_parameter, row d at d * n_parameter */
    uint8_t *fixed;
    /* n: zeros; for users that have an integrator tolerance for each start, */
    double *rtol;
    /* and n: zeros; for those that know how many parameters affect only the noise */
    int64_t *n_noise;
    /* n: NULLs; for those that know where profiles ended (run/plan/review.h) */
    double **profile_end;
    size_t *first_experiment;     /* n + 1 */

    size_t n_experiment;
    char **experiment_id;         /* n_experiment; "" in a file without /experiments */
    /* n_experiment: index in the block of the one at whose steady state it begins, or
     * EXPERIMENT_NONE. NULL: none does */
    uint32_t *steady;
    double *t0;
    /* n_experiment x n_covariate of the MODEL, row e at e * n_covariate, in the model's order */
    double *covariate;
    size_t *row;                  /* n_experiment + 1 */
    struct measurements measured; /* all columns but the line; `observable` is the MODEL's index */
    size_t *first_dose;           /* n_experiment + 1 */
    struct dose *dose;            /* in order of time; `target` is the MODEL's index */
    /* n_experiment x n_input of the MODEL, each with a knot at least */
    struct input *input;
    size_t *first_call;           /* n_experiment + 1 */
    struct event_call *call;
    size_t *first_substitute;     /* n_experiment + 1 */
    struct substitute *substitute;
    struct problem_room *room;    /* the reader's own */
    struct arena *arena;
};
