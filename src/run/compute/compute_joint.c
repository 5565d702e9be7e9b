/* One fit over all datasets: each pass of the search is a stage, in which every dataset is an item of the scheduler, so that
 * its evaluations are spread over workers and lanes like those of independent fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute_joint.h"

#include "base/clock.h"
#include "fit/joint_all.h"
#include "io/journal_state.h"
#include "run/compute/joint_refits.h"
#include "run/supervise/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of the search is written if this time has passed since the last one, which is the most that a kill can cost besides
 * a pass, and this many times what the last one took. */
static const int64_t STATE_WORTH_NS = 100000000, STATE_SHARE = 20;

struct keeper {
    int64_t written_ns, cost_ns;
    bool keeps;
};

/* Keeps the state between two passes; without it a killed run only begins again. */
static void keep_state(struct compute *compute, struct keeper *keeper)
{
    const struct run_plan *plan = &compute->campaign.plan;
    struct error error = {.status = STATUS_OK};
    int64_t now = clock_now_ns();
    size_t n;
    unsigned char *bytes = joint_save(compute->campaign.joint, &n), *own = bytes;
    if (compute->campaign.ranks.gather) {
        bytes = (unsigned char *)(uintptr_t)rank_link_gather_at_first(&compute->ranks, bytes, bytes ? n : 0, &n);
        free(own);
        own = NULL;
    }
    if (!compute_is_first(compute) || compute->ranks.is_lost) {
        free(own);
        return;
    }
    if (!bytes || journal_state_write(plan->place.journal, &plan->identity, bytes, n, &error)) {
        keeper->keeps = false;
        compute_say(compute, "warning: the state of the search cannot be kept (%s); the fit continues, but after an "
                    "interruption it would start from an earlier state", bytes ? error.message : "out of memory");
    }
    free(own);
    keeper->written_ns = clock_now_ns();
    keeper->cost_ns = keeper->written_ns - now;
}

/* Whether the state is to be kept now, and whether the search stops. */
static bool wants_to_keep(struct compute *compute, const struct keeper *keeper, bool *stops)
{
    enum { KEEP = 1, STOP = 2 };
    int64_t since = clock_now_ns() - keeper->written_ns;
    bool is_worth = since >= STATE_WORTH_NS && since >= STATE_SHARE * keeper->cost_ns;
    *stops = stop_is_requested();
    unsigned char wants = (unsigned char)((is_worth && compute_is_first(compute) ? KEEP : 0) | (*stops ? STOP : 0));
    size_t n_all;
    const unsigned char *all = compute->ranks.is_joined ? rank_link_gather(&compute->ranks, &wants, 1, &n_all) : NULL;
    for (size_t i = 0; all && i < n_all; i++)
        wants |= all[i];
    *stops = wants & STOP;
    return wants && keeper->keeps && !compute->campaign.joint->descent; /* libLBFGS keeps its state to itself */
}

/* From the beginning of that task. */
static enum status begin(struct campaign *campaign, uint32_t task, const struct joint_request *request, uint32_t n_redrawn,
                         struct error *error)
{
    joint_fini(campaign->joint);
    bool is_good = request ? campaign_joint_init(campaign, task, request->weight, &request->options)
                           : campaign_joint_init(campaign, task, NULL, NULL);
    campaign->joint->n_redrawn = n_redrawn;
    return is_good ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for %llu datasets",
                                           (unsigned long long)campaign->n_dataset);
}

/* Continues where another process was. */
static enum status take_state(struct compute *compute, const struct joint_request *request, unsigned char **bytes,
                              struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct joint *joint = campaign->joint;
    size_t n;
    if (compute_is_first(compute))
        *bytes = journal_state_read(campaign->plan.place.journal, &campaign->plan.identity, &n);
    if (compute->ranks.is_joined) {
        const unsigned char *all = rank_link_gather(&compute->ranks, *bytes, *bytes ? n : 0, &n);
        free(*bytes);
        *bytes = all && n ? malloc(n) : NULL;
        if (all && n && !*bytes)
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the state of the search");
        if (*bytes)
            memcpy(*bytes, all, n);
    }
    if (!*bytes)
        return STATUS_OK;
    if (joint_load(joint, *bytes, n)) {
        compute_say(compute, "resuming: the search goes on after %lld steps", (long long)joint->n_iteration);
        return STATUS_OK;
    }
    return begin(campaign, joint->task, request, 0, error);
}

