/* The options of `stiffit run`, their defaults and limits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/run_options.h"

#include "base/output.h"
#include "base/words.h"
#include "io/result/mixed_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct run_options, name)
#define NO_LIMIT ((double)INFINITY)

static const char *const warm_words[] = {"none", "pilot", NULL};
static const char *const bootstrap_words[] = {"auto", "residual", "parametric", NULL};
static const char *const likelihood_words[] = {[LIKELIHOOD_EXACT] = "exact",
                                               [LIKELIHOOD_LAPLACE] = "laplace", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const optimizer_words[] = {"auto", "trf", "lbfgs", NULL};
#define WORD(id, word, table) word,
static const char *const engine_words[] = {"auto", ENGINE_LIST(WORD) NULL};
static const char *const gradient_words[] = {"auto", "forward", "adjoint", "differences", NULL};

#define TUNING_OPTION(id, letter, option, standard, least, most, text) \
    {.name = option, .effect = RUN_OBJECTIVE, .kind = OPTION_NUMBER, \
     .offset = FIELD(recipe.tuning[ERROR_##id]), .min = least, .above_min = true, .max = most, \
     .default_text = OPTION_TEXT(standard), .in_file = true, .help = text},

#define BUDGET_OPTION(type, field, standard, option, option_kind, ...) \
    {.name = option, .kind = OPTION_##option_kind, .offset = FIELD(recipe.fit.field), \
     .in_file = true, __VA_ARGS__},

static const struct option table[] = {
    {.name = "output", .letter = 'o', .effect = RUN_SHOWN, .no_shard = true, .kind = OPTION_STRING,
     .metavar = "FILE", .offset = FIELD(output), .is_file = true, .is_output = true,
     .default_text = "PROBLEM.result.h5", .help = "write the result to this file"},
    {.name = "in-place", .effect = RUN_SHOWN, .no_shard = true, .kind = OPTION_FLAG,
     .offset = FIELD(in_place),
     .help = "put the result into the problem file itself (a copy is written next to it, then "
             "renamed)"},
    {.name = "overwrite", .effect = RUN_SHOWN, .kind = OPTION_FLAG, .offset = FIELD(overwrite),
     .help = "replace an existing result of another run; without it, such a result is kept and "
             "the exit code is 4"},
    {.name = "restart", .effect = RUN_MACHINE, .no_shard = true, .kind = OPTION_FLAG,
     .offset = FIELD(restart),
     .help = "start again: drop the journal of an earlier, unfinished run instead of resuming it"},
    {.name = "retry-failed", .effect = RUN_INPUT, .no_shard = true, .kind = OPTION_FLAG,
     .offset = FIELD(retry_failed),
     .help = "repeat the fits that failed in an existing result, perhaps with other options; "
             "other rows do not change"},
    {.name = "evaluate", .effect = RUN_FITS_LATER, .kind = OPTION_FLAG, .in_file = true,
     .offset = FIELD(recipe.fit.evaluates),
     .help = "search nothing: evaluate objective, log-likelihood, log-prior and gradient of "
             "every dataset at its start values, even outside their bounds"},
    {.name = "only", .effect = RUN_INPUT, .no_shard = true, .kind = OPTION_STRING,
     .metavar = "ID[,ID...]", .offset = FIELD(select.only), .default_text = "all",
     .help = "fit only these datasets, into PROBLEM.only-ID.result.h5"},
    {.name = "shard", .effect = RUN_INPUT, .no_shard = true, .kind = OPTION_STRING,
     .metavar = "k/K|slurm", .offset = FIELD(select.shard_text), .default_text = "all datasets",
     .help = "fit part k of K, counted from 1, into PROBLEM.shard-k-of-K.result.h5; slurm: the "
             "part of this task of a job step or job array"},
    {.name = "cost-from", .effect = RUN_INPUT, .kind = OPTION_STRING, .metavar = "RESULT",
     .offset = FIELD(select.cost_from), .is_file = true, .default_text = "every K-th dataset",
     .help = "with --shard: deal the datasets so that all parts have about the same number of "
             "integrator steps, as counted in this earlier result"},
    {.name = "model", .letter = 'm', .effect = RUN_INPUT, .kind = OPTION_STRING, .metavar = "MODEL",
     .offset = FIELD(model),
     .is_file = true, .default_text = "the model that the problem file names or contains",
     .help = "the model: text (.ode), which is compiled, or a plugin (.so), whose code is run"},
    {.name = "portable", .effect = RUN_FITS_LATER, .kind = OPTION_FLAG,
     .offset = FIELD(recipe.portable), .in_file = true,
     .help = "compile model text for any CPU of this architecture, not only for this CPU: the "
             "same bits on all of them"},
    {.name = "trust", .effect = RUN_MACHINE, .kind = OPTION_FLAG, .offset = FIELD(trust),
     .help = "run the native code that the problem file names or embeds (`stiffit trust` allows "
             "it permanently)"},
    {.name = "threads", .letter = 'j', .effect = RUN_MACHINE, .kind = OPTION_INTEGER,
     .offset = FIELD(n_thread), .min = 0,
     .max = 4096, .default_text = "the CPUs that this process may use",
     .help = "number of computing threads; the results do not depend on it"},
    {.name = "starts", .effect = RUN_FITS, .kind = OPTION_INTEGER, .offset = FIELD(recipe.n_start),
     .min = 1, .max = 1e6, .default_text = "1", .in_file = true,
     .help = "fit each dataset from N starts and keep the one with the lowest objective: the "
             "given start, and N-1 points of a Latin hypercube between the bounds; a missing "
             "bound is replaced by a distance from the start: a factor of 10 on scales log and "
             "log10, |start| (1 if that is 0) on scale lin; a parameter with a prior is drawn "
             "from it"},
    {.name = "seed", .effect = RUN_INPUT, .kind = OPTION_INTEGER, .offset = FIELD(recipe.seed),
     .min = 0, .max = NO_LIMIT, .default_text = "1", .in_file = true,
     .help = "seed of the random starts, which also depend on the dataset and the number of the "
             "start"},
    {.name = "warm-start", .effect = RUN_FITS_LATER, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.warm_start),
     .choice = warm_words, .default_text = "none", .in_file = true,
     .help = "pilot: fit up to 32 datasets first and begin the others at the median of their "
             "parameters; if that fails, at the given start"},
    {.name = "share", .effect = RUN_FITS_LATER, .kind = OPTION_STRING,
     .metavar = "NAME[@COLUMN][,...]",
     .offset = FIELD(recipe.share), .in_file = true, .default_text = "what /parameters/level says",
     .help = "these parameters (or all) have one value for all datasets, or for each group of "
             "them with the same number or text in this column of the table of datasets, such as "
             "plate; datasets that have such a value in common are one fit"},
    {.name = "random", .effect = RUN_FITS_LATER, .kind = OPTION_STRING,
     .metavar = "NAME[@experiment][,...]", .offset = FIELD(recipe.random), .in_file = true,
     .default_text = "what /parameters/level says",
     .help = "these parameters have a value of their own for each dataset, drawn from a normal "
             "distribution on the optimiser's scale, whose mean and covariance are estimated by "
             "maximum likelihood over all datasets; with @experiment also one for each experiment "
             "of a dataset; see stiffit-population(7)"},
    {.name = "random-covariance", .effect = RUN_FITS_LATER, .kind = OPTION_STRING,
     .metavar = "full|diagonal|BLOCKS", .offset = FIELD(recipe.random_covariance), .in_file = true,
     .default_text = "full",
     .help = "which random parameters are correlated with each other: all, none, or those joined "
             "by dots, as in k.V,ka"},
    {.name = "random-deviation", .effect = RUN_FITS_LATER, .kind = OPTION_STRING,
     .metavar = "NAME=NUMBER[,...]", .offset = FIELD(recipe.random_deviation), .in_file = true,
     .default_text = "guesses",
     .help = "with random parameters: standard deviations on the optimiser's scale at the start, "
             "or with --evaluate; NAME.NAME: correlations, NAME@experiment: between experiments"},
    {.name = "likelihood", .effect = RUN_FITS_LATER, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.fit.likelihood), .choice = likelihood_words, .default_text = "exact",
     .in_file = true,
     .help = "with random parameters: the likelihood that is maximised, integrated over them for "
             "each dataset; exact: by quadrature, after Laplace's approximation; laplace: by that "
             "alone"},
    {.name = "likelihood-error", .effect = RUN_FITS_LATER, .kind = OPTION_NUMBER,
     .metavar = "E|auto", .offset = FIELD(recipe.fit.likelihood_error), .min = 0, .max = 1e300,
     .above_min = true, .zero = "auto", .default_text = "auto", .in_file = true,
     .help = "with random parameters: the error of the exact -2 log L to aim at: points are added "
             "until it is reached, or they are too many; from 0.2 on the search itself uses "
             "fewer; auto: 0.1, or 0.2 where likelihoods have kinks, as by a random lag"},
    {.name = "leave-out-failed", .effect = RUN_FITS_LATER, .kind = OPTION_FLAG,
     .offset = FIELD(recipe.leave_out_failed), .in_file = true,
     .help = "with shared parameters: datasets that cannot be used or evaluated are left out of "
             "the fit, which they would end; always so with random parameters"},
    {.name = "profile", .effect = RUN_REFITS, .kind = OPTION_STRING, .metavar = "NAME[,NAME...]",
     .offset = FIELD(recipe.profile), .in_file = true, .default_text = "none",
     .help = "confidence limits of these parameters (or of all) from profile likelihoods"},
    {.name = "bootstrap", .effect = RUN_REFITS, .kind = OPTION_INTEGER,
     .offset = FIELD(recipe.n_bootstrap), .min = 0,
     .max = 1e6, .default_text = "0", .in_file = true,
     .help = "refit N replicates of each dataset for confidence intervals; at least 39 are "
             "needed, 1000 are recommended"},
    {.name = "bootstrap-kind", .effect = RUN_REFITS, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.bootstrap_kind),
     .choice = bootstrap_words, .default_text = "auto", .in_file = true,
     .help = "replicates from the fit's own residuals, or from normal errors; auto: parametric "
             "if every sigma is known"},
    {.name = "keep-starts", .effect = RUN_REFITS, .kind = OPTION_FLAG,
     .offset = FIELD(recipe.keep_starts), .in_file = true,
     .help = "write the end point of every start to /starts of the result"},
    {.name = "keep-profile", .effect = RUN_REFITS, .kind = OPTION_FLAG,
     .offset = FIELD(recipe.keep_profile), .in_file = true,
     .help = "write the points of the profiles to /profiles of the result"},
    {.name = "keep-bootstrap", .effect = RUN_REFITS, .kind = OPTION_FLAG,
     .offset = FIELD(recipe.keep_bootstrap), .in_file = true,
     .help = "write the parameters of every replicate to /bootstrap of the result"},
    {.name = "accept-failed", .effect = RUN_SHOWN, .kind = OPTION_COUNT_OR_PERCENT,
     .offset = FIELD(shown.accept_failed),
     .min = 0, .max = NO_LIMIT, .default_text = "0", .in_file = true,
     .help = "exit with 0 if no more than this many fits fail"},
    {.name = "strict", .effect = RUN_SHOWN, .kind = OPTION_FLAG, .offset = FIELD(shown.strict),
     .in_file = true,
     .help = "converged fits that are doubtful count as failures: those that do not describe "
             "their data (the note poor_fit), and those whose free parameters are all at bounds"},
    {.name = "rtol", .effect = RUN_FITS, .kind = OPTION_NUMBER, .offset = FIELD(recipe.ode.rtol),
     .min = 1e-14, .max = 0.1, .default_text = OPTION_TEXT(ODE_RTOL), .in_file = true,
     .help = "relative tolerance of the integrator, states and sensitivities"},
    {.name = "atol", .effect = RUN_FITS, .kind = OPTION_NUMBER, .metavar = "VALUE|auto",
     .offset = FIELD(recipe.ode.atol),
     .min = 0, .max = 1e300, .above_min = true, .zero = "auto", .default_text = "auto",
     .in_file = true,
     .help = "absolute tolerance of the integrator, in units of the states; auto: it follows "
             "each state's size, so that units do not matter"},
    {.name = "max-step", .effect = RUN_FITS_LATER, .kind = OPTION_NUMBER, .metavar = "H",
     .offset = FIELD(recipe.ode.max_step),
     .min = 0, .max = 1e300, .above_min = true, .zero = "auto", .default_text = "auto",
     .in_file = true,
     .help = "longest step of the integrator, in the model's unit of time, so that no pulse "
             "shorter than its distance to the next measurement is stepped over; auto: the "
             "model's, if it declares one"},
    {.name = "linear-solver", .effect = RUN_FITS, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.ode.linear_solver),
     .choice = linear_solver_word, .default_text = "auto", .in_file = true,
     .help = "linear solver of the integrator; auto: by size and sparsity of the model"},
    {.name = "engine", .effect = RUN_FITS_LATER, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.engine),
     .choice = engine_words, .default_text = "auto", .in_file = true,
     .help = "integrator; lanes: several fits side by side in the vector registers; cvodes: one "
             "after the other; gpu: thousands at once on an OpenCL device, with the bits of lanes; "
             "auto: lanes if the model has them, unless --linear-solver is given or --gradient is "
             "not forward"},
    {.name = "devices", .effect = RUN_MACHINE, .kind = OPTION_STRING,
     .offset = FIELD(recipe.ode.devices), .metavar = "DEVICE[,DEVICE...]",
     .help = "with --engine gpu: these devices, by number or a part of the name; workers use one "
             "after the other (default: all GPUs)"},
    {.name = "device-memory", .effect = RUN_MACHINE, .kind = OPTION_NUMBER, .metavar = "MIB|auto",
     .offset = FIELD(recipe.ode.device_memory),
     .min = 0, .max = 1e12, .above_min = true, .zero = "auto", .default_text = "auto",
     .help = "with --engine gpu: memory of each device that all workers may use together, in MiB; "
             "what does not fit waits, or is left to the CPU; auto: nine tenths of the largest "
             "buffer that the device allows"},
    {.name = "error", .effect = RUN_OBJECTIVE, .kind = OPTION_CHOICE, .offset = FIELD(recipe.error),
     .choice = error_kind_word, .default_text = "normal", .in_file = true,
     .help = "distribution of the measurement errors of every observable for which neither the "
             "problem file nor the model names one: normal (squares of residuals), log-normal "
             "(of logarithms), or one that is less sensitive to outliers"},
    ERROR_TUNING_LIST(TUNING_OPTION)
    {.name = "optimizer", .effect = RUN_FITS, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.fit.optimizer),
     .choice = optimizer_words, .default_text = "auto", .in_file = true,
     .help = "trf: trust region on the derivatives of all residuals; lbfgs: gradients only; "
             "auto: lbfgs from 150 parameters on, if adjoint gradients are cheaper"},
    {.name = "gradient", .effect = RUN_FITS, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.fit.gradient),
     .choice = gradient_words, .default_text = "auto", .in_file = true,
     .help = "forward: sensitivities; adjoint: backward pass, for lbfgs with many parameters; "
             "differences: of whole evaluations, slow, for models whose derivatives are wrong; "
             "auto: by size; fits that meet a jump always use differences"},
    {.name = "ftol", .effect = RUN_FITS, .kind = OPTION_NUMBER,
     .offset = FIELD(recipe.fit.f_tolerance), .min = 0, .max = 1,
     .default_text = "1e-9", .in_file = true,
     .help = "a fit has converged when the relative decrease of its objective is below this; of "
             "a likelihood, relative to half the number of measurements or, if that is more, "
             "half the sum of squares of the weighted residuals"},
    {.name = "gtol", .effect = RUN_FITS, .kind = OPTION_NUMBER,
     .offset = FIELD(recipe.fit.g_tolerance), .min = 0, .max = 1e300,
     .default_text = "1e-6", .in_file = true,
     .help = "or when the cosine of the angle between the weighted residuals and the derivatives "
             "by each parameter is below this, and all parameters together promise little"},
    {.name = "certify", .effect = RUN_FITS_LATER, .kind = OPTION_CHOICE,
     .offset = FIELD(recipe.fit.certify), .choice = no_yes,
     .metavar = "yes|no", .default_text = "yes", .in_file = true,
     .help = "evaluate each optimum again with a tenth of the integrator's tolerances, unless the "
             "search has shown as much, and continue with tighter ones if the optimum changes"},
    FIT_BUDGET_LIST(BUDGET_OPTION)
    {.name = "time-limit", .effect = RUN_MACHINE, .no_shard = true, .kind = OPTION_DURATION,
     .offset = FIELD(time_limit_s),
     .min = 0, .max = 1e9, .above_min = true, .default_text = "no limit",
     .help = "stop after this many seconds, or [D-]HH:MM:SS, with exit code 75; the same command "
             "resumes"},
    {.name = "max-crashes", .effect = RUN_MACHINE, .kind = OPTION_INTEGER,
     .offset = FIELD(max_crashes), .min = 0,
     .max = NO_LIMIT, .default_text = "100; 3 while all such fits have hung", .in_file = true,
     .help = "end the run with exit code 3 when more fits than this have crashed the model or "
             "hung"},
    {.name = "trace", .effect = RUN_SHOWN, .no_shard = true, .kind = OPTION_STRING,
     .metavar = "FILE", .offset = FIELD(trace),
     .is_file = true, .is_output = true, .default_text = "none",
     .help = "with --only: repeat these fits and write every evaluation to FILE ('-': standard "
             "output) as CSV, but no result"},
    {.name = "json", .effect = RUN_SHOWN, .no_shard = true, .kind = OPTION_FLAG,
     .offset = FIELD(shown.json), .help = "print the summary as JSON on standard output"},
    {.name = "quiet", .letter = 'q', .effect = RUN_SHOWN, .kind = OPTION_FLAG,
     .offset = FIELD(shown.quiet), .help = "print only errors"},
    {.name = "progress", .effect = RUN_SHOWN, .kind = OPTION_CHOICE,
     .offset = FIELD(shown.progress), .choice = option_when_words, .default_text = "auto",
     .help = "show the progress: a redrawn line on a terminal, a new line every 30 s elsewhere; "
             "'always' redraws everywhere"},
    {.name = "color", .effect = RUN_SHOWN, .kind = OPTION_CHOICE, .offset = FIELD(shown.color),
     .choice = option_when_words, .default_text = "auto",
     .help = "colours; overrides the environment's NO_COLOR"},
};
_Static_assert(sizeof table / sizeof *table <= 64, "`given` has 64 bits");

struct option_table run_options_table(void) { return OPTION_TABLE(table); }

#define STANDARD(id, letter, option, standard, ...) [ERROR_##id] = standard,
const struct run_options run_options_default = {
    .time_limit_s = NO_LIMIT, .max_crashes = -1,
    .recipe = {.n_start = 1, .seed = 1, .ode = ODE_OPTIONS_DEFAULT, .fit = FIT_OPTIONS_DEFAULT,
               .error = ERROR_NORMAL, .tuning = {ERROR_TUNING_LIST(STANDARD)}}};

/* Checks --only, --shard and --retry-failed, and their combinations. */
static enum status check_selection(struct run_options *options, struct error *error)
{
    if (options->select.only && options->select.shard_text)
        return error_set(error, STATUS_USAGE, "--only and --shard exclude each other");
    if (options->select.only && !options->select.only[0])
        return error_set(error, STATUS_USAGE, "--only: names no dataset");
    if (options->select.cost_from && !options->select.shard_text)
        return error_set(error, STATUS_USAGE, "--cost-from needs --shard k/K");
    if (options->in_place && (options->select.only || options->select.shard_text))
        return error_set(error, STATUS_USAGE,
                         "--in-place is for the result of all datasets; write this one to a file "
                         "of its own (`stiffit merge` merges shards)");
    if (options->retry_failed && options->overwrite)
        return error_set(error, STATUS_USAGE,
                         "--retry-failed and --overwrite exclude each other: --retry-failed keeps "
                         "rows");
    return options->select.shard_text
               ? shard_parse(&options->select.shard, options->select.shard_text, error)
               : STATUS_OK;
}

