/* Runs the searches of fits over many datasets: begins them, hands their blocks to the workers, and
 * resumes each when its blocks have been evaluated. Every dataset is an item of the scheduler, so
 * that evaluations of all fits are spread over workers and lanes like those of independent fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute_joint.h"

#include "fit/joint/ranks.h"
#include "par/coroutine.h"
#include "run/compute/compute_pass.h"
#include "run/compute/compute_ranks.h"
#include "run/compute/joint_refits.h"
#include "run/compute/search_tasks.h"
#include "run/supervise/child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Searches that are under way at once: each has its blocks in memory, and a stack, of which a refit
 * reads the problem. */
enum { MAX_LIVE = 256, STACK_BYTES = 1024 * 1024 };

static struct search *search_of(const struct compute *compute, uint64_t dataset, size_t *block)
{
    return (struct search *)campaign_fit_of(&compute->campaign, dataset, block);
}

/* The main thread waits for the last block, after which nothing more is counted. */
static void count(struct compute *compute, struct search *search)
{
    uint64_t n_wanted = search->n_wanted;
    compute_count_done(compute);
    if (counter_add(&search->n_done, 1) == n_wanted)
        block_ring_wake(&compute->pass.ring);
}

static bool find_block(const struct compute *compute, uint64_t dataset, uint32_t number,
                       uint32_t *task)
{
    size_t i;
    const struct search *search = search_of(compute, dataset, &i);
    (void)number;
    *task = search ? search->fit.joint.task : 0;
    return search && i < search->fit.joint.n_block;
}

static bool finish_block(struct compute *compute, const struct fit_record *record, bool is_short)
{
    size_t i;
    struct search *search = search_of(compute, record->dataset, &i);
    search->fit.joint.block[i].seconds += record->seconds;
    if (is_short)
        counter_set(&search->is_short, 1);
    count(compute, search);
    return false;
}

static void fail_block(struct compute *compute, uint64_t dataset, uint32_t task,
                       enum outcome outcome, const char *reason)
{
    size_t i;
    struct search *search = search_of(compute, dataset, &i);
    (void)task;
    if (outcome == OUTCOME_out_of_memory)
        counter_set(&search->is_short, 1);
    else
        joint_block_fail(&search->fit.joint, i, outcome, false, reason);
    count(compute, search);
}

static void put_off_block(struct compute *compute, uint64_t dataset)
{
    size_t i;
    struct search *search = search_of(compute, dataset, &i);
    counter_add(&search->n_put_off, 1);
    count(compute, search);
}

/* Where a refit begins, and what it holds. */
static enum status prepare(void *context, struct problem_block *block, struct error *error)
{
    const struct compute *compute = context;
    size_t n = compute->campaign.n_parameter, own;
    (void)error;
    for (size_t row = 0; row < block->n; row++) {
        const struct search *search = search_of(compute, block->dataset[row], &own);
        const struct joint_request *request = search ? search->request : NULL;
        if (!request || own >= search->fit.joint.n_block || !request->weight[own])
            continue;
        memcpy(block->start + row * n, request->start + own * n, n * sizeof *block->start);
        if (request->held)
            memcpy(block->fixed + row * n, request->held + own * n, n);
        block->rtol[row] = request->rtol[own];
    }
    return STATUS_OK;
}

/* Of this process, and in the next pass. */
static bool is_of_pass(const struct search *search, size_t block)
{
    const struct joint *joint = &search->fit.joint;
    if (block >= joint->n_block)
        return false;
    bool are_some = joint->part.stride || joint->weight;
    return are_some ? joint_wants(joint, block) : joint_evaluates(joint, block);
}

static bool is_wanted(const void *context, uint64_t dataset)
{
    size_t block;
    const struct search *search = search_of(context, dataset, &block);
    return search && search->state == SEARCH_WANTS && is_of_pass(search, block);
}

static void run_search(void *argument)
{
    struct search *search = argument;
    search->status = search_run_tasks(search, &search->error);
    search->state = SEARCH_ENDED;
}

static void free_search(struct compute *compute, struct search *search)
{
    if (!search)
        return;
    if (compute->campaign.fit_of[search->fit.component] == &search->fit)
        compute->campaign.fit_of[search->fit.component] = NULL;
    if (search->coroutine)
        coroutine_free(search->coroutine);
    campaign_fit_fini(&search->fit);
    joint_refits_free(search->refits);
    free(search->kept);
    free(search);
}

