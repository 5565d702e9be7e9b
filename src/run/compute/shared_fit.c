/* A fit over many datasets: passes over its blocks until it has ended. Rank 0 keeps its state
 * between two of its passes (run/compute/keeper.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/shared_fit.h"

#include "base/memory.h"
#include "fit/joint/one.h"
#include "fit/joint/ranks.h"
#include "fit/objective/start.h"
#include "io/result/mixed_result.h"
#include "par/coroutine.h"
#include "run/compute/compute.h"
#include "run/supervise/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status shared_read_population(struct compute *compute, struct error *error)
{
    struct shared_fits *fits = compute->shared_fits;
    struct arena arena = {.first = NULL};
    struct mixed_result before;
    bool is_there = false;
    enum status status =
        journal_kept(compute->earlier, FRAME_POPULATION, &fits->population.bytes,
                     &fits->population.n, &fits->population.n_start, error);
    if (!status)
        status = mixed_result_decode(&before, &is_there, fits->population.bytes,
                                     fits->population.n, &arena, error);
    fits->population.objective = is_there ? mixed_result_objective(&before) : (double)NAN;
    if (!is_there && fits->population.n > 0) /* it is computed again */
        fits->population.n_start = 0;
    arena_fini(&arena);
    return status;
}

/* After a pass: what the ranks agree on. Sets whether a state is due; returns whether some rank was
 * asked to stop. */
static bool ask_ranks(struct shared_fit *shared)
{
    enum { DUE = 1, STOP = 2 };
    struct compute *compute = shared->compute;
    const unsigned char *all = NULL;
    const struct fit_keeper *keeper = &shared->keeper.fits;
    bool keeps = !shared->request || shared->request->keeps,
         is_due = keeps && keeper->is_due(keeper->context);
    unsigned char bits = (unsigned char)((is_due ? DUE : 0) | (stop_is_requested() ? STOP : 0));
    size_t n_all;
    if (compute->ranks.is_joined)
        all = rank_link_gather(&compute->ranks, &bits, 1, &n_all);
    for (size_t i = 0; all && i < n_all; i++)
        bits |= all[i];
    shared->is_due = bits & DUE;
    return bits & STOP;
}

bool shared_is_short(const struct shared_fit *shared)
{
    return counter_get(&shared->is_short) || memory_n_failed() != shared->n_failed;
}

static void keep_state(void *context)
{
    struct shared_fit *shared = context;
    const struct fit_keeper *keeper = &shared->keeper.fits;
    struct compute *compute = shared->compute;
    struct joint *joint = &shared->fit.joint;
    size_t n;
    if (!shared->is_due || shared_is_short(shared))
        return;
    shared->is_due = false;
    unsigned char *bytes = joint_save(joint, &n);
    if (joint->ranks.gather) {
        size_t n_here = bytes ? n : 0;
        const unsigned char *all = rank_link_gather_at_first(&compute->ranks, bytes, n_here, &n);
        free(bytes);
        bytes = all && n ? malloc(n) : NULL;
        if (bytes)
            memcpy(bytes, all, n);
    }
    if (compute->ranks.is_lost) {
        free(bytes);
        return;
    }
    keeper->keep(keeper->context, bytes, n);
    keeper_write(&shared->keeper);
}

/* From the beginning of that task. */
static enum status begin(struct shared_fit *shared, uint32_t task, uint32_t n_redrawn,
                         struct error *error)
{
    struct campaign_fit *fit = &shared->fit;
    const struct joint_request *request = shared->request;
    struct campaign *campaign = &shared->compute->campaign;
    joint_fini(&fit->joint);
    fit->joint = (struct joint){.task = task};
    bool is_good = campaign_fit_init(fit, campaign, fit->component, task,
                                     request ? request->weight : NULL,
                                     request ? &request->options : NULL);
    fit->joint.start.n_redrawn = n_redrawn;
    fit->joint.held = request ? request->held_above : NULL;
    if (is_good)
        return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, "out of memory for a fit of %zu datasets",
                     components_size(&campaign->share.components, fit->component));
}

