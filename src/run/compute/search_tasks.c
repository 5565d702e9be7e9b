/* What a search does: the starts and refits of its component, one after another, each of them
 * passes over its blocks until the fit has ended. Sequential code on the search's coroutine.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/search.h"

#include "base/clock.h"
#include "fit/joint_ranks.h"
#include "par/coroutine.h"
#include "run/compute/compute_joint.h"

#include <stdlib.h>
#include <string.h>

/* From the beginning of that task. */
static enum status begin(struct search *search, uint32_t task, uint32_t n_redrawn, struct error *error)
{
    struct campaign_fit *fit = &search->fit;
    const struct joint_request *request = search->request;
    struct campaign *campaign = &search->compute->campaign;
    joint_fini(&fit->joint);
    fit->joint = (struct joint){.task = task};
    bool is_good = campaign_fit_init(fit, campaign, fit->component, task, request ? request->weight : NULL,
                                     request ? &request->options : NULL);
    fit->joint.n_redrawn = n_redrawn;
    return is_good ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for a fit of %zu datasets",
                                           components_size(&campaign->share.components, fit->component));
}

/* Continues where another process was. */
static enum status take_state(struct search *search, struct error *error)
{
    struct joint *joint = &search->fit.joint;
    size_t n;
    const unsigned char *bytes = searches_find_state(search->compute->searches, search->fit.component, &n);
    if (!bytes)
        return STATUS_OK;
    if (!joint_load(joint, bytes, n))
        return begin(search, joint->task, 0, error);
    if (search->compute->campaign.share.components.n == 1)
        compute_say(search->compute, "resuming: the search goes on after %lld steps", (long long)joint->search.n_iteration);
    search->loaded = bytes;
    search->n_kept = n;
    return STATUS_OK;
}

/* Datasets that crashed in an earlier process or hung: they end the fit. */
static void take_crashes(struct search *search)
{
    const struct compute *compute = search->compute;
    struct joint *joint = &search->fit.joint;
    for (size_t k = 0; k < compute->n_crash; k++) {
        const struct compute_crash *crash = &compute->crash[k];
        size_t i;
        if (campaign_fit_of(&compute->campaign, crash->dataset, &i) == &search->fit && crash->task == joint->task
            && i < joint->n_block)
            joint_block_fail(joint, i, (enum outcome)crash->outcome, true, crash->reason);
    }
}

