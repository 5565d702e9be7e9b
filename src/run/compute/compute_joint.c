/* Runs the fits over many datasets: begins them, hands their blocks to the workers, and
 * resumes each when its blocks have been evaluated. Every dataset is an item of the scheduler, so
 * that evaluations of all fits are spread over workers and lanes like those of independent fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "base/clock.h"
#include "fit/joint/ranks.h"
#include "par/coroutine.h"
#include "run/compute/compute_pass.h"
#include "run/compute/shared_fit.h"
#include "run/supervise/child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Searches that are under way at once: each has its blocks in memory, and a stack, of which a refit
 * reads the problem. */
enum { MAX_LIVE = 256, STACK_BYTES = 1024 * 1024 };

static struct shared_fit *shared_of(const struct compute *compute, uint64_t dataset, size_t *block)
{
    return (struct shared_fit *)campaign_fit_of(&compute->campaign, dataset, block);
}

/* The main thread waits for the last block, after which nothing more is counted. */
static void count(struct compute *compute, struct shared_fit *shared)
{
    uint64_t n_wanted = shared->n_wanted;
    compute_count_done(compute);
    if (counter_add(&shared->n_done, 1) == n_wanted)
        block_ring_wake(&compute->pass.ring);
}

static bool find_block(const struct compute *compute, uint64_t dataset, uint32_t number,
                       uint32_t *task)
{
    size_t i;
    const struct shared_fit *shared = shared_of(compute, dataset, &i);
    (void)number;
    *task = shared ? shared->fit.joint.task : 0;
    return shared && i < shared->fit.joint.n_block;
}

static bool finish_block(struct compute *compute, const struct fit_record *record, bool is_short)
{
    size_t i;
    struct shared_fit *shared = shared_of(compute, record->dataset, &i);
    shared->fit.joint.block[i].seconds += record->seconds;
    counter_add(&shared->used_ns, (uint64_t)(1e9 * record->seconds));
    if (is_short)
        counter_set(&shared->is_short, 1);
    count(compute, shared);
    return false;
}

static void fail_block(struct compute *compute, uint64_t dataset, uint32_t task,
                       enum outcome outcome, const char *reason)
{
    size_t i;
    struct shared_fit *shared = shared_of(compute, dataset, &i);
    (void)task;
    if (outcome == OUTCOME_out_of_memory)
        counter_set(&shared->is_short, 1);
    else
        joint_block_fail(&shared->fit.joint, i, outcome, false, reason);
    count(compute, shared);
}

static void put_off_block(struct compute *compute, uint64_t dataset)
{
    size_t i;
    struct shared_fit *shared = shared_of(compute, dataset, &i);
    counter_add(&shared->n_put_off, 1);
    count(compute, shared);
}

/* Where a refit begins, and what it holds. */
static enum status prepare(void *context, struct problem_block *block, struct error *error)
{
    const struct compute *compute = context;
    size_t n = compute->campaign.n_parameter, own;
    (void)error;
    for (size_t row = 0; row < block->n; row++) {
        const struct shared_fit *shared = shared_of(compute, block->dataset[row], &own);
        const struct joint_request *request = shared ? shared->request : NULL;
        if (!request || own >= shared->fit.joint.n_block || !request->weight[own])
            continue;
        memcpy(block->start + row * n, request->start + own * n, n * sizeof *block->start);
        if (request->held)
            memcpy(block->fixed + row * n, request->held + own * n, n);
        block->rtol[row] = request->rtol[own];
    }
    return STATUS_OK;
}

/* Of this process, and in the next pass. */
static bool is_of_pass(const struct shared_fit *shared, size_t block)
{
    const struct joint *joint = &shared->fit.joint;
    if (block >= joint->n_block)
        return false;
    bool are_some = joint->part.stride || joint->weight;
    return are_some ? joint_wants(joint, block) : joint_evaluates(joint, block);
}

static bool is_wanted(const void *context, uint64_t dataset)
{
    size_t block;
    const struct shared_fit *shared = shared_of(context, dataset, &block);
    return shared && shared->state == SHARED_WANTS && is_of_pass(shared, block);
}

static void run_shared(void *argument)
{
    struct shared_fit *shared = argument;
    shared->status = shared_run_tasks(shared, &shared->error);
    shared->state = SHARED_ENDED;
}

static void free_shared(struct compute *compute, struct shared_fit *shared)
{
    if (!shared)
        return;
    if (compute->campaign.fit_of[shared->fit.component] == &shared->fit)
        compute->campaign.fit_of[shared->fit.component] = NULL;
    if (shared->coroutine)
        coroutine_free(shared->coroutine);
    campaign_fit_fini(&shared->fit);
    joint_refits_free(shared->refits);
    keeper_fini(&shared->keeper);
    free(shared->loaded);
    free(shared);
}

