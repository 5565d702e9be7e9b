/* `stiffit simulate`: which kind of simulation is meant, and tables of predictions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/simulate.h"

#include "cli/command.h"
#include "cli/contained.h"
#include "cli/fitted.h"
#include "cli/message.h"
#include "cli/model_text.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct simulate_options, name)

static const char *const when_words[] = {"auto", "always", "never", NULL};
static const char *const method_words[] = {"residual", "parametric", NULL};

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL", .offset = FIELD(model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "times", .letter = 't', .kind = OPTION_STRING, .metavar = "TIMES", .offset = FIELD(times),
     .help = "times of the predictions, with commas between them: single ones, A:B:STEP, or A:B:logN for N times at equal "
     "ratios"},
    {.name = "t0", .kind = OPTION_NUMBER, .metavar = "TIME", .offset = FIELD(t0), .min = -INFINITY, .max = INFINITY,
     .default_text = "the model's", .help = "initial time"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .metavar = "NAME=VALUE", .offset = FIELD(set),
     .default_text = "the model's start values", .help = "value of a parameter, natural scale; may be repeated"},
    {.name = "covariate", .kind = OPTION_LIST, .metavar = "NAME=VALUES", .offset = FIELD(covariate),
     .help = "value of a covariate; of several values, with commas between them, the datasets take one each in turn"},
    {.name = "observable", .kind = OPTION_LIST, .metavar = "NAME", .offset = FIELD(observable), .default_text = "all",
     .help = "an observable that is wanted; may be repeated"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(output), .is_file = true,
     .is_output = true, .default_text = "standard output",
     .help = "write to this file: CSV, or with --datasets or --bootstrap a problem file"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite), .help = "replace existing files"},
    {.name = "datasets", .letter = 'n', .kind = OPTION_INTEGER, .offset = FIELD(n_dataset), .min = 0, .max = 4e9,
     .help = "make a problem file of N synthetic datasets"},
    {.name = "spread", .kind = OPTION_NUMBER, .offset = FIELD(spread), .min = 0, .max = 100, .default_text = "0",
     .help = "spread of the true parameters: standard deviation of their natural logarithm, or for parameters of scale lin "
     "relative to their value; they stay within the model's bounds"},
    {.name = "noise", .kind = OPTION_NUMBER, .offset = FIELD(noise), .min = 0, .max = 1e300,
     .default_text = "the model's noise, if it has any",
     .help = "relative standard deviation of the measurements; at least 0.001 of that of the largest prediction"},
    {.name = "noise-absolute", .kind = OPTION_NUMBER, .offset = FIELD(noise_absolute), .min = 0, .max = 1e300,
     .help = "absolute standard deviation of the measurements; with --noise the squares add up"},
    {.name = "no-sigma", .kind = OPTION_FLAG, .offset = FIELD(no_sigma),
     .help = "do not write the measurements' standard deviations into the problem file"},
    {.name = "truth", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(truth), .is_file = true,
     .is_output = true, .help = "write the true parameters of the synthetic datasets to this CSV file"},
    {.name = "bootstrap", .letter = 'b', .kind = OPTION_INTEGER, .offset = FIELD(n_bootstrap), .min = 0, .max = 4e9,
     .help = "make a problem file of one dataset of RESULT.h5 as it is and N bootstrap replicas of it"},
    {.name = "method", .kind = OPTION_CHOICE, .metavar = "residual|parametric", .offset = FIELD(method),
     .choice = method_words, .default_text = "residual",
     .help = "bootstrap replicas from the residuals, drawn within each observable, or from the distribution that was fitted"},
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID", .offset = FIELD(id),
     .help = "the dataset of RESULT.h5 that is meant; needed where it holds several"},
    {.name = "problem", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(problem), .is_file = true,
     .default_text = "the one that RESULT.h5 names", .help = "the problem that RESULT.h5 was made from"},
    {.name = "trust", .kind = OPTION_FLAG, .offset = FIELD(trust),
     .help = "run the native code that RESULT.h5 or its problem names or embeds"},
    {.name = "embed", .kind = OPTION_FLAG, .offset = FIELD(embed),
     .help = "put a plugin itself into the problem file instead of its path; text is put there anyway"},
    {.name = "seed", .kind = OPTION_INTEGER, .offset = FIELD(seed), .min = 0, .max = INFINITY, .default_text = "1",
     .help = "what everything random depends on"},
    {.name = "rtol", .kind = OPTION_NUMBER, .offset = FIELD(ode.rtol), .min = 1e-14, .max = 0.1,
     .default_text = "1e-8, of a result its own", .help = "relative tolerance of the integrator"},
    {.name = "atol", .kind = OPTION_NUMBER, .metavar = "VALUE|auto", .offset = FIELD(ode.atol), .min = 0, .max = 1e300,
     .above_min = true, .zero = "auto", .default_text = "auto, of a result its own",
     .help = "absolute tolerance of the integrator; auto: it follows each state's own size"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet), .help = "do not say what was written"},
    {.name = "color", .kind = OPTION_CHOICE, .offset = FIELD(color), .choice = when_words, .metavar = "auto|always|never",
     .default_text = "auto", .help = "colours; overrides the environment's NO_COLOR"},
};

static struct option_table simulate_options_table(void) { return OPTION_TABLE(table); }

enum status simulate_table(const struct simulate_options *options, struct error *error)
{
    struct model model = {.handle = NULL};
    struct predictor predictor = {.model = NULL};
    struct simulate_grid grid = {.n = 0};
    struct simulate_covariates covariates = {.n = 0};
    struct output output = {.file = NULL};
    char reason[160];
    size_t n_lost = 0;
    enum status status = model_text_load(&model, options->model, false, options->quiet, (enum when)options->color, error);
    if (status)
        return status;
    double *p = calloc(model.abi.n_parameter + 1, sizeof *p), *covariate = calloc(model.abi.n_covariate + 1, sizeof *p);
    double *prediction = NULL;
    status = p && covariate ? simulate_grid_init(&grid, options, &model, error)
                            : error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters", model.abi.n_parameter);
    if (!status)
        status = simulate_covariates_init(&covariates, options, &model, error);
    if (!status)
        status = simulate_parameters(options, &model, p, error);
    if (!status)
        status = predictor_init(&predictor, &model, &options->ode, 10000000, error);
    if (!status && !(prediction = malloc((grid.n + 1) * sizeof *prediction)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", grid.n);
    if (!status) /* before the model is called, and until it is unloaded: it may print */
        status = output_open(&output, options->output, options->overwrite, error);
    if (!status) {
        simulate_covariates_take(&covariates, 0, covariate);
        const struct predictor_rows rows = {.t0 = grid.t0, .covariate = covariate, .n = grid.n,
                                            .measured = {.time = grid.time, .observable = grid.observable}};
        if (!predictor_run(&predictor, &rows, p, prediction, NULL, reason))
            status = error_set(error, STATUS_BAD_MODEL, "the model cannot be simulated at these parameters: %s", reason);
        for (size_t i = 0; !status && i < grid.n; i++)
            n_lost += isnan(prediction[i]);
        snprintf(reason, sizeof reason, "note: %zu of %zu predictions cannot be computed and are NaN", n_lost, grid.n);
        if (n_lost && !status && !options->quiet)
            message_say(reason);
    }
    if (!status) {
        table_predictions_head(output.file);
        table_predictions(output.file, "simulated", &model, grid.n, grid.time, grid.observable, prediction);
    }
    predictor_fini(&predictor);
    simulate_grid_fini(&grid);
    simulate_covariates_fini(&covariates);
    free(p);
    free(covariate);
    free(prediction);
    model_unload(&model);
    if (!status)
        status = output_finish(&output, error);
    output_close(&output);
    return status;
}