/* Datasets that crashed in an earlier process or hung: they end the fit. */
static void take_crashes(struct compute *compute)
{
    struct joint *joint = compute->campaign.joint;
    for (size_t k = 0; k < compute->n_crash; k++) {
        const struct compute_crash *crash = &compute->crash[k];
        uint64_t i = crash->dataset - compute->campaign.ranks.first;
        if (crash->task == joint->task && i < joint->n_block)
            joint_block_fail(joint, (size_t)i, (enum outcome)crash->outcome, true, crash->reason);
    }
}

static enum status write_records(struct compute *compute, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    size_t n = campaign->n_parameter;
    struct fit_record record = {.start = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    enum status status = arrays ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for the records of the fit");
    if (arrays)
        fit_record_set_arrays(&record, n, arrays);
    for (size_t i = 0; !status && i < campaign->joint->n_block; i++) {
        joint_record(campaign->joint, i, &record);
        record.seconds = campaign->joint->block[i].seconds;
        counter_add(&compute->board->n_finished, 1);
        if (!compute_is_first(compute))
            continue;
        if (!outcome_is_success((enum outcome)record.outcome))
            counter_add(&compute->board->n_failed, 1);
        status = journal_append(compute->journal, &record, error);
    }
    free(arrays);
    return status;
}

/* The datasets that were left out. */
static void tell_left_out(struct compute *compute)
{
    const struct joint *joint = compute->campaign.joint;
    size_t n = 0, first = joint->n_block;
    struct joint_blame blame;
    for (size_t i = joint->n_block; i-- > 0;) {
        n += joint->block[i].is_out;
        first = joint->block[i].is_out ? i : first;
    }
    n = (size_t)joint_count_up(joint, (double)n);
    joint_find_first(joint, first, &first, &blame);
    if (n)
        compute_say(compute, "warning: %zu of %zu datasets %s left out of the fit (--leave-out-failed); the first one, "
                    "dataset %zu (from 0): %s", n, joint->ranks.n_block, n == 1 ? "is" : "are", first, blame.reason);
}

/* Of this process, and in the next pass. */
static bool is_wanted(const void *context, uint64_t dataset)
{
    const struct campaign *campaign = context;
    uint64_t i = dataset - campaign->joint->ranks.first;
    bool picks = campaign->joint->stride || campaign->joint->weight;
    return i < campaign->joint->n_block
           && (picks ? joint_wants(campaign->joint, (size_t)i) : joint_evaluates(campaign->joint, (size_t)i));
}

/* A rank may have none of the datasets. */
static enum status run_pass(struct compute *compute, const struct joint_request *request, bool *journal_gone,
                            struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    const struct joint *joint = campaign->joint;
    bool picks = compute->ranks.is_joined || joint->stride || joint->weight;
    struct stage stage = {.first_task = joint->task, .n_task = 1, .wanted = picks ? is_wanted : NULL,
                          .wanted_context = campaign, .n_before = joint->task * joint->n_block};
    for (size_t i = 0; i < joint->n_block; i++)
        stage.n_wanted += is_wanted(campaign, joint->ranks.first + i);
    if (stage.n_wanted > 0)
        return compute_stage(compute, &stage, request ? request->prepare : NULL, request ? request->context : NULL,
                             journal_gone, error);
    compute->stage = stage;
    return STATUS_OK;
}

/* Whether this process must not go on. */
static enum status judge_ranks(const struct compute *compute, struct error *error)
{
    if (compute->ranks.is_lost)
        return error_set(error, STATUS_STOPPED, "stopped by a signal, or by another rank; the same command resumes");
    if (compute->campaign.joint->is_short && compute->ranks.is_joined)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the shared parameters");
    return STATUS_OK;
}

/* Passes until the fit has ended. Also OK if it was stopped. */
static enum status search(struct compute *compute, const struct joint_request *request, bool *journal_gone, bool *has_ended,
                          struct error *error)
{
    struct joint *joint = compute->campaign.joint;
    struct keeper keeper = {.written_ns = clock_now_ns(), .keeps = !request || request->keeps};
    bool goes_on = joint_resume(joint);
    enum status status;
    if (joint->stride > 1 && joint->n_iteration == 0 && joint->task == 0)
        compute_say(compute, "the first steps take a random sample of the datasets: %zu of %zu", joint_sample_size(joint),
                    joint->ranks.n_block);
    if ((status = judge_ranks(compute, error)))
        return status;
    while (!status && goes_on) {
        status = run_pass(compute, request, journal_gone, error);
        if (status || !compute_is_complete(compute))
            return status;
        goes_on = joint_advance(joint);
        bool stops = false;
        if (goes_on && wants_to_keep(compute, &keeper, &stops))
            keep_state(compute, &keeper);
        if ((status = judge_ranks(compute, error)))
            return status;
        if (stops) {
            counter_set(&compute->n_done, 0);
            return STATUS_OK;
        }
    }
    *has_ended = !status;
    return status;
}

/* Whether an earlier process has written all records of this task, which rank 0 knows. */
static bool is_written(struct compute *compute, uint32_t task)
{
    const struct campaign *campaign = &compute->campaign;
    uint64_t d = 0, n = task < campaign->n_start ? campaign->n_dataset : 1;
    bool is_first = compute_is_first(compute);
    while (d < n && is_first && journal_has(compute->earlier, d * campaign->n_task + task))
        d++;
    unsigned char is_all = d == n;
    const unsigned char *found = compute_first_bytes(compute, &is_all, is_first);
    return found && *found;
}

/* Whether this was a random start at which the model cannot be evaluated, so that another one takes its place. */
static bool wants_another(const struct joint *joint)
{
    return joint->task > 0 && !joint->weight && !joint->has_best && joint->n_redrawn < FIT_MAX_REDRAWN
           && (joint->outcome == OUTCOME_ode_failed || joint->outcome == OUTCOME_model_failed);
}

enum status compute_joint_fit(struct compute *compute, uint32_t task, const struct joint_request *request, bool *journal_gone,
                              bool *has_ended, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    unsigned char *state = NULL;
    *has_ended = false;
    enum status status = task > 0 ? begin(campaign, task, request, 0, error) : STATUS_OK;
    if (!status && (!request || request->keeps))
        status = take_state(compute, request, &state, error);
    if (!status)
        status = judge_ranks(compute, error);
    if (!status)
        take_crashes(compute);
    if (!status)
        status = search(compute, request, journal_gone, has_ended, error);
    while (!status && *has_ended && wants_another(campaign->joint)) {
        *has_ended = false;
        status = begin(campaign, task, NULL, campaign->joint->n_redrawn + 1, error);
        if (!status) {
            take_crashes(compute);
            status = search(compute, NULL, journal_gone, has_ended, error);
        }
    }
    campaign->joint->saved = NULL; /* which nothing reads after the end */
    free(state);
    return status;
}

static enum status fit_start(struct compute *compute, uint32_t task, bool *journal_gone, bool *has_ended, struct error *error)
{
    enum status status = compute_joint_fit(compute, task, NULL, journal_gone, has_ended, error);
    if (status || !*has_ended)
        return status;
    tell_left_out(compute);
    return compute->campaign.ranks.gather ? compute_collect_records(compute, error) : write_records(compute, error);
}

enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    struct joint_refits refits = {.n_drawn = 0};
    uint32_t first_refit = campaign->n_start, first_replicate = first_refit + 2 * campaign->plan.refits.n_profile;
    bool goes_on = true;
    enum status status = compute_read_journal(compute, error);
    if (!status)
        status = compute_find_crashes(compute, error);
    for (uint32_t task = 0; !status && goes_on && task < campaign->n_task; task++) {
        if (campaign->n_task > 1 && is_written(compute, task))
            continue;
        if (task >= first_refit && !refits.weight)
            status = joint_refits_open(&refits, compute, error);
        if (!status && task >= first_refit && refits.n_drawn == 0)
            break;
        if (!status)
            status = task < first_refit ? fit_start(compute, task, journal_gone, &goes_on, error)
                     : task < first_replicate
                         ? joint_refits_profile(&refits, compute, task, journal_gone, &goes_on, error)
                         : joint_refits_replicate(&refits, compute, task, journal_gone, &goes_on, error);
    }
    joint_refits_fini(&refits);
    if (!status && goes_on) { /* also without a pass over all datasets */
        compute->stage = (struct stage){.n_task = 1, .n_wanted = compute->n_fit};
        counter_set(&compute->n_done, compute->n_fit);
        compute->hooks->progress(compute->hooks->context, compute->n_fit, counter_get(&compute->board->n_failed));
    }
    return status;
}
