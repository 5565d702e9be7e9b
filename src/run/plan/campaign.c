/* Opening a campaign: problem, options, model and data become one checked, constant thing with an identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include "base/number.h"
#include "base/sha256.h"
#include "base/version.h"
#include "io/problem_adopt.h"
#include "run/plan/campaign_model.h"
#include "run/plan/campaign_objective.h"
#include "run/run.h"
#include "run/supervise/trace_journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem_expectation campaign_expectation(const struct model *model)
{
    const struct stiffit_model *abi = &model->abi;
    return (struct problem_expectation){
        .model_name = abi->name, .n_parameter = abi->n_parameter, .n_covariate = abi->n_covariate,
        .n_observable = abi->n_observable, .parameter_name = abi->parameter_name,
        .covariate_name = abi->covariate_name, .observable_name = abi->observable_name,
        .parameter_start = abi->parameter_start, .parameter_lower = abi->parameter_lower,
        .parameter_upper = abi->parameter_upper, .parameter_scale = abi->parameter_scale, .t0 = abi->t0,
        .parameter_prior = abi->parameter_prior, .parameter_prior_on = abi->parameter_prior_on,
        .parameter_prior_number = {abi->parameter_prior_location, abi->parameter_prior_scale, abi->parameter_prior_lower,
                                   abi->parameter_prior_upper},
        .has_noise = abi->noise != NULL, .observable_error = abi->observable_error};
}

/* Everything that a fit's result depends on besides problem, model and seed, as text. A plugin is what it is; how text was
 * compiled changes bits. */
static void describe_options(const struct run_options *options, const struct campaign *campaign, char *text, size_t size)
{
    static const char *const linear_solver[] = {
        [LINEAR_AUTO] = "auto", [LINEAR_DENSE] = "dense", [LINEAR_LAPACK] = "lapack", [LINEAR_KLU] = "klu"};
    char rtol[NUMBER_SIZE], atol[NUMBER_SIZE], ftol[NUMBER_SIZE], gtol[NUMBER_SIZE], seconds[NUMBER_SIZE], error[120];
    campaign_objective_options(campaign, options, error, sizeof error);
    snprintf(text, size, "stiffit=%s starts=%lld rtol=%s atol=%s linear-solver=%s%s optimizer=%s gradient=%s ftol=%s gtol=%s "
             "max-evaluations=%lld max-steps=%lld max-total-steps=%lld max-seconds=%s%s%s%s", STIFFIT_VERSION,
             (long long)options->n_start, number_text(rtol, options->ode.rtol),
             options->ode.atol > 0 ? number_text(atol, options->ode.atol) : "auto",
             linear_solver[options->ode.linear_solver], error,
             options->fit.optimizer == OPTIMIZER_none ? "auto" : optimizer_name(options->fit.optimizer),
             options->fit.gradient == GRADIENT_none ? "auto" : gradient_name(options->fit.gradient),
             number_text(ftol, options->fit.f_tolerance), number_text(gtol, options->fit.g_tolerance),
             (long long)options->fit.max_evaluations, (long long)options->fit.max_steps,
             (long long)options->fit.max_total_steps, number_text(seconds, options->fit.max_seconds),
             campaign->model.source && options->portable ? " portable=yes" : "", options->warm_start ? " warm-start=pilot" : "",
             options->fit.certify ? "" : " certify=no");
}

static void fill_identity(struct campaign *campaign, const struct run_options *options, const unsigned char problem[32])
{
    struct run_identity *identity = &campaign->identity;
    memset(identity, 0, sizeof *identity);
    describe_options(options, campaign, identity->description, sizeof identity->description);
    size_t used = strlen(identity->description);
    refit_plan_describe(&campaign->plan, problem_parameter_name(campaign->problem), identity->description + used,
                        sizeof identity->description - used);
    memcpy(identity->problem, problem, sizeof identity->problem);
    sha256_of(campaign->model.sha256, strlen(campaign->model.sha256), identity->model);
    sha256_of(identity->description, strlen(identity->description), identity->options);
    identity->seed = campaign->seed;
    identity->n_dataset = campaign->n_dataset;
    identity->n_start = campaign->n_start;
    identity->n_parameter = (uint32_t)campaign->n_parameter;
    identity->n_refit = refit_plan_n(&campaign->plan);
    memcpy(identity->selection, campaign->selection.text, sizeof identity->selection);
}

