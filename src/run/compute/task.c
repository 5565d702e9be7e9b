/* Starts, warm and cold, and refits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/task.h"

#include "fit/joint/one.h"
#include "fit/refits/profile.h"
#include "fit/refits/single.h"
#include "run/plan/pilot.h"
#include "run/plan/review.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void fail(const struct task *task, enum outcome outcome, const char *reason)
{
    fit_record_begin(task->record, task->problem->n_parameter, 0);
    fit_record_fail(task->record, outcome, reason);
}

void task_refit(const struct campaign *campaign, const struct fit_subject *subject,
                const struct refit *refit, const double *profile_end, struct arena *arena,
                struct fit_record *record)
{
    if (refit->kind == REFIT_BOOTSTRAP) {
        fit_bootstrap_run(subject, &campaign->fit, refit->replicate, record);
        return;
    }
    const struct fit_profile_request request =
        review_request(&campaign->plan.refits, refit, profile_end);
    fit_profile_run(subject, &campaign->fit, arena, &request, record);
}

static void run_refit(const struct task *task)
{
    const struct campaign *campaign = task->campaign;
    const struct refit refit =
        refit_plan_get(&campaign->plan.refits, task->number - campaign->n_start);
    struct fit_single single = {.problem = *task->problem,
                                .host = task->host, .arena = task->arena, .scratch = task->scratch,
                                .kind = campaign->plan.refits.bootstrap_kind};
    const struct fit_subject subject = fit_subject_single(&single, &campaign->fit);
    task_refit(campaign, &subject, &refit, task->profile_end, task->arena, task->record);
}

/* Starts at the pilots' median, and at the file's start if that gives no good fit. */
static void run_warm(const struct task *task)
{
    const struct campaign *campaign = task->campaign;
    struct fit_problem warm = *task->problem;
    struct fit_record *record = task->record, first;
    size_t n = warm.n_parameter;
    double *start = arena_calloc(task->arena, n + 1, sizeof *start);
    if (!start) {
        fail(task, OUTCOME_out_of_memory, "no memory for this fit");
        return;
    }
    pilot_start(campaign->pilots, task->problem, start);
    warm.start = start;
    fit_run(&warm, &campaign->fit, task->host, task->arena, record);
    first = *record;
    if (outcome_is_success(first.outcome) &&
        pilot_is_like(campaign->pilots, first.objective, fit_problem_n_row(&warm))) {
        record->notes |= NOTE_warm_start;
        return;
    }
    fit_run(task->problem, &campaign->fit, task->host, task->arena, record);
    bool is_better = outcome_is_success(record->outcome) != outcome_is_success(first.outcome)
                         ? outcome_is_success(record->outcome)
                         : record->objective <= first.objective || !isfinite(first.objective);
    if (is_better) {
        record->notes |= NOTE_cold_start;
        fit_record_add_work(record, &first);
        return;
    }
    /* repeated, because its output has been overwritten */
    const struct fit_record second = *record;
    fit_run(&warm, &campaign->fit, task->host, task->arena, record);
    record->notes |= NOTE_warm_start;
    fit_record_add_work(record, &first);
    fit_record_add_work(record, &second);
}

void task_run(const struct task *task)
{
    const struct campaign *campaign = task->campaign;
    if (campaign_is_shared(campaign)) {
        size_t block;
        struct campaign_fit *fit = campaign_fit_of(campaign, task->problem->dataset, &block);
        joint_block_run(&fit->joint, block, task->problem, task->host, task->arena);
    } else if (task->number >= campaign->n_start) {
        run_refit(task);
    } else if (task->number == 0 && campaign->pilots && pilots_are_ready(campaign->pilots) &&
               !pilot_is(campaign->n_dataset, task->problem->dataset)) {
        run_warm(task);
    } else {
        fit_run(task->problem, &campaign->fit, task->host, task->arena, task->record);
    }
}
