/* Predictions of the datasets of a result at their best fits, or of tables at the parameters there:
 * once, or replicates with other parameters and errors, or quantiles of these.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate_truth.h"

#include "base/random.h"
#include "base/values.h"
#include "fit/statistics/digest.h"
#include "fit/objective/prior.h"
#include "fit/objective/start.h"
#include "import/import.h"
#include "io/problem/prior.h"
#include "run/plan/campaign.h"
#include "use/population_draw.h"
#include "use/row_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A draw from the covariance that lies beyond a bound is replaced, at most this often. */
enum { MAX_DRAW = 100, DEFAULT_REPLICATES = 1000 };

struct drawing {
    const struct simulate_options *options;
    struct fitted fitted;
    struct simulate_grid grid;
    struct simulate_errors errors;
    struct arena arena;
    size_t n, n_replicate;       /* parameters; 0: no replicates */
    double *band;                /* n_band probabilities */
    size_t n_band;
    double *prediction, *noise, *time; /* rows of the grid */
    double *value;               /* n_replicate of them for quantiles, or one */
    double *quantile;            /* n_band x rows */
    double *p, *theta, *factor, *deviate; /* n; n; n x n; n */
    double *by_experiment;       /* n_room x n */
    enum parameter_scale *scale; /* n */
    size_t n_room, *free;        /* n: the parameters with a variance, n_free */
    size_t n_free;
    struct csv_writer rows;
    struct simulate_truth truth;
    struct simulate_made *made;
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the predictions");
}

/* The bounds of a parameter on the optimiser's scale. */
static void bounds_of(const struct drawing *drawing, const struct fitted_dataset *dataset, size_t i,
                      double bound[2])
{
    size_t k = dataset->row * drawing->n + i;
    bound[0] = fit_scale_from_natural(drawing->scale[i], dataset->block->lower[k]);
    bound[1] = fit_scale_from_natural(drawing->scale[i], dataset->block->upper[k]);
}

/* d natural / d number on the scale */
static double slope(enum parameter_scale scale, double natural)
{
    return scale == SCALE_LIN ? 1 : scale == SCALE_LOG ? natural : log(10) * natural;
}

/* Factors the covariance of the dataset's fit, on the optimiser's scale, into `factor`, of the free
 * parameters. False: it has none. */
static bool factor_covariance(struct drawing *drawing, const struct fitted_dataset *dataset)
{
    const struct fit_record *record = dataset->record;
    size_t n = drawing->n, m = 0;
    double *matrix = drawing->factor + n * n;
    for (size_t i = 0; record->covariance && i < n; i++)
        if (record->covariance[i + i * n] > 0)
            drawing->free[m++] = i;
    for (size_t c = 0; c < m; c++)
        for (size_t d = 0; d < m; d++) {
            size_t i = drawing->free[d], j = drawing->free[c];
            matrix[d + c * m] = record->covariance[i + j * n] /
                                (slope(drawing->scale[i], record->parameter[i]) *
                                 slope(drawing->scale[j], record->parameter[j]));
        }
    population_draw_factor(matrix, m, drawing->factor);
    drawing->n_free = m;
    return m > 0;
}

/* Parameters from a normal distribution on the optimiser's scale, within the bounds. */
static void draw_covariance(struct drawing *drawing, const struct fitted_dataset *dataset,
                            uint64_t stream)
{
    size_t m = drawing->n_free;
    uint64_t seed = (uint64_t)drawing->options->seed;
    bool inside = false;
    for (uint64_t draw = 0; draw < MAX_DRAW && !inside; draw++) {
        inside = true;
        for (size_t d = 0; d < m; d++)
            drawing->deviate[d] = random_normal(seed, stream, draw * m + d);
        for (size_t d = 0; d < m; d++) {
            size_t i = drawing->free[d];
            double bound[2];
            double theta = fit_scale_from_natural(drawing->scale[i], dataset->p[i]);
            for (size_t c = 0; c <= d; c++)
                theta += drawing->factor[d + c * m] * drawing->deviate[c];
            bounds_of(drawing, dataset, i, bound);
            inside = inside && theta >= bound[0] && theta <= bound[1];
            theta = fmin(fmax(theta, bound[0]), bound[1]);
            drawing->p[i] = fit_scale_to_natural(drawing->scale[i], theta);
        }
    }
}

