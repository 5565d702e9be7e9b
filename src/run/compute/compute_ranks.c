/* The part of a compute process that shares fits over many datasets with those of other ranks (mpirun, srun): each has its own
 * datasets, and rank 0 keeps the journal. The others' journals are their own and end with them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute_joint.h"

#include "fit/joint_ranks.h"
#include "run/compute/search.h"
#include "io/journal_format.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of records that rank 0 receives at once. */
static const size_t RECORDS_AT_ONCE = (size_t)64 << 20;

enum status compute_lost(struct error *error)
{
    return error_set(error, STATUS_STOPPED, "stopped by a signal, or by another rank; the same command resumes");
}

/* All ranks must see the same run. */
static enum status compare(struct compute *compute, struct error *error)
{
    unsigned char digest[32];
    size_t n;
    journal_digest(&compute->campaign.plan.identity, digest);
    const unsigned char *all = rank_link_gather(&compute->ranks, digest, sizeof digest, &n);
    if (!all)
        return compute_lost(error);
    for (size_t at = 0; at < n; at += sizeof digest)
        if (memcmp(all, all + at, sizeof digest) != 0)
            return error_set(error, STATUS_BAD_PROBLEM, "%s: rank %zu sees another problem, model, options or version of "
                             "stiffit than rank 0", problem_info(compute->campaign.problem)->path, at / sizeof digest);
    return STATUS_OK;
}

enum status compute_join(struct compute *compute, struct run_options *options, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct rank_link *link = &compute->ranks;
    if (link->descriptor <= 0)
        return STATUS_OK;
    if (!campaign_is_shared(campaign)) {
        if (rank_is_first_launched())
            compute_say(compute, "warning: %u tasks were launched (mpirun, srun), and each does all fits, because no parameter "
                        "is shared: deal them with --shard slurm, or use `stiffit submit`", rank_n_launched());
        return STATUS_OK;
    }
    enum status status = rank_link_join(link, &compute->board->heartbeat, error);
    if (status)
        return status;
    uint64_t rank = link->place.rank, n = link->place.n;
    if (rank > 0) {
        options->shown.quiet = true;
        options->shown.json = false;
        free(campaign->plan.place.journal);
        if (!(campaign->plan.place.journal = strdup(link->place.journal)))
            return error_set(error, STATUS_NO_MEMORY, "out of memory for the path of the journal");
    }
    if ((status = compare(compute, error)))
        return status;
    campaign->ranks = (struct joint_ranks){.n = (size_t)n, .rank = (size_t)rank, .gather = rank_link_gather, .context = link};
    return link->is_lost ? compute_lost(error) : STATUS_OK;
}

/* Of this process's journal. */
static enum status list_crashes(struct compute *compute, struct error *error)
{
    struct fit_record record = {.reason = ""};
    free(compute->crash);
    compute->n_crash = 0;
    compute->crash = calloc(journal_n_record(compute->earlier) + 1, sizeof *compute->crash);
    if (!compute->crash)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the records of crashes");
    for (uint64_t fit = 0; (fit = journal_next(compute->earlier, fit)) != UINT64_MAX; fit++) {
        struct error trouble = {.status = STATUS_OK};
        if (!journal_get(compute->earlier, fit, &record, &trouble))
            continue;
        if (record.outcome == OUTCOME_crashed || (record.outcome == OUTCOME_timeout && record.n_evaluation == 0)) {
            struct compute_crash *crash = &compute->crash[compute->n_crash++];
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
    size_t each = sizeof *compute->crash, n_byte;
    enum status status = list_crashes(compute, error);
    if (status || !compute->ranks.is_joined)
        return status;
    const unsigned char *all = rank_link_gather(&compute->ranks, compute->crash, compute->n_crash * each, &n_byte);
    struct compute_crash *crash = all ? calloc(n_byte / each + 1, each) : NULL;
    if (!crash)
        return all ? error_set(error, STATUS_NO_MEMORY, "out of memory for the records of crashes") : compute_lost(error);
    memcpy(crash, all, n_byte);
    free(compute->crash);
    compute->crash = crash;
    compute->n_crash = n_byte / each;
    for (size_t i = 0; i < compute->n_crash && !status && compute_is_first(compute); i++)
        if (!journal_has(compute->earlier, crash[i].dataset * compute->campaign.n_task + crash[i].task))
            status = compute_journal_failure(compute, crash[i].dataset, crash[i].task, (enum outcome)crash[i].outcome,
                                             crash[i].reason, error);
    if (!status && !compute_is_first(compute)) /* rank 0 has them now; what is not there cannot be left behind by a kill */
        rank_journal_remove(compute->ranks.place.journal);
    return status;
}

const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n)
{
    size_t n_all;
    return compute->ranks.is_joined ? rank_link_gather(&compute->ranks, bytes, n, &n_all) : bytes;
}

/* Records as messages: the structure, then its arrays. */
static enum status take_records(struct compute *compute, const unsigned char *bytes, size_t n_byte, size_t each, void *arrays,
                                struct error *error)
{
    enum status status = STATUS_OK;
    struct fit_record record;
    for (size_t at = 0; !status && at + each <= n_byte; at += each) {
        memcpy(&record, bytes + at, sizeof record);
        memcpy(arrays, bytes + at + sizeof record, each - sizeof record);
        fit_record_set_arrays(&record, compute->campaign.n_parameter, arrays);
        record.point = NULL;
        status = journal_append(compute->journal, &record, error);
    }
    return status;
}

enum status compute_collect_records(struct search *search, struct error *error)
{
    struct compute *compute = search->compute;
    const struct campaign *campaign = &compute->campaign;
    struct joint *joint = &search->fit.joint;
    const uint32_t *member = components_members(&campaign->share.components, search->fit.component) + joint->ranks.first;
    struct joint_facts facts = {.most = (double)joint->n_block};
    size_t n_array = fit_record_array_bytes(campaign->n_parameter), each = sizeof(struct fit_record) + n_array, n_byte;
    size_t batch = RECORDS_AT_ONCE / each / joint->ranks.n + 1;
    unsigned char *bytes = malloc((batch < joint->n_block ? batch : joint->n_block) * each + 1);
    void *arrays = calloc(1, n_array + 1);
    enum status status = bytes && arrays ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for the records");
    if (!status)
        joint_agree(joint, &facts);
    for (size_t first = 0; !status && (double)first < facts.most; first += batch) {
        size_t end = first + batch < joint->n_block ? first + batch : joint->n_block, n = 0;
        for (size_t i = first; i < end; i++, n += each) {
            struct fit_record record = {.start = 0};
            fit_record_set_arrays(&record, campaign->n_parameter, arrays);
            joint_record(joint, i, &record);
            record.dataset = member[i];
            record.seconds = joint->block[i].seconds;
            memcpy(bytes + n, &record, sizeof record);
            memcpy(bytes + n + sizeof record, arrays, n_array);
            counter_add(&compute->board->n_finished, 1);
        }
        const unsigned char *all = rank_link_gather_at_first(&compute->ranks, bytes, n, &n_byte);
        status = !all                           ? compute_lost(error)
                 : compute_is_first(compute) ? take_records(compute, all, n_byte, each, arrays, error)
                                             : STATUS_OK;
    }
    free(bytes);
    free(arrays);
    return status;
}
