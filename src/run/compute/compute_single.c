/* Fits of one dataset each: every task of a dataset is an item of a pass over the datasets, and
 * a pass needs the results of the earlier ones: pilots, starts, refits, reviews.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "run/compute/compute_pass.h"
#include "run/plan/review.h"
#include "run/supervise/suspects.h"

#include <stdio.h>

static void break_off(struct compute *compute, const struct error *error)
{
    monitor_enter(&compute->trouble.lock);
    if (counter_get(&compute->trouble.is_broken) == 0)
        compute->trouble.first = *error;
    counter_set(&compute->trouble.is_broken, 1);
    monitor_leave(&compute->trouble.lock);
}

/* Whether a fit that ended for lack of memory is tried again, alone and in a fresh process; it
 * is not journalled then. If another fit was there before it, that one may hold the memory. If
 * there are several, this process has no memory left, and a fresh one with fewer workers goes on
 * with the fits that have not begun. */
enum { MAX_SHORT_OF_MEMORY = 100, MAX_SHORT_HERE = 16 };

static bool is_put_off(struct compute *compute, uint64_t fit)
{
    struct board *board = compute->board;
    bool done = false, has_others = board->size.n_worker * board->size.n_lane > 1;
    if (board == &compute->private_board)
        return false;
    monitor_enter(&compute->trouble.lock);
    uint64_t n_before = counter_get(&compute->trouble.n_short_of_memory);
    counter_set(&compute->trouble.n_short_of_memory, n_before + 1);
    if (compute->pass.stage.apart) {
        done = has_others || n_before > 0
               || counter_get(&board->n_finished) > compute->n_finished_before;
        board->is_alone = board->is_alone || done;
        counter_set(&compute->trouble.wants_fresh, done);
    } else if (counter_get(&compute->trouble.wants_fresh)) {
        done = true; /* the fresh process begins it */
    } else if ((has_others || board->n_short_of_memory < MAX_SHORT_OF_MEMORY)
               && suspects_add(board, fit)) {
        board->n_short_of_memory += !has_others;
        done = true;
        if (n_before + 1 >= MAX_SHORT_HERE) {
            board_shrink(board);
            counter_set(&compute->trouble.wants_fresh, 1);
        }
    }
    monitor_leave(&compute->trouble.lock);
    if (done && !compute->pass.stage.apart)
        compute_count_put_off(compute);
    return done;
}

static bool finish_fit(struct compute *compute, const struct fit_record *record, bool is_short)
{
    struct error error;
    (void)is_short;
    if (record->outcome == OUTCOME_out_of_memory &&
        is_put_off(compute, campaign_number(&compute->campaign, record->dataset, record->start)))
        return false;
    if (record_batch_add(&compute->batch, record, &error)) {
        break_off(compute, &error);
        return false;
    }
    if (compute->trace && trace_wants(compute->trace, record->dataset))
        trace_end(compute->trace, record);
    if (compute->trace && trace_status(compute->trace, &error))
        break_off(compute, &error);
    if (!outcome_is_success((enum outcome)record->outcome)
        && record->start < compute->campaign.n_start)
        counter_add(&compute->board->n_failed, 1);
    counter_add(&compute->board->n_finished, 1);
    compute_count_done(compute);
    return true;
}

/* A row for a fit that never ran. */
static void finish_unstarted(struct compute *compute, uint64_t dataset, uint32_t task,
                             enum outcome outcome,
                             const char *reason)
{
    struct error error;
    if (outcome == OUTCOME_bad_data && task >= compute->campaign.n_start) {
        compute_count_done(compute); /* there is nothing to refit, and so no record */
        return;
    }
    if (outcome == OUTCOME_out_of_memory
        && is_put_off(compute, campaign_number(&compute->campaign, dataset, task)))
        return;
    if (compute_journal_failure(compute, dataset, task, outcome, reason, &error)) {
        break_off(compute, &error);
    } else {
        counter_add(&compute->board->n_finished, 1);
        compute_count_done(compute);
    }
}

/* Whether the fit ended before this process began its passes. */
static bool has_ended(const struct compute *compute, uint64_t fit)
{
    for (size_t i = 0; i < compute->death.n_guilty; i++)
        if (compute->death.guilty[i] == fit)
            return true;
    return compute->earlier && journal_has(compute->earlier, fit);
}