/* Parameters that have a prior, from it; those that a fit holds stay. */
static void draw_prior(struct drawing *drawing, const struct fitted_dataset *dataset,
                       uint64_t stream)
{
    const struct problem_prior *prior = problem_prior(drawing->fitted.problem);
    for (size_t i = 0; prior && i < drawing->n; i++) {
        double bound[2];
        bool is_held =
            drawing->fitted.result && dataset->block->fixed[dataset->row * drawing->n + i];
        if (prior[i].kind == PRIOR_NONE || is_held)
            continue;
        const struct fit_prior of = {prior[i].kind, prior[i].on_optimizer, prior[i].location,
                                     prior[i].scale};
        bounds_of(drawing, dataset, i, bound);
        double theta = fit_start_quantile(
            &of, drawing->scale[i], bound[0], bound[1],
            random_uniform((uint64_t)drawing->options->seed, stream, i));
        drawing->p[i] = fit_scale_to_natural(drawing->scale[i], theta);
    }
}

/* Sets p, the parameters of replicate k: a function of the seed, the dataset and k. */
static void draw_parameters(struct drawing *drawing, const struct fitted_dataset *dataset,
                            uint64_t k)
{
    uint64_t number = dataset->block->dataset[dataset->row];
    uint64_t stream = random_stream(random_stream(number, PURPOSE_REPLICATE), k);
    memcpy(drawing->p, dataset->p, drawing->n * sizeof *drawing->p);
    if (drawing->options->source == SOURCE_COVARIANCE)
        draw_covariance(drawing, dataset, stream);
    else if (drawing->options->source == SOURCE_PRIOR)
        draw_prior(drawing, dataset, stream);
}

/* Predicts the grid in experiment e of a dataset; NaN where that is impossible, as before its
 * initial time. */
static void predict_grid(struct drawing *drawing, const struct fitted_dataset *dataset, size_t e)
{
    const struct simulate_grid *grid = &drawing->grid;
    char reason[160];
    struct predictor_rows rows = fitted_rows(&drawing->fitted, dataset, e);
    rows.experiment.t0 = isnan(drawing->options->t0) ? rows.experiment.t0 : drawing->options->t0;
    rows.n = grid->n;
    rows.n_measured = 0;
    for (size_t i = 0; i < grid->n; i++) /* rows before it stay, but at it */
        drawing->time[i] = grid->time[i] < rows.experiment.t0 ? rows.experiment.t0 : grid->time[i];
    rows.measured = (struct measurements){.time = drawing->time,
                                          .side = grid->side,
                                          .observable = grid->observable};
    bool good = dataset->p && !dataset->fault && isfinite(rows.experiment.t0);
    /* infinite ones have no errors and quantiles */
    drawing->fitted.predictor.keeps_infinite = !drawing->options->with_noise && !drawing->n_band;
    if (!good || !predictor_run(&drawing->fitted.predictor, &rows, drawing->prediction,
                                drawing->options->with_noise ? drawing->noise : NULL, reason))
        good = false;
    for (size_t i = 0; i < grid->n; i++)
        if (!good || grid->time[i] < rows.experiment.t0)
            drawing->prediction[i] = drawing->noise[i] = NAN;
}

/* Replicate k in experiment e of a dataset: prediction and value. */
static void predict_replicate(struct drawing *drawing, const struct fitted_dataset *dataset,
                              uint64_t k, size_t e, double *value)
{
    struct fitted_dataset drawn = *dataset;
    if (dataset->p && drawing->options->source != SOURCE_GIVEN) {
        draw_parameters(drawing, dataset, k);
        for (size_t i = 0; i < dataset->end - dataset->first; i++)
            memcpy(drawing->by_experiment + i * drawing->n, drawing->p,
                   drawing->n * sizeof *drawing->p);
        drawn.by_experiment = drawing->by_experiment;
    }
    predict_grid(drawing, &drawn, e);
    if (drawing->options->with_noise) {
        uint64_t number = dataset->block->dataset[dataset->row];
        uint64_t stream = random_stream(random_stream(number, PURPOSE_REPLICATE_NOISE), k);
        simulate_errors_add(&drawing->errors, drawing->prediction, drawing->noise,
                            random_stream(stream, e - dataset->first), value);
    } else {
        memcpy(value, drawing->prediction, drawing->grid.n * sizeof *value);
    }
}

