/* Starts, warm and cold, and refits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/task.h"

#include "fit/profile.h"
#include "run/plan/pilot.h"
#include "run/plan/review.h"
#include "fit/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void fail(const struct task *task, enum outcome outcome, const char *reason)
{
    fit_clear(task->record, task->problem->n_parameter, 0);
    task->record->outcome = outcome;
    snprintf(task->record->reason, sizeof task->record->reason, "%s", reason);
}

static void run_replicate(const struct task *task, const struct refit *refit)
{
    const struct campaign *campaign = task->campaign;
    struct fit_problem problem = *task->problem;
    struct fit_options options = campaign->fit;
    int64_t n_evaluation = 0, n_step = 0;
    char reason[160] = "";
    double *value = arena_calloc(task->arena, fit_problem_n_row(&problem) + 1, sizeof *value);
    options.certify = false;
    problem.measured.value = value;
    enum outcome drawn = OUTCOME_out_of_memory;
    if (value)
        drawn = fit_bootstrap_replicate(task->problem, &options, task->host, task->arena, campaign->plan.refits.bootstrap_kind,
                                        refit->replicate, value, &n_evaluation, &n_step, reason);
    if (drawn == OUTCOME_converged)
        fit_run(&problem, &options, task->host, task->arena, task->record);
    else
        fail(task, drawn, value ? reason : "no memory for a replicate");
    task->record->n_evaluation += n_evaluation;
    task->record->n_step += n_step;
}

static void run_profile(const struct task *task, const struct refit *refit)
{
    const struct refit_plan *plan = &task->campaign->plan.refits;
    const struct fit_profile_request request = review_request(plan, refit, task->profile_end);
    struct fit_options options = task->campaign->fit;
    struct fit_profile profile = {.max_point = FIT_MAX_POINT,
                                  .point = arena_calloc(task->arena, 2 * FIT_MAX_POINT, sizeof(double))};
    options.certify = false;
    if (!profile.point) {
        fail(task, OUTCOME_out_of_memory, "no memory for a profile");
        task->record->limit = refit->kind == REFIT_REVIEW ? LIMIT_none : LIMIT_failed;
        return;
    }
    fit_profile_run(task->problem, &options, task->host, task->arena, task->scratch, &request, task->record, &profile);
    if (task->record->notes & NOTE_changed_engine) {
        const struct fit_record first = *task->record;
        options.engine = ENGINE_CVODES;
        fit_profile_run(task->problem, &options, task->host, task->arena, task->scratch, &request, task->record, &profile);
        task->record->notes |= NOTE_changed_engine;
        fit_record_add_work(task->record, &first);
    }
    task->record->parameter[refit->parameter] = profile.value;
    task->record->limit = (uint8_t)profile.limit;
    task->record->n_point = (uint8_t)profile.n_point;
    task->record->point = profile.point;
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
    if (outcome_is_success(first.outcome) && pilot_is_like(campaign->pilots, first.objective, fit_problem_n_row(&warm))) {
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
    const struct fit_record second = *record; /* repeated, because its output has been overwritten */
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
        const struct refit refit = refit_plan_get(&campaign->plan.refits, task->number - campaign->n_start);
        (refit.kind == REFIT_BOOTSTRAP ? run_replicate : run_profile)(task, &refit);
    } else if (task->number == 0 && campaign->pilots && pilots_are_ready(campaign->pilots) &&
               !pilot_is(campaign->n_dataset, task->problem->dataset)) {
        run_warm(task);
    } else {
        fit_run(task->problem, &campaign->fit, task->host, task->arena, task->record);
    }
}
