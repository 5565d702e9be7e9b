/* A problem file like that of a result, with other values: bootstrap replicates, new datasets of a
 * population.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "import/plugin_reference.h"
#include "use/simulate.h"

struct simulate_copy {
    struct own_columns column;  /* of the result, but for covariates of the model */
    size_t *column_from;        /* of each: its number in the result */
    struct own_value *own;      /* scratch */
    struct plugin_reference reference;
    struct problem_writer *writer;
    const char **error_word; /* n_observable of the model: the errors of the fit */
};

/* Of the new file. start NULL: each dataset has its own, and so `fixed`, which is NULL, too. */
struct simulate_copy_parameters {
    struct parameters is; /* start, lower, upper, fixed */
    const char *random, *share, *random_covariance; /* for /options; or NULL */
};

/* The parameters' arrays must stay until simulate_copy_close, which is legal after a failure and on
 * a zeroed struct. */
enum status simulate_copy_open(struct simulate_copy *copy, const struct fitted *fitted,
                               const struct simulate_options *options,
                               const struct simulate_copy_parameters *parameters,
                               struct error *error);
/* Adds the dataset with these values of its measurements; start: NULL, or its own start and
 * fixed. */
enum status simulate_copy_add(struct simulate_copy *copy, const struct fitted_dataset *data,
                              const char *id, double *value,
                              const struct parameters *start, struct error *error);
void simulate_copy_close(struct simulate_copy *copy);