static void put_rows(struct drawing *drawing, const struct fitted_dataset *dataset, const char *id,
                     size_t e, const double *value)
{
    bool has_experiments = problem_info(drawing->fitted.problem)->has_experiments;
    const struct simulate_rows rows = {
        .id = id, .experiment = has_experiments ? dataset->block->experiment[e].id : NULL,
        .prediction = drawing->prediction, .value = value, .n_band = drawing->n_band,
        .band = drawing->quantile};
    simulate_put_rows(&drawing->rows, &rows, &drawing->fitted.model, &drawing->grid);
    drawing->made->n_row += drawing->grid.n;
    for (size_t i = 0; i < drawing->grid.n; i++)
        drawing->made->n_lost += isnan(value[i]);
}

/* Quantiles of the n replicates of each row; replicates that cannot be computed are left out. */
static void find_quantiles(struct drawing *drawing)
{
    size_t n_row = drawing->grid.n, n = drawing->n_replicate;
    double *sorted = drawing->value + n * n_row;
    for (size_t i = 0; i < n_row; i++) {
        size_t m = 0;
        for (size_t k = 0; k < n; k++)
            if (!isnan(drawing->value[k * n_row + i]))
                sorted[m++] = drawing->value[k * n_row + i];
        drawing->made->n_out += n - m;
        digest_sort(sorted, m);
        for (size_t b = 0; b < drawing->n_band; b++)
            drawing->quantile[b * n_row + i] =
                m ? digest_sorted_quantile(sorted, m, drawing->band[b]) : (double)NAN;
    }
}

/* Replicate k of dataset ID is "ID/k"; a single one is ID. */
static void put_replicates(struct drawing *drawing, const struct fitted_dataset *dataset)
{
    size_t n = drawing->n_replicate;
    int digits = snprintf(NULL, 0, "%zu", n);
    char id[600];
    for (size_t k = 0; k < n; k++) {
        snprintf(id, sizeof id, "%.500s", dataset->id);
        if (n > 1)
            snprintf(id, sizeof id, "%.500s/%0*zu", dataset->id, digits, k + 1);
        if (dataset->p) {
            draw_parameters(drawing, dataset, k);
            simulate_truth_put(&drawing->truth, id, drawing->p);
        }
        for (size_t e = dataset->first; e < dataset->end; e++) {
            predict_replicate(drawing, dataset, k, e, drawing->value);
            put_rows(drawing, dataset, id, e, drawing->value);
        }
    }
}

static void put_bands(struct drawing *drawing, const struct fitted_dataset *dataset)
{
    for (size_t e = dataset->first; e < dataset->end; e++) {
        for (size_t k = 0; k < drawing->n_replicate; k++)
            predict_replicate(drawing, dataset, k, e, drawing->value + k * drawing->grid.n);
        find_quantiles(drawing);
        predict_grid(drawing, dataset, e);
        put_rows(drawing, dataset, dataset->id, e, drawing->prediction);
    }
}

/* Whether errors are asked for whose size neither options nor the model give. */
static bool lacks_noise(const struct drawing *drawing)
{
    const struct simulate_options *options = drawing->options;
    return options->with_noise && !(options->noise > 0) && !(options->noise_absolute > 0) &&
           !drawing->errors.has_model_noise;
}

