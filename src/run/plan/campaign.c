/* Opens a campaign: combines problem, options, model and data into one checked, constant struct
 * with an identity. Decides whether native code from a data file may run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include "base/sha256.h"
#include "fit/objective/objective.h"
#include "io/problem/adopt.h"
#include "io/problem/prior.h"
#include "io/result/result.h"
#include "model/text/text.h"
#include "ode/engine.h"
#include "run/plan/recipe_text.h"
#include "run/plan/selection_retry.h"
#include "run/plan/trust.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill_identity(struct campaign *campaign, const unsigned char problem[32])
{
    struct run_identity *identity = &campaign->plan.identity;
    struct recipe recipe = campaign->plan.recipe;
    char profile[REFIT_PROFILE_TEXT], share[REFIT_PROFILE_TEXT];
    char random[100], covariance[100], deviation[100]; /* all fit into RECIPE_TEXT */
    memset(identity, 0, sizeof *identity);
    /* CVODES is not described: it was the engine of runs before there were others. */
    enum engine_kind engine = engine_of_bits(campaign->fit.engine);
    recipe.engine = engine != ENGINE_REFERENCE ? 1 + (int)engine : 0;
    recipe.profile = refit_plan_profile(&campaign->plan.refits,
                                        problem_parameter_name(campaign->problem), profile);
    const struct share *const shares = &campaign->share;
    recipe.share = refit_list_text(shares->text, share, sizeof share);
    recipe.random = refit_list_text(shares->random.text, random, sizeof random);
    recipe.random_deviation =
        refit_list_text(shares->deviation.text, deviation, sizeof deviation);
    recipe.random_covariance =
        refit_list_text(shares->random.covariance, covariance, sizeof covariance);
    /* How model text was compiled can change bits, so it is part of the description; a plugin's
     * own hash is enough. */
    struct recipe_uses uses = {.portable = campaign->model.source,
                               .bootstrap_kind = recipe.n_bootstrap > 0};
    for (int k = 0; k < N_ERROR; k++)
        uses.error[k] = campaign_has_error(campaign, (enum error_kind)k);
    recipe_print(&recipe, &uses, identity->description);
    memcpy(identity->problem, problem, sizeof identity->problem);
    sha256_of(campaign->model.sha256, strlen(campaign->model.sha256), identity->model);
    sha256_of(identity->description, strlen(identity->description), identity->options);
    identity->seed = campaign->seed;
    identity->n_dataset = campaign->n_dataset;
    identity->n_start = campaign->n_start;
    identity->n_parameter = (uint32_t)campaign->n_parameter;
    identity->n_refit = refit_plan_n(&campaign->plan.refits);
    /* of a retry, before it narrows */
    memcpy(identity->selection, campaign->plan.selection.text, sizeof identity->selection);
}

static void set_engine(struct campaign *campaign, enum engine_kind kind,
                       const unsigned char problem[32])
{
    campaign->ode.engine = campaign->fit.engine = kind;
    fill_identity(campaign, problem);
}

/* Whether a result or an unfinished run with this campaign's identity is there. */
static bool is_begun(const struct campaign *campaign, const struct run_options *options)
{
    const struct run_paths *paths = &campaign->plan.paths;
    const struct run_identity *identity = &campaign->plan.identity;
    struct result *result = NULL;
    struct journal_reader *journal = NULL;
    struct error ignored;
    bool is = !paths->overwrite && result_is_there(paths->result) &&
              !result_open(&result, paths->result, &ignored) &&
              identity_equal(&result_info(result)->identity, identity);
    if (!is && !options->restart)
        is = !journal_read(&journal, paths->journal, NULL, &ignored) && journal_identity(journal) &&
             identity_equal(journal_identity(journal), identity);
    result_close(result);
    journal_reader_free(journal);
    return is;
}

