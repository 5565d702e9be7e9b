/* The passes of a run over its datasets: pilots, starts, refits. Each needs the results of the earlier ones. While the workers
 * fit, the main thread reads data, syncs the journal and reports progress.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "base/clock.h"
#include "run/compute/compute_joint.h"
#include "run/plan/best.h"
#include "run/plan/review.h"
#include "run/supervise/child.h"
#include "run/supervise/suspects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void break_off(struct compute *compute, const struct error *error)
{
    monitor_enter(&compute->failure_lock);
    if (counter_get(&compute->broken) == 0)
        compute->failure = *error;
    counter_set(&compute->broken, 1);
    monitor_leave(&compute->failure_lock);
}

void compute_count_done(struct compute *compute)
{
    if (counter_add(&compute->n_done, 1) == compute->stage.n_wanted)
        feed_wake(&compute->feed); /* the main thread waits there */
}

/* In this order, so that a thread that reads n_put_off first never sees more fits put off than done. */
static void count_put_off(struct compute *compute)
{
    compute_count_done(compute);
    counter_add(&compute->n_put_off, 1);
}

/* Whether a fit that ended for lack of memory is tried again, alone and in a fresh process; it is not journalled then. If there
 * are several, this process has no memory left, and a fresh one goes on with the fits that have not begun. */
enum { MAX_SHORT_OF_MEMORY = 100, MAX_SHORT_HERE = 16 };

static bool put_off(struct compute *compute, uint64_t fit)
{
    struct board *board = compute->board;
    bool done = false;
    if (board == &compute->private_board)
        return false;
    monitor_enter(&compute->failure_lock);
    uint64_t n_before = counter_get(&compute->n_short_of_memory);
    counter_set(&compute->n_short_of_memory, n_before + 1);
    if (compute->stage.apart) {
        done = n_before > 0;
        counter_set(&compute->wants_fresh, done);
    } else if (counter_get(&compute->wants_fresh)) {
        done = true; /* the fresh process begins it */
    } else if (board->n_short_of_memory < MAX_SHORT_OF_MEMORY && suspects_add(board, fit)) {
        board->n_short_of_memory++;
        done = true;
        if (n_before + 1 >= MAX_SHORT_HERE)
            counter_set(&compute->wants_fresh, 1);
    }
    monitor_leave(&compute->failure_lock);
    if (done && !compute->stage.apart)
        count_put_off(compute);
    return done;
}

static void finish_fit(struct compute *compute, struct fit_job *job)
{
    struct error error;
    const struct fit_record *record = fit_job_record(job);
    if (campaign_is_shared(&compute->campaign)) {
        compute_block_done(compute, record->dataset, record->seconds);
        return;
    }
    if (record->outcome == OUTCOME_out_of_memory &&
        put_off(compute, record->dataset * compute->campaign.n_task + record->start))
        return;
    if (journal_append(compute->journal, record, &error)) {
        break_off(compute, &error);
        return;
    }
    fit_job_forget(job);
    if (trace_wants(compute->trace, record->dataset))
        trace_end(compute->trace, record);
    if (trace_status(compute->trace, &error))
        break_off(compute, &error);
    if (!outcome_is_success((enum outcome)record->outcome) && record->start < compute->campaign.n_start)
        counter_add(&compute->board->n_failed, 1);
    counter_add(&compute->board->n_finished, 1);
    compute_count_done(compute);
}

enum status compute_journal_failure(struct compute *compute, uint64_t dataset, uint32_t task, enum outcome outcome,
                                    const char *reason, struct error *error)
{
    size_t n = compute->campaign.n_parameter;
    struct fit_record record = {.dataset = dataset, .start = task};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a fit");
    fit_record_set_arrays(&record, n, arrays);
    fit_record_clear(&record, n);
    record.outcome = (uint8_t)outcome;
    fit_record_zero_work(&record);
    snprintf(record.reason, sizeof record.reason, "%s", reason);
    enum status status = journal_append(compute->journal, &record, error);
    if (!status && trace_wants(compute->trace, dataset))
        trace_end(compute->trace, &record);
    if (!status && task < compute->campaign.n_start)
        counter_add(&compute->board->n_failed, 1);
    free(arrays);
    return status;
}