static enum status put_dataset(struct drawing *drawing, struct fitted_dataset *dataset,
                               struct error *error)
{
    size_t n_experiment = dataset->end - dataset->first;
    if (!drawing->fitted.result && dataset->fault)
        return error_set(error, STATUS_BAD_PROBLEM, "dataset '%.100s' cannot be simulated: %s",
                         dataset->id, dataset->fault);
    if (n_experiment > drawing->n_room) {
        double *more = realloc(drawing->by_experiment,
                               n_experiment * (drawing->n + 1) * sizeof *drawing->by_experiment);
        if (!more)
            return no_memory(error);
        drawing->by_experiment = more;
        drawing->n_room = n_experiment;
    }
    const struct fit_record *record = dataset->record;
    bool is_fit = drawing->fitted.result != NULL;
    drawing->errors.fallback =
        is_fit && record->n_no_sigma > 0 ? record->residual_error : (double)NAN;
    if (lacks_noise(drawing) && is_fit && dataset->p && isnan(drawing->errors.fallback))
        return error_set(error, STATUS_USAGE,
                         "dataset '%.100s': the size of its errors at other times is not known, as "
                         "no measurement is without a sigma and the model has no noise; give "
                         "--noise or --noise-absolute", dataset->id);
    if (is_fit && drawing->options->source == SOURCE_COVARIANCE && dataset->p &&
        !factor_covariance(drawing, dataset))
        dataset->p = NULL;
    if (drawing->n_band)
        put_bands(drawing, dataset);
    else if (drawing->n_replicate)
        put_replicates(drawing, dataset);
    else
        for (size_t e = dataset->first; e < dataset->end; e++) {
            predict_grid(drawing, dataset, e);
            put_rows(drawing, dataset, dataset->id, e, drawing->prediction);
        }
    drawing->made->n_dataset++;
    return STATUS_OK;
}

/* Writes the wanted rows of all datasets, or of one. */
static enum status put_all(struct drawing *drawing, FILE *file, struct error *error)
{
    const struct row_words words = {.id = drawing->options->id};
    struct row_filter filter;
    struct fitted_dataset dataset;
    bool more = true, found = false;
    bool has_experiments = problem_info(drawing->fitted.problem)->has_experiments;
    enum status status = row_filter_init(&filter, &words, drawing->fitted.result, error);
    while (!status && !(status = fitted_next(&drawing->fitted, &dataset, &more, error)) && more) {
        if (!row_filter_takes(&filter, dataset.id, dataset.record) || ferror(file))
            continue;
        if (!found)
            simulate_put_head(&drawing->rows, has_experiments, &drawing->grid, drawing->n_band,
                              drawing->band);
        found = true;
        status = put_dataset(drawing, &dataset, error);
    }
    if (!status)
        status = row_filter_end(&filter, &words, error);
    row_filter_fini(&filter);
    return status;
}

static enum status read_bands(struct drawing *drawing, struct error *error)
{
    if (!drawing->options->bands)
        return STATUS_OK;
    enum status status =
        values_numbers(drawing->options->bands, "bands", &drawing->band, &drawing->n_band, error);
    for (size_t b = 0; b < drawing->n_band && !status; b++)
        if (!(drawing->band[b] >= 0 && drawing->band[b] <= 1))
            status = error_set(error, STATUS_USAGE, "--bands: %g is not a probability from 0 to 1",
                               drawing->band[b]);
    return status;
}

/* How many replicates there are, and whether they can be drawn. */
static enum status choose_replicates(struct drawing *drawing, struct error *error)
{
    const struct simulate_options *options = drawing->options;
    const struct fitted *fitted = &drawing->fitted;
    bool varies = options->with_noise || options->source != SOURCE_GIVEN;
    drawing->n_replicate = (size_t)options->n_replicate;
    if (!options->n_replicate && varies)
        drawing->n_replicate = drawing->n_band ? DEFAULT_REPLICATES : 1;
    if ((options->n_replicate || drawing->n_band) && !varies)
        return error_set(error, STATUS_USAGE,
                         "replicates would all be the same: say what is drawn with --draw, "
                         "--with-noise or --noise");
    if (lacks_noise(drawing) && !fitted->result)
        return error_set(error, STATUS_USAGE,
                         "--with-noise: the model has no noise; give --noise or --noise-absolute");
    if (options->source == SOURCE_COVARIANCE && !fitted->result)
        return error_set(error, STATUS_USAGE, "--draw covariance needs a result file");
    if (options->source == SOURCE_COVARIANCE && !result_has(fitted->result, FIT_COLUMN_COVARIANCE))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: holds no covariances (they are written for at most %d parameters)",
                         options->files.result, FIT_MAX_PAIR_PARAMETERS);
    if (options->source == SOURCE_PRIOR && !problem_prior(fitted->problem))
        return error_set(error, STATUS_USAGE, "--draw prior: no parameter has a prior");
    return STATUS_OK;
}

