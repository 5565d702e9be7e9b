/* The objective of a run, where options, problem and model meet.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/campaign_objective.h"

#include "base/number.h"
#include "fit/objective.h"
#include "io/problem_prior.h"

#include <stdio.h>
#include <stdlib.h>

void campaign_objective_expect(struct problem_expectation *expectation, const struct fit_options *fit)
{
    expectation->positive = fit->error == ERROR_LOG_NORMAL;
    if (fit->error == ERROR_HUBER)
        expectation->sigma_for = "--error huber";
    else if (fit->error == ERROR_STUDENT)
        expectation->sigma_for = "--error student";
}

static enum status refuse_censored(const struct campaign *campaign, struct error *error)
{
    if (campaign->n_censored == 0 || campaign->fit.error == ERROR_NORMAL || campaign->fit.error == ERROR_LOG_NORMAL)
        return STATUS_OK;
    return error_set(error, STATUS_BAD_PROBLEM, "%s: /measurements/censored marks %llu measurement%s, which --error %s has no "
                     "probability for; use --error normal or log-normal, or leave them out (value NaN)",
                     problem_info(campaign->problem)->path, (unsigned long long)campaign->n_censored,
                     campaign->n_censored == 1 ? "" : "s", fit_error_name(campaign->fit.error));
}

enum status campaign_objective_open(struct campaign *campaign, struct error *error)
{
    static const enum fit_prior_kind kind_of[] = {
        [PROBLEM_PRIOR_NONE] = PRIOR_NONE, [PROBLEM_PRIOR_NORMAL] = PRIOR_NORMAL, [PROBLEM_PRIOR_LOG_NORMAL] = PRIOR_LOG_NORMAL,
        [PROBLEM_PRIOR_LAPLACE] = PRIOR_LAPLACE, [PROBLEM_PRIOR_UNIFORM] = PRIOR_NONE /* it is in the bounds */};
    const struct problem_prior *given = problem_prior(campaign->problem);
    campaign->n_censored = problem_n_censored(campaign->problem);
    campaign->objective_kind = fit_objective_kind(campaign->fit.error,
                                                  campaign->model.abi.noise != NULL || campaign->n_censored > 0);
    enum status status = refuse_censored(campaign, error);
    if (status || !given)
        return status;
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

void campaign_objective_options(const struct fit_options *fit, char *text, size_t size)
{
    char number[NUMBER_SIZE];
    if (fit->error == ERROR_HUBER)
        snprintf(text, size, " error=huber huber-k=%s", number_text(number, fit->huber_k));
    else if (fit->error == ERROR_STUDENT)
        snprintf(text, size, " error=student student-nu=%s", number_text(number, fit->student_nu));
    else
        snprintf(text, size, " error=%s", fit_error_name(fit->error));
}

/* noun: "errors" or "loss". */
static void distribution_text(const struct fit_options *fit, const char *noun, char *text, size_t size)
{
    static const char *const name[] = {[ERROR_NORMAL] = "normal", [ERROR_LOG_NORMAL] = "log-normal",
                                       [ERROR_LAPLACE] = "Laplace's", [ERROR_HUBER] = "Huber's", [ERROR_STUDENT] = "Student's"};
    int n = snprintf(text, size, "%s %s", name[fit->error], noun);
    if (fit->error == ERROR_HUBER)
        snprintf(text + n, size - (size_t)n, " (k = %g)", fit->huber_k);
    else if (fit->error == ERROR_STUDENT)
        snprintf(text + n, size - (size_t)n, " (nu = %g)", fit->student_nu);
}

void campaign_objective_text(const struct campaign *campaign, char text[OBJECTIVE_TEXT])
{
    char distribution[80], censored[80] = "", priors[80] = "";
    bool likelihood = campaign->model.abi.noise != NULL || campaign->n_censored > 0;
    bool squares = campaign->fit.error == ERROR_NORMAL || campaign->fit.error == ERROR_LOG_NORMAL;
    distribution_text(&campaign->fit, squares || likelihood ? "errors" : "loss", distribution, sizeof distribution);
    if (campaign->n_censored)
        snprintf(censored, sizeof censored, ", %llu measurement%s censored", (unsigned long long)campaign->n_censored,
                 campaign->n_censored == 1 ? "" : "s");
    if (campaign->n_prior)
        snprintf(priors, sizeof priors, ", with priors on %zu parameter%s", campaign->n_prior,
                 campaign->n_prior == 1 ? "" : "s");
    snprintf(text, OBJECTIVE_TEXT, "%s of %s%s%s", likelihood ? "the negative log-likelihood"
             : squares ? "half the weighted sum of squares" : "the sum", distribution, censored, priors);
}