static enum status write_records(struct search *search, struct error *error)
{
    struct compute *compute = search->compute;
    const struct campaign *campaign = &compute->campaign;
    struct joint *joint = &search->fit.joint;
    const uint32_t *member = components_members(&campaign->share.components, search->fit.component);
    size_t n = campaign->n_parameter;
    struct fit_record record = {.start = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    enum status status = arrays ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for the records of the fit");
    if (arrays)
        fit_record_set_arrays(&record, n, arrays);
    for (size_t i = 0; !status && i < joint->n_block; i++) {
        joint_record(joint, i, &record);
        record.dataset = member[i];
        record.seconds = joint->block[i].seconds;
        counter_add(&compute->board->n_finished, 1);
        if (compute_is_first(compute))
            status = journal_append(compute->journal, &record, error);
    }
    free(arrays);
    return status;
}

/* The datasets that were left out. */
static void tell_left_out(struct search *search)
{
    const struct joint *joint = &search->fit.joint;
    size_t n = 0, first = joint->n_block;
    struct joint_blame blame;
    char name[JOINT_NAME];
    for (size_t i = joint->n_block; i-- > 0;) {
        n += joint->block[i].is_out;
        first = joint->block[i].is_out ? i : first;
    }
    n = (size_t)joint_count_up(joint, (double)n);
    joint_find_first(joint, first, &first, &blame);
    if (!n)
        return;
    joint_name(joint, first, name);
    compute_say(search->compute, "warning: %zu of %zu datasets %s left out of the fit (--leave-out-failed); the first one, "
                "%s: %s", n, joint->ranks.n_block, n == 1 ? "is" : "are", name, blame.reason);
}

/* Whether this process must not go on. */
static enum status judge_ranks(const struct search *search, struct error *error)
{
    const struct rank_link *ranks = &search->compute->ranks;
    if (ranks->is_lost)
        return compute_lost(error);
    if (search->fit.joint.agreement.is_short && ranks->is_joined)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the shared parameters");
    return STATUS_OK;
}

/* Lets the workers evaluate. False: the run stops. */
static bool run_pass(void *context)
{
    struct search *search = context;
    struct error ignored;
    if (judge_ranks(search, &ignored))
        return false;
    search->n_pass++;
    search->state = SEARCH_WANTS;
    coroutine_suspend(search->coroutine);
    return !search->compute->searches->is_stopping && !search_is_stopped(search);
}

/* Passes until the fit has ended. Also OK if it was stopped. */
static enum status run_fit(struct search *search, bool *has_ended, struct error *error)
{
    const struct joint_host host = {.run_pass = run_pass, .keep = search_keep_state, .context = search};
    search->n_pass = 0;
    search->kept_ns = clock_now_ns();
    bool is_over = joint_search(&search->fit.joint, &host);
    enum status status = judge_ranks(search, error);
    *has_ended = is_over && !status;
    return status;
}

/* Whether this was a random start at which the model cannot be evaluated, so that another one takes
 * its place. */
static bool wants_another(const struct joint *joint)
{
    return joint->task > 0 && !joint->weight && !joint->end.has_best && joint->n_redrawn < FIT_MAX_REDRAWN
           && (joint->end.outcome == OUTCOME_ode_failed || joint->end.outcome == OUTCOME_model_failed);
}

/* Which nothing reads after the end of the fit. */
static void forget_state(struct search *search)
{
    search->fit.joint.saved.bytes = NULL;
    free(search->kept);
    search->kept = NULL;
    search->loaded = NULL;
    search->n_kept = 0;
}

enum status search_fit(struct search *search, uint32_t task, const struct joint_request *request, bool *has_ended,
                       struct error *error)
{
    *has_ended = false;
    search->request = request;
    enum status status = begin(search, task, 0, error);
    if (!status && (!request || request->keeps))
        status = take_state(search, error);
    if (!status)
        take_crashes(search);
    if (!status)
        status = run_fit(search, has_ended, error);
    while (!status && *has_ended && wants_another(&search->fit.joint)) {
        *has_ended = false;
        status = begin(search, task, search->fit.joint.n_redrawn + 1, error);
        if (status)
            break;
        take_crashes(search);
        status = run_fit(search, has_ended, error);
    }
    if (*has_ended)
        forget_state(search);
    return status;
}

static enum status fit_start(struct search *search, uint32_t task, bool *has_ended, struct error *error)
{
    struct compute *compute = search->compute;
    enum status status = search_fit(search, task, NULL, has_ended, error);
    if (status || !*has_ended)
        return status;
    if (!outcome_is_success(search->fit.joint.end.outcome) && compute_is_first(compute))
        counter_add(&compute->board->n_failed, 1);
    tell_left_out(search);
    return search->fit.joint.ranks.gather ? compute_collect_records(search, error) : write_records(search, error);
}

bool search_is_written(const struct compute *compute, size_t component, uint32_t task)
{
    const struct campaign *campaign = &compute->campaign;
    const uint32_t *member = components_members(&campaign->share.components, component);
    size_t d = 0, n = task < campaign->n_start ? components_size(&campaign->share.components, component) : 1;
    while (d < n && journal_has(compute->earlier, (uint64_t)member[d] * campaign->n_task + task))
        d++;
    return d == n;
}

/* The same, which rank 0 knows. */
static bool is_written(struct search *search, uint32_t task)
{
    struct compute *compute = search->compute;
    bool is_first = compute_is_first(compute);
    unsigned char is_all = is_first && search_is_written(compute, search->fit.component, task);
    const unsigned char *found = compute_first_bytes(compute, &is_all, is_first);
    return found && *found;
}

enum status search_run_tasks(struct search *search, struct error *error)
{
    const struct campaign *campaign = &search->compute->campaign;
    struct joint_refits *refits = &search->refits;
    uint32_t first_refit = campaign->n_start, first_replicate = first_refit + 2 * campaign->plan.refits.n_profile;
    bool goes_on = true;
    enum status status = STATUS_OK;
    for (uint32_t task = 0; !status && goes_on && task < campaign->n_task; task++) {
        if (is_written(search, task))
            continue;
        if (task >= first_refit && !refits->weight)
            status = joint_refits_open(search, error);
        if (!status && task >= first_refit && refits->n_drawn == 0)
            task = campaign->n_task - 1; /* there is no fit to refit */
        else if (!status)
            status = task < first_refit       ? fit_start(search, task, &goes_on, error)
                     : task < first_replicate ? joint_refits_profile(search, task, &goes_on, error)
                                              : joint_refits_replicate(search, task, &goes_on, error);
        search->compute->searches->n_ended += !status && goes_on;
    }
    joint_refits_fini(refits);
    forget_state(search);
    return status;
}
