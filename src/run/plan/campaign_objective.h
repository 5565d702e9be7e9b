/* What a campaign minimises: error distribution, censoring and priors, put together from options, problem and model.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_OBJECTIVE_H
#define RUN_CAMPAIGN_OBJECTIVE_H

#include "run/plan/campaign.h"

enum { OBJECTIVE_TEXT = 400 };

/* What the options ask of the problem file, before it is checked. */
void campaign_objective_expect(struct problem_expectation *expectation, const struct fit_options *fit);
/* After the problem has been checked: campaign->prior, n_censored and objective_kind. campaign->fit is set. */
enum status campaign_objective_open(struct campaign *campaign, struct error *error);
/* As options, " error=huber huber-k=1.345". */
void campaign_objective_options(const struct fit_options *fit, char *text, size_t size);
/* For people: "the negative log-likelihood of normal errors, 12 measurements censored, with priors on 2 parameters". */
void campaign_objective_text(const struct campaign *campaign, char text[OBJECTIVE_TEXT]);

#endif
