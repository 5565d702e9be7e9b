/* One pass over the datasets. Fits run on coroutines, which connect the optimiser's sequential
 * code, which asks and waits, with the worker that drives the engine; while the workers fit, the
 * main thread reads data, syncs the journal and reports progress.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute_pass.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/sanitizer.h"
#include "par/coroutine.h"
#include "run/compute/task.h"
#include "run/plan/review.h"
#include "run/supervise/stop.h"

#include <stdlib.h>
#include <string.h>

#if WITH_ASAN || WITH_TSAN
enum { STACK_BYTES = 512 * 1024 }; /* instrumented frames are several times as large */
#else
enum { STACK_BYTES = 64 * 1024 };
#endif

/* A fit as a job of the scheduler: a coroutine with its data, which asks a worker's engine for
 * evaluations. Jobs are reused. */
struct fit_job {
    struct job head; /* for the scheduler */
    const struct campaign *campaign;
    struct coroutine *coroutine;
    struct arena arena, scratch;
    struct fit_problem problem;
    const double *profile_end;       /* of a review */
    struct fit_record record;
    double *record_arrays, *covariance; /* the record's; a refit's covariance is not kept */
    struct evaluation *const *asked; /* NULL: nothing is asked */
    size_t n_asked;
    bool cancelled, is_short;        /* is_short: it found no memory somewhere */
    struct keepers *keepers;
    struct keeper keeper;
    struct trace *trace;
    bool is_traced;
    struct fit_job *next;
};

static bool host_ask(void *context, struct evaluation *const *evaluations, size_t n)
{
    struct fit_job *job = context;
    if (job->cancelled)
        return false;
    job->asked = evaluations;
    job->n_asked = n;
    coroutine_suspend(job->coroutine);
    job->asked = NULL;
    for (size_t k = 0; k < n; k++)
        job->is_short = job->is_short || evaluations[k]->outcome == EVALUATION_NO_MEMORY;
    return !job->cancelled;
}

static bool host_share(void *context, void (*work)(void *part), void *parts, size_t size, size_t n)
{
    struct evaluation chore[FIT_SHARES], *chores[FIT_SHARES];
    for (size_t k = 0; k < n; k++) {
        chore[k] = (struct evaluation){.chore = work, .part = (char *)parts + k * size};
        chores[k] = &chore[k];
    }
    return host_ask(context, chores, n);
}

static int64_t host_elapsed(void *context)
{
    const struct fit_job *job = context;
    return job->keeper.before_ns + job_elapsed_ns(&job->head);
}

static void host_judged(void *context, double objective, double gradient_norm)
{
    struct fit_job *job = context;
    trace_judge(job->trace, objective, gradient_norm);
}

static void job_main(void *argument)
{
    struct fit_job *job = argument;
    struct fit_host host = {.ask = host_ask, .share = host_share, .elapsed_ns = host_elapsed,
                            .context = job, .judged = job->is_traced ? host_judged : NULL,
                            .keeper = job->keeper.folder ? &job->keeper.fits : NULL};
    const struct task task = {.campaign = job->campaign, .problem = &job->problem,
                              .number = job->record.start, .host = &host,
                              .profile_end = job->profile_end,
                              .arena = &job->arena, .scratch = &job->scratch,
                              .record = &job->record};
    task_run(&task);
}

static struct fit_job *job_new(struct compute *compute)
{
    const struct campaign *campaign = &compute->campaign;

    struct fit_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->campaign = campaign;
    job->keepers = campaign_is_shared(campaign) ? NULL : &compute->keepers;
    job->trace = compute->trace;
    job->coroutine = coroutine_new(STACK_BYTES);
    job->record_arrays = malloc(fit_record_array_bytes(campaign->n_parameter));
    if (!job->coroutine || !job->record_arrays || !job_init(&job->head)) {
        coroutine_free(job->coroutine);
        free(job->record_arrays);
        free(job);
        return NULL;
    }
    fit_record_set_arrays(&job->record, campaign->n_parameter, job->record_arrays);
    job->covariance = job->record.covariance;
    return job;
}

static void job_free(struct fit_job *job)
{
    if (!job)
        return;
    coroutine_free(job->coroutine);
    job_fini(&job->head);
    keeper_fini(&job->keeper);
    arena_fini(&job->arena);
    arena_fini(&job->scratch);
    free(job->record_arrays);
    free(job);
}

/* The number of the fit that has begun in it. */
static uint64_t job_number(const struct fit_job *job)
{
    return campaign_number(job->campaign, job->problem.dataset, job->record.start);
}

/* A fit begins in the job: task `number` of dataset `row` of the block. A traced fit never
 * yields. False: out of memory. */
