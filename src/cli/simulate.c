/* `stiffit simulate`: chooses the kind of simulation.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/command.h"
#include "cli/contain.h"
#include "cli/model_text.h"
#include "use/simulate.h"

#include <math.h>
#include <string.h>

struct simulate_call {
    struct simulate_options options;
    enum when color;
    uint64_t given;
};

#define FIELD(name) offsetof(struct simulate_call, options.name)

static const char *const method_words[] = {"residual", "parametric", NULL};
static const char *const source_words[] = {"none", "covariance", "prior", NULL};

static const struct option table[] = {
    {.name = "model", .letter = 'm', .kind = OPTION_STRING, .metavar = "MODEL",
     .offset = FIELD(files.model), .is_file = true,
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "times", .letter = 't', .kind = OPTION_STRING, .metavar = "TIMES",
     .offset = FIELD(times),
     .help = "times of the predictions, separated by commas: single ones, A:B:STEP, or A:B:logN "
             "for N times at equal ratios"},
    {.name = "t0", .kind = OPTION_NUMBER, .metavar = "TIME", .offset = FIELD(t0), .min = -INFINITY,
     .max = INFINITY, .default_text = "the model's", .help = "initial time"},
    {.name = "set", .letter = 's', .kind = OPTION_LIST, .metavar = "NAME=VALUE",
     .offset = FIELD(set), .default_text = "the model's start values",
     .help = "value of a parameter, natural scale; may be repeated"},
    {.name = "parameters", .letter = 'p', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(tables.parameters), .is_file = true,
     .help = "a CSV table with one row per dataset to simulate: its id in a column 'dataset', and "
             "columns for parameters, covariates and 't0'; an empty cell, or a parameter without "
             "a column, is the model's start or that of --set"},
    {.name = "experiments", .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(tables.experiments), .is_file = true,
     .help = "a CSV table of the experiments of these datasets, as stiffit import reads it"},
    {.name = "doses", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(tables.doses),
     .is_file = true, .help = "likewise of their doses"},
    {.name = "inputs", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(tables.inputs),
     .is_file = true, .help = "likewise of their inputs"},
    {.name = "events", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(tables.events),
     .is_file = true, .help = "likewise of their events"},
    {.name = "replicates", .kind = OPTION_INTEGER, .offset = FIELD(n_replicate), .min = 1,
     .max = 1e9, .default_text = "1, or 1000 with --bands",
     .help = "predict N replicates of each dataset, with parameters and errors drawn anew: ID/1, "
             "ID/2, ..."},
    {.name = "draw", .kind = OPTION_CHOICE, .offset = FIELD(source), .choice = source_words,
     .default_text = "none",
     .help = "parameters of replicates from the covariance of the dataset's fit, or from the "
             "priors"},
    {.name = "with-noise", .kind = OPTION_FLAG, .offset = FIELD(with_noise),
     .help = "add measurement errors to predictions: of the size of --noise, otherwise of the "
             "model's noise, otherwise of the fit's residual error"},
    {.name = "bands", .kind = OPTION_STRING, .metavar = "P[,...]", .offset = FIELD(bands),
     .help = "instead of replicates, their quantiles: for each probability, such as "
             "0.05,0.5,0.95, a column q0.05, ... behind the prediction at the given parameters"},
    {.name = "covariate", .kind = OPTION_LIST, .metavar = "NAME=VALUES", .offset = FIELD(covariate),
     .help = "value of a covariate; if there are several values, separated by commas, the "
             "datasets take them in turn"},
    {.name = "input", .kind = OPTION_LIST, .metavar = "NAME=VALUES", .offset = FIELD(input),
     .help = "the same of an input, which keeps that value at all times"},
    {.name = "observable", .kind = OPTION_LIST, .metavar = "NAME", .offset = FIELD(observable),
     .default_text = "all", .help = "an observable to predict; may be repeated"},
    {.name = "output", .letter = 'o', .kind = OPTION_STRING, .metavar = "FILE",
     .offset = FIELD(files.output), .is_file = true,
     .is_output = true, .default_text = "standard output",
     .help = "write to this file: CSV, or with --datasets, --bootstrap or --population a problem "
             "file"},
    {.name = "overwrite", .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace existing files"},
    {.name = "datasets", .letter = 'n', .kind = OPTION_INTEGER, .offset = FIELD(n_dataset),
     .min = 0, .max = 4e9, .help = "make a problem file of N synthetic datasets"},
    {.name = "spread", .kind = OPTION_NUMBER, .offset = FIELD(spread), .min = 0, .max = 100,
     .default_text = "0",
     .help = "spread of the true parameters: standard deviation of their natural logarithm, or "
             "for parameters of scale lin relative to their value; the parameters stay within "
             "the model's bounds"},
    {.name = "noise", .kind = OPTION_NUMBER, .offset = FIELD(noise), .min = 0, .max = 1e300,
     .default_text = "the model's noise, if it has any",
     .help = "relative standard deviation of the measurements; at least 0.001 of that of the "
             "largest prediction; without --datasets it means --with-noise, too"},
    {.name = "noise-absolute", .kind = OPTION_NUMBER, .offset = FIELD(noise_absolute), .min = 0,
     .max = 1e300,
     .help = "absolute standard deviation of the measurements; with --noise the squares are added"},
    {.name = "no-sigma", .kind = OPTION_FLAG, .offset = FIELD(no_sigma),
     .help = "do not write the measurements' standard deviations into the problem file"},
    {.name = "truth", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(truth),
     .is_file = true, .is_output = true,
     .help = "write the true parameters of the synthetic datasets, or the drawn ones of "
             "replicates, to this CSV file"},
    OPTION_DECIMAL_COMMA(FIELD(decimal_comma)),
    OPTION_TYPES_ROW(FIELD(types_row)),
    {.name = "bootstrap", .letter = 'b', .kind = OPTION_INTEGER, .offset = FIELD(n_bootstrap),
     .min = 0, .max = 4e9,
     .help = "make a problem file of one dataset of RESULT.h5, unchanged, and N bootstrap "
             "replicates of it"},
    {.name = "population", .kind = OPTION_INTEGER, .offset = FIELD(n_population), .min = 1,
     .max = 4e9,
     .help = "make a problem file of N replicates of each dataset of RESULT.h5, a fit with random "
             "parameters: these and the measurements are drawn anew"},
    {.name = "method", .kind = OPTION_CHOICE, .offset = FIELD(method), .choice = method_words,
     .default_text = "residual",
     .help = "bootstrap replicates from the residuals, drawn within each observable of an "
             "experiment, or from the fitted distribution"},
    {.name = "id", .kind = OPTION_STRING, .metavar = "ID[,ID...]", .offset = FIELD(id),
     .default_text = "all",
     .help = "only these datasets; --bootstrap takes one, and needs it if there are several"},
    {.name = "problem", .kind = OPTION_STRING, .metavar = "FILE", .offset = FIELD(files.problem),
     .is_file = true, .default_text = "the problem that RESULT.h5 names",
     .help = "the problem that RESULT.h5 was made from"},
    {.name = "trust", .kind = OPTION_FLAG, .offset = FIELD(files.trust),
     .help = "run the native code that RESULT.h5 or its problem names or embeds"},
    {.name = "embed", .kind = OPTION_FLAG, .offset = FIELD(embed),
     .help = "copy a plugin into the problem file instead of its path; text is always copied"},
    {.name = "seed", .kind = OPTION_INTEGER, .offset = FIELD(seed), .min = 0, .max = INFINITY,
     .default_text = "1", .help = "seed of all random numbers"},
    {.name = "rtol", .kind = OPTION_NUMBER, .offset = FIELD(ode.rtol), .min = 1e-14, .max = 0.1,
     .default_text = "1e-8, or that of the result", .help = "relative tolerance of the integrator"},
    {.name = "atol", .kind = OPTION_NUMBER, .metavar = "VALUE|auto", .offset = FIELD(ode.atol),
     .min = 0, .max = 1e300,
     .above_min = true, .zero = "auto", .default_text = "auto, or that of the result",
     .help = "absolute tolerance of the integrator; auto: it follows each state's own size"},
    {.name = "max-step", .kind = OPTION_NUMBER, .metavar = "H", .offset = FIELD(ode.max_step),
     .min = 0, .max = 1e300,
     .above_min = true, .zero = "auto", .default_text = "auto, or that of the result",
     .help = "longest step of the integrator; auto: the model's, if it declares one"},
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG,
     .offset = FIELD(quiet), .help = "do not report what was written"},
    OPTION_COLOR(offsetof(struct simulate_call, color)),
};

static bool is_given(const struct simulate_call *call, const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return call->given >> i & 1;
    return false;
}

/* The first table of data; NULL: there is none. */
static const char *first_table(const struct simulate_options *options)
{
    return options->tables.parameters    ? "parameters"
           : options->tables.experiments ? "experiments"
           : options->tables.doses       ? "doses"
           : options->tables.inputs      ? "inputs"
           : options->tables.events      ? "events"
                                  : NULL;
}

