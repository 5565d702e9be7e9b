/* Synthetic problem files: datasets with known true parameters and known noise.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "use/simulate_truth.h"

#include "base/random.h"
#include "fit/objective/loss.h"
#include "io/table/csv.h"
#include "io/problem/adopt.h"
#include "run/plan/campaign.h"
#include "import/plugin_reference.h"

#include <stdlib.h>
#include <string.h>

/* A dataset whose true parameters cannot be simulated is drawn again, at most this often. */
enum { MAX_DRAW = 20 };

struct synthetic {
    const struct simulate_options *options;
    const struct model *model;
    struct predictor predictor;
    struct simulate_grid grid;
    struct simulate_covariates covariates;
    struct plugin_reference reference;
    struct problem_writer *writer;
    struct simulate_truth truth;
    /* true parameters: their center, and those of this dataset */
    double *center, *p, *covariate;
    double *prediction, *noise, *value;          /* rows of the grid */
    struct simulate_errors errors;
    double *from_model;                          /* n_parameter x N_FROM_MODEL */
    /* n_observable: the model's errors, normal by default */
    struct fit_loss *loss;
};

static bool is_logarithmic(const struct stiffit_model *abi, size_t i)
{
    return abi->parameter_scale && strcmp(abi->parameter_scale[i], "lin") != 0;
}

/* Log-normal on logarithmic scales, normal with a relative deviation on the linear one; within
 * the model's bounds. */
static void draw_parameters(const struct synthetic *synthetic, uint64_t dataset, uint64_t draw)
{
    const struct stiffit_model *abi = &synthetic->model->abi;
    double spread = synthetic->options->spread;
    uint64_t stream = random_stream(dataset, PURPOSE_PARAMETER + 256 * draw);
    for (size_t i = 0; i < abi->n_parameter; i++) {
        double z = spread > 0 ? random_normal((uint64_t)synthetic->options->seed, stream, i) : 0;
        double center = synthetic->center[i];
        double p = is_logarithmic(abi, i) ? center * exp(spread * z)
                                          : center + spread * z * (center == 0 ? 1 : fabs(center));
        if (abi->parameter_lower && p < abi->parameter_lower[i])
            p = abi->parameter_lower[i];
        if (abi->parameter_upper && p > abi->parameter_upper[i])
            p = abi->parameter_upper[i];
        synthetic->p[i] = p;
    }
}

static enum status make_dataset(struct synthetic *synthetic, uint64_t dataset, int digits,
                                struct error *error)
{
    const struct simulate_grid *grid = &synthetic->grid;
    char id[48], reason[160];
    snprintf(id, sizeof id, "synthetic-%0*llu", digits, (unsigned long long)(dataset + 1));
    simulate_covariates_take(&synthetic->covariates, dataset, synthetic->covariate);
    const struct predictor_rows rows = {.experiment = {.t0 = grid->t0,
                                                       .covariate = synthetic->covariate,
                                                       .input = synthetic->covariates.input},
                                        .p = synthetic->p, .n = grid->n,
                                        .measured = {.time = grid->time,
                                                     .observable = grid->observable}};
    bool good = false;
    for (uint64_t draw = 0; draw < MAX_DRAW && !good; draw++) {
        draw_parameters(synthetic, dataset, draw);
        good = predictor_run(&synthetic->predictor, &rows, synthetic->prediction, synthetic->noise,
                             reason);
    }
    if (!good)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s cannot be simulated, with any of the parameters drawn around the "
                         "given ones: %s",
                         id, reason);
    simulate_errors_add(&synthetic->errors, synthetic->prediction, synthetic->noise,
                        random_stream(dataset, PURPOSE_NOISE), synthetic->value);
    simulate_truth_put(&synthetic->truth, id, synthetic->p);
    const struct problem_dataset row = {
        .id = id, .experiment = rows.experiment, .n_row = grid->n,
        .measured = {.time = grid->time, .value = synthetic->value, .observable = grid->observable,
                     .sigma = synthetic->options->no_sigma ? NULL : synthetic->errors.sigma}};
    return problem_writer_add(synthetic->writer, &row, error);
}