static enum status allocate(struct drawing *drawing, struct error *error)
{
    struct arena *arena = &drawing->arena;
    size_t n = drawing->n, n_row = drawing->grid.n + 1,
           n_value = drawing->n_band ? drawing->n_replicate + 1 : 2;
    drawing->free = arena_calloc(arena, n + 1, sizeof *drawing->free);
    drawing->scale = campaign_scales(problem_parameter_scale(drawing->fitted.problem), n);
    /* of quantiles, the room behind the values is for sorting */
    if (!drawing->free || !drawing->scale || n_value > (size_t)1e15 / (n_row + n_value) ||
        !ARENA_DOUBLES(arena, {&drawing->prediction, n_row, 1}, {&drawing->noise, n_row, 1},
                       {&drawing->time, n_row, 1},
                       {&drawing->value, n_row + 1, n_value + 1},
                       {&drawing->quantile, n_row, drawing->n_band + 1}, {&drawing->p, n + 1, 1},
                       {&drawing->factor, n + 1, 2 * n + 2}, {&drawing->deviate, n + 1, 1},
                       {&drawing->errors.largest, drawing->errors.n_observable, 1},
                       {&drawing->errors.sigma, n_row, 1}))
        return no_memory(error);
    return STATUS_OK;
}

/* With `fitted` open. */
static enum status simulate_all(struct drawing *drawing, struct output *output, struct error *error)
{
    const struct simulate_options *options = drawing->options;
    const struct problem_info *info = problem_info(drawing->fitted.problem);
    const struct stiffit_model *abi = &drawing->fitted.model.abi;
    struct simulate_options grid_options = *options;
    if (isnan(options->t0))
        grid_options.t0 = -INFINITY; /* each dataset has its own */
    bool has_sides = simulate_can_jump(abi) || info->n_dose > 0 || info->n_call > 0;
    drawing->n = problem_n_parameter(drawing->fitted.problem);
    drawing->errors = (struct simulate_errors){
        .options = options, .grid = &drawing->grid, .loss = drawing->fitted.errors.loss,
        .n_observable = abi->n_observable, .has_model_noise = abi->noise != NULL, .fallback = NAN};
    enum status status = simulate_grid_init(&drawing->grid, &grid_options, &drawing->fitted.model,
                                            has_sides, error);
    if (!status)
        status = read_bands(drawing, error);
    if (!status)
        status = choose_replicates(drawing, error);
    if (!status)
        status = allocate(drawing, error);
    if (!status)
        status = simulate_truth_open(&drawing->truth, options,
                                     problem_parameter_name(drawing->fitted.problem), drawing->n,
                                     error);
    if (!status)
        status = output_open(output, options->files.output, options->overwrite, error);
    drawing->rows.file = output->file;
    drawing->rows.decimal_comma = options->decimal_comma;
    drawing->rows.types_row = options->types_row;
    if (!status)
        status = put_all(drawing, output->file, error);
    if (!status)
        status = simulate_truth_finish(&drawing->truth, error);
    return status;
}

static void drawing_fini(struct drawing *drawing)
{
    simulate_truth_close(&drawing->truth);
    simulate_grid_fini(&drawing->grid);
    fitted_close(&drawing->fitted);
    arena_fini(&drawing->arena);
    free(drawing->band);
    free(drawing->by_experiment);
    free(drawing->scale);
}

