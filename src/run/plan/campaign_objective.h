/* The objective of a campaign: error distributions, censoring and priors, from options, problem and model.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CAMPAIGN_OBJECTIVE_H
#define RUN_CAMPAIGN_OBJECTIVE_H

#include "run/plan/campaign.h"

enum { OBJECTIVE_TEXT = 800 };

/* The losses of n observables; free() them, also after a failure. NULL: out of memory. */
struct fit_loss *campaign_losses(const enum error_kind *error, size_t n, double huber_k, double student_nu);
/* After the problem has been checked: campaign->loss, mixes, prior, n_censored and objective_kind. */
enum status campaign_objective_open(struct campaign *campaign, const struct recipe *recipe, struct error *error);
/* Whether some observable has such errors. */
bool campaign_has_error(const struct campaign *campaign, enum error_kind kind);
/* For people: "the negative log-likelihood of normal (A, B) and log-normal (C) errors, 12 measurements censored, with priors
 * on 2 parameters". */
void campaign_objective_text(const struct campaign *campaign, char text[OBJECTIVE_TEXT]);

#endif