/* What an earlier process has left of this fit, which rank 0 gives to all. */
static enum status find_state(struct shared_fit *shared, const unsigned char **bytes, size_t *n,
                              struct error *error)
{
    const struct fit_keeper *keeper = &shared->keeper.fits;
    struct compute *compute = shared->compute;
    *n = 0;
    keeper->begin(keeper->context, compute->campaign.n_parameter, NULL, bytes, n);
    if (!compute->ranks.is_joined)
        return STATUS_OK;
    const unsigned char *all = rank_link_gather(&compute->ranks, *bytes, *bytes ? *n : 0, n);
    free(shared->loaded);
    *bytes = shared->loaded = all && *n ? malloc(*n) : NULL;
    if (!all)
        return compute_lost(error);
    if (*n && !*bytes)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the state of the search");
    if (*n)
        memcpy(shared->loaded, all, *n);
    return STATUS_OK;
}

/* Continues where another process was. */
static enum status take_state(struct shared_fit *shared, struct error *error)
{
    struct joint *joint = &shared->fit.joint;
    const unsigned char *bytes;
    size_t n;
    enum status status = find_state(shared, &bytes, &n, error);
    if (status || !bytes)
        return status;
    if (!joint_load(joint, bytes, n))
        return begin(shared, joint->task, 0, error);
    if (shared->compute->campaign.share.components.n == 1)
        compute_say(shared->compute, "resuming: the search goes on after %lld steps",
                    (long long)joint->search.n_iteration);
    return STATUS_OK;
}

/* Datasets that crashed in an earlier process or hung: they end the fit. */
static void take_crashes(struct shared_fit *shared)
{
    const struct compute *compute = shared->compute;
    struct joint *joint = &shared->fit.joint;
    for (size_t k = 0; k < compute->crashes.n; k++) {
        const struct crash *crash = &compute->crashes.of[k];
        size_t i;
        if (campaign_fit_of(&compute->campaign, crash->dataset, &i) == &shared->fit
            && crash->task == joint->task
            && i < joint->n_block)
            joint_block_fail(joint, i, (enum outcome)crash->outcome, true, crash->reason);
    }
}

/* Whether this process must not go on. */
static enum status judge_ranks(const struct shared_fit *shared, struct error *error)
{
    const struct rank_link *ranks = &shared->compute->ranks;
    if (ranks->is_lost)
        return compute_lost(error);
    if (shared_is_short(shared) || (shared->fit.joint.agreement.is_short && ranks->is_joined))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a fit of %zu datasets",
                         shared->fit.joint.n_block);
    return STATUS_OK;
}

/* Lets the workers evaluate. False: the run stops. */
static bool run_pass(void *context)
{
    struct shared_fit *shared = context;
    struct error ignored;
    if (judge_ranks(shared, &ignored))
        return false;
    shared->n_pass++;
    shared->state = SHARED_WANTS;
    coroutine_suspend(shared->coroutine);
    bool goes_on = !shared->compute->shared_fits->is_stopping && !shared_is_short(shared);
    return goes_on && !ask_ranks(shared);
}

/* Passes until the fit has ended. Also OK if it was stopped. */
static enum status run_fit(struct shared_fit *shared, bool *has_ended, struct error *error)
{
    const struct joint_host host = {.run_pass = run_pass, .keep = keep_state,
                                    .fit_alone = fit_run, .context = shared};
    shared->n_pass = 0;
    shared->is_due = false;
    bool is_over = joint_search(&shared->fit.joint, &host);
    if (shared->fit.joint.end.outcome == OUTCOME_out_of_memory && is_over)
        counter_set(&shared->is_short, 1);
    enum status status = judge_ranks(shared, error);
    *has_ended = is_over && !status;
    return status;
}

enum status shared_run_fit(struct shared_fit *shared, uint32_t task,
                       const struct joint_request *request, bool *has_ended, struct error *error)
{
    shared->request = request;
    const struct joint *joint = &shared->fit.joint;
    struct fit_start start = {.number = task};
    enum status status;
    do {
        *has_ended = false;
        counter_set(&shared->is_short, 0);
        shared->n_failed = memory_n_failed();
        status = begin(shared, task, start.n_redrawn, error);
        if (!status && start.n_redrawn == 0 && (!request || request->keeps))
            status = take_state(shared, error);
        if (status)
            break;
        start.n_redrawn = joint->start.n_redrawn;
        take_crashes(shared);
        status = run_fit(shared, has_ended, error);
    } while (!status && *has_ended && !joint->weight && !joint->end.has_best
             && fit_start_redraw(&start, joint->end.outcome));
    shared->request = NULL;
    shared->fit.joint.saved.bytes = NULL; /* which are the keeper's */
    return status;
}