/* The next component's; one whose records are all written has no more to do, but ranks must
 * agree. */
static enum status begin_shared(struct compute *compute, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    struct shared_fit *shared = calloc(1, sizeof *shared);
    if (!shared || !(shared->coroutine = coroutine_new(STACK_BYTES))) {
        free_shared(compute, shared);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a fit of many datasets");
    }
    shared->compute = compute;
    shared->fit.component = fits->next++;
    compute->campaign.fit_of[shared->fit.component] = &shared->fit;
    fits->live[fits->n_live++] = shared;
    coroutine_prepare(shared->coroutine, run_shared, shared);
    return STATUS_OK;
}

/* Resumes a fit until it wants a pass, or ends. */
static enum status resume(struct compute *compute, size_t i, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    struct shared_fit *shared = fits->live[i];
    enum status status = STATUS_OK;
    int64_t began_ns = clock_now_ns();
    bool goes_on = coroutine_resume(shared->coroutine);
    counter_add(&shared->used_ns, (uint64_t)(clock_now_ns() - began_ns));
    if (goes_on)
        return STATUS_OK;
    if (shared->status) {
        status = shared->status;
        *error = shared->error;
    }
    memmove(fits->live + i, fits->live + i + 1,
            (fits->n_live - i - 1) * sizeof *fits->live);
    fits->n_live--;
    free_shared(compute, shared);
    return status;
}

/* What has become of the passes that workers have. Returns whether some fit is still
 * evaluated. */
static bool look(struct shared_fits *fits)
{
    bool is_under_way = false;
    for (size_t i = 0; i < fits->n_live; i++) {
        struct shared_fit *shared = fits->live[i];
        if (shared->state == SHARED_RUNS && counter_get(&shared->n_done) >= shared->n_wanted)
            shared->state = counter_get(&shared->n_put_off) ? SHARED_PARKED : SHARED_READY;
        is_under_way = is_under_way || shared->state == SHARED_RUNS;
    }
    return is_under_way;
}

/* Begins a pass over the file for the blocks of all fits that want one. */
static enum status begin_pass(struct compute *compute, bool *has_begun, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    *has_begun = false;
    for (size_t i = 0; i < fits->n_live; i++) {
        struct shared_fit *shared = fits->live[i];
        if (shared->state != SHARED_WANTS)
            continue;
        shared->n_wanted = 0;
        for (size_t k = 0; k < shared->fit.joint.n_block; k++)
            shared->n_wanted += is_of_pass(shared, k);
        counter_set(&shared->n_done, 0);
        counter_set(&shared->n_put_off, 0);
        *has_begun = true;
    }
    if (!*has_begun)
        return STATUS_OK;
    problem_select(compute->campaign.problem, is_wanted, compute);
    enum status status = problem_rewind(compute->campaign.problem, error);
    if (!status)
        block_ring_again(&compute->pass.ring);
    return status;
}

/* A stage's `serve`. A pass over the file is read to its end before the next one begins. */
static enum status serve(struct compute *compute, bool *goes_on, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    enum status status = STATUS_OK;
    bool has_begun;
    if (!compute->pass.ring.is_read)
        return STATUS_OK;
    for (size_t i = 0; i < fits->n_live; i++)
        if (fits->live[i]->state == SHARED_WANTS) /* its blocks have been read */
            fits->live[i]->state = SHARED_RUNS;
    bool is_under_way = look(fits);
    if (compute->ranks.is_joined && is_under_way)
        return STATUS_OK;
    for (size_t i = 0; !status && i < fits->n_live;) {
        size_t n = fits->n_live;
        if (fits->live[i]->state == SHARED_READY)
            status = resume(compute, i, error);
        i += n == fits->n_live;
    }
    while (!status && fits->n_live < MAX_LIVE
           && fits->next < compute->campaign.share.components.n) {
        status = begin_shared(compute, error);
        if (!status)
            status = resume(compute, fits->n_live - 1, error);
    }
    if (!status)
        status = begin_pass(compute, &has_begun, error);
    *goes_on = status || has_begun || is_under_way;
    return status;
}

static void show_shared(struct compute *compute)
{
    struct shared_fits *fits = compute->shared_fits;
    uint64_t n_done = fits->n_before + fits->n_ended, n_block = 0, n_wanted = 0;
    char where[120] = "";
    int64_t n_pass = 0;
    double objective = 0;
    for (size_t i = 0; i < fits->n_live; i++) {
        const struct shared_fit *shared = fits->live[i];
        n_block += counter_get(&shared->n_done);
        n_wanted += shared->n_wanted;
        n_pass = shared->n_pass > n_pass ? shared->n_pass : n_pass;
        objective += shared->fit.joint.end.has_best ? shared->fit.joint.above.f : (double)NAN;
    }
    int n = snprintf(where, sizeof where, "pass %lld", (long long)n_pass);
    if (isfinite(objective))
        n += snprintf(where + n, sizeof where - (size_t)n, ", objective %.6g", objective);
    snprintf(where + n, sizeof where - (size_t)n, ", %llu/%llu datasets",
             (unsigned long long)n_block,
             (unsigned long long)n_wanted);
    compute->hooks->progress(compute->hooks->context, n_done,
                             counter_get(&compute->board->n_failed),
                             fits->n_live ? where : "");
}