/* A row for a fit that never ran. */
static void finish_unstarted(struct compute *compute, uint64_t dataset, uint32_t task, enum outcome outcome,
                             const char *reason)
{
    struct error error;
    if (campaign_is_shared(&compute->campaign)) {
        compute_block_fail(compute, dataset, outcome, reason);
        return;
    }
    if (outcome == OUTCOME_out_of_memory && put_off(compute, dataset * compute->campaign.n_task + task))
        return;
    if (compute_journal_failure(compute, dataset, task, outcome, reason, &error)) {
        break_off(compute, &error);
    } else {
        counter_add(&compute->board->n_finished, 1);
        compute_count_done(compute);
    }
}

static int compare_fits(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Lists the suspects at the beginning of a pass. */
static bool list_suspects(struct compute *compute)
{
    const struct board *board = compute->board;
    free(compute->suspects);
    compute->n_suspect = board->n_suspect;
    compute->suspects = malloc((compute->n_suspect + 1) * sizeof *compute->suspects);
    if (!compute->suspects)
        return false;
    memcpy(compute->suspects, board->suspect, compute->n_suspect * sizeof *compute->suspects);
    qsort(compute->suspects, compute->n_suspect, sizeof *compute->suspects, compare_fits);
    return true;
}

bool compute_has_suspects(const void *context, uint64_t dataset)
{
    const struct compute *compute = context;
    size_t first = 0, end = compute->n_suspect;
    uint64_t fit = dataset * compute->campaign.n_task;
    while (first < end) { /* the first suspect from this dataset on */
        size_t middle = first + (end - first) / 2;
        if (compute->suspects[middle] < fit)
            first = middle + 1;
        else
            end = middle;
    }
    return first < compute->n_suspect && compute->suspects[first] < fit + compute->campaign.n_task;
}

static bool is_suspect(const struct compute *compute, uint64_t fit)
{
    return compute->n_suspect &&
           bsearch(&fit, compute->suspects, compute->n_suspect, sizeof fit, compare_fits);
}

/* Whether the fit ended before this process began its passes. */
static bool has_ended(const struct compute *compute, uint64_t fit)
{
    for (size_t i = 0; i < compute->verdict.n_guilty; i++)
        if (compute->verdict.guilty[i] == fit)
            return true;
    return compute->earlier && journal_has(compute->earlier, fit);
}

static bool client_refill(void *context, uint32_t *first, uint32_t *last)
{
    struct compute *compute = context;
    return feed_next(&compute->feed, first, last);
}

static struct fit_job *take_job(struct compute *compute, struct compute_lane *lane)
{
    struct fit_job *job = lane->free_jobs;
    if (!job)
        return fit_job_new(&compute->campaign,
                           campaign_is_shared(&compute->campaign) ? NULL : &compute->replays,
                           compute->trace);
    lane->free_jobs = *fit_job_link(job);
    return job;
}

static struct job *client_start(void *context, size_t lane, uint32_t item)
{
    struct compute *compute = context;
    const struct campaign *campaign = &compute->campaign;
    size_t row;
    uint32_t number;
    struct fit_job *job = NULL;
    const struct problem_block *block = feed_block(&compute->feed, item, &row, &number);
    uint64_t dataset = block->dataset[row];
    size_t i_block;
    const struct campaign_fit *shared = campaign_is_shared(campaign) ? campaign_fit_of(campaign, dataset, &i_block) : NULL;
    uint32_t task = shared ? shared->joint.task : compute->stage.first_task + number;
    uint64_t fit = dataset * campaign->n_task + task;
    bool is_refit = task >= campaign->n_start;
    if (campaign_is_shared(campaign) ? !shared || i_block >= shared->joint.n_block : has_ended(compute, fit)) {
        if (!compute->stage.apart)
            compute_count_done(compute);
    } else if (is_suspect(compute, fit) != compute->stage.apart) {
        if (!compute->stage.apart && shared)
            compute_block_put_off(compute, dataset);
        else if (!compute->stage.apart)
            count_put_off(compute);
    } else if (block->fault[row] && is_refit && !shared) {
        compute_count_done(compute); /* there is nothing to refit, and so no record */
    } else if (block->fault[row]) {
        finish_unstarted(compute, dataset, task, OUTCOME_bad_data, block->fault[row]);
    } else {
        job = take_job(compute, &compute->lanes[lane]);
        if (!job || !fit_job_begin(job, block, row, task, compute->stage.apart ? YIELDS_TO_STOP : YIELDS_TO_OTHERS)) {
            fit_job_free(job);
            job = NULL;
            finish_unstarted(compute, dataset, task, OUTCOME_out_of_memory, "no memory to begin this fit");
        }
    }
    feed_begun(&compute->feed, item);
    return (struct job *)job;
}

static bool client_resume(void *context, size_t lane, struct job *job)
{
    struct board_slot *slot = ((struct compute *)context)->lanes[lane].slot;
    board_slot_enter(slot, fit_job_number((struct fit_job *)job));
    bool goes_on = fit_job_resume((struct fit_job *)job);
    board_slot_leave(slot);
    return goes_on;
}

static void client_finish(void *context, size_t lane, struct job *scheduled)
{
    struct compute *compute = context;
    struct fit_job *job = (struct fit_job *)scheduled;
    finish_fit(compute, job);
    *fit_job_link(job) = compute->lanes[lane].free_jobs;
    compute->lanes[lane].free_jobs = job;
}

static void client_begin(void *context, size_t lane, struct job *job, struct evaluation *evaluation)
{
    struct compute *compute = context;
    struct board_slot *slot = compute->lanes[lane].slot;
    board_slot_enter(slot, fit_job_number((struct fit_job *)job));
    board_slot_ask(slot, compute->heartbeat[lane / compute->n_lane], evaluation->named,
                   compute->campaign.n_parameter);
    fit_job_begin_evaluation((struct fit_job *)job, evaluation);
}

static void client_end(void *context, size_t lane, struct job *job, struct evaluation *evaluation, bool finished)
{
    board_slot_leave(((struct compute *)context)->lanes[lane].slot);
    if (finished)
        fit_job_end_evaluation((struct fit_job *)job, evaluation);
}

static void client_abandon(void *context, struct job *scheduled)
{
    struct compute *compute = context;
    fit_job_abandon((struct fit_job *)scheduled, compute->pool);
    fit_job_free((struct fit_job *)scheduled);
}

static void show_progress(struct compute *compute)
{
    if (compute->searches) {
        compute_show_searches(compute);
        return;
    }
    uint64_t n_put_off = counter_get(&compute->n_put_off);
    uint64_t n_done = compute->stage.n_before + counter_get(&compute->n_done) - n_put_off;
    if (compute->board->n_shown < n_done)
        compute->board->n_shown = n_done;
    compute->hooks->progress(compute->hooks->context, compute->board->n_shown, counter_get(&compute->board->n_failed),
                             NULL);
}

/* The main thread's work while the workers fit. */
static enum status tend(struct compute *compute, bool *journal_gone, struct error *error)
{
    static const int64_t sync_every_ns = 2 * INT64_C(1000000000), tell_every_ns = 100 * 1000000;
    enum status status = STATUS_OK;
    int64_t synced = clock_now_ns(), told = 0;
    bool goes_on = true;
    while (counter_get(&compute->n_done) < compute->stage.n_wanted && !stop_is_requested() &&
           counter_get(&compute->broken) == 0 && counter_get(&compute->wants_fresh) == 0) {
        bool did;
        if (compute->stage.serve)
            status = compute->stage.serve(compute, &goes_on, error);
        if (!goes_on && !status)
            counter_set(&compute->n_done, compute->stage.n_wanted);
        if (!goes_on || status)
            break;
        status = feed_read(&compute->feed, 20, &did, error);
        if (status)
            break;
        int64_t now = clock_now_ns();
        if (now - told > tell_every_ns) {
            told = now;
            counter_add(&compute->board->heartbeat, 1);
            show_progress(compute);
            struct error trouble;
            if (replays_tell(&compute->replays, &trouble))
                compute_say(compute, "warning: %s; the fits continue, but after an interruption a long one would start from "
                            "the beginning", trouble.message);
        }
        if (now - synced > sync_every_ns) {
            synced = now;
            status = journal_sync(compute->journal, error);
            if (!status && compute_is_first(compute) && journal_is_gone(compute->journal)) {
                *journal_gone = true;
                status = error_set(error, STATUS_SYSTEM, "%s: has been removed meanwhile",
                                   compute->campaign.plan.place.journal);
            }
            if (status)
                break;
        }
    }
    return status;
}

enum status compute_run_pass(struct compute *compute, const struct stage *stage, feed_prepare *prepare, void *context,
                             bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    const struct schedule_client client = {.context = compute, .refill = client_refill, .start = client_start,
                                           .resume = client_resume, .finish = client_finish, .begin = client_begin,
                                           .end = client_end};
    compute->stage = *stage;
    replays_look(&compute->replays, campaign->plan.place.journal, &campaign->plan.identity);
    counter_set(&compute->n_done, 0);
    counter_set(&compute->n_put_off, 0);
    compute->board->is_apart = stage->apart;
    options.n_worker = stage->apart ? 1 : compute->n_worker;
    options.n_lane = stage->apart ? 1 : compute->n_lane; /* no other fit may run at the same time */
    options.engine = compute->engine;
    options.heartbeat = compute->heartbeat;
    options.thread = compute->thread;
    if (!list_suspects(compute))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %llu fits that were put off",
                         (unsigned long long)compute->n_suspect);
    problem_select(campaign->problem, stage->wanted, stage->wanted_context);
    enum status status = problem_rewind(campaign->problem, error);
    if (!status)
        status = feed_init(&compute->feed, campaign->problem, campaign->n_dataset,
                           problem_info(campaign->problem)->n_measurement, stage->n_task, error);
    if (status)
        return status;
    compute->feed.prepare = prepare;
    compute->feed.context = context;
    compute->feed.goes_on = compute->feed.is_read = stage->serve != NULL;
    compute->schedule = schedule_new(&options, &client, error);
    status = compute->schedule ? schedule_start(compute->schedule, error) : error->status;
    if (!status) {
        status = tend(compute, journal_gone, error);
        if (counter_get(&compute->n_done) < stage->n_wanted)
            schedule_stop(compute->schedule, client_abandon);
        feed_end(&compute->feed);
        schedule_join(compute->schedule);
        show_progress(compute);
    }
    schedule_free(compute->schedule);
    compute->schedule = NULL;
    feed_fini(&compute->feed);
    return status;
}

