/* Predictions of a model, or of a result's datasets at their best fits, and problem files made
 * from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/option.h"
#include "base/output.h"
#include "io/table/csv.h"
#include "io/problem/write.h"
#include "use/fitted.h"

#include <math.h>

enum simulate_method { METHOD_RESIDUAL, METHOD_PARAMETRIC };
/* Where the parameters of replicates come from: those given, the fit's covariance, priors. */
enum simulate_source { SOURCE_GIVEN, SOURCE_COVARIANCE, SOURCE_PRIOR };

/* Tables of a simulation without a fit; NULL: none. */
struct simulate_tables {
    const char *parameters, *experiments, *doses, *inputs, *events;
};

struct simulate_options {
    struct fitted_options files; /* result: or NULL */
    const char *times, *id, *truth, *bands;
    struct simulate_tables tables;
    bool overwrite, embed, no_sigma, decimal_comma, types_row, with_noise, quiet;
    struct option_list set, covariate, input, observable;
    int64_t n_dataset, n_bootstrap, n_population, n_replicate, seed;
    double spread, noise, noise_absolute, t0;
    struct ode_options ode;
    int method; /* enum simulate_method */
    int source; /* enum simulate_source */
    /* hears a note about a table */
    void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Counts of what was written: datasets, and rows in each; n_lost rows cannot be computed. */
struct simulate_made {
    uint64_t n_dataset;
    size_t n_row, n_lost;
    uint64_t n_out; /* values of replicates that quantiles leave out: they cannot be computed */
};

/* Purposes of random streams: the draws for one purpose never shift those for another. */
enum {
    PURPOSE_PARAMETER = 1,
    PURPOSE_NOISE = 2,
    PURPOSE_BOOTSTRAP = 3,
    PURPOSE_REPLICATE = 4,
    PURPOSE_REPLICATE_NOISE = 5
};

/* Writes CSV in the long form that `stiffit import` reads: dataset, time, observable, value.
 * Both functions open the output when there is something to write, and the caller finishes it: a
 * loaded model may print. */
enum status simulate_table(const struct simulate_options *options, const struct model *model,
                           struct output *output, struct simulate_made *made, struct error *error);
enum status simulate_fitted_table(const struct simulate_options *options, struct output *output,
                                  struct simulate_made *made, struct error *error);
/* Writes CSV for the datasets of tables, of which there may be none; takes the model over. */
enum status simulate_given_table(const struct simulate_options *options, struct model *model,
                                 struct output *output, struct simulate_made *made,
                                 struct error *error);
/* Before a problem file is written: says how large it may become, if that is more than a GiB. */
void simulate_say_size(const struct simulate_options *options, double n_dataset, double n_row);
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

/* Rows of an experiment, one for each of the grid. Where nothing jumps in the predictions, the two
 * sides of a time are one row. */
struct simulate_rows {
    const char *id, *experiment; /* experiment NULL: there are none */
    const double *prediction, *value;
    size_t n_band;
    const double *band;          /* n_band x the grid's n */
};
/* band: the probabilities of the quantiles behind the value. */
void simulate_put_head(struct csv_writer *writer, bool has_experiments,
                       const struct simulate_grid *grid, size_t n_band, const double *band);
void simulate_put_rows(struct csv_writer *writer, const struct simulate_rows *rows,
                       const struct model *model, const struct simulate_grid *grid);
/* Whether states or observables can jump without doses and events of the data. */
bool simulate_can_jump(const struct stiffit_model *abi);

/* Errors of measurements. */
struct simulate_errors {
    const struct simulate_options *options;
    const struct simulate_grid *grid;
    const struct fit_loss *loss; /* of each observable */
    size_t n_observable;
    bool has_model_noise;
    double fallback;             /* a standard deviation without any other; NaN: none */
    double *largest;             /* n_observable */
    double *sigma;               /* of each row of the grid; NaN: the model's, or none */
};
/* value of each row: the prediction with an error drawn from the stream. noise: the model's. */
void simulate_errors_add(struct simulate_errors *errors, const double *prediction,
                         const double *noise, uint64_t stream, double *value);

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
