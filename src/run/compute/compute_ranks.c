/* The part of a compute process that shares fits over many datasets with those of other ranks
 * (mpirun, srun): each has its own datasets, and rank 0 keeps the journal. The others' journals
 * are their own and end with them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include <stdlib.h>
#include <string.h>

enum status compute_lost(struct error *error)
{
    return error_set(error, STATUS_STOPPED,
                     "stopped by a signal, or by another rank; the same command resumes");
}

/* All ranks must see the same run. */
static enum status compare(struct compute *compute, struct error *error)
{
    unsigned char digest[32];
    size_t n;
    identity_digest(&compute->campaign.plan.identity, digest);
    const unsigned char *all = rank_link_gather(&compute->ranks, digest, sizeof digest, &n);
    if (!all)
        return compute_lost(error);
    for (size_t at = 0; at < n; at += sizeof digest)
        if (memcmp(all, all + at, sizeof digest) != 0)
            return error_set(error, STATUS_BAD_PROBLEM,
                             "%s: rank %zu sees another problem, model, options or version of "
                             "stiffit than rank 0",
                             problem_info(compute->campaign.problem)->path, at / sizeof digest);
    return STATUS_OK;
}

enum status compute_join(struct compute *compute, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct rank_link *link = &compute->ranks;
    if (link->descriptor <= 0)
        return STATUS_OK;
    if (!campaign_is_shared(campaign)) {
        if (rank_is_first_launched())
            compute_say(compute,
                        "warning: %u tasks were launched (mpirun, srun), and each does all fits, "
                        "because no parameter "
                        "is shared: deal them with --shard slurm, or use `stiffit submit`",
                        rank_n_launched());
        return STATUS_OK;
    }
    enum status status = rank_link_join(link, &compute->board->heartbeat, error);
    if (status)
        return status;
    uint64_t rank = link->info.rank, n = link->info.n;
    if (rank > 0) {
        compute->options->shown.quiet = true;
        compute->options->shown.json = false;
        free(campaign->plan.paths.journal);
        if (!(campaign->plan.paths.journal = strdup(link->info.journal)))
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the path of the journal");
    }
    if ((status = compare(compute, error)))
        return status;
    campaign->ranks = (struct joint_ranks){.n = (size_t)n,
                                           .rank = (size_t)rank, .gather = rank_link_gather,
                                           .context = link};
    return link->is_lost ? compute_lost(error) : STATUS_OK;
}

/* Of this process's journal. */
static enum status list_crashes(struct compute *compute, struct error *error)
{
    struct fit_record record = {.reason = ""};
    free(compute->crashes.of);
    compute->crashes.n = 0;
    compute->crashes.of =
        calloc(journal_n_record(compute->earlier) + 1, sizeof *compute->crashes.of);
    if (!compute->crashes.of)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the records of crashes");
    for (uint64_t fit = 0; (fit = journal_next(compute->earlier, fit)) != UINT64_MAX; fit++) {
        struct error trouble = {.status = STATUS_OK};
        if (!journal_get(compute->earlier, fit, &record, &trouble))
            continue;
        if (record.outcome == OUTCOME_crashed ||
            (record.outcome == OUTCOME_timeout && record.n_evaluation == 0)) {
            struct crash *crash = &compute->crashes.of[compute->crashes.n++];
            crash->dataset = fit / compute->campaign.n_task;
            crash->task = (uint32_t)(fit % compute->campaign.n_task);
            crash->outcome = record.outcome;
            memcpy(crash->reason, record.reason, sizeof crash->reason);
        }
    }
    return STATUS_OK;
}

enum status compute_find_crashes(struct compute *compute, struct error *error)
{
    size_t each = sizeof *compute->crashes.of, n_byte;
    enum status status = list_crashes(compute, error);
    if (status || !compute->ranks.is_joined)
        return status;
    const unsigned char *all =
        rank_link_gather(&compute->ranks, compute->crashes.of, compute->crashes.n * each, &n_byte);
    struct crash *crash = all ? calloc(n_byte / each + 1, each) : NULL;
    if (!crash)
        return all ? error_set(error, STATUS_NO_MEMORY, "out of memory for the records of crashes")
                   : compute_lost(error);
    memcpy(crash, all, n_byte);
    free(compute->crashes.of);
    compute->crashes.of = crash;
    compute->crashes.n = n_byte / each;
    for (size_t i = 0; i < compute->crashes.n && !status && compute_is_first(compute); i++)
        if (!journal_has(compute->earlier,
                         campaign_number(&compute->campaign, crash[i].dataset, crash[i].task)))
            status =
                compute_journal_failure(compute, crash[i].dataset, crash[i].task,
                                        (enum outcome)crash[i].outcome, crash[i].reason, error);
    /* Rank 0 has these records now: remove the file at once, so that a kill cannot leave it
     * behind. */
    if (!status && !compute_is_first(compute))
        rank_journal_remove(compute->ranks.info.journal);
    return status;
}

const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n)
{
    size_t n_all;
    return compute->ranks.is_joined ? rank_link_gather(&compute->ranks, bytes, n, &n_all) : bytes;
}
