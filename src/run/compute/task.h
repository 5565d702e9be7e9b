/* The tasks of a fit: a start, one side of a profile, a bootstrap replicate, a review of a side.
 * Plain sequential code: those of one dataset run as jobs (compute_pass.h), those of many
 * datasets in a search (search.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/refits/subject.h"
#include "run/plan/campaign.h"

struct task {
    const struct campaign *campaign;
    const struct fit_problem *problem; /* for a refit, its start is the best fit */
    uint32_t number;                   /* within the dataset */
    const double *profile_end;         /* of a review (run/plan/review.h); NULL: none */
    const struct fit_host *host;
    struct arena *arena, *scratch;     /* scratch is reset inside */
    struct fit_record *record;         /* with its arrays; a profile's points are in the arena */
};

/* Always fills the record but for dataset, start and seconds. */
void task_run(const struct task *task);

/* A refit of any subject, into a record with arrays but for the covariance; of a profile, its
 * points are in the arena. profile_end: of a review. Always fills the record but for dataset,
 * start and seconds. */
void task_refit(const struct campaign *campaign, const struct fit_subject *subject,
                const struct refit *refit, const double *profile_end, struct arena *arena,
                struct fit_record *record);