/* The next component's; one whose records are all written has no more to do, but ranks must
 * agree. */
static enum status begin_search(struct compute *compute, struct error *error)
{
    struct searches *searches = compute->searches;
    struct search *search = calloc(1, sizeof *search);
    if (!search || !(search->coroutine = coroutine_new(STACK_BYTES))) {
        free_search(compute, search);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a fit of many datasets");
    }
    search->compute = compute;
    search->fit.component = searches->next++;
    compute->campaign.fit_of[search->fit.component] = &search->fit;
    searches->live[searches->n_live++] = search;
    coroutine_prepare(search->coroutine, run_search, search);
    return STATUS_OK;
}

/* Resumes a search until it wants a pass, or ends. */
static enum status resume(struct compute *compute, size_t i, struct error *error)
{
    struct searches *searches = compute->searches;
    struct search *search = searches->live[i];
    enum status status = STATUS_OK;
    if (coroutine_resume(search->coroutine))
        return STATUS_OK;
    if (search->status) {
        status = search->status;
        *error = search->error;
    }
    memmove(searches->live + i, searches->live + i + 1,
            (searches->n_live - i - 1) * sizeof *searches->live);
    searches->n_live--;
    free_search(compute, search);
    return status;
}

/* What has become of the passes that workers have. Returns whether some search is still
 * evaluated. */
static bool look(struct searches *searches)
{
    bool is_under_way = false;
    for (size_t i = 0; i < searches->n_live; i++) {
        struct search *search = searches->live[i];
        if (search->state == SEARCH_RUNS && counter_get(&search->n_done) >= search->n_wanted)
            search->state = counter_get(&search->n_put_off) ? SEARCH_PARKED : SEARCH_READY;
        is_under_way = is_under_way || search->state == SEARCH_RUNS;
    }
    return is_under_way;
}