enum status campaign_engine(const struct recipe *recipe, const struct model *model,
                            struct engine_use use, enum engine_kind *kind, struct error *error)
{
    enum gradient_method gradient = recipe->fit.gradient;
    use.has_adjoint = gradient == GRADIENT_adjoint;
    use.has_differences = gradient == GRADIENT_differences;
    use.has_solver = recipe->ode.linear_solver != LINEAR_AUTO;
    *kind = recipe->engine ? (enum engine_kind)(recipe->engine - 1)
                           : engine_choose(&model->abi, &use);
    const char *refusal = engine_refusal(*kind, &model->abi), *word = engine_word[*kind];
    bool has_devices = recipe->ode.devices && *recipe->ode.devices;
    if ((has_devices || recipe->ode.device_memory > 0) && *kind != ENGINE_GPU)
        return error_set(error, STATUS_USAGE, "--%s is for --engine gpu; this run has %s",
                         has_devices ? "devices" : "device-memory", word);
    if (*kind == ENGINE_REFERENCE)
        return STATUS_OK;
    if (refusal)
        return error_set(error, STATUS_USAGE,
                         "--engine %s: the model %s %s; say --engine cvodes, or leave the option "
                         "out",
                         word, model->abi.name, refusal);
    if (use.has_adjoint)
        return error_set(error, STATUS_USAGE,
                         "--engine %s: this engine has no adjoint gradients; say --gradient "
                         "forward, or --engine cvodes",
                         word);
    return STATUS_OK;
}

/* The engine, and with it the run's identity. `auto` depends on model, problem and options only,
 * except that it continues and recognises what CVODES began, such as a run of a program without
 * lanes. */
static enum status choose_engine(struct campaign *campaign, const struct run_options *options,
                                 const unsigned char problem[32], struct error *error)
{
    const struct recipe *recipe = &campaign->plan.recipe;
    const struct problem_info *info = problem_info(campaign->problem);
    const struct engine_use use = {.has_periods = info->has_periods, .has_phases = info->has_times,
                                   .has_calls = info->n_call > 0};
    enum engine_kind kind;
    enum status status = campaign_engine(recipe, &campaign->model, use, &kind, error);
    if (status)
        return status;
    set_engine(campaign, ENGINE_REFERENCE, problem);
    if (kind != ENGINE_REFERENCE && (recipe->engine != 0 || !is_begun(campaign, options)))
        set_engine(campaign, kind, problem);
    return STATUS_OK;
}

enum parameter_scale *campaign_scales(const char *const *names, size_t n)
{
    enum parameter_scale *scale = calloc(n + 1, sizeof *scale);
    for (size_t i = 0; scale && i < n; i++)
        scale[i] = !strcmp(names[i], "log")     ? SCALE_LOG
                   : !strcmp(names[i], "log10") ? SCALE_LOG10
                                                : SCALE_LIN;
    return scale;
}

static enum status read_scales(struct campaign *campaign, struct error *error)
{
    campaign->scale =
        campaign_scales(problem_parameter_scale(campaign->problem), campaign->n_parameter);
    /* a fit of all datasets has its own */
    bool has_pilots = campaign->plan.recipe.warm_start && !campaign->share.n;
    if (campaign->scale && has_pilots)
        campaign->pilots = pilots_new(campaign->n_parameter, campaign->scale);
    if (!campaign->scale || (has_pilots && !campaign->pilots))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters",
                         campaign->n_parameter);
    for (uint64_t i = 0; campaign->pilots && i < pilot_count(campaign->n_dataset); i++)
        campaign->n_outside_pilot +=
            !selection_has(&campaign->plan.selection, pilot_dataset(campaign->n_dataset, i));
    return STATUS_OK;
}

/* Replicates have normal errors around the predictions, or around their logarithms; refuses
 * everything else. */
static enum status check_bootstrap(const struct campaign *campaign, struct error *error)
{
    if (campaign->plan.refits.n_bootstrap == 0)
        return STATUS_OK;
    bool is_drawn = !campaign->share.n; /* otherwise datasets are drawn, not measurements */
    for (uint32_t k = 0; is_drawn && k < campaign->model.abi.n_observable; k++)
        if (!error_row[campaign->loss[k].error].is_drawn)
            return error_set(error, STATUS_USAGE,
                             "--bootstrap: replicates are drawn for normal and log-normal errors "
                             "only, and those of %.60s are %s",
                             campaign->model.abi.observable_name[k],
                             error_kind_word[campaign->loss[k].error]);
    if (is_drawn && campaign->n_censored)
        return error_set(error, STATUS_USAGE,
                         "--bootstrap: some measurements are censored, and it is not known which "
                         "measurements of a replicate would be; use --profile");
    if (campaign->n_prior)
        return error_set(error, STATUS_USAGE,
                         "--bootstrap: the spread of replicates does not reflect priors; use "
                         "--profile");
    return STATUS_OK;
}

/* An adjoint integration gives the gradient of one number, which is not enough for a trust
 * region. */
