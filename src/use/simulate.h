/* Predictions of a model, or of a result's datasets at their best fits, and problem files made
 * from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/option.h"
#include "base/output.h"
#include "io/problem_write.h"
#include "use/fitted.h"

#include <math.h>

enum simulate_method { METHOD_RESIDUAL, METHOD_PARAMETRIC };

struct simulate_options {
    struct fitted_options files; /* result: or NULL */
    const char *times, *id, *truth;
    bool overwrite, embed, no_sigma, decimal_comma, types_row;
    struct option_list set, covariate, input, observable;
    int64_t n_dataset, n_bootstrap, n_population, seed;
    double spread, noise, noise_absolute, t0;
    struct ode_options ode;
    int method; /* enum simulate_method */
};

/* Counts of what was written: datasets, and rows in each; n_lost rows cannot be computed. */
struct simulate_made {
    uint64_t n_dataset;
    size_t n_row, n_lost;
};

/* Purposes of random streams: the draws for one purpose never shift those for another. */
enum { PURPOSE_PARAMETER = 1, PURPOSE_NOISE = 2, PURPOSE_BOOTSTRAP = 3 };

/* Writes CSV in the long form that `stiffit import` reads: dataset, time, observable, value.
 * Both functions open the output when there is something to write, and the caller finishes it: a
 * loaded model may print. */
enum status simulate_table(const struct simulate_options *options, const struct model *model,
                           struct output *output, struct simulate_made *made, struct error *error);
enum status simulate_fitted_table(const struct simulate_options *options, struct output *output,
                                  struct error *error);
/* Write problem files: synthetic datasets; one dataset of a result with replicates of it; new
 * datasets of a population (here n_row of `made` is of all of them). `model` was loaded from
 * options->files.model. */
enum status simulate_synthetic(const struct simulate_options *options, const struct model *model,
                               struct simulate_made *made, struct error *error);
enum status simulate_bootstrap(const struct simulate_options *options, struct simulate_made *made,
                               struct error *error);
enum status simulate_population(const struct simulate_options *options, struct simulate_made *made,
                                struct error *error);

/* The requested grid of times x observables. simulate_grid_fini is legal after a failure. */
struct simulate_grid {
    double t0;
    /* rows: time by time, each with the wanted observables in the model's order */
    size_t n;
    /* these; with sides, each time has them before what happens at it, and then after it */
    size_t n_wanted;
    double *time;
    uint32_t *observable;
    int8_t *side;         /* NULL: none */
};
enum status simulate_grid_init(struct simulate_grid *grid, const struct simulate_options *options,
                               const struct model *model, bool has_sides, struct error *error);
void simulate_grid_fini(struct simulate_grid *grid);

/* The model's starts with --set, into out: n_parameter, the model's order. STATUS_USAGE: a
 * parameter has neither. */
enum status simulate_parameters(const struct simulate_options *options, const struct model *model,
                                double *out, struct error *error);
/* Values of --covariate and --input: dataset d uses entry d modulo their number. */
struct simulate_covariates {
    size_t n;          /* covariates of the model, then inputs */
    double **value;    /* n lists */
    size_t *n_value;
    struct input *input; /* n_input, each with one knot: in `out` of simulate_covariates_take */
};
enum status simulate_covariates_init(struct simulate_covariates *covariates,
                                     const struct simulate_options *options,
                                     const struct model *model, struct error *error);
void simulate_covariates_fini(struct simulate_covariates *covariates);
/* out: n; must stay as long as `input` is used. */
void simulate_covariates_take(struct simulate_covariates *covariates, uint64_t dataset,
                              double *out);