bool compute_is_complete(const struct compute *compute)
{
    return counter_get(&compute->n_done) >= compute->stage.n_wanted && counter_get(&compute->broken) == 0 &&
           counter_get(&compute->wants_fresh) == 0;
}

/* A pass, followed by one in which the fits that were set aside are tried alone: suspects of a death, and fits that ran out of
 * memory, each of which gets a new process. */
enum status compute_stage(struct compute *compute, const struct stage *stage, feed_prepare *prepare, void *context,
                          bool *journal_gone, struct error *error)
{
    enum status status = compute_run_pass(compute, stage, prepare, context, journal_gone, error);
    struct stage apart = *stage;
    apart.apart = true;
    apart.wanted = compute_has_suspects;
    apart.wanted_context = compute;
    apart.n_wanted = counter_get(&compute->n_put_off);
    apart.n_before += counter_get(&compute->n_done) - apart.n_wanted;
    if (status || !compute_is_complete(compute) || apart.n_wanted == 0)
        return status;
    if (counter_get(&compute->n_short_of_memory)) {
        counter_set(&compute->wants_fresh, 1);
        return STATUS_OK;
    }
    compute->board->n_group_death = 0; /* from now on each is found individually */
    return compute_run_pass(compute, &apart, prepare, context, journal_gone, error);
}

