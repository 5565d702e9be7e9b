/* The compute process: the main thread reads data, keeps the journal on disk and tells the progress; the workers fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/clock.h"
#include "io/result.h"
#include "ode/engine.h"
#include "par/cpus.h"
#include "par/monitor.h"
#include "run/board.h"
#include "run/campaign.h"
#include "run/campaign_objective.h"
#include "run/feed.h"
#include "run/fit_job.h"
#include "run/refit_start.h"
#include "run/schedule.h"
#include "run/skeleton.h"
#include "run/stop.h"
#include "run/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct worker {
    struct engine *engine;
    struct fit_job *free_jobs;
    struct counter heartbeat;
    char padding[64]; /* workers do not share cache lines */
};

/* A pass over all datasets through the pool: some of the tasks of each. Later passes need what earlier ones found. */
struct stage {
    uint32_t first_task, n_task; /* of each dataset */
    bool pilots_only;
    uint64_t n_before;           /* tasks that are done before it begins, for the display */
    uint64_t n_wanted;
};

struct compute {
    struct campaign campaign;
    struct board private_board, *board;
    struct engine_pool *pool;
    struct feed feed;
    struct schedule *schedule;
    struct worker *workers;
    size_t n_worker;
    struct journal *journal;
    struct journal_reader *earlier;
    char *result_path, *journal_path;
    const struct run_hooks *hooks;
    uint64_t n_fit;                          /* tasks of all stages */
    struct stage stage;
    struct counter n_done, n_failed, broken; /* tasks, n_done of this stage; broken: 1 when the journal cannot be written */
    struct monitor failure_lock;
    struct error failure;                    /* the first one, under failure_lock */
};

static void break_off(struct compute *compute, const struct error *error)
{
    monitor_enter(&compute->failure_lock);
    if (counter_get(&compute->broken) == 0)
        compute->failure = *error;
    counter_set(&compute->broken, 1);
    monitor_leave(&compute->failure_lock);
}

static void count_done(struct compute *compute)
{
    if (counter_add(&compute->n_done, 1) == compute->stage.n_wanted)
        feed_wake(&compute->feed); /* the main thread waits there */
}

static void finish_fit(struct compute *compute, const struct fit_record *record)
{
    struct error error;
    if (journal_append(compute->journal, record, &error)) {
        break_off(compute, &error);
        return;
    }
    if (!outcome_is_success((enum outcome)record->outcome) && record->start < compute->campaign.n_start)
        counter_add(&compute->n_failed, 1);
    counter_add(&compute->board->n_finished, 1);
    count_done(compute);
}

/* A row for a fit that never ran. */
static void finish_unstarted(struct compute *compute, uint64_t dataset, uint32_t start, enum outcome outcome,
                             const char *reason)
{
    size_t n = compute->campaign.n_parameter;
    struct fit_record record = {.dataset = dataset, .start = start};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (arrays) {
        fit_record_set_arrays(&record, n, arrays);
        fit_record_clear(&record, n);
        record.outcome = (uint8_t)outcome;
        record.n_iteration = record.n_evaluation = record.n_step = 0;
        record.seconds = 0;
        snprintf(record.reason, sizeof record.reason, "%s", reason);
        finish_fit(compute, &record);
    } else {
        struct error error;
        error_set(&error, STATUS_NO_MEMORY, "out of memory for the record of a fit");
        break_off(compute, &error);
    }
    free(arrays);
}

static bool client_refill(void *context, uint32_t *first, uint32_t *last)
{
    struct compute *compute = context;
    return feed_next(&compute->feed, first, last);
}

static struct fit_job *take_job(struct compute *compute, struct worker *worker)
{
    struct fit_job *job = worker->free_jobs;
    if (!job)
        return fit_job_new(&compute->campaign);
    worker->free_jobs = *fit_job_link(job);
    return job;
}