static bool has_noise(const struct simulate_call *call)
{
    return call->options.with_noise || is_given(call, "noise") || is_given(call, "noise-absolute");
}

/* What is made instead of a table; at most one of them. */
struct made_file {
    bool synthetic, bootstrap, population;
};

static enum status check_kinds(const struct simulate_call *call, const struct made_file *kind,
                               struct error *error)
{
    const char *result = call->options.files.result;
    bool is_synthetic = kind->synthetic;
    const char *of_result = kind->bootstrap ? "bootstrap" : kind->population ? "population" : NULL;
    if (is_synthetic && of_result)
        return error_set(error, STATUS_USAGE, "--datasets and --%s exclude each other", of_result);
    if (kind->bootstrap && kind->population)
        return error_set(error, STATUS_USAGE, "--bootstrap and --population exclude each other");
    if (of_result && !result)
        return error_set(error, STATUS_USAGE, "--%s needs a result file: stiffit simulate --%s N "
                         "RESULT.h5", of_result, of_result);
    if (is_synthetic && result)
        return error_set(error, STATUS_USAGE, "--datasets takes no result file ('%.100s')", result);
    if (kind->population && spare_file(call->options.truth, result, error))
        return error->status;
    if (of_result && is_given(call, "times"))
        return error_set(error, STATUS_USAGE, "--%s takes no --times: replicates have those of the "
                         "dataset", of_result);
    return STATUS_OK;
}