static enum status check_gradient(const struct campaign *campaign, struct error *error)
{
    const struct stiffit_model *abi = &campaign->model.abi;
    if (campaign->fit.gradient != GRADIENT_adjoint)
        return STATUS_OK;
    if (abi->n_event || abi->n_input)
        return error_set(error, STATUS_USAGE,
                         "--gradient adjoint: the adjoint method does not go through the %s of the "
                         "model %s; use --gradient forward",
                         abi->n_event ? "events" : "inputs", abi->name);
    if (campaign->fit.optimizer != OPTIMIZER_trf)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE,
                     "--gradient adjoint: --optimizer trf needs the derivatives of all residuals; "
                     "use --optimizer lbfgs, or --gradient forward");
}

/* Refits, and how many tasks there are. */
static enum status plan_refits(struct campaign *campaign, struct error *error)
{
    struct run_plan *plan = &campaign->plan;
    enum status status =
        refit_plan_init(&plan->refits, &plan->recipe, problem_parameter_name(campaign->problem),
                        campaign->share.n ? campaign->share.is_common : NULL, campaign->n_parameter,
                        error);
    uint64_t n_task = (uint64_t)plan->recipe.n_start + refit_plan_n(&plan->refits);
    campaign->n_task = (uint32_t)n_task;
    if (!status && campaign->plan.selection.n > (UINT32_MAX - 1u) / n_task)
        status =
            error_set(error, STATUS_BAD_PROBLEM,
                      "%llu datasets with %llu starts and refits each are more than 2^32 - 2 "
                      "tasks; deal them to several "
                      "runs with --shard",
                      (unsigned long long)campaign->plan.selection.n, (unsigned long long)n_task);
    return status;
}

static void beat(void *heartbeat) { counter_add(heartbeat, 1); }

/* Receives the compiler's signs of life and messages. */
struct build_watch {
    struct board *board;
    const struct run_hooks *hooks;
};

static void build_beat(void *context) { beat(&((struct build_watch *)context)->board->heartbeat); }

static void build_tell(void *context, const char *line)
{
    const struct run_hooks *hooks = ((struct build_watch *)context)->hooks;
    hooks->say(hooks->context, line);
}

static void show_errors(void *context, const struct text_messages *messages, const char *text,
                        size_t n_byte, const char *origin)
{
    const struct run_hooks *hooks = ((struct build_watch *)context)->hooks;
    hooks->show(hooks->context, messages, text, n_byte, origin);
}

static enum status load_model(struct campaign *campaign, const struct run_options *options,
                              struct board *board, const struct run_hooks *hooks,
                              struct error *error)
{
    struct build_watch watch = {board, hooks};
    const struct petab_source *petab = &problem_info(campaign->problem)->petab;
    /* else tables use what the text does not */
    bool is_own = options->model || (!petab->yaml && !petab->n);
    const struct model_choice choice = {.given = options->model,
                                        .trust = options->trust,
                                        .build = {.portable = options->recipe.portable,
                                                  .warn = is_own,
                                                  .show = hooks->show ? show_errors : NULL,
                                                  .listener = {.beat = build_beat,
                                                               .tell = build_tell,
                                                               .context = &watch}}};
    counter_set(&board->phase, BOARD_LOADING_MODEL);
    return campaign_load_model(&campaign->model, campaign->problem, &choice, error);
}

/* The budget of --max-evaluations auto: narrow valleys of many parameters take hundreds of
 * steps. */
enum { EVALUATIONS = 1000, EACH_PARAMETER = 100 };

struct fit_options campaign_fit_options(const struct recipe *recipe, size_t n_parameter)
{
    struct fit_options options = recipe->fit;
    options.accuracy = recipe->ode.rtol;
    if (options.max_evaluations == 0)
        options.max_evaluations = EVALUATIONS + EACH_PARAMETER * (int64_t)n_parameter;
    return options;
}

/* Whether parameters are random, as far as it can be told before the problem is validated: then
 * datasets without measurements contribute nothing. */
static bool has_random(const struct recipe *recipe, const struct problem *problem)
{
    const struct problem_info *info = problem_info(problem);
    bool any = recipe->random != NULL;
    for (size_t i = 0; info->parameter_level && !recipe->share && i < info->n_level; i++)
        any = any || (info->parameter_level[i] && !strcmp(info->parameter_level[i], "random"));
    return any;
}

