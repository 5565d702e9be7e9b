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
#include "run/feed.h"
#include "run/fit_job.h"
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
    uint64_t n_fit;
    struct counter n_done, n_failed, broken; /* fits; broken: 1 when the journal cannot be written */
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
    if (counter_add(&compute->n_done, 1) == compute->n_fit)
        feed_wake(&compute->feed); /* the main thread waits there */
}

static void finish_fit(struct compute *compute, const struct fit_record *record)
{
    struct error error;
    if (journal_append(compute->journal, record, &error)) {
        break_off(compute, &error);
        return;
    }
    if (!outcome_is_success((enum outcome)record->outcome))
        counter_add(&compute->n_failed, 1);
    counter_add(&compute->board->n_finished, 1);
    count_done(compute);
}

/* A row for a fit that never ran. */
static void finish_unstarted(struct compute *compute, uint64_t dataset, uint32_t start, enum outcome outcome,
                             const char *reason)
{
    size_t n = compute->campaign.n_parameter;
    struct fit_record record = {.dataset = dataset, .start = start, .outcome = outcome, .objective = NAN,
                                .gradient_norm = NAN, .parameter = calloc(n, sizeof(double)), .at_bound = calloc(n, 1)};
    if (record.parameter && record.at_bound) {
        for (size_t i = 0; i < n; i++)
            record.parameter[i] = NAN;
        snprintf(record.reason, sizeof record.reason, "%s", reason);
        finish_fit(compute, &record);
    } else {
        struct error error;
        error_set(&error, STATUS_NO_MEMORY, "out of memory for the record of a fit");
        break_off(compute, &error);
    }
    free(record.parameter);
    free(record.at_bound);
}

static bool client_refill(void *context, uint32_t *first, uint32_t *last)
{
    struct compute *compute = context;
    return feed_next(&compute->feed, first, last);
}

static struct job *client_start(void *context, size_t i_worker, uint32_t fit)
{
    struct compute *compute = context;
    struct worker *worker = &compute->workers[i_worker];
    size_t row;
    uint32_t start;
    struct fit_job *job = NULL;
    const struct problem_block *block = feed_block(&compute->feed, fit, &row, &start);
    if (compute->earlier && journal_has(compute->earlier, fit)) {
        count_done(compute);
    } else if (block->fault[row]) {
        finish_unstarted(compute, block->first + row, start, OUTCOME_bad_data, block->fault[row]);
    } else {
        job = worker->free_jobs;
        if (job)
            worker->free_jobs = *fit_job_link(job);
        else
            job = fit_job_new(&compute->campaign);
        if (!job || !fit_job_begin(job, block, row, start)) {
            fit_job_free(job);
            job = NULL;
            finish_unstarted(compute, block->first + row, start, OUTCOME_out_of_memory, "no memory to begin this fit");
        }
    }
    feed_begun(&compute->feed, fit);
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

static enum status open_journal(struct compute *compute, const struct run_options *options, struct error *error)
{
    const struct run_identity *identity = &compute->campaign.identity;
    enum status status = STATUS_OK;
    if (options->restart && !compute->board->again)
        status = journal_remove(compute->journal_path, error);
    if (!status)
        status = journal_read(&compute->earlier, compute->journal_path, identity, error);
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
    struct schedule_options schedule_options = SCHEDULE_OPTIONS_DEFAULT;
    schedule_options.n_worker = compute->n_worker;
    const struct schedule_client client = {.context = compute, .refill = client_refill, .start = client_start,
                                           .run = client_run};
    compute->schedule = schedule_new(&schedule_options, &client, error);
    return compute->schedule ? STATUS_OK : error->status;
}

static void beat(struct compute *compute)
{
    uint64_t sum = counter_get(&compute->n_done);
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
    while (counter_get(&compute->n_done) < compute->n_fit && !stop_is_requested() && counter_get(&compute->broken) == 0) {
        bool did;
        status = feed_read(&compute->feed, 20, &did, error);
        if (status)
            break;
        int64_t now = clock_now_ns();
        if (now - told > tell_every_ns) {
            told = now;
            beat(compute);
            compute->hooks->progress(compute->hooks->context, counter_get(&compute->n_done),
                                     counter_get(&compute->n_failed));
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

static enum status fit_all(struct compute *compute, bool *journal_gone, struct error *error)
{
    enum status status = schedule_start(compute->schedule, error);
    if (status)
        return status;
    compute->hooks->begin(compute->hooks->context, compute->n_fit,
                          compute->earlier ? journal_n_record(compute->earlier) : 0);
    status = tend(compute, journal_gone, error);
    bool complete = counter_get(&compute->n_done) >= compute->n_fit;
    if (!complete)
        schedule_stop(compute->schedule, client_abandon);
    feed_end(&compute->feed);
    schedule_join(compute->schedule);
    compute->hooks->progress(compute->hooks->context, counter_get(&compute->n_done), counter_get(&compute->n_failed));
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
    if (!status && counter_get(&compute->n_done) < compute->n_fit)
        status = error_set(error, STATUS_STOPPED, "stopped by a signal after %llu of %llu fits; the same command resumes",
                           (unsigned long long)counter_get(&compute->n_done), (unsigned long long)compute->n_fit);
    return status;
}

static void compute_fini(struct compute *compute)
{
    if (compute->schedule)
        schedule_free(compute->schedule);
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
    feed_fini(&compute->feed);
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
    compute->n_fit = campaign->n_dataset * campaign->n_start;
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
    if ((status = feed_init(&compute->feed, campaign->problem, campaign->n_dataset,
                            problem_info(campaign->problem)->n_measurement, campaign->n_start, error)))
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