static struct job *client_start(void *context, size_t i_worker, uint32_t item)
{
    struct compute *compute = context;
    const struct campaign *campaign = &compute->campaign;
    size_t row;
    uint32_t number;
    struct fit_job *job = NULL;
    const struct problem_block *block = feed_block(&compute->feed, item, &row, &number);
    uint64_t dataset = block->first + row;
    uint32_t task = compute->stage.first_task + number;
    bool is_refit = task >= campaign->n_start;
    if (compute->stage.pilots_only && !pilot_is(campaign->n_dataset, dataset)) {
        /* its turn comes later */
    } else if (compute->earlier && journal_has(compute->earlier, dataset * campaign->n_task + task)) {
        count_done(compute);
    } else if (block->fault[row] && is_refit) {
        count_done(compute); /* there is nothing to refit: no record of it either */
    } else if (block->fault[row]) {
        finish_unstarted(compute, dataset, task, OUTCOME_bad_data, block->fault[row]);
    } else {
        job = take_job(compute, &compute->workers[i_worker]);
        if (!job || !fit_job_begin(job, block, row, task)) {
            fit_job_free(job);
            job = NULL;
            finish_unstarted(compute, dataset, task, OUTCOME_out_of_memory, "no memory to begin this fit");
        }
    }
    feed_begun(&compute->feed, item);
    return (struct job *)job;
}

static enum job_state client_run(void *context, size_t i_worker, struct job *scheduled, struct turn *turn)
{
    struct compute *compute = context;
    struct worker *worker = &compute->workers[i_worker];
    struct fit_job *job = (struct fit_job *)scheduled;
    enum job_state state = fit_job_run(job, worker->engine, turn, &worker->heartbeat);
    if (state == JOB_DONE) {
        finish_fit(compute, fit_job_record(job));
        *fit_job_link(job) = worker->free_jobs;
        worker->free_jobs = job;
    }
    return state;
}

static void client_abandon(void *context, struct job *scheduled)
{
    struct compute *compute = context;
    fit_job_abandon((struct fit_job *)scheduled, compute->pool);
    fit_job_free((struct fit_job *)scheduled);
}