enum status campaign_open(struct campaign *campaign, struct run_options *options,
                          struct board *board, const struct run_hooks *hooks, struct error *error)
{
    unsigned char hash[32];
    enum status status = problem_open(&campaign->problem, options->problem, error);
    if (!status)
        status = run_options_of_file(options, campaign->problem, error);
    if (!status)
        status = load_model(campaign, options, board, hooks, error);
    if (status)
        return status;
    struct run_plan *plan = &campaign->plan;
    plan->recipe = options->recipe;
    plan->shown = options->shown;
    if ((status = run_options_paths(options, &plan->paths, error)))
        return status;
    counter_set(&board->phase, BOARD_CHECKING);
    problem_set_beat(campaign->problem, beat, &board->heartbeat);
    struct problem_expectation expectation = problem_expectation_of(&campaign->model.abi);
    expectation.error = (enum error_kind)plan->recipe.error;
    expectation.allows_empty = has_random(&plan->recipe, campaign->problem);
    status = problem_validate(campaign->problem, &expectation, hash, &campaign->n_bad, error);
    if (status)
        return status;
    if (plan->paths.in_place && problem_has_other_parameters(campaign->problem))
        return error_set(error, STATUS_USAGE,
                         "--in-place: the model has other parameters than the file names: write "
                         "the result to a file of its own, or import the data with this model");
    campaign->ode = plan->recipe.ode;
    campaign->n_parameter = problem_n_parameter(campaign->problem);
    campaign->fit = campaign_fit_options(&plan->recipe, campaign->n_parameter);
    campaign->to_model = problem_to_model(campaign->problem);
    campaign->n_dataset = problem_info(campaign->problem)->n_dataset;
    campaign->n_start = (uint32_t)plan->recipe.n_start;
    campaign->seed = (uint64_t)plan->recipe.seed;
    if ((status = selection_open(&plan->selection, &options->select, campaign->problem, error)))
        return status;
    if ((status = share_open(&campaign->share, options, campaign->problem, error)))
        return status;
    if ((status = plan_refits(campaign, error)))
        return status;
    plan->recipe.share = options->recipe.share;
    plan->recipe.random = options->recipe.random;
    plan->recipe.random_covariance = options->recipe.random_covariance;
    plan->recipe.random_deviation = options->recipe.random_deviation;
    plan->recipe.leave_out_failed = options->recipe.leave_out_failed;
    if ((status = choose_engine(campaign, options, hash, error)))
        return status;
    if (plan->paths.retry_failed)
        status = selection_by_failure(&plan->selection, plan->paths.result, &plan->identity, error);
    memcpy(plan->identity.selection, plan->selection.text, sizeof plan->identity.selection);
    if (!status)
        status = campaign_objective_open(campaign, &plan->recipe, error);
    if (!status)
        status = check_bootstrap(campaign, error);
    if (!status)
        status = check_gradient(campaign, error);
    if (!status)
        status = read_scales(campaign, error);
    if (status || !campaign_is_shared(campaign))
        return status;
    campaign->fit_of = calloc((size_t)campaign->share.components.n + 1, sizeof *campaign->fit_of);
    return campaign->fit_of ? STATUS_OK
                            : error_set(error, STATUS_NO_MEMORY, "out of memory for %u fits",
                                        (unsigned)campaign->share.components.n);
}

struct ode_options campaign_ode_options(const struct campaign *campaign)
{
    struct ode_options ode = campaign->ode;
    bool has_periods = problem_info(campaign->problem)->has_periods;
    ode.n_none =
        problem_n_none(campaign->problem) + (has_periods ? campaign->model.abi.n_state : 0);
    return ode;
}

struct fit_setting campaign_setting(const struct campaign *campaign)
{
    return (struct fit_setting){
        .model = &campaign->model, .error = problem_errors(campaign->problem),
        .loss = campaign->loss, .mixes = campaign->mixes,
        .has_censored = campaign->n_censored > 0, .n_parameter = campaign->n_parameter,
        .parameter_name = problem_parameter_name(campaign->problem),
        .to_model = campaign->to_model, .scale = campaign->scale, .prior = campaign->prior,
        .max_step = campaign->ode.max_step, .seed = campaign->seed, .n_start = campaign->n_start};
}

void campaign_fini(struct campaign *campaign)
{
    run_plan_fini(&campaign->plan);
    share_fini(&campaign->share);
    free(campaign->fit_of);
    pilots_free(campaign->pilots);
    free(campaign->scale);
    free(campaign->prior);
    free(campaign->loss);
    model_unload(&campaign->model);
    problem_close(campaign->problem);
}