/* The wanted rows of all datasets, or of one, at their best fits. */
static enum status print_fitted(struct fitted *fitted, const struct simulate_options *options, const struct simulate_grid *grid,
                                double *prediction, FILE *file, struct error *error)
{
    struct fitted_dataset dataset;
    bool more, found = false;
    char reason[160];
    for (;;) {
        enum status status = fitted_next(fitted, &dataset, &more, error);
        if (status || !more)
            return status || found || !options->id ? status : error_set(error, STATUS_USAGE, "--id: %s has no dataset '%.100s'",
                                                                         options->result, options->id);
        if ((options->id && strcmp(options->id, dataset.id)) || ferror(file))
            continue;
        if (!found)
            table_predictions_head(file);
        found = true;
        size_t n_covariate = fitted->model.abi.n_covariate;
        const struct predictor_rows rows = {
            .t0 = isnan(options->t0) ? dataset.block->t0[dataset.row] : options->t0,
            .covariate = dataset.block->covariate + dataset.row * n_covariate, .n = grid->n,
            .measured = {.time = grid->time, .observable = grid->observable}, .rtol = dataset.record->rtol,
            .n_sens = dataset.n_sens, .sens = dataset.sens};
        bool good = dataset.p && !dataset.fault && isfinite(rows.t0);
        for (size_t i = 0; i < grid->n; i++)
            good = good && grid->time[i] >= rows.t0;
        if (!good || !predictor_run(&fitted->predictor, &rows, dataset.p, prediction, NULL, reason))
            for (size_t i = 0; i < grid->n; i++)
                prediction[i] = NAN;
        table_predictions(file, dataset.id, &fitted->model, grid->n, grid->time, grid->observable, prediction);
    }
}