/* What asks for several fits of a dataset is refused beside --evaluate. What a search alone
 * needs does not matter. */
static enum status check_evaluation(const struct run_options *options, struct error *error)
{
    static const char *const others[] = {"starts",       "warm-start",     "profile",
                                         "bootstrap",    "bootstrap-kind", "keep-starts",
                                         "keep-profile", "keep-bootstrap", "retry-failed"};
    for (size_t i = 0; i < sizeof table / sizeof *table && options->recipe.fit.evaluates; i++)
        if (options->given >> i & 1 &&
            words_find(table[i].name, others, sizeof others / sizeof *others) >= 0)
            return error_set(error, STATUS_USAGE,
                             "--evaluate and --%s exclude each other: nothing is fitted",
                             table[i].name);
    return STATUS_OK;
}

enum status run_options_parse(struct run_options *options, int argc, char *const *argv, bool *help,
                              struct error *error)
{
    struct option_words words;
    *options = run_options_default;
    enum status status = option_parse(run_options_table(), options, &words, 1, argc, argv, error);
    *help = words.help;
    if (status || words.help)
        return status;
    options->given = words.given;
    if (words.n_positional < 1)
        return error_set(error, STATUS_USAGE, "no problem file was given");
    options->problem = words.positional[0];
    words.n_positional = 0; /* -o PROBLEM is checked where --in-place is known */
    if (spare_files(run_options_table(), options, &words, error) ||
        (options->overwrite && spare_file(options->trace, options->problem, error)))
        return error->status;
    if ((status = check_selection(options, error)) || (status = check_evaluation(options, error)))
        return status;
    if (options->in_place && options->output)
        return error_set(error, STATUS_USAGE, "--in-place and --output exclude each other");
    if (options->trace && !options->select.only)
        return error_set(error, STATUS_USAGE,
                         "--trace needs --only ID[,ID...]: the datasets to trace");
    if (options->trace && (options->output || options->in_place || options->retry_failed ||
                           options->restart || options->shown.json))
        return error_set(error, STATUS_USAGE,
                         "--trace writes no result: it excludes --output, --in-place, --restart, "
                         "--retry-failed and --json");
    if (options->output && !options->output[0])
        return error_set(error, STATUS_USAGE, "--output: the name of the file is empty");
    return STATUS_OK;
}