/* OK: these bytes may run. */
static enum status admit(const void *bytes, size_t n_byte, const struct model_choice *choice,
                         const char *who, const char *trustee, struct error *error)
{
    char sha256[SHA256_HEX];
    struct trust_list list = {.n = 0};
    struct error reason = {.message = ""};
    if (choice->trust)
        return STATUS_OK;
    sha256_hex_of(bytes, n_byte, sha256);
    enum status status = trust_read(&list, &reason);
    bool trusted = !status && trust_has(&list, sha256);
    trust_fini(&list);
    if (trusted)
        return trust_check_links(bytes, n_byte, who, error);
    return error_set(error, STATUS_BAD_MODEL,
                     "%s, which runs only with your permission: add --trust for this run, use "
                     "`stiffit trust %s` to trust it from now on, or give your own copy with "
                     "--model PLUGIN.so%s%s",
                     who, trustee, status ? ". The list of trusted models cannot be used: " : "",
                     reason.message);
}

enum status campaign_load_named(struct model *model, const char *path, const char *expected_sha256,
                                const struct model_choice *choice, const char *who,
                                const char *trustee, struct error *error)
{
    char *bytes = NULL;
    size_t n_byte = 0;
    *model = (struct model){.handle = NULL};
    enum status status = model_read(path, &bytes, &n_byte, error);
    if (!status && kind_is_model_text(bytes, n_byte, path)) {
        status =
            model_load_text(model, bytes, n_byte, path, expected_sha256, &choice->build, error);
    } else if (!status) {
        status = admit(bytes, n_byte, choice, who, trustee, error);
        if (!status)
            status = model_load_bytes(model, bytes, n_byte, path, expected_sha256, error);
    }
    free(bytes);
    return status;
}

static enum status load_path(struct model *model, const struct problem *problem,
                             const struct model_choice *choice, struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    char who[1400], *path = problem_model_path(problem);
    if (!path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the model's path");
    snprintf(who, sizeof who, "%.600s: /model@plugin names native code (%.600s)", info->path,
             info->model.plugin);
    enum status status =
        campaign_load_named(model, path, info->model.sha256, choice, who, info->path, error);
    if (status && access(path, R_OK))
        error_context(error,
                      "%.600s: its /model@plugin cannot be read; give a copy with --model, or make "
                      "the file with `stiffit import --embed`",
                      info->path);
    free(path);
    return status;
}

enum status campaign_load_model(struct model *model, const struct problem *problem,
                                const struct model_choice *choice, struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    char origin[700], who[800];
    if (choice->given)
        return model_load_with(model, choice->given, NULL, &choice->build, error);
    if (info->model.plugin)
        return load_path(model, problem, choice, error);
    if (info->model.source) {
        char *source = problem_source_origin(problem);
        enum status status =
            source ? model_load_text(model, info->model.source, strlen(info->model.source), source,
                                     info->model.sha256, &choice->build, error)
                   : error_set(error, STATUS_NO_MEMORY, "out of memory for the model's name");
        free(source);
        return status;
    }
    if (!info->model.bytes)
        return error_set(error, STATUS_BAD_MODEL,
                         "%s: the file names no model (/model/source, /model@plugin or "
                         "/model/plugin); give one with --model MODEL.ode",
                         info->path);
    snprintf(origin, sizeof origin, "%.600s:/model/plugin", info->path);
    snprintf(who, sizeof who, "%.600s: /model/plugin holds native code", info->path);
    enum status status =
        admit(info->model.bytes, info->model.n_byte, choice, who, info->path, error);
    return status ? status
                  : model_load_bytes(model, info->model.bytes, info->model.n_byte, origin,
                                     info->model.sha256, error);
}

/* Sizes of the text for the observables of one kind, and for all kinds. */
enum { OBSERVABLES_TEXT = 80, MIXTURE_TEXT = N_ERROR * (OBSERVABLES_TEXT + 20) + 20 };

struct fit_loss *campaign_losses(const enum error_kind *error, size_t n, const double *tuning)
{
    struct fit_loss *loss = calloc(n, sizeof *loss);
    for (size_t k = 0; loss && k < n; k++)
        loss[k] = fit_loss_of(error[k], tuning);
    return loss;
}

static bool is_likelihood(const struct campaign *campaign)
{
    return campaign->model.abi.noise != NULL || campaign->n_censored > 0 || campaign->mixes;
}

enum status campaign_objective_open(struct campaign *campaign, const struct recipe *recipe,
                                    struct error *error)
{
    const struct problem_prior *given = problem_prior(campaign->problem);
    const enum error_kind *kind = problem_errors(campaign->problem);
    size_t n_observable = campaign->model.abi.n_observable;
    campaign->n_censored = problem_n_censored(campaign->problem);
    campaign->mixes = error_kinds_mix(kind, n_observable);
    campaign->objective_kind = fit_objective_kind(kind[0], is_likelihood(campaign));
    if (!(campaign->loss = campaign_losses(kind, n_observable, recipe->tuning)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu observables",
                         n_observable);
    if (!given)
        return STATUS_OK;
    campaign->prior = calloc(campaign->n_parameter + 1, sizeof *campaign->prior);
    if (!campaign->prior)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu priors",
                         campaign->n_parameter);
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        campaign->prior[i] = (struct fit_prior){given[i].kind, given[i].on_optimizer,
                                                given[i].location, given[i].scale};
        campaign->n_prior += given[i].kind != PRIOR_NONE;
    }
    return STATUS_OK;
}