enum status simulate_fitted_table(const struct simulate_options *options, struct output *output,
                                  struct simulate_made *made, struct error *error)
{
    struct drawing drawing = {.options = options, .made = made};
    enum status status = fitted_open(&drawing.fitted, &options->files, error);
    if (!status && options->source == SOURCE_COVARIANCE && drawing.fitted.population)
        status = error_set(error, STATUS_USAGE, "--draw covariance: %s has random parameters, and "
                           "no covariance of each dataset's parameters; --population N draws "
                           "datasets from the population, and export has each dataset's mean and "
                           "deviation (random_mean, random_deviation)", options->files.result);
    if (!status)
        status = simulate_all(&drawing, output, error);
    drawing_fini(&drawing);
    return status;
}

/* The tables as a problem file without a name that lasts. */
static enum status open_tables(struct drawing *drawing, struct model *model, double last_time,
                               struct error *error)
{
    const struct simulate_options *options = drawing->options;
    const char *folder = getenv("TMPDIR");
    char path[1000], file[1024];
    snprintf(path, sizeof path, "%.900s/stiffit-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(path))
        return error_system(error, errno, "cannot make a folder like %s", path);
    snprintf(file, sizeof file, "%s/simulated.h5", path);
    const struct import_options import = {.last_time = last_time,
                                          .datasets = options->tables.parameters,
                                          .experiments = options->tables.experiments,
                                          .doses = options->tables.doses,
                                          .inputs = options->tables.inputs,
                                          .events = options->tables.events,
                                          .model = options->files.model,
                                          .quiet = options->quiet,
                                          .fix = options->set,
                                          .say = options->say};
    enum status status = import_tables(&import, model, file, error);
    if (!status)
        status = fitted_open_given(&drawing->fitted, file, model, &options->ode, error);
    unlink(file);
    rmdir(path);
    size_t n = strlen(file);
    if (status && !strncmp(error->message, file, n)) { /* nobody has seen this file */
        const char *rest = error->message + n, *colon = strstr(rest, ": ");
        const struct error fault = *error;
        error_set(error, status, "the tables%s",
                  colon ? fault.message + (colon - error->message) : fault.message + n);
    }
    return status;
}

/* What the tables must have, in the words of this command. */
static enum status check_given(const struct simulate_options *options, const struct model *model,
                               double *last_time, struct error *error)
{
    struct simulate_grid grid = {.n = 0};
    struct simulate_options any_time = *options;
    any_time.t0 = isnan(options->t0) ? -INFINITY : options->t0;
    double *p = calloc(model->abi.n_parameter + 1, sizeof *p);
    enum status status = p ? STATUS_OK : no_memory(error);
    if (!status)
        status = simulate_grid_init(&grid, &any_time, model, false, error);
    *last_time = -INFINITY;
    for (size_t i = 0; i < grid.n; i++)
        *last_time = fmax(*last_time, grid.time[i]);
    if (!status && !options->tables.parameters)
        status = simulate_parameters(options, model, p, error);
    if (!status && model->abi.n_covariate && !options->tables.parameters &&
        !options->tables.experiments)
        status = error_set(error, STATUS_USAGE,
                           "the model has covariates (%s%s): give a table of them with "
                           "--parameters",
                           model->abi.covariate_name[0], model->abi.n_covariate > 1 ? ", ..." : "");
    if (!status && model->abi.n_input && !options->tables.inputs)
        status = error_set(error, STATUS_USAGE,
                           "the model has inputs (%s%s): give a table of them with --inputs",
                           model->abi.input_name[0], model->abi.n_input > 1 ? ", ..." : "");
    simulate_grid_fini(&grid);
    free(p);
    return status;
}

enum status simulate_given_table(const struct simulate_options *options, struct model *model,
                                 struct output *output, struct simulate_made *made,
                                 struct error *error)
{
    struct drawing drawing = {.options = options, .made = made};
    double last_time;
    enum status status = check_given(options, model, &last_time, error);
    if (!status)
        status = open_tables(&drawing, model, last_time, error);
    if (!status)
        status = simulate_all(&drawing, output, error);
    drawing_fini(&drawing);
    return status;
}
