/* Predictions of a model, or of a result's datasets at their best fits, and problem files made from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef USE_SIMULATE_H
#define USE_SIMULATE_H

#include "base/option.h"
#include "base/output.h"
#include "io/problem_write.h"
#include "use/fitted.h"

#include <math.h>

enum simulate_method { METHOD_RESIDUAL, METHOD_PARAMETRIC };

struct simulate_options {
    struct fitted_options files; /* result: or NULL */
    const char *times, *id, *truth;
    bool overwrite, embed, no_sigma;
    struct option_list set, covariate, observable;
    int64_t n_dataset, n_bootstrap, seed;
    double spread, noise, noise_absolute, t0;
    struct ode_options ode;
    int method; /* enum simulate_method */
};

/* What was made: the numbers of datasets and of rows in each; n_lost rows cannot be computed. */
struct simulate_made {
    uint64_t n_dataset;
    size_t n_row, n_lost;
};

/* Purposes of random streams: what is drawn for one purpose never shifts what is drawn for another. */
enum { PURPOSE_PARAMETER = 1, PURPOSE_NOISE = 2, PURPOSE_BOOTSTRAP = 3 };

/* CSV in the long form that `stiffit import` reads: dataset, time, observable, value. Both open the output once there is
 * something to write, and leave it to be finished: models print as long as they are loaded. */
enum status simulate_table(const struct simulate_options *options, const struct model *model, struct output *output,
                           struct simulate_made *made, struct error *error);
enum status simulate_fitted_table(const struct simulate_options *options, struct output *output, struct error *error);
/* Problem files: synthetic datasets; a dataset of a result and replicas of it. `model` was loaded from options->files.model. */
enum status simulate_synthetic(const struct simulate_options *options, const struct model *model, struct simulate_made *made,
                               struct error *error);
enum status simulate_bootstrap(const struct simulate_options *options, struct simulate_made *made, struct error *error);

/* What is asked for besides parameters: a grid of times x observables. simulate_grid_fini is legal after a failure. */
struct simulate_grid {
    double t0;
    size_t n;             /* rows: time by time, each with the wanted observables in the model's order */
    double *time;
    uint32_t *observable;
};
enum status simulate_grid_init(struct simulate_grid *grid, const struct simulate_options *options, const struct model *model,
                               struct error *error);
void simulate_grid_fini(struct simulate_grid *grid);

/* The model's starts with --set; STATUS_USAGE if some parameter has neither. out: n_parameter, the model's order. */
enum status simulate_parameters(const struct simulate_options *options, const struct model *model, double *out,
                                struct error *error);
/* Values of --covariate: dataset d takes entry d modulo their number. */
struct simulate_covariates {
    size_t n;          /* covariates of the model */
    double **value;    /* n lists */
    size_t *n_value;
};
enum status simulate_covariates_init(struct simulate_covariates *covariates, const struct simulate_options *options,
                                     const struct model *model, struct error *error);
void simulate_covariates_fini(struct simulate_covariates *covariates);
void simulate_covariates_take(const struct simulate_covariates *covariates, uint64_t dataset, double *out);

#endif