bool campaign_has_error(const struct campaign *campaign, enum error_kind kind)
{
    const enum error_kind *error = problem_errors(campaign->problem);
    for (uint32_t k = 0; k < campaign->model.abi.n_observable; k++)
        if (error[k] == kind)
            return true;
    return false;
}

/* The names of the observables with errors of this kind, as many as there is room for. */
static int put_observables(const struct campaign *campaign, enum error_kind kind, char *text,
                           int size)
{
    const struct stiffit_model *abi = &campaign->model.abi;
    const char *before = " (";
    int n = 0;
    for (uint32_t k = 0; k < abi->n_observable; k++) {
        if (campaign->loss[k].error != kind)
            continue;
        bool fits = n + (int)strlen(abi->observable_name[k]) + 8 < size;
        n += snprintf(text + n, (size_t)(size - n), "%s%s", before,
                      fits ? abi->observable_name[k] : "...");
        before = ", ";
        if (!fits)
            break;
    }
    return n + snprintf(text + n, (size_t)(size - n), ")");
}

/* "normal errors", "Huber's loss (k = 1.345)", "normal (A) and log-normal (B, C) errors". */
static void distribution_text(const struct campaign *campaign, const char *noun, char *text,
                              size_t size)
{
    const struct fit_loss *first = campaign->loss;
    const char *tuning = error_tuning[first->error].letter;
    int n = 0, n_kind = 0, n_said = 0;
    for (int k = 0; k < N_ERROR; k++)
        n_kind += campaign_has_error(campaign, (enum error_kind)k);
    for (int k = 0; k < N_ERROR; k++) {
        if (!campaign_has_error(campaign, (enum error_kind)k))
            continue;
        n += snprintf(text + n, size - (size_t)n, "%s%s",
                      n_said == 0           ? ""
                      : n_said + 1 < n_kind ? ", "
                                            : " and ",
                      error_row[k].name);
        n_said++;
        if (n_kind > 1)
            n += put_observables(campaign, (enum error_kind)k, text + n, OBSERVABLES_TEXT);
    }
    n += snprintf(text + n, size - (size_t)n, " %s", noun);
    if (n_kind == 1 && tuning)
        snprintf(text + n, size - (size_t)n, " (%s = %g)", tuning, first->tuning);
}

void campaign_objective_text(const struct campaign *campaign, char text[OBJECTIVE_TEXT])
{
    char distribution[MIXTURE_TEXT], censored[80] = "", priors[80] = "";
    bool likelihood = is_likelihood(campaign),
         squares = error_kind_is_square(campaign->loss[0].error);
    distribution_text(campaign, squares || likelihood ? "errors" : "loss", distribution,
                      sizeof distribution);
    if (campaign->n_censored)
        snprintf(censored, sizeof censored, ", %llu measurement%s censored",
                 (unsigned long long)campaign->n_censored, campaign->n_censored == 1 ? "" : "s");
    if (campaign->n_prior)
        snprintf(priors, sizeof priors, ", with priors on %zu parameter%s", campaign->n_prior,
                 campaign->n_prior == 1 ? "" : "s");
    snprintf(text, OBJECTIVE_TEXT, "%s of %s%s%s",
             likelihood ? "the negative log-likelihood"
             : squares  ? "half the weighted sum of squares"
                        : "the sum",
             distribution, censored, priors);
}