/* Tables and replicates are of predictions, and tables of those without a result. */
static enum status check_tables(const struct simulate_call *call, bool is_file, struct error *error)
{
    static const char *const of_table[] = {"replicates", "draw", "with-noise", "bands"};
    static const char *const given_once[] = {"covariate", "input", "t0"};
    const struct simulate_options *options = &call->options;
    const char *const tables[] = {options->tables.parameters, options->tables.experiments,
                                  options->tables.doses, options->tables.inputs,
                                  options->tables.events};
    const char *first = first_table(options);
    bool draws = options->n_replicate || options->bands || options->source || has_noise(call);
    for (size_t i = 0; is_file && i < sizeof of_table / sizeof *of_table; i++)
        if (is_given(call, of_table[i]))
            return error_set(error, STATUS_USAGE, "--%s is for predictions, not for a problem file",
                             of_table[i]);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i] && !strcmp(tables[i], "-"))
            return error_set(error, STATUS_USAGE,
                             "a table of a simulation is read twice: it cannot be standard input");
    if (first && (is_file || options->files.result))
        return error_set(error, STATUS_USAGE, "--%s: is for simulating a model, not %s", first,
                         is_file ? "for a problem file" : "a result, which has its own data");
    for (size_t i = 0; (first || (draws && !options->files.result)) && !is_file &&
                       i < sizeof given_once / sizeof *given_once; i++)
        if (is_given(call, given_once[i]))
            return error_set(error, STATUS_USAGE,
                             "--%s: put it into a table (--parameters, --inputs) with --%s",
                             given_once[i], first ? first : "replicates");
    if (options->truth && !is_file && !options->source)
        return error_set(error, STATUS_USAGE,
                         "--truth works only with --datasets, --population or --draw");
    if (options->truth && options->bands)
        return error_set(error, STATUS_USAGE, "--truth and --bands exclude each other");
    return STATUS_OK;
}

static enum status check_options(const struct simulate_call *call, const struct made_file *kind,
                                 struct error *error)
{
    /* those from the third on also with predictions, the last also with --population */
    static const char *const synthetic_only[] = {"spread", "no-sigma", "noise", "noise-absolute",
                                                 "truth"};
    static const char *const of_result[] = {"rtol", "atol", "max-step"};
    const struct fitted_options *files = &call->options.files;
    bool is_file = kind->synthetic || kind->bootstrap || kind->population;
    if (check_kinds(call, kind, error))
        return error->status;
    if (is_file && !files->output)
        return error_set(error, STATUS_USAGE, "--output is needed: the problem file to be written");
    if (!files->result && !files->model)
        return error_set(error, STATUS_USAGE, "no model: give one with --model, or a result file");
    if (files->result && call->options.set.n > 0)
        return error_set(error, STATUS_USAGE,
                         "--set and a result file exclude each other: its best fits are the "
                         "parameters");
    for (size_t i = 0; files->result && i < sizeof of_result / sizeof *of_result; i++)
        if (is_given(call, of_result[i]))
            return error_set(error, STATUS_USAGE,
                             "--%s and a result file exclude each other: that of the fits holds",
                             of_result[i]);
    size_t n_refused = !is_file ? 2 : sizeof synthetic_only / sizeof *synthetic_only;
    for (size_t i = 0; !kind->synthetic && i < n_refused - kind->population; i++)
        if (is_given(call, synthetic_only[i]))
            return error_set(error, STATUS_USAGE, "--%s works only with --datasets",
                             synthetic_only[i]);
    return check_tables(call, is_file, error);
}