enum status run_options_apply(struct run_options *options, const char *name, const char *value,
                              struct error *error)
{
    return option_apply(run_options_table(), options, options->given, name, value, error);
}

enum status run_paths_init(struct run_paths *paths, const char *output,
                           const struct selection_request *select, struct error *error)
{
    const char *problem = paths->problem, *left = output ? output : paths->problem;
    static const char ending[] = ".result.h5";
    char right[200];
    size_t n = strlen(left);
    bool is_named = paths->in_place || output;
    selection_suffix(select, right, sizeof right - sizeof ending);
    strcat(right, ending);
    if (!is_named && n > 3 && !strcmp(problem + n - 3, ".h5"))
        n -= 3;
    paths->result = malloc(n + sizeof right);
    paths->journal = malloc(n + sizeof right + sizeof ".journal");
    if (!paths->result || !paths->journal)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of the result");
    sprintf(paths->result, "%.*s%s", (int)n, left, is_named ? "" : right);
    sprintf(paths->journal, "%s.journal", paths->result);
    return STATUS_OK;
}

void run_paths_fini(struct run_paths *paths)
{
    free(paths->result);
    free(paths->journal);
    paths->result = paths->journal = NULL;
}

enum status run_options_paths(const struct run_options *options, struct run_paths *paths,
                              struct error *error)
{
    *paths = (struct run_paths){.problem = options->problem,
                                .in_place = options->in_place, .overwrite = options->overwrite,
                                .retry_failed = options->retry_failed};
    enum status status = run_paths_init(paths, options->output, &options->select, error);
    const char *kept = options->trace ? run_trace_journal() : NULL; /* a trace resumes nothing */
    if (!status && kept) {
        free(paths->journal);
        if (!(paths->journal = strdup(kept)))
            status =
                error_set(error, STATUS_NO_MEMORY, "out of memory for the path of the journal");
    }
    return status;
}

enum status run_options_settle(struct run_options *options, struct error *error)
{
    if (check_evaluation(options, error))
        return error->status;
    if (options->recipe.fit.evaluates) {
        struct recipe *recipe = &options->recipe;
        recipe->n_start = 1;
        recipe->warm_start = recipe->bootstrap_kind = recipe->fit.certify = 0;
        recipe->n_bootstrap = 0;
        recipe->profile = NULL;
        recipe->keep_starts = recipe->keep_profile = recipe->keep_bootstrap = false;
        recipe->fit.optimizer = OPTIMIZER_none;
    }
    return STATUS_OK;
}

enum status run_options_of_file(struct run_options *options, const struct problem *problem,
                                struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    for (size_t i = 0; i < info->n_option; i++)
        if (run_options_apply(options, info->option_name[i], info->option_value[i], error)) {
            error->status = STATUS_BAD_PROBLEM;
            return error_context(error, "%s: /options@%s", info->path, info->option_name[i]);
        }
    return run_options_settle(options, error);
}