static bool job_begin(struct fit_job *job, const struct problem_block *block, size_t row,
                      uint32_t number, enum job_yields yields)
{
    const struct campaign *campaign = job->campaign;
    const double *end = block->profile_end[row];
    size_t n_end = review_size(&campaign->plan.refits, campaign->n_parameter);
    double *profile_end = NULL;
    const struct fit_setting setting = campaign_setting(campaign);
    arena_reset(&job->arena);
    if (!dataset_problem(&job->problem, &setting, block, row, number, &job->arena) ||
        (end && !(profile_end = arena_alloc(&job->arena, n_end * sizeof *profile_end + 1))))
        return false;
    if (end)
        memcpy(profile_end, end, n_end * sizeof *profile_end);
    job->profile_end = profile_end;
    job->record.covariance = number < campaign->n_start ? job->covariance : NULL;
    job->record.dataset = block->dataset[row];
    job->record.start = number;
    job->asked = NULL;
    job->cancelled = job->is_short = false;
    job->is_traced = trace_wants(job->trace, job->problem.dataset);
    job->head.yields = job->is_traced ? YIELDS_NEVER : yields;
    keeper_begin(&job->keeper, job->keepers, job_number(job), host_elapsed, job);
    coroutine_prepare(job->coroutine, job_main, job);
    return true;
}

/* Runs the fit's code until it has ended (false) or has asked for evaluations. */
static bool job_resume(struct fit_job *job)
{
    uint64_t n_failed = memory_n_failed();
    if (job->is_traced)
        trace_begin(job->trace, job->problem.dataset, job->record.start);
    bool goes_on = coroutine_resume(job->coroutine);
    job->is_short = job->is_short || memory_n_failed() != n_failed;
    if (job->is_short)
        keeper_stop(&job->keeper);
    if (!goes_on)
        return false;
    job_ask(&job->head, job->asked, job->n_asked);
    return true;
}

/* Abandons an unfinished fit; its latest state is kept for another process. */
static void job_abandon(struct fit_job *job, struct engine_pool *pool)
{
    job->cancelled = true;
    if (!job->asked)
        return;
    for (size_t i = 0; i < job->n_asked; i++)
        engine_discard(pool, job->asked[i]);
    while (coroutine_resume(job->coroutine))
        ;
}

void compute_count_done(struct compute *compute)
{
    if (counter_add(&compute->pass.n_done, 1) == compute->pass.stage.n_wanted)
        block_ring_wake(&compute->pass.ring); /* the main thread waits there */
}

/* In this order, so that a thread that reads n_put_off first never sees more fits put off than
 * done. */
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
    memcpy(compute->pass.suspects, board->suspect,
           compute->pass.n_suspect * sizeof *compute->pass.suspects);
    qsort(compute->pass.suspects, compute->pass.n_suspect, sizeof *compute->pass.suspects,
          compare_fits);
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
    return first < compute->pass.n_suspect &&
           compute->pass.suspects[first] < fit + compute->campaign.n_task;
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

/* A fit that is set aside may end on another lane than it began on. Such fits would leave ever more
 * free jobs on some lanes while others make new ones, so lanes share all but a few. */
enum { MOST_FREE = 2 };

static struct fit_job *take_job(struct compute *compute, struct compute_lane *lane)
{
    struct workers *workers = &compute->workers;
    struct fit_job *job = lane->free_jobs;
    if (job) {
        lane->free_jobs = job->next;
        lane->n_free--;
        return job;
    }
    monitor_enter(&workers->lock);
    job = workers->free_jobs;
    workers->free_jobs = job ? job->next : NULL;
    monitor_leave(&workers->lock);
    if (job)
        return job;
    return job_new(compute);
}

static void return_job(struct compute *compute, struct compute_lane *lane, struct fit_job *job)
{
    struct workers *workers = &compute->workers;
    if (lane->n_free < MOST_FREE) {
        job->next = lane->free_jobs;
        lane->free_jobs = job;
        lane->n_free++;
        return;
    }
    monitor_enter(&workers->lock);
    job->next = workers->free_jobs;
    workers->free_jobs = job;
    monitor_leave(&workers->lock);
}

static void free_list(struct fit_job **list)
{
    for (struct fit_job *job; (job = *list);) {
        *list = job->next;
        job_free(job);
    }
}

void compute_free_jobs(struct workers *workers)
{
    for (size_t i = 0; i < workers->n * workers->n_lane; i++) {
        free_list(&workers->lanes[i].free_jobs);
        workers->lanes[i].n_free = 0;
    }
    free_list(&workers->free_jobs);
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
    } else if (is_suspect(compute, campaign_number(campaign, dataset, task)) != stage->apart) {
        if (!stage->apart)
            tasks->put_off(compute, dataset);
    } else if (block->fault[row]) {
        tasks->fail(compute, dataset, task, OUTCOME_bad_data, block->fault[row]);
    } else {
        job = take_job(compute, &compute->workers.lanes[lane]);
        /* The pass of a search ends with the last of its datasets. Setting long ones aside would
         * gain nothing, and keep the memory of all of them. */
        bool yields = !stage->apart && !tasks->serve;
        if (!job ||
            !job_begin(job, block, row, task, yields ? YIELDS_TO_OTHERS : YIELDS_TO_STOP)) {
            job_free(job);
            job = NULL;
            tasks->fail(compute, dataset, task, OUTCOME_out_of_memory,
                        "no memory to begin this fit");
        }
    }
    block_ring_begun(&compute->pass.ring, item);
    return (struct job *)job;
}

