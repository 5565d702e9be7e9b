/* A block of datasets of a problem file, in the model's terms.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/experiment.h"
#include "base/measurements.h"

/* The n selected datasets among [first, end), and their experiments: those of dataset d of the
 * block are [first_experiment[d], first_experiment[d + 1]), in the file's order. A dataset of a
 * file without /experiments is one experiment. Rows of experiment e are [row[e], row[e + 1]), in
 * the file's order. Valid until the next read into the block. A dataset with a fault may have any
 * numbers, and no experiment.
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
    struct experiment *experiment; /* n_experiment; ids are "" in a file without /experiments */
    size_t *row;                  /* n_experiment + 1 */
    struct measurements measured; /* all columns but the line; `observable` is the MODEL's index */
    struct problem_room *room;    /* the reader's own */
    struct arena *arena;
};