static const struct pass_tasks blocks = {.find = find_block, .finish = finish_block,
                                         .fail = fail_block,
                                         .put_off = put_off_block, .show = show_shared};
static const struct pass_tasks served = {.find = find_block, .finish = finish_block,
                                         .fail = fail_block,
                                         .put_off = put_off_block, .show = show_shared,
                                         .serve = serve};

/* Suspects, tried alone. */
static enum status run_parked(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    struct stage stage = {.tasks = &blocks, .n_task = 1, .apart = true,
                          .wanted = compute_has_suspects, .wanted_context = compute};
    for (size_t i = 0; i < fits->n_live; i++)
        stage.n_wanted += counter_get(&fits->live[i]->n_put_off);
    compute->board->n_group_death = 0; /* from now on each is found individually */
    enum status status = compute_run_pass(compute, &stage, prepare, compute, journal_gone, error);
    for (size_t i = 0; i < fits->n_live; i++)
        fits->live[i]->state = SHARED_READY;
    return status;
}

static void stop_shared(struct compute *compute)
{
    struct shared_fits *fits = compute->shared_fits;
    struct error ignored;
    fits->is_stopping = true;
    while (fits->n_live > 0)
        resume(compute, fits->n_live - 1, &ignored);
}

uint64_t compute_n_shared(const struct compute *compute)
{
    return (uint64_t)compute->campaign.share.components.n * compute->campaign.n_task;
}

uint64_t compute_n_shared_before(const struct compute *compute)
{
    uint64_t n = 0;
    for (size_t c = 0; c < compute->campaign.share.components.n; c++)
        for (uint32_t task = 0; task < compute->campaign.n_task; task++)
            n += shared_is_written(compute, c, task);
    return n;
}

static enum status stopped(const struct compute *compute, struct error *error)
{
    const struct shared_fits *fits = compute->shared_fits;
    const struct shared_fit *first = fits->n_live ? fits->live[0] : NULL;
    const char *by = counter_get(&compute->board->time_is_up) ? "--time-limit" : "a signal";
    uint64_t n = compute_n_shared(compute), n_done = fits->n_before + fits->n_ended;
    if (n == 1 && first)
        return error_set(error, STATUS_STOPPED,
                         "stopped by %s in pass %lld of the fit, after %lld steps; the same "
                         "command resumes",
                         by, (long long)first->n_pass,
                         (long long)first->fit.joint.search.n_iteration);
    return error_set(error, STATUS_STOPPED,
                     "stopped by %s after %llu of %llu fits; the same command resumes", by,
                     (unsigned long long)n_done, (unsigned long long)n);
}

static enum status run_all(struct compute *compute, bool *journal_gone, struct error *error)
{
    const struct shared_fits *fits = compute->shared_fits;
    struct stage stage = {.tasks = &served, .n_task = 1, .n_wanted = UINT64_MAX / 2};
    enum status status = STATUS_OK;
    for (bool goes_on = true; !status && goes_on;) {
        status = compute_run_pass(compute, &stage, prepare, compute, journal_gone, error);
        if (!status && compute_is_complete(compute) && fits->n_live > 0)
            status = run_parked(compute, journal_gone, error);
        else
            goes_on = false;
        goes_on = goes_on && compute_is_complete(compute);
    }
    return status || compute_is_complete(compute) ? status : stopped(compute, error);
}

enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits = calloc(1, sizeof *fits);
    enum status status = fits ? compute_read_journal(compute, error)
                                  : error_set(error, STATUS_NO_MEMORY,
                                              "out of memory for the fits");
    if (fits && !(fits->live = calloc(MAX_LIVE, sizeof *fits->live)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the fits");
    if (!status)
        status = compute_find_crashes(compute, error);
    if (!status)
        status = shared_read_population(compute, error);
    if (!status) {
        fits->n_before = compute_n_shared_before(compute);
        status = run_all(compute, journal_gone, error);
    }
    if (fits)
        stop_shared(compute);
    if (!status) {
        compute->pass.stage =
            (struct stage){.tasks = &blocks, .n_task = 1, .n_wanted = compute->n_fit};
        counter_set(&compute->pass.n_done, compute->n_fit);
        counter_set(&compute->pass.n_put_off, 0);
        show_shared(compute);
    }
    if (fits) {
        free(fits->live);
        free(fits->population.bytes);
    }
    free(fits);
    compute->shared_fits = NULL;
    return status;
}