enum status simulate_fitted_table(const struct simulate_options *options, struct error *error)
{
    struct fitted fitted;
    struct output output = {.file = NULL};
    struct simulate_grid grid = {.n = 0};
    struct simulate_options grid_options = *options;
    const struct fitted_options fitted_options = {.result = options->result, .problem = options->problem,
                                                  .model = options->model, .output = options->output, .trust = options->trust};
    bool other_model = false;
    double *prediction = NULL;
    enum status status = fitted_open(&fitted, &fitted_options, &other_model, error);
    if (!status && other_model)
        message_say("note: this is not the very model that was fitted (its bytes differ)");
    if (isnan(options->t0))
        grid_options.t0 = -INFINITY; /* each dataset has its own */
    if (!status)
        status = simulate_grid_init(&grid, &grid_options, &fitted.model, error);
    if (!status && !(prediction = malloc((grid.n + 1) * sizeof *prediction)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for %zu rows", grid.n);
    if (!status)
        status = output_open(&output, options->output, options->overwrite, error);
    if (!status) {
        status = print_fitted(&fitted, options, &grid, prediction, output.file, error);
    }
    simulate_grid_fini(&grid);
    free(prediction);
    fitted_close(&fitted);
    if (!status)
        status = output_finish(&output, error);
    output_close(&output);
    return status;
}

static bool is_given(const struct simulate_options *options, const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return options->given >> i & 1;
    return false;
}

static enum status check_options(const struct simulate_options *options, bool synthetic, bool bootstrap,
                                 struct error *error)
{
    static const char *const synthetic_only[] = {"spread", "noise", "noise-absolute", "no-sigma", "truth"};
    if (synthetic && bootstrap)
        return error_set(error, STATUS_USAGE, "--datasets and --bootstrap exclude each other");
    if (bootstrap && !options->result)
        return error_set(error, STATUS_USAGE, "--bootstrap needs a result file: stiffit simulate --bootstrap N RESULT.h5");
    if (options->result && !bootstrap && synthetic)
        return error_set(error, STATUS_USAGE, "--datasets takes no result file ('%.100s')", options->result);
    if ((synthetic || bootstrap) && !options->output)
        return error_set(error, STATUS_USAGE, "--output is needed: the problem file to be written");
    if (!options->result && !options->model)
        return error_set(error, STATUS_USAGE, "which model? Give one with --model, or a result file");
    if (options->result && options->set.n > 0)
        return error_set(error, STATUS_USAGE, "--set and a result file exclude each other: its best fits are the parameters");
    for (size_t i = 0; !synthetic && i < sizeof synthetic_only / sizeof *synthetic_only; i++)
        if (is_given(options, synthetic_only[i]))
            return error_set(error, STATUS_USAGE, "--%s goes with --datasets only", synthetic_only[i]);
    if (bootstrap && is_given(options, "times"))
        return error_set(error, STATUS_USAGE, "--bootstrap takes no --times: its replicas have the dataset's own");
    return STATUS_OK;
}

static int simulate(void *context)
{
    const struct simulate_options *options = context;
    struct error error = {.status = STATUS_OK};
    bool synthetic = is_given(options, "datasets"), bootstrap = is_given(options, "bootstrap");
    enum status status = check_options(options, synthetic, bootstrap, &error);
    if (!status)
        status = bootstrap         ? simulate_bootstrap(options, &error)
                 : synthetic       ? simulate_synthetic(options, &error)
                 : options->result ? simulate_fitted_table(options, &error)
                                   : simulate_table(options, &error);
    return status ? message_usage("simulate", &error, (enum when)options->color) : command_close_output(0);
}

static int run(int argc, char **argv)
{
    struct simulate_options options = {.seed = 1, .t0 = NAN, .ode = {.rtol = 1e-8}};
    struct option_words words;
    int code = command_parse(&command_simulate, &options, &words, 1, argc, argv);
    if (code < 0) {
        options.result = words.n_positional ? words.positional[0] : NULL;
        options.given = words.given;
        code = contained_run(simulate, &options, options.model ? options.model : options.result ? options.result : "simulate",
                             (enum when)options.color);
    }
    option_list_fini(&options.set);
    option_list_fini(&options.covariate);
    option_list_fini(&options.observable);
    return code;
}

const struct command command_simulate = {
    .name = "simulate", .synopsis = "[RESULT.h5]", .summary = "predictions; synthetic and bootstrap problem files",
    .example = "stiffit simulate --model decay.so --times 0:10:0.5 --set k=0.3\n"
               "stiffit simulate --model decay.so --times 1,2,5 --datasets 1000 --spread 0.3 --noise 0.05 -o synthetic.h5\n"
               "stiffit simulate --bootstrap 1000 wells.result.h5 --id A1 --trust -o bootstrap.h5",
    .description =
        "Prints predictions as CSV in long form (dataset, time, observable, value): of a model at given parameters, or with "
        "RESULT.h5 of its datasets at their best fits.\n"
        "With --datasets it makes a problem file of synthetic datasets instead, with --bootstrap one that holds a dataset of "
        "RESULT.h5 as it is, followed by bootstrap replicas of it. The same seed gives the same numbers.",
    .table = simulate_options_table, .run = run};