enum status campaign_file_options(const struct problem *problem, struct run_options *options, struct error *error)
{
    const struct problem_info *info = problem_info(problem);
    for (size_t i = 0; i < info->n_option; i++)
        if (run_options_apply(options, info->option_name[i], info->option_value[i], error)) {
            error->status = STATUS_BAD_PROBLEM;
            return error_context(error, "%s: /options@%s", info->path, info->option_name[i]);
        }
    return STATUS_OK;
}

enum parameter_scale *campaign_scales(const char *const *names, size_t n)
{
    enum parameter_scale *scale = calloc(n + 1, sizeof *scale);
    for (size_t i = 0; scale && i < n; i++)
        scale[i] = !strcmp(names[i], "log") ? SCALE_LOG : !strcmp(names[i], "log10") ? SCALE_LOG10 : SCALE_LIN;
    return scale;
}

static enum status read_scales(struct campaign *campaign, const struct run_options *options, struct error *error)
{
    campaign->scale = campaign_scales(problem_parameter_scale(campaign->problem), campaign->n_parameter);
    if (campaign->scale && options->warm_start)
        campaign->pilots = pilots_new(campaign->n_parameter, campaign->scale);
    if (!campaign->scale || (options->warm_start && !campaign->pilots))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", campaign->n_parameter);
    for (uint64_t i = 0; campaign->pilots && i < pilot_count(campaign->n_dataset); i++)
        campaign->n_outside_pilot += !selection_has(&campaign->selection, pilot_dataset(campaign->n_dataset, i));
    return STATUS_OK;
}

/* A replicate is drawn from normal errors around the predictions, or logarithms of them; everything else has to be refused. */
static enum status check_bootstrap(const struct campaign *campaign, struct error *error)
{
    if (campaign->plan.n_bootstrap == 0)
        return STATUS_OK;
    for (uint32_t k = 0; k < campaign->model.abi.n_observable; k++)
        if (!error_row[campaign->loss[k].error].is_drawn)
            return error_set(error, STATUS_USAGE, "--bootstrap: replicates are drawn for normal and log-normal errors only, "
                             "and those of %.60s are %s", campaign->model.abi.observable_name[k],
                             error_kind_word[campaign->loss[k].error]);
    if (campaign->n_censored)
        return error_set(error, STATUS_USAGE, "--bootstrap: some measurements are censored, and it is not known at which "
                         "values a replicate's would be; use --profile");
    if (campaign->n_prior)
        return error_set(error, STATUS_USAGE, "--bootstrap: the spread of replicates says nothing of what priors know; use "
                         "--profile");
    return STATUS_OK;
}

/* What an adjoint integration gives is one number's gradient: no trust region can do with that. */
static enum status check_gradient(const struct campaign *campaign, struct error *error)
{
    if (campaign->fit.optimizer != OPTIMIZER_trf || campaign->fit.gradient != GRADIENT_adjoint)
        return STATUS_OK;
    return error_set(error, STATUS_USAGE, "--gradient adjoint: --optimizer trf needs the derivatives of all residuals; "
                     "say --optimizer lbfgs, or --gradient forward");
}

/* Refits, and how many tasks there are. */
static enum status plan_refits(struct campaign *campaign, const struct run_options *options, struct error *error)
{
    enum status status = refit_plan_init(&campaign->plan, options, problem_parameter_name(campaign->problem),
                                         campaign->n_parameter, error);
    uint64_t n_task = (uint64_t)options->n_start + refit_plan_n(&campaign->plan);
    campaign->n_task = (uint32_t)n_task;
    if (!status && campaign->selection.n > (UINT32_MAX - 1u) / n_task)
        status = error_set(error, STATUS_BAD_PROBLEM,
                           "%llu datasets with %llu starts and refits each are more than 2^32 - 2 tasks; deal them to several "
                           "runs with --shard", (unsigned long long)campaign->selection.n, (unsigned long long)n_task);
    return status;
}

static void beat(void *heartbeat) { counter_add(heartbeat, 1); }

/* Where the compiler's signs of life and words go. */
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

static void show_errors(void *context, const struct text_messages *messages, const char *text, size_t n_byte,
                        const char *origin)
{
    const struct run_hooks *hooks = ((struct build_watch *)context)->hooks;
    hooks->show(hooks->context, messages, text, n_byte, origin);
}

