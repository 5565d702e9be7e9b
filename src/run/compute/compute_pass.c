/* One pass over the datasets: while the workers fit, the main thread reads data, syncs the journal and
 * reports progress.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute_pass.h"

#include "base/clock.h"
#include "run/supervise/stop.h"

#include <stdlib.h>
#include <string.h>

void compute_count_done(struct compute *compute)
{
    if (counter_add(&compute->pass.n_done, 1) == compute->pass.stage.n_wanted)
        block_ring_wake(&compute->pass.ring); /* the main thread waits there */
}

/* In this order, so that a thread that reads n_put_off first never sees more fits put off than done. */
void compute_count_put_off(struct compute *compute)
{
    compute_count_done(compute);
    counter_add(&compute->pass.n_put_off, 1);
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
    free(compute->pass.suspects);
    compute->pass.n_suspect = board->n_suspect;
    compute->pass.suspects = malloc((compute->pass.n_suspect + 1) * sizeof *compute->pass.suspects);
    if (!compute->pass.suspects)
        return false;
    memcpy(compute->pass.suspects, board->suspect, compute->pass.n_suspect * sizeof *compute->pass.suspects);
    qsort(compute->pass.suspects, compute->pass.n_suspect, sizeof *compute->pass.suspects, compare_fits);
    return true;
}

bool compute_has_suspects(const void *context, uint64_t dataset)
{
    const struct compute *compute = context;
    size_t first = 0, end = compute->pass.n_suspect;
    uint64_t fit = dataset * compute->campaign.n_task;
    while (first < end) { /* the first suspect from this dataset on */
        size_t middle = first + (end - first) / 2;
        if (compute->pass.suspects[middle] < fit)
            first = middle + 1;
        else
            end = middle;
    }
    return first < compute->pass.n_suspect && compute->pass.suspects[first] < fit + compute->campaign.n_task;
}

static bool is_suspect(const struct compute *compute, uint64_t fit)
{
    return compute->pass.n_suspect &&
           bsearch(&fit, compute->pass.suspects, compute->pass.n_suspect, sizeof fit, compare_fits);
}

static bool client_refill(void *context, uint32_t *first, uint32_t *last)
{
    struct compute *compute = context;
    return block_ring_next(&compute->pass.ring, first, last);
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
    const struct stage *stage = &compute->pass.stage;
    const struct pass_tasks *tasks = stage->tasks;
    size_t row;
    uint32_t number, task;
    struct fit_job *job = NULL;
    const struct problem_block *block = block_ring_item(&compute->pass.ring, item, &row, &number);
    uint64_t dataset = block->dataset[row];
    if (!tasks->find(compute, dataset, number, &task)) {
        if (!stage->apart)
            compute_count_done(compute);
    } else if (is_suspect(compute, dataset * campaign->n_task + task) != stage->apart) {
        if (!stage->apart)
            tasks->put_off(compute, dataset);
    } else if (block->fault[row]) {
        tasks->fail(compute, dataset, task, OUTCOME_bad_data, block->fault[row]);
    } else {
        job = take_job(compute, &compute->workers.lanes[lane]);
        if (!job || !fit_job_begin(job, block, row, task, stage->apart ? YIELDS_TO_STOP : YIELDS_TO_OTHERS)) {
            fit_job_free(job);
            job = NULL;
            tasks->fail(compute, dataset, task, OUTCOME_out_of_memory, "no memory to begin this fit");
        }
    }
    block_ring_begun(&compute->pass.ring, item);
    return (struct job *)job;
}

static bool client_resume(void *context, size_t lane, struct job *job)
{
    struct board_slot *slot = ((struct compute *)context)->workers.lanes[lane].slot;
    board_slot_enter(slot, fit_job_number((struct fit_job *)job));
    bool goes_on = fit_job_resume((struct fit_job *)job);
    board_slot_leave(slot);
    return goes_on;
}

static void client_finish(void *context, size_t lane, struct job *scheduled)
{
    struct compute *compute = context;
    struct fit_job *job = (struct fit_job *)scheduled;
    compute->pass.stage.tasks->finish(compute, job);
    *fit_job_link(job) = compute->workers.lanes[lane].free_jobs;
    compute->workers.lanes[lane].free_jobs = job;
}

static void client_begin(void *context, size_t lane, struct job *job, struct evaluation *evaluation)
{
    struct compute *compute = context;
    struct board_slot *slot = compute->workers.lanes[lane].slot;
    board_slot_enter(slot, fit_job_number((struct fit_job *)job));
    board_slot_ask(slot, compute->workers.heartbeat[lane / compute->workers.n_lane], evaluation->named,
                   compute->campaign.n_parameter);
    fit_job_begin_evaluation((struct fit_job *)job, evaluation);
}

static void client_end(void *context, size_t lane, struct job *job, struct evaluation *evaluation, bool finished)
{
    board_slot_leave(((struct compute *)context)->workers.lanes[lane].slot);
    if (finished)
        fit_job_end_evaluation((struct fit_job *)job, evaluation);
}

static void client_abandon(void *context, struct job *scheduled)
{
    struct compute *compute = context;
    fit_job_abandon((struct fit_job *)scheduled, compute->workers.pool);
    fit_job_free((struct fit_job *)scheduled);
}