static bool is_pilot(const void *campaign, uint64_t dataset)
{
    return pilot_is(((const struct campaign *)campaign)->n_dataset, dataset);
}

/* Of the profiles, once all their sides have ended. */
static enum status compute_reviews(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct selection *selection = &campaign->plan.selection;
    uint32_t n_review = campaign->plan.refits.n_review;
    uint64_t n_wanted = selection->n * n_review;
    const struct stage stage = {.first_task = campaign->n_task - n_review, .n_task = n_review, .wanted = selection_wants,
                                .wanted_context = selection, .n_before = compute->n_fit - n_wanted, .n_wanted = n_wanted};
    struct reviews reviews = {.plan = NULL};
    enum status status = compute_read_journal(compute, error);
    if (!status)
        status = reviews_init(&reviews, &campaign->plan.refits, compute->earlier, &campaign->plan.identity, error);
    if (!status)
        status = compute_stage(compute, &stage, reviews_put, &reviews, journal_gone, error);
    *journal_gone = *journal_gone || reviews.starts.incomplete;
    reviews_fini(&reviews);
    return status;
}

/* Pilots, starts, refits, reviews. A shard fits all pilots of the problem, also those of other shards. */
enum status compute_passes(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct selection *selection = &campaign->plan.selection;
    uint64_t n_start = selection->n * campaign->n_start, n_outside = campaign->n_outside_pilot;
    const struct stage pilots = {.n_task = 1, .wanted = is_pilot, .wanted_context = campaign,
                                 .n_wanted = pilot_count(campaign->n_dataset)};
    const struct stage starts = {.n_task = campaign->n_start, .wanted = selection_wants, .wanted_context = selection,
                                 .n_before = n_outside, .n_wanted = n_start};
    uint32_t n_review = campaign->plan.refits.n_review, n_refit = campaign->n_task - campaign->n_start - n_review;
    const struct stage refits = {.first_task = campaign->n_start, .n_task = n_refit, .wanted = selection_wants,
                                 .wanted_context = selection, .n_before = n_outside + n_start,
                                 .n_wanted = selection->n * n_refit};
    enum status status = STATUS_OK;
    if (campaign_is_shared(campaign))
        return compute_joint(compute, journal_gone, error);
    if (campaign->pilots) {
        status = compute_stage(compute, &pilots, NULL, NULL, journal_gone, error);
        if (status || !compute_is_complete(compute))
            return status;
        status = compute_read_journal(compute, error);
        if (!status) {
            status = pilots_gather(campaign->pilots, compute->earlier, &campaign->plan.identity, error);
            *journal_gone = *journal_gone || status == STATUS_SYSTEM;
        }
    }
    if (!status)
        status = compute_stage(compute, &starts, NULL, NULL, journal_gone, error);
    if (status || !compute_is_complete(compute) || refits.n_task == 0)
        return status;
    struct refit_starts best = {.journal = NULL};
    status = compute_read_journal(compute, error);
    if (!status)
        status = refit_starts_init(&best, compute->earlier, &campaign->plan.identity, error);
    if (!status)
        status = compute_stage(compute, &refits, refit_starts_put, &best, journal_gone, error);
    *journal_gone = *journal_gone || best.incomplete;
    refit_starts_fini(&best);
    if (status || !compute_is_complete(compute) || n_review == 0)
        return status;
    return compute_reviews(compute, journal_gone, error);
}