static void say(struct compute *compute, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct compute *compute, const char *format, ...)
{
    char line[2200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    compute->hooks->say(compute->hooks->context, line);
}

/* What the run will do, and every compromise that is known before it starts. */
static void describe(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;
    const struct stiffit_model *model = &campaign->model.abi;
    say(compute, "model %s: %u state%s, %u parameter%s, %u observable%s; %llu dataset%s%s; %zu worker%s, %s linear solver",
        model->name, model->n_state, model->n_state == 1 ? "" : "s", model->n_parameter, model->n_parameter == 1 ? "" : "s",
        model->n_observable, model->n_observable == 1 ? "" : "s", (unsigned long long)campaign->n_dataset,
        campaign->n_dataset == 1 ? "" : "s", campaign->n_start > 1 ? ", several starts each" : "", compute->n_worker,
        compute->n_worker == 1 ? "" : "s", engine_pool_linear_solver(compute->pool));
    char objective[OBJECTIVE_TEXT];
    campaign_objective_text(campaign, objective);
    say(compute, "objective: %s", objective);
    if (campaign->plan.n_profile || campaign->plan.n_bootstrap)
        say(compute, "refits of each dataset: %u sides of profiles, %u bootstrap replicates", 2 * campaign->plan.n_profile,
            campaign->plan.n_bootstrap);
    uint32_t missing = model_missing_derivatives(&campaign->model);
    for (int bit = 0; bit < 32; bit++)
        if (missing >> bit & 1)
            say(compute, "note: %s", note_meaning(bit));
    if (campaign->n_bad)
        say(compute, "note: %llu dataset%s cannot be fitted (bad_data)", (unsigned long long)campaign->n_bad,
            campaign->n_bad == 1 ? "" : "s");
    if (compute->earlier && journal_n_record(compute->earlier))
        say(compute, "resuming: %llu of %llu fits are in the journal%s", (unsigned long long)journal_n_record(compute->earlier),
            (unsigned long long)compute->n_fit,
            journal_n_damaged(compute->earlier) ? " (a torn end was cut off)" : "");
}

/* What has been journalled until now. */
static enum status read_journal(struct compute *compute, struct error *error)
{
    journal_reader_free(compute->earlier);
    compute->earlier = NULL;
    return journal_read(&compute->earlier, compute->journal_path, &compute->campaign.identity, error);
}

static enum status open_journal(struct compute *compute, const struct run_options *options, struct error *error)
{
    const struct run_identity *identity = &compute->campaign.identity;
    enum status status = STATUS_OK;
    if (options->restart && !compute->board->again)
        status = journal_remove(compute->journal_path, error);
    if (!status)
        status = read_journal(compute, error);
    if (!status)
        status = journal_open(&compute->journal, compute->journal_path, identity, error);
    if (!status)
        status = skeleton_write(compute->journal_path, &compute->campaign, options, error);
    return status;
}

static enum status make_workers(struct compute *compute, const struct run_options *options, struct error *error)
{
    compute->n_worker = options->n_thread > 0 ? (size_t)options->n_thread : cpus_available();
    if (compute->n_worker > compute->n_fit)
        compute->n_worker = compute->n_fit ? compute->n_fit : 1;
    compute->workers = calloc(compute->n_worker, sizeof *compute->workers);
    compute->pool = engine_pool_new(&compute->campaign.model, &compute->campaign.ode, 2 * compute->n_worker,
                                    compute->n_worker, error);
    if (!compute->pool)
        return error->status;
    if (!compute->workers)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu workers", compute->n_worker);
    for (size_t i = 0; i < compute->n_worker; i++) {
        compute->workers[i].engine = engine_new(compute->pool, error);
        if (!compute->workers[i].engine)
            return error->status;
    }
    return STATUS_OK;
}

static void show_progress(struct compute *compute)
{
    compute->hooks->progress(compute->hooks->context, compute->stage.n_before + counter_get(&compute->n_done),
                             counter_get(&compute->n_failed));
}

static void beat(struct compute *compute)
{
    uint64_t sum = compute->stage.n_before + counter_get(&compute->n_done);
    for (size_t i = 0; i < compute->n_worker; i++)
        sum += counter_get(&compute->workers[i].heartbeat);
    counter_set(&compute->board->heartbeat, sum + 1);
}

/* The main thread's work while the workers fit. */
static enum status tend(struct compute *compute, bool *journal_gone, struct error *error)
{
    static const int64_t sync_every_ns = 2 * INT64_C(1000000000), tell_every_ns = 100 * 1000000;
    enum status status = STATUS_OK;
    int64_t synced = clock_now_ns(), told = 0;
    while (counter_get(&compute->n_done) < compute->stage.n_wanted && !stop_is_requested() &&
           counter_get(&compute->broken) == 0) {
        bool did;
        status = feed_read(&compute->feed, 20, &did, error);
        if (status)
            break;
        int64_t now = clock_now_ns();
        if (now - told > tell_every_ns) {
            told = now;
            beat(compute);
            show_progress(compute);
        }
        if (now - synced > sync_every_ns) {
            synced = now;
            status = journal_sync(compute->journal, error);
            if (!status && journal_is_gone(compute->journal)) {
                *journal_gone = true;
                status = error_set(error, STATUS_SYSTEM, "%s: has been removed meanwhile", compute->journal_path);
            }
            if (status)
                break;
        }
    }
    return status;
}

/* One stage through the pool. `prepare`: as in the feed. */
static enum status run_stage(struct compute *compute, const struct stage *stage, feed_prepare *prepare, void *context,
                             bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    const struct schedule_client client = {.context = compute, .refill = client_refill, .start = client_start,
                                           .run = client_run};
    compute->stage = *stage;
    counter_set(&compute->n_done, 0);
    options.n_worker = compute->n_worker;
    enum status status = problem_rewind(campaign->problem, error);
    if (!status)
        status = feed_init(&compute->feed, campaign->problem, campaign->n_dataset,
                           problem_info(campaign->problem)->n_measurement, stage->n_task, error);
    if (status)
        return status;
    compute->feed.prepare = prepare;
    compute->feed.context = context;
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

static bool is_complete(const struct compute *compute)
{
    return counter_get(&compute->n_done) >= compute->stage.n_wanted && counter_get(&compute->broken) == 0;
}

/* Pilots, starts, refits. */
static enum status run_stages(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    uint64_t n_start = campaign->n_dataset * campaign->n_start;
    const struct stage pilots = {.n_task = 1, .pilots_only = true, .n_wanted = pilot_count(campaign->n_dataset)};
    const struct stage starts = {.n_task = campaign->n_start, .n_wanted = n_start};
    const struct stage refits = {.first_task = campaign->n_start, .n_task = campaign->n_task - campaign->n_start,
                                 .n_before = n_start, .n_wanted = compute->n_fit - n_start};
    enum status status = STATUS_OK;
    if (campaign->pilots) {
        status = run_stage(compute, &pilots, NULL, NULL, journal_gone, error);
        if (status || !is_complete(compute))
            return status;
        status = read_journal(compute, error);
        if (!status)
            status = pilots_gather(campaign->pilots, compute->earlier, &campaign->identity, error);
    }
    if (!status)
        status = run_stage(compute, &starts, NULL, NULL, journal_gone, error);
    if (status || !is_complete(compute) || refits.n_task == 0)
        return status;
    struct refit_starts best = {.journal = NULL};
    status = read_journal(compute, error);
    if (!status)
        status = refit_starts_init(&best, compute->earlier, &campaign->identity, error);
    if (!status)
        status = run_stage(compute, &refits, refit_starts_put, &best, journal_gone, error);
    refit_starts_fini(&best);
    return status;
}

static enum status fit_all(struct compute *compute, bool *journal_gone, struct error *error)
{
    compute->hooks->begin(compute->hooks->context, compute->n_fit,
                          compute->earlier ? journal_n_record(compute->earlier) : 0);
    enum status status = run_stages(compute, journal_gone, error);
    compute->hooks->end(compute->hooks->context);
    struct error sync_error;
    if (journal_sync(compute->journal, &sync_error) && !status) {
        *error = sync_error;
        status = error->status;
    }
    if (!status && counter_get(&compute->broken)) {
        *error = compute->failure;
        status = error->status;
    }
    uint64_t n_done = compute->stage.n_before + counter_get(&compute->n_done);
    if (!status && n_done < compute->n_fit)
        status = error_set(error, STATUS_STOPPED, "stopped by a signal after %llu of %llu fits; the same command resumes",
                           (unsigned long long)n_done, (unsigned long long)compute->n_fit);
    return status;
}

static void compute_fini(struct compute *compute)
{
    for (size_t i = 0; compute->workers && i < compute->n_worker; i++) {
        while (compute->workers[i].free_jobs) {
            struct fit_job *job = compute->workers[i].free_jobs;
            compute->workers[i].free_jobs = *fit_job_link(job);
            fit_job_free(job);
        }
        engine_free(compute->workers[i].engine);
    }
    free(compute->workers);
    engine_pool_free(compute->pool);
    journal_close(compute->journal);
    journal_reader_free(compute->earlier);
    campaign_fini(&compute->campaign);
    free(compute->result_path);
    free(compute->journal_path);
    monitor_fini(&compute->failure_lock);
}

static enum status compute_run(struct compute *compute, struct run_options *options, struct run_summary *summary,
                               struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    counter_set(&compute->board->phase, BOARD_OPENING);
    enum status status = campaign_open(campaign, options, compute->board, compute->hooks, error);
    if (status)
        return status;
    compute->n_fit = campaign->n_dataset * campaign->n_task;
    compute->result_path = campaign_result_path(options);
    compute->journal_path = campaign_journal_path(options);
    if (!compute->result_path || !compute->journal_path)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the paths of the result");
    status = summary_look(compute->result_path, options, &campaign->identity, summary, error);
    if (status || summary->already_complete)
        return status;
    counter_set(&compute->board->phase, BOARD_PREPARING);
    if ((status = make_workers(compute, options, error)))
        return status;
    if ((status = open_journal(compute, options, error)))
        return status;
    describe(compute);
    counter_set(&compute->board->phase, BOARD_FITTING);
    return fit_all(compute, &summary->journal_gone, error);
}

enum status run_compute(struct run_options *options, const struct run_hooks *hooks, struct run_summary *summary,
                        struct error *error)
{
    struct compute *compute = calloc(1, sizeof *compute);
    if (!compute || !monitor_init(&compute->failure_lock)) {
        free(compute);
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    }
    stop_catch();
    compute->hooks = hooks;
    compute->board = board_attach(&compute->private_board);
    struct board *board = compute->board == &compute->private_board ? NULL : compute->board;
    enum status status = STATUS_OK;
    if (!board_die_with_supervisor(compute->board)) /* no orphan computes */
        status = error_set(error, STATUS_STOPPED, "stopped: the supervisor has gone");
    else
        status = compute_run(compute, options, summary, error);
    compute_fini(compute);
    free(compute);
    if (board)
        counter_set(&board->phase, BOARD_DONE);
    return status;
}