static bool client_resume(void *context, size_t lane, struct job *scheduled)
{
    struct board_slot *slot = ((struct compute *)context)->workers.lanes[lane].slot;
    struct fit_job *job = (struct fit_job *)scheduled;
    board_slot_enter(slot, job_number(job));
    bool goes_on = job_resume(job);
    board_slot_leave(slot);
    if (goes_on)
        keeper_write(&job->keeper);
    return goes_on;
}

static void client_finish(void *context, size_t lane, struct job *scheduled)
{
    struct compute *compute = context;
    struct fit_job *job = (struct fit_job *)scheduled;
    job->record.seconds = 1e-9 * (double)host_elapsed(job);
    if (job->is_short && job->record.outcome != OUTCOME_out_of_memory)
        fit_record_fail(&job->record, OUTCOME_out_of_memory, "no memory for a part of this fit");
    if (compute->pass.stage.tasks->finish(compute, &job->record, job->is_short))
        keeper_end(&job->keeper);
    return_job(compute, &compute->workers.lanes[lane], job);
}

static void client_begin(void *context, size_t lane, struct job *scheduled,
                         struct evaluation *evaluation)
{
    struct compute *compute = context;
    struct fit_job *job = (struct fit_job *)scheduled;
    struct board_slot *slot = compute->workers.lanes[lane].slot;
    if (job->is_traced)
        trace_ask(job->trace, evaluation->task->experiment.id, evaluation);
    board_slot_enter(slot, job_number(job));
    board_slot_ask(slot, compute->workers.heartbeat[lane / compute->workers.n_lane],
                   evaluation->named, compute->campaign.n_parameter);
}

static void client_end(void *context, size_t lane, struct job *scheduled,
                       struct evaluation *evaluation, bool finished)
{
    struct fit_job *job = (struct fit_job *)scheduled;
    board_slot_leave(((struct compute *)context)->workers.lanes[lane].slot);
    if (finished && job->is_traced)
        trace_answer(job->trace, evaluation);
}

static void client_abandon(void *context, struct job *scheduled)
{
    struct compute *compute = context;
    job_abandon((struct fit_job *)scheduled, compute->workers.pool);
    job_free((struct fit_job *)scheduled);
}

/* The main thread's work while the workers fit. */
static enum status tend(struct compute *compute, bool *journal_gone, struct error *error)
{
    static const int64_t sync_every_ns = 2 * INT64_C(1000000000), tell_every_ns = 100 * 1000000;
    enum status status = STATUS_OK;
    int64_t synced = clock_now_ns(), told = 0;
    bool goes_on = true;
    while (counter_get(&compute->pass.n_done) < compute->pass.stage.n_wanted &&
           !stop_is_requested() && counter_get(&compute->trouble.is_broken) == 0 &&
           counter_get(&compute->trouble.wants_fresh) == 0) {
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
            if (keepers_tell(&compute->keepers, &trouble))
                compute_say(compute,
                            "warning: %s; the fits continue, but after an interruption a long one "
                            "would start from "
                            "the beginning",
                            trouble.message);
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

enum status compute_run_pass(struct compute *compute, const struct stage *stage,
                             block_prepare *prepare, void *context, bool *journal_gone,
                             struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct schedule_options options = SCHEDULE_OPTIONS_DEFAULT;
    const struct schedule_client client = {.context = compute,
                                           .refill = client_refill, .start = client_start,
                                           .resume = client_resume, .finish = client_finish,
                                           .begin = client_begin, .end = client_end};
    compute->pass.stage = *stage;
    if (!campaign_is_shared(campaign)) /* whose fits are under way, and look only once */
        keepers_look(&compute->keepers, campaign->plan.paths.journal, &campaign->plan.identity);
    counter_set(&compute->pass.n_done, 0);
    counter_set(&compute->pass.n_put_off, 0);
    compute->board->is_apart = stage->apart;
    options.n_worker = stage->apart ? 1 : compute->workers.n;
    /* no other fit may run at the same time */
    options.n_lane = stage->apart ? 1 : compute->workers.n_lane;
    options.kind = campaign->ode.engine;
    options.cost = compute->workers.cost;
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

/* A pass, followed by one in which the fits that were set aside are tried alone: suspects of a
 * death, and fits that ran out of memory, for which a new process has one worker. */
enum status compute_stage(struct compute *compute, const struct stage *stage,
                          block_prepare *prepare, void *context, bool *journal_gone,
                          struct error *error)
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
        compute->board->is_alone = true;
        counter_set(&compute->trouble.wants_fresh, 1);
        return STATUS_OK;
    }
    compute->board->n_group_death = 0; /* from now on each is found individually */
    status = compute_run_pass(compute, &apart, prepare, context, journal_gone, error);
    if (!status && compute_is_complete(compute) && compute->board->is_alone) {
        compute->board->is_alone = false;
        counter_set(&compute->trouble.wants_fresh, 1);
    }
    return status;
}