static enum status allocate(struct synthetic *synthetic, struct error *error)
{
    const struct stiffit_model *abi = &synthetic->model->abi;
    size_t n = synthetic->grid.n + 1, p = abi->n_parameter;
    double *block =
        calloc((2 + N_FROM_MODEL) * p + abi->n_covariate + abi->n_input + abi->n_observable + 4 * n,
               sizeof *block);
    synthetic->center = block; /* and all the others */
    synthetic->p = synthetic->center + p;
    synthetic->covariate = synthetic->p + p;
    synthetic->errors.largest = synthetic->covariate + abi->n_covariate + abi->n_input;
    synthetic->prediction = synthetic->errors.largest + abi->n_observable;
    synthetic->noise = synthetic->prediction + n;
    synthetic->value = synthetic->noise + n;
    synthetic->errors.sigma = synthetic->value + n;
    synthetic->from_model = synthetic->errors.sigma + n;
    enum error_kind *kind = calloc(abi->n_observable, sizeof *kind);
    for (uint32_t k = 0; kind && abi->observable_error && k < abi->n_observable; k++)
        kind[k] = error_kind_of(abi->observable_error[k]) < 0
                      ? ERROR_NORMAL
                      : (enum error_kind)error_kind_of(abi->observable_error[k]);
    synthetic->loss = kind ? campaign_losses(kind, abi->n_observable, NULL) : NULL;
    free(kind);
    synthetic->errors.loss = synthetic->loss;
    if (block && synthetic->loss)
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", synthetic->grid.n);
}

static enum status open_outputs(struct synthetic *synthetic, struct error *error)
{
    const struct simulate_options *options = synthetic->options;
    const struct stiffit_model *abi = &synthetic->model->abi;
    for (size_t i = 0; i < abi->n_parameter; i++) {
        double *from = synthetic->from_model + i * N_FROM_MODEL;
        from[FROM_MODEL_START] = abi->parameter_start ? abi->parameter_start[i] : (double)NAN;
        from[FROM_MODEL_LOWER] = abi->parameter_lower ? abi->parameter_lower[i] : -(double)INFINITY;
        from[FROM_MODEL_UPPER] = abi->parameter_upper ? abi->parameter_upper[i] : (double)INFINITY;
        from[FROM_MODEL_SCALE] =
            problem_scale_number(abi->parameter_scale ? abi->parameter_scale[i] : "lin");
    }
    struct problem_header header = {
        .model = plugin_reference_model(&synthetic->reference),
        .parameters = parameters_of_model(abi, PARAMETER_BIT(name) | PARAMETER_BIT(start) |
                                                   PARAMETER_BIT(lower) | PARAMETER_BIT(upper) |
                                                   PARAMETER_BIT(scale)),
        .n_input = abi->n_input, .input_name = abi->input_name, .n_covariate = abi->n_covariate,
        .covariate_name = abi->covariate_name, .n_observable = abi->n_observable,
        .observable_name = abi->observable_name, .has_t0 = true};
    header.parameters.from_model = synthetic->from_model;
    if (!abi->parameter_start)
        header.parameters.start = synthetic->center;
    enum status status = problem_writer_open(&synthetic->writer, options->files.output,
                                             options->overwrite, &header, error);
    return status ? status
                  : simulate_truth_open(&synthetic->truth, options, abi->parameter_name,
                                        abi->n_parameter, error);
}

static void synthetic_fini(struct synthetic *synthetic)
{
    problem_writer_close(synthetic->writer);
    simulate_truth_close(&synthetic->truth);
    plugin_reference_fini(&synthetic->reference);
    predictor_fini(&synthetic->predictor);
    simulate_grid_fini(&synthetic->grid);
    simulate_covariates_fini(&synthetic->covariates);
    free(synthetic->center);
    free(synthetic->loss);
}

enum status simulate_synthetic(const struct simulate_options *options, const struct model *model,
                               struct simulate_made *made, struct error *error)
{
    struct synthetic synthetic = {
        .options = options, .model = model,
        .errors = {.options = options, .grid = &synthetic.grid, .fallback = NAN,
                   .n_observable = model->abi.n_observable,
                   .has_model_noise = model->abi.noise != NULL}};
    int digits = snprintf(NULL, 0, "%lld", (long long)options->n_dataset);
    enum status status = simulate_grid_init(&synthetic.grid, options, model, false, error);
    if (!status)
        status = simulate_covariates_init(&synthetic.covariates, options, model, error);
    if (!status)
        status = allocate(&synthetic, error);
    if (!status)
        status = simulate_parameters(options, model, synthetic.center, error);
    if (!status)
        status = predictor_init(&synthetic.predictor, model, &options->ode, 10000000, error);
    if (!status)
        status = plugin_reference_init(&synthetic.reference, model, options->files.model,
                                       options->embed, error);
    if (!status)
        simulate_say_size(options, (double)options->n_dataset, (double)synthetic.grid.n);
    if (!status)
        status = open_outputs(&synthetic, error);
    for (int64_t d = 0; !status && d < options->n_dataset; d++)
        status = make_dataset(&synthetic, (uint64_t)d, digits, error);
    if (!status)
        status = simulate_truth_finish(&synthetic.truth, error);
    if (!status)
        status = problem_writer_finish(synthetic.writer, error);
    *made = (struct simulate_made){.n_dataset = (uint64_t)options->n_dataset,
                                   .n_row = synthetic.grid.n};
    synthetic_fini(&synthetic);
    return status;
}
