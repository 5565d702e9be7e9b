/* The objective of a run, from its options, problem and model.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign.h"

#include "fit/objective.h"
#include "io/problem_prior.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of the text for the observables of one kind, and for all kinds. */
enum { OBSERVABLES_TEXT = 80, MIXTURE_TEXT = N_ERROR * (OBSERVABLES_TEXT + 20) + 20 };

struct fit_loss *campaign_losses(const enum error_kind *error, size_t n, double huber_k, double student_nu)
{
    struct fit_loss *loss = calloc(n, sizeof *loss);
    for (size_t k = 0; loss && k < n; k++)
        loss[k] = fit_loss_of(error[k], huber_k, student_nu);
    return loss;
}

static bool is_likelihood(const struct campaign *campaign)
{
    return campaign->model.abi.noise != NULL || campaign->n_censored > 0 || campaign->mixes;
}

enum status campaign_objective_open(struct campaign *campaign, const struct recipe *recipe, struct error *error)
{
    static const enum fit_prior_kind kind_of[] = {
        [PROBLEM_PRIOR_NONE] = PRIOR_NONE, [PROBLEM_PRIOR_NORMAL] = PRIOR_NORMAL, [PROBLEM_PRIOR_LOG_NORMAL] = PRIOR_LOG_NORMAL,
        [PROBLEM_PRIOR_LAPLACE] = PRIOR_LAPLACE, [PROBLEM_PRIOR_UNIFORM] = PRIOR_NONE /* it is in the bounds */};
    const struct problem_prior *given = problem_prior(campaign->problem);
    const enum error_kind *kind = problem_errors(campaign->problem);
    size_t n_observable = campaign->model.abi.n_observable;
    campaign->n_censored = problem_n_censored(campaign->problem);
    campaign->mixes = error_kinds_mix(kind, n_observable);
    campaign->objective_kind = fit_objective_kind(kind[0], is_likelihood(campaign));
    if (!(campaign->loss = campaign_losses(kind, n_observable, recipe->huber_k, recipe->student_nu)))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu observables", n_observable);
    if (!given)
        return STATUS_OK;
    campaign->prior = calloc(campaign->n_parameter + 1, sizeof *campaign->prior);
    if (!campaign->prior)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu priors", campaign->n_parameter);
    for (size_t i = 0; i < campaign->n_parameter; i++) {
        campaign->prior[i] = (struct fit_prior){kind_of[given[i].kind], given[i].on_optimizer, given[i].location,
                                                given[i].scale};
        campaign->n_prior += given[i].kind != PROBLEM_PRIOR_NONE;
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
static int put_observables(const struct campaign *campaign, enum error_kind kind, char *text, int size)
{
    const struct stiffit_model *abi = &campaign->model.abi;
    const char *before = " (";
    int n = 0;
    for (uint32_t k = 0; k < abi->n_observable; k++) {
        if (campaign->loss[k].error != kind)
            continue;
        bool fits = n + (int)strlen(abi->observable_name[k]) + 8 < size;
        n += snprintf(text + n, (size_t)(size - n), "%s%s", before, fits ? abi->observable_name[k] : "...");
        before = ", ";
        if (!fits)
            break;
    }
    return n + snprintf(text + n, (size_t)(size - n), ")");
}

/* "normal errors", "Huber's loss (k = 1.345)", "normal (A) and log-normal (B, C) errors". */
static void distribution_text(const struct campaign *campaign, const char *noun, char *text, size_t size)
{
    const struct fit_loss *first = campaign->loss;
    const char *tuning = error_row[first->error].tuning;
    int n = 0, n_kind = 0, n_said = 0;
    for (int k = 0; k < N_ERROR; k++)
        n_kind += campaign_has_error(campaign, (enum error_kind)k);
    for (int k = 0; k < N_ERROR; k++) {
        if (!campaign_has_error(campaign, (enum error_kind)k))
            continue;
        n += snprintf(text + n, size - (size_t)n, "%s%s", n_said == 0 ? "" : n_said + 1 < n_kind ? ", " : " and ",
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
    bool likelihood = is_likelihood(campaign), squares = error_kind_is_square(campaign->loss[0].error);
    distribution_text(campaign, squares || likelihood ? "errors" : "loss", distribution, sizeof distribution);
    if (campaign->n_censored)
        snprintf(censored, sizeof censored, ", %llu measurement%s censored", (unsigned long long)campaign->n_censored,
                 campaign->n_censored == 1 ? "" : "s");
    if (campaign->n_prior)
        snprintf(priors, sizeof priors, ", with priors on %zu parameter%s", campaign->n_prior,
                 campaign->n_prior == 1 ? "" : "s");
    snprintf(text, OBJECTIVE_TEXT, "%s of %s%s%s", likelihood ? "the negative log-likelihood"
             : squares ? "half the weighted sum of squares" : "the sum", distribution, censored, priors);
}