/* The main thread's work while the workers fit. */
static enum status tend(struct compute *compute, bool *journal_gone, struct error *error)
{
    static const int64_t sync_every_ns = 2 * INT64_C(1000000000), tell_every_ns = 100 * 1000000;
    enum status status = STATUS_OK;
    int64_t synced = clock_now_ns(), told = 0;
    bool goes_on = true;
    while (counter_get(&compute->pass.n_done) < compute->pass.stage.n_wanted && !stop_is_requested() &&
           counter_get(&compute->trouble.is_broken) == 0 && counter_get(&compute->trouble.wants_fresh) == 0) {
        bool did;
        if (compute->pass.stage.tasks->serve)
            status = compute->pass.stage.tasks->serve(compute, &goes_on, error);
        if (!goes_on && !status)
            counter_set(&compute->pass.n_done, compute->pass.stage.n_wanted);
        if (!goes_on || status)
            break;
        status = block_ring_read(&compute->pass.ring, 20, &did, error);
        if (!status)
            status = record_batch_flush(&compute->batch, error);
        if (status)
            break;
        int64_t now = clock_now_ns();
        if (now - told > tell_every_ns) {
            told = now;
            counter_add(&compute->board->heartbeat, 1);
            compute->pass.stage.tasks->show(compute);
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
                                   compute->campaign.plan.paths.journal);
            }
            if (status)
                break;
        }
    }
    return status;
}

enum status compute_run_pass(struct compute *compute, const struct stage *stage, block_prepare *prepare, void *context,
                             bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    const struct schedule_client client = {.context = compute, .refill = client_refill, .start = client_start,
                                           .resume = client_resume, .finish = client_finish, .begin = client_begin,
                                           .end = client_end};
    compute->pass.stage = *stage;
    replays_look(&compute->replays, campaign->plan.paths.journal, &campaign->plan.identity);
    counter_set(&compute->pass.n_done, 0);
    counter_set(&compute->pass.n_put_off, 0);
    compute->board->is_apart = stage->apart;
    options.n_worker = stage->apart ? 1 : compute->workers.n;
    options.n_lane = stage->apart ? 1 : compute->workers.n_lane; /* no other fit may run at the same time */
    options.engine = compute->workers.engine;
    options.heartbeat = compute->workers.heartbeat;
    options.thread = compute->workers.thread;
    if (!list_suspects(compute))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %llu fits that were put off",
                         (unsigned long long)compute->pass.n_suspect);
    problem_select(campaign->problem, stage->wanted, stage->wanted_context);
    enum status status = problem_rewind(campaign->problem, error);
    if (!status)
        status = block_ring_init(&compute->pass.ring, campaign->problem, campaign->n_dataset,
                           problem_info(campaign->problem)->n_measurement, stage->n_task, error);
    if (status)
        return status;
    compute->pass.ring.prepare = prepare;
    compute->pass.ring.context = context;
    compute->pass.ring.goes_on = compute->pass.ring.is_read = stage->tasks->serve != NULL;
    compute->pass.schedule = schedule_new(&options, &client, error);
    status = compute->pass.schedule ? schedule_start(compute->pass.schedule, error) : error->status;
    if (!status) {
        status = tend(compute, journal_gone, error);
        if (counter_get(&compute->pass.n_done) < stage->n_wanted)
            schedule_stop(compute->pass.schedule, client_abandon);
        block_ring_end(&compute->pass.ring);
        schedule_join(compute->pass.schedule);
        compute->pass.stage.tasks->show(compute);
    }
    schedule_free(compute->pass.schedule);
    compute->pass.schedule = NULL;
    block_ring_fini(&compute->pass.ring);
    return status;
}

bool compute_is_complete(const struct compute *compute)
{
    const struct pass *pass = &compute->pass;
    return counter_get(&pass->n_done) >= pass->stage.n_wanted
           && counter_get(&compute->trouble.is_broken) == 0
           && counter_get(&compute->trouble.wants_fresh) == 0;
}

/* A pass, followed by one in which the fits that were set aside are tried alone: suspects of a death, and fits that ran out of
 * memory, each of which gets a new process. */
enum status compute_stage(struct compute *compute, const struct stage *stage, block_prepare *prepare, void *context,
                          bool *journal_gone, struct error *error)
{
    enum status status = compute_run_pass(compute, stage, prepare, context, journal_gone, error);
    struct stage apart = *stage;
    apart.apart = true;
    apart.wanted = compute_has_suspects;
    apart.wanted_context = compute;
    apart.n_wanted = counter_get(&compute->pass.n_put_off);
    apart.n_before += counter_get(&compute->pass.n_done) - apart.n_wanted;
    if (status || !compute_is_complete(compute) || apart.n_wanted == 0)
        return status;
    if (counter_get(&compute->trouble.n_short_of_memory)) {
        counter_set(&compute->trouble.wants_fresh, 1);
        return STATUS_OK;
    }
    compute->board->n_group_death = 0; /* from now on each is found individually */
    return compute_run_pass(compute, &apart, prepare, context, journal_gone, error);
}
