/* Keeps steps from taking a parameter onto a plateau or across a pole: this may lower the objective
 * by what the other parameters gain, but is hard to reverse.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/search/trust_model.h"

enum { TRUST_FAR_MOST = 12 }; /* steps that are taken back */

struct trust_far {
    int n_back;               /* how often a step was taken back */
};

/* Whether the step from best to trial took some parameter too far, and is to be taken back;
 * shortens the limits of those parameters. */
bool trust_far_went(struct trust_far *far, struct trust_model *model, const struct fit_asker *asker,
                    const struct fit_point *best, const struct fit_point *trial);
/* Relaxes the limits after a good step. */
void trust_far_relax(struct trust_model *model);
