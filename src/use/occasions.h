/* What the experiments of a dataset add to its random parameters (`--random k@experiment`): the
 * most probable values, given the dataset's own parameters, which alone are in the result.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/population.h"
#include "use/fitted.h"

/* The latest dataset's, for q parameters that vary between experiments. */
struct occasions {
    size_t n_experiment, n_row; /* room */
    double *effect, *other;  /* n_experiment x q, optimiser's scale: scratch */
    double *found;           /* n_experiment x q, optimiser's scale: the effects of `dataset` */
    double *found_by;        /* n_experiment x n_parameter: the parameters with `found` */
    double *left, *here, *right, *step; /* n_experiment: values of the objective; steps */
    double *by_experiment;   /* as found_by, with other effects */
    double *prediction, *noise; /* n_row */
    bool is_found;
    uint64_t dataset;        /* the file's number */
};

/* Finds the effects of a dataset that has a best fit: fitted->occasions->found and found_by, valid
 * until the next call. False: out of memory. */
bool occasions_find(struct fitted *fitted, const struct fitted_dataset *dataset);
/* The natural value of parameter i, moved by this on the optimiser's scale. */
double occasions_shift(const struct fitted *fitted, size_t i, double value, double by);
/* The parameters of n experiments (n x n_parameter) of a dataset with parameters p and these
 * effects (n x q; NULL: none). */
void occasions_apply(const struct fitted *fitted, size_t n, const double *p, const double *effect,
                     double *by_experiment);