static enum status load_model(struct campaign *campaign, const struct run_options *options, struct board *board,
                              const struct run_hooks *hooks, struct error *error)
{
    struct build_watch watch = {board, hooks};
    const struct model_choice choice = {
        .given = options->model, .trust = options->trust,
        .build = {.portable = options->portable, .warn = true, .show = show_errors,
                  .listener = {.beat = build_beat, .tell = build_tell, .context = &watch}}};
    counter_set(&board->phase, BOARD_LOADING_MODEL);
    return campaign_load_model(&campaign->model, campaign->problem, &choice, error);
}

static enum status select_failed(struct campaign *campaign, const struct run_options *options, struct error *error)
{
    char *path = campaign_result_path(options);
    enum status status = path ? selection_by_failure(&campaign->selection, path, &campaign->identity, error)
                              : error_set(error, STATUS_NO_MEMORY, "out of memory for the path of the result");
    memcpy(campaign->identity.selection, campaign->selection.text, sizeof campaign->identity.selection);
    free(path);
    return status;
}

enum status campaign_open(struct campaign *campaign, struct run_options *options, struct board *board,
                          const struct run_hooks *hooks, struct error *error)
{
    unsigned char hash[32];
    enum status status = problem_open(&campaign->problem, options->problem, error);
    if (!status)
        status = campaign_file_options(campaign->problem, options, error);
    if (!status)
        status = load_model(campaign, options, board, hooks, error);
    if (status)
        return status;
    counter_set(&board->phase, BOARD_CHECKING);
    problem_set_beat(campaign->problem, beat, &board->heartbeat);
    struct problem_expectation expectation = campaign_expectation(&campaign->model);
    expectation.error = (enum error_kind)options->error;
    status = problem_validate(campaign->problem, &expectation, hash, &campaign->n_bad, error);
    if (status)
        return status;
    if (options->in_place && problem_has_other_parameters(campaign->problem))
        return error_set(error, STATUS_USAGE, "--in-place: the model has other parameters than the file names: write the "
                         "result beside it, or import the data with this model");
    campaign->ode = options->ode;
    campaign->fit = options->fit;
    campaign->fit.accuracy = options->ode.rtol;
    campaign->n_parameter = problem_n_parameter(campaign->problem);
    campaign->to_model = problem_to_model(campaign->problem);
    campaign->n_dataset = problem_info(campaign->problem)->n_dataset;
    campaign->n_start = (uint32_t)options->n_start;
    campaign->seed = (uint64_t)options->seed;
    if ((status = selection_open(&campaign->selection, options, campaign->problem, error)))
        return status;
    if ((status = plan_refits(campaign, options, error)))
        return status;
    fill_identity(campaign, options, hash);
    if (options->retry_failed && (status = select_failed(campaign, options, error)))
        return status;
    status = campaign_objective_open(campaign, options, error);
    if (!status)
        status = check_bootstrap(campaign, error);
    if (!status)
        status = check_gradient(campaign, error);
    return status ? status : read_scales(campaign, options, error);
}

void campaign_fini(struct campaign *campaign)
{
    refit_plan_fini(&campaign->plan);
    selection_fini(&campaign->selection);
    pilots_free(campaign->pilots);
    free(campaign->scale);
    free(campaign->prior);
    free(campaign->loss);
    model_unload(&campaign->model);
    problem_close(campaign->problem);
}

static char *join(const char *left, size_t n_left, const char *right)
{
    char *text = malloc(n_left + strlen(right) + 1);
    if (text) {
        memcpy(text, left, n_left);
        strcpy(text + n_left, right);
    }
    return text;
}

char *campaign_result_path(const struct run_options *options)
{
    if (options->in_place)
        return strdup(options->problem);
    if (options->output)
        return strdup(options->output);
    char ending[120];
    size_t n = strlen(options->problem);
    if (n > 3 && !strcmp(options->problem + n - 3, ".h5"))
        n -= 3;
    selection_suffix(options, ending, sizeof ending - sizeof ".result.h5");
    strcat(ending, ".result.h5");
    return join(options->problem, n, ending);
}

char *campaign_journal_path(const struct run_options *options)
{
    if (options->trace)
        return trace_journal_path() ? strdup(trace_journal_path()) : NULL;
    char *result = campaign_result_path(options);
    char *journal = result ? join(result, strlen(result), ".journal") : NULL;
    free(result);
    return journal;
}