/* Begins a pass over the file for the blocks of all searches that want one. */
static enum status begin_pass(struct compute *compute, bool *has_begun, struct error *error)
{
    struct searches *searches = compute->searches;
    *has_begun = false;
    for (size_t i = 0; i < searches->n_live; i++) {
        struct search *search = searches->live[i];
        if (search->state != SEARCH_WANTS)
            continue;
        search->n_wanted = 0;
        for (size_t k = 0; k < search->fit.joint.n_block; k++)
            search->n_wanted += is_of_pass(search, k);
        counter_set(&search->n_done, 0);
        counter_set(&search->n_put_off, 0);
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
    struct searches *searches = compute->searches;
    enum status status = STATUS_OK;
    bool has_begun;
    if (!compute->pass.ring.is_read)
        return STATUS_OK;
    for (size_t i = 0; i < searches->n_live; i++)
        if (searches->live[i]->state == SEARCH_WANTS) /* its blocks have been read */
            searches->live[i]->state = SEARCH_RUNS;
    bool is_under_way = look(searches);
    if (compute->ranks.is_joined && is_under_way)
        return STATUS_OK;
    for (size_t i = 0; !status && i < searches->n_live;) {
        size_t n = searches->n_live;
        if (searches->live[i]->state == SEARCH_READY)
            status = resume(compute, i, error);
        i += n == searches->n_live;
    }
    while (!status && searches->n_live < MAX_LIVE
           && searches->next < compute->campaign.share.components.n) {
        status = begin_search(compute, error);
        if (!status)
            status = resume(compute, searches->n_live - 1, error);
    }
    if (!status)
        status = begin_pass(compute, &has_begun, error);
    if (!status)
        searches_write_states(compute);
    *goes_on = status || has_begun || is_under_way;
    return status;
}

static void show_searches(struct compute *compute)
{
    struct searches *searches = compute->searches;
    uint64_t n_done = searches->n_before + searches->n_ended, n_block = 0, n_wanted = 0;
    char where[120] = "";
    int64_t n_pass = 0;
    double objective = 0;
    for (size_t i = 0; i < searches->n_live; i++) {
        const struct search *search = searches->live[i];
        n_block += counter_get(&search->n_done);
        n_wanted += search->n_wanted;
        n_pass = search->n_pass > n_pass ? search->n_pass : n_pass;
        objective += search->fit.joint.end.has_best ? search->fit.joint.above.f : (double)NAN;
    }
    int n = snprintf(where, sizeof where, "pass %lld", (long long)n_pass);
    if (isfinite(objective))
        n += snprintf(where + n, sizeof where - (size_t)n, ", objective %.6g", objective);
    snprintf(where + n, sizeof where - (size_t)n, ", %llu/%llu datasets",
             (unsigned long long)n_block,
             (unsigned long long)n_wanted);
    compute->hooks->progress(compute->hooks->context, n_done,
                             counter_get(&compute->board->n_failed),
                             searches->n_live ? where : "");
}

static const struct pass_tasks blocks = {.find = find_block, .finish = finish_block,
                                         .fail = fail_block,
                                         .put_off = put_off_block, .show = show_searches};
static const struct pass_tasks served = {.find = find_block, .finish = finish_block,
                                         .fail = fail_block,
                                         .put_off = put_off_block, .show = show_searches,
                                         .serve = serve};

/* Suspects, tried alone. */
static enum status run_parked(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct searches *searches = compute->searches;
    struct stage stage = {.tasks = &blocks, .n_task = 1, .apart = true,
                          .wanted = compute_has_suspects, .wanted_context = compute};
    for (size_t i = 0; i < searches->n_live; i++)
        stage.n_wanted += counter_get(&searches->live[i]->n_put_off);
    compute->board->n_group_death = 0; /* from now on each is found individually */
    enum status status = compute_run_pass(compute, &stage, prepare, compute, journal_gone, error);
    for (size_t i = 0; i < searches->n_live; i++)
        searches->live[i]->state = SEARCH_READY;
    return status;
}

static void stop_searches(struct compute *compute)
{
    struct searches *searches = compute->searches;
    struct error ignored;
    searches->is_stopping = true;
    searches->written_ns = 0; /* the latest states are worth a write */
    searches_write_states(compute);
    while (searches->n_live > 0)
        resume(compute, searches->n_live - 1, &ignored);
}

uint64_t compute_n_search(const struct compute *compute)
{
    return (uint64_t)compute->campaign.share.components.n * compute->campaign.n_task;
}

uint64_t compute_n_search_before(const struct compute *compute)
{
    uint64_t n = 0;
    for (size_t c = 0; c < compute->campaign.share.components.n; c++)
        for (uint32_t task = 0; task < compute->campaign.n_task; task++)
            n += search_is_written(compute, c, task);
    return n;
}

static enum status stopped(const struct compute *compute, struct error *error)
{
    const struct searches *searches = compute->searches;
    const struct search *first = searches->n_live ? searches->live[0] : NULL;
    const char *by = counter_get(&compute->board->time_is_up) ? "--time-limit" : "a signal";
    uint64_t n = compute_n_search(compute), n_done = searches->n_before + searches->n_ended;
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

static enum status run_searches(struct compute *compute, bool *journal_gone, struct error *error)
{
    const struct searches *searches = compute->searches;
    struct stage stage = {.tasks = &served, .n_task = 1, .n_wanted = UINT64_MAX / 2};
    enum status status = STATUS_OK;
    for (bool goes_on = true; !status && goes_on;) {
        status = compute_run_pass(compute, &stage, prepare, compute, journal_gone, error);
        if (!status && compute_is_complete(compute) && searches->n_live > 0)
            status = run_parked(compute, journal_gone, error);
        else
            goes_on = false;
        goes_on = goes_on && compute_is_complete(compute);
    }
    return status || compute_is_complete(compute) ? status : stopped(compute, error);
}

enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct searches *searches = compute->searches = calloc(1, sizeof *searches);
    enum status status = searches ? compute_read_journal(compute, error)
                                  : error_set(error, STATUS_NO_MEMORY,
                                              "out of memory for the fits");
    if (searches && !(searches->live = calloc(MAX_LIVE, sizeof *searches->live)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the fits");
    if (!status)
        status = compute_find_crashes(compute, error);
    if (!status)
        status = searches_read_states(compute, error);
    if (!status) {
        searches->n_before = compute_n_search_before(compute);
        status = run_searches(compute, journal_gone, error);
    }
    if (searches)
        stop_searches(compute);
    if (!status) {
        compute->pass.stage =
            (struct stage){.tasks = &blocks, .n_task = 1, .n_wanted = compute->n_fit};
        counter_set(&compute->pass.n_done, compute->n_fit);
        counter_set(&compute->pass.n_put_off, 0);
        show_searches(compute);
    }
    if (searches) {
        free(searches->live);
        free(searches->saved);
        free(searches->population.bytes);
    }
    free(searches);
    compute->searches = NULL;
    return status;
}