static enum status simulate_model(const struct simulate_call *call,
                                  const struct simulate_options *options, bool synthetic,
                                  struct output *output, struct simulate_made *made,
                                  struct error *error)
{
    struct model model = {.handle = NULL};
    enum status status =
        model_text_load(&model, options->files.model, false, options->quiet, call->color, error);
    bool is_given_once = !first_table(options) && !options->n_replicate && !options->bands &&
                         !options->source && !options->with_noise;
    if (!status && synthetic)
        status = simulate_synthetic(options, &model, made, error);
    else if (!status && is_given_once)
        status = simulate_table(options, &model, output, made, error);
    else if (!status)
        status = simulate_given_table(options, &model, output, made, error);
    model_unload(&model);
    return status;
}

static int simulate(void *context)
{
    const struct simulate_call *call = context;
    struct simulate_options chosen = call->options;
    const struct simulate_options *options = &chosen;
    struct error error = {.status = STATUS_OK};
    struct output output = {.file = NULL};
    struct simulate_made made = {.n_row = 0};
    const struct made_file kind = {.synthetic = is_given(call, "datasets"),
                                   .bootstrap = is_given(call, "bootstrap"),
                                   .population = is_given(call, "population")};
    bool is_file = kind.synthetic || kind.bootstrap || kind.population;
    enum status status = check_options(call, &kind, &error);
    chosen.with_noise = !is_file && has_noise(call);
    if (!status && kind.bootstrap)
        status = simulate_bootstrap(options, &made, &error);
    else if (!status && kind.population)
        status = simulate_population(options, &made, &error);
    else if (!status && options->files.result)
        status = simulate_fitted_table(options, &output, &made, &error);
    else if (!status)
        status = simulate_model(call, options, kind.synthetic, &output, &made, &error);
    if (!status && made.n_out && !options->quiet)
        message_say("note: %llu values of replicates cannot be computed and are left out",
                    (unsigned long long)made.n_out);
    if (!status && made.n_lost && !options->quiet)
        message_say("note: %zu of %zu predictions cannot be computed and are NaN", made.n_lost,
                    made.n_row);
    if (!status && output.file)
        status = output_finish(&output, &error);
    output_close(&output);
    if (!status && is_file && !options->quiet)
        message_say("%.400s: %llu datasets of %zu measurements%s", options->files.output,
                    (unsigned long long)made.n_dataset, made.n_row,
                    kind.population ? " in all" : " each");
    return status ? message_usage("simulate", &error, call->color) : command_close_output(0);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct simulate_call call = {.options = {.seed = 1, .t0 = NAN, .ode = {.rtol = 1e-8},
                                             .say = message_say,
                                             .files.listener = {.tell = message_hear}}};
    const struct fitted_options *files = &call.options.files;
    struct option_words words;
    int code = command_parse(self, &call, &words, 1, argc, argv);
    if (code < 0) {
        call.options.files.result = words.n_positional ? words.positional[0] : NULL;
        call.given = words.given;
        code = contained_run(simulate, &call,
                             files->model    ? files->model
                             : files->result ? files->result
                                             : "simulate",
                             call.color);
    }
    option_list_fini(&call.options.set);
    option_list_fini(&call.options.covariate);
    option_list_fini(&call.options.input);
    option_list_fini(&call.options.observable);
    return code;
}

const struct command command_simulate = {
    .name = "simulate", .synopsis = "[RESULT.h5]",
    .summary = "print predictions; make synthetic and bootstrap problem files",
    .example = "stiffit simulate --model decay.so --times 0:10:0.5 --set k=0.3\n"
               "stiffit simulate --model pk.ode --parameters subjects.csv --doses doses.csv \\\n"
               "    --times 0:24:0.5 --noise 0.1 --bands 0.05,0.5,0.95\n"
               "stiffit simulate --model decay.so --times 1,2,5 --datasets 1000 --spread 0.3 \\\n"
               "    --noise 0.05 -o synthetic.h5\n"
               "stiffit simulate --bootstrap 1000 wells.result.h5 --id A1 --trust -o "
               "bootstrap.h5\n"
               "stiffit simulate --population 200 subjects.result.h5 -o vpc.h5",
    .description =
        "Prints predictions as CSV in long form (dataset, time, observable, value): of a model at "
        "given parameters, with --parameters of the datasets of a table, or with RESULT.h5 of its "
        "datasets at their best fits. With --replicates or --bands parameters and measurement "
        "errors are drawn.\n"
        "With --datasets it makes a problem file of synthetic datasets instead, with --bootstrap "
        "one that holds a dataset of RESULT.h5 as it is, followed by bootstrap replicates of it, "
        "and with --population one of new datasets from the population of RESULT.h5. The same "
        "seed gives the same numbers.",
    .table = COMMAND_TABLE(table), .run = run};
