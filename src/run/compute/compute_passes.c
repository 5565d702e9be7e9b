/* The passes of a run over its datasets: pilots, starts, refits. Each needs the results of the earlier ones.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "run/compute/refit_start.h"

/* A pass, followed by one in which the fits that were put off are tried alone: suspects of a death, and fits that ran out of
 * memory, each of which gets a new process. */
static enum status stage_run(struct compute *compute, const struct stage *stage, feed_prepare *prepare, void *context,
                             bool *journal_gone, struct error *error)
{
    enum status status = compute_pass(compute, stage, prepare, context, journal_gone, error);
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
    return compute_pass(compute, &apart, prepare, context, journal_gone, error);
}

static bool is_pilot(const void *campaign, uint64_t dataset)
{
    return pilot_is(((const struct campaign *)campaign)->n_dataset, dataset);
}

/* Pilots, starts, refits. A shard fits all pilots of the problem, also those of other shards. */
enum status compute_passes(struct compute *compute, bool *journal_gone, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    const struct selection *selection = &campaign->plan.selection;
    uint64_t n_start = selection->n * campaign->n_start, n_outside = campaign->n_outside_pilot;
    const struct stage pilots = {.n_task = 1, .wanted = is_pilot, .wanted_context = campaign,
                                 .n_wanted = pilot_count(campaign->n_dataset)};
    const struct stage starts = {.n_task = campaign->n_start, .wanted = selection_wants, .wanted_context = selection,
                                 .n_before = n_outside, .n_wanted = n_start};
    const struct stage refits = {.first_task = campaign->n_start, .n_task = campaign->n_task - campaign->n_start,
                                 .wanted = selection_wants, .wanted_context = selection,
                                 .n_before = n_outside + n_start, .n_wanted = compute->n_fit - n_outside - n_start};
    enum status status = STATUS_OK;
    if (campaign->pilots) {
        status = stage_run(compute, &pilots, NULL, NULL, journal_gone, error);
        if (status || !compute_is_complete(compute))
            return status;
        status = compute_read_journal(compute, error);
        if (!status) {
            status = pilots_gather(campaign->pilots, compute->earlier, &campaign->plan.identity, error);
            *journal_gone = *journal_gone || status == STATUS_SYSTEM;
        }
    }
    if (!status)
        status = stage_run(compute, &starts, NULL, NULL, journal_gone, error);
    if (status || !compute_is_complete(compute) || refits.n_task == 0)
        return status;
    struct refit_starts best = {.journal = NULL};
    status = compute_read_journal(compute, error);
    if (!status)
        status = refit_starts_init(&best, compute->earlier, &campaign->plan.identity, error);
    if (!status)
        status = stage_run(compute, &refits, refit_starts_put, &best, journal_gone, error);
    *journal_gone = *journal_gone || best.incomplete;
    refit_starts_fini(&best);
    return status;
}