static void show_progress(struct compute *compute)
{
    uint64_t n_put_off = counter_get(&compute->pass.n_put_off);
    uint64_t n_done = compute->pass.stage.n_before + counter_get(&compute->pass.n_done) - n_put_off;
    if (compute->board->n_shown < n_done)
        compute->board->n_shown = n_done;
    compute->hooks->progress(compute->hooks->context, compute->board->n_shown,
                             counter_get(&compute->board->n_failed),
                             NULL);
}

static bool find(const struct compute *compute, uint64_t dataset, uint32_t number, uint32_t *task)
{
    *task = compute->pass.stage.first_task + number;
    return !has_ended(compute, campaign_number(&compute->campaign, dataset, *task));
}

static void put_off(struct compute *compute, uint64_t dataset)
{
    (void)dataset;
    compute_count_put_off(compute);
}

static const struct pass_tasks tasks = {.find = find, .finish = finish_fit,
                                        .fail = finish_unstarted,
                                        .put_off = put_off, .show = show_progress};

static bool is_pilot(const void *campaign, uint64_t dataset)
{
    return pilot_is(((const struct campaign *)campaign)->n_dataset, dataset);
}

/* Refits and reviews, which begin at the best of the starts. */
static enum status run_refits(struct compute *compute, struct stage *stage, bool are_reviews,
                              bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct selection *selection = &campaign->plan.selection;
    struct reviews reviews = {.plan = NULL};
    stage->tasks = &tasks;
    stage->wanted = selection_wants;
    stage->wanted_context = selection;
    stage->n_wanted = selection->n * stage->n_task;
    enum status status = compute_read_journal(compute, error);
    if (!status)
        status = reviews_init(&reviews, &campaign->plan.refits, compute->earlier,
                              &campaign->plan.identity, error);
    if (!status && are_reviews)
        status = compute_stage(compute, stage, reviews_put, &reviews, journal_gone, error);
    else if (!status)
        status = compute_stage(compute, stage, refit_starts_put, &reviews.starts, journal_gone,
                               error);
    *journal_gone = *journal_gone || reviews.starts.incomplete;
    reviews_fini(&reviews);
    return status;
}

/* A shard fits all pilots of the problem, also those of other shards. */
static enum status run_pilots(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct stage pilots = {.tasks = &tasks, .n_task = 1, .wanted = is_pilot,
                                 .wanted_context = campaign,
                                 .n_wanted = pilot_count(campaign->n_dataset)};
    enum status status = compute_stage(compute, &pilots, NULL, NULL, journal_gone, error);
    if (status || !compute_is_complete(compute))
        return status;
    status = compute_read_journal(compute, error);
    if (status)
        return status;
    status = pilots_gather(campaign->pilots, compute->earlier, &campaign->plan.identity, error);
    *journal_gone = *journal_gone || status == STATUS_SYSTEM;
    return status;
}

enum status compute_single(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct selection *selection = &campaign->plan.selection;
    uint32_t n_review = campaign->plan.refits.n_review,
        n_refit = campaign->n_task - campaign->n_start - n_review;
    uint64_t n_outside = campaign->n_outside_pilot, n_start = selection->n * campaign->n_start;
    const struct stage starts = {.tasks = &tasks, .n_task = campaign->n_start,
                                 .wanted = selection_wants, .wanted_context = selection,
                                 .n_before = n_outside, .n_wanted = n_start};
    struct stage refits = {.first_task = campaign->n_start, .n_task = n_refit,
                           .n_before = n_outside + n_start};
    struct stage reviews = {.first_task = campaign->n_start + n_refit, .n_task = n_review,
                            .n_before = n_outside + n_start + selection->n * n_refit};
    enum status status = STATUS_OK;
    if (campaign->pilots)
        status = run_pilots(compute, journal_gone, error);
    if (status || (campaign->pilots && !compute_is_complete(compute)))
        return status;
    status = compute_stage(compute, &starts, NULL, NULL, journal_gone, error);
    if (!status && compute_is_complete(compute) && n_refit)
        status = run_refits(compute, &refits, false, journal_gone, error);
    if (!status && compute_is_complete(compute) && n_review)
        status = run_refits(compute, &reviews, true, journal_gone, error);
    return status;
}
