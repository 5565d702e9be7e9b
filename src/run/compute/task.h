/* What the tasks of a dataset do: a start, one side of a profile, a bootstrap replicate. Plain sequential code; fit_job.h
 * makes jobs of it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_TASK_H
#define RUN_TASK_H

#include "run/plan/campaign.h"

struct task {
    const struct campaign *campaign;
    const struct fit_problem *problem; /* of a refit: its start is the best fit */
    uint32_t number;                   /* within the dataset */
    const struct fit_host *host;
    struct arena *arena, *scratch;     /* scratch is reset within */
    struct fit_record *record;         /* with its arrays; a profile's points lie in the arena */
};

/* Always fills the record but for dataset, start and seconds. */
void task_run(const struct task *task);

#endif
