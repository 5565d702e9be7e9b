/* Opening a campaign: problem, options, model and data become one checked, constant thing with an identity.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/campaign.h"

#include "base/number.h"
#include "base/sha256.h"
#include "base/version.h"
#include "run/campaign_model.h"
#include "run/run.h"
#include "run/run_option_table.h"

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
        .parameter_upper = abi->parameter_upper, .parameter_scale = abi->parameter_scale, .t0 = abi->t0};
}

/* Everything that a fit's result depends on besides problem, model and seed, as text. A plugin is what it is; how text was
 * compiled changes bits. */
static void describe_options(const struct run_options *options, bool from_text, char *text, size_t size)
{
    static const char *const linear_solver[] = {
        [LINEAR_AUTO] = "auto", [LINEAR_DENSE] = "dense", [LINEAR_LAPACK] = "lapack", [LINEAR_KLU] = "klu"};
    char rtol[NUMBER_SIZE], atol[NUMBER_SIZE], ftol[NUMBER_SIZE], gtol[NUMBER_SIZE], seconds[NUMBER_SIZE];
    snprintf(text, size, "stiffit=%s starts=%lld rtol=%s atol=%s linear-solver=%s ftol=%s gtol=%s "
             "max-evaluations=%lld max-steps=%lld max-total-steps=%lld max-seconds=%s%s", STIFFIT_VERSION,
             (long long)options->n_start, number_text(rtol, options->ode.rtol), number_text(atol, options->ode.atol),
             linear_solver[options->ode.linear_solver], number_text(ftol, options->fit.f_tolerance),
             number_text(gtol, options->fit.g_tolerance), (long long)options->fit.max_evaluations,
             (long long)options->fit.max_steps, (long long)options->fit.max_total_steps,
             number_text(seconds, options->fit.max_seconds),
             from_text && options->portable ? " portable=yes" : "");
}

static void fill_identity(struct campaign *campaign, const struct run_options *options, const unsigned char problem[32])
{
    struct run_identity *identity = &campaign->identity;
    memset(identity, 0, sizeof *identity);
    describe_options(options, campaign->model.source != NULL, identity->description, sizeof identity->description);
    memcpy(identity->problem, problem, sizeof identity->problem);
    sha256_of(campaign->model.sha256, strlen(campaign->model.sha256), identity->model);
    sha256_of(identity->description, strlen(identity->description), identity->options);
    identity->seed = campaign->seed;
    identity->n_dataset = campaign->n_dataset;
    identity->n_start = campaign->n_start;
    identity->n_parameter = (uint32_t)campaign->n_parameter;
}

static enum status apply_file_options(struct campaign *campaign, struct run_options *options, struct error *error)
{
    const struct problem_info *info = problem_info(campaign->problem);
    for (size_t i = 0; i < info->n_option; i++)
        if (run_options_apply(options, info->option_name[i], info->option_value[i], error)) {
            error->status = STATUS_BAD_PROBLEM;
            return error_context(error, "%s: /options@%s", info->path, info->option_name[i]);
        }
    return STATUS_OK;
}

static enum status read_scales(struct campaign *campaign, struct error *error)
{
    const char *const *names = problem_parameter_scale(campaign->problem);
    campaign->scale = calloc(campaign->n_parameter, sizeof *campaign->scale);
    if (!campaign->scale)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu parameters", campaign->n_parameter);
    for (size_t i = 0; i < campaign->n_parameter; i++)
        campaign->scale[i] = !strcmp(names[i], "log")     ? SCALE_LOG
                             : !strcmp(names[i], "log10") ? SCALE_LOG10
                                                          : SCALE_LIN;
    return STATUS_OK;
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

enum status campaign_open(struct campaign *campaign, struct run_options *options, struct board *board,
                          const struct run_hooks *hooks, struct error *error)
{
    unsigned char hash[32];
    enum status status = problem_open(&campaign->problem, options->problem, error);
    if (!status)
        status = apply_file_options(campaign, options, error);
    if (!status)
        status = load_model(campaign, options, board, hooks, error);
    if (status)
        return status;
    counter_set(&board->phase, BOARD_CHECKING);
    problem_set_beat(campaign->problem, beat, &board->heartbeat);
    const struct problem_expectation expectation = campaign_expectation(&campaign->model);
    status = problem_validate(campaign->problem, &expectation, hash, &campaign->n_bad, error);
    if (status)
        return status;
    campaign->ode = options->ode;
    campaign->fit = options->fit;
    campaign->fit.accuracy = options->ode.rtol;
    campaign->fit.absolute_accuracy = options->ode.atol;
    campaign->n_parameter = problem_n_parameter(campaign->problem);
    campaign->to_model = problem_to_model(campaign->problem);
    campaign->n_dataset = problem_info(campaign->problem)->n_dataset;
    campaign->n_start = (uint32_t)options->n_start;
    campaign->seed = (uint64_t)options->seed;
    fill_identity(campaign, options, hash);
    return read_scales(campaign, error);
}

void campaign_fini(struct campaign *campaign)
{
    free(campaign->scale);
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
    size_t n = strlen(options->problem);
    if (n > 3 && !strcmp(options->problem + n - 3, ".h5"))
        n -= 3;
    return join(options->problem, n, ".result.h5");
}

char *campaign_journal_path(const struct run_options *options)
{
    char *result = campaign_result_path(options);
    char *journal = result ? join(result, strlen(result), ".journal") : NULL;
    free(result);
    return journal;
}
