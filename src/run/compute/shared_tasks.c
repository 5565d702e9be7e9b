/* Starts and their records.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/shared_fit.h"

#include "fit/joint/ranks.h"
#include "fit/mixed/mixed.h"
#include "run/compute/compute.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of records that rank 0 receives at once. */
static const size_t RECORDS_AT_ONCE = (size_t)64 << 20;

/* The journal has had the record of a dataset that crashed or hung since then. */
static bool has_record(const struct shared_fit *shared, size_t i)
{
    return shared->fit.joint.block[i].has_crashed;
}

/* Of block i of this process. */
static enum status make_record(struct shared_fit *shared, size_t i, struct fit_record *record,
                               struct error *error)
{
    const struct compute *compute = shared->compute;
    struct joint *joint = &shared->fit.joint;
    const uint32_t *member = components_members(&compute->campaign.share.components,
                                                shared->fit.component);
    joint_record(joint, i, record);
    record->dataset = member[joint->ranks.first + i];
    record->seconds = joint->block[i].seconds;
    return shared_is_short(shared)
               ? error_set(error, STATUS_NO_MEMORY, "out of memory for the records of the fit")
               : STATUS_OK;
}

/* Rank 0's, of what all ranks have sent. */
static enum status take_records(struct compute *compute, const unsigned char *bytes, size_t n_byte,
                                struct fit_record *room, struct error *error)
{
    size_t n = compute->campaign.n_parameter, each = fit_record_bytes(n);
    enum status status = STATUS_OK;
    for (size_t at = 0; !status && at + each <= n_byte; at += each) {
        fit_record_from_bytes(room, n, bytes + at);
        status = journal_append(compute->journal, room, error);
    }
    return status;
}

/* All ranks send theirs to rank 0, some at a time. */
static enum status send_records(struct shared_fit *shared, struct fit_record *room,
                                struct error *error)
{
    struct compute *compute = shared->compute;
    struct joint *joint = &shared->fit.joint;
    struct joint_facts facts = {.most = (double)joint->n_block};
    size_t n = compute->campaign.n_parameter, each = fit_record_bytes(n), n_byte;
    size_t batch = RECORDS_AT_ONCE / each / joint->ranks.n + 1;
    unsigned char *bytes = malloc((batch < joint->n_block ? batch : joint->n_block) * each + 1);
    enum status status = STATUS_OK;
    if (!bytes)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for the records");
    else
        joint_agree(joint, &facts);
    for (size_t first = 0; !status && (double)first < facts.most; first += batch) {
        size_t end = first + batch < joint->n_block ? first + batch : joint->n_block, used = 0;
        for (size_t i = first; !status && i < end; i++) {
            if (has_record(shared, i))
                continue;
            status = make_record(shared, i, room, error);
            fit_record_to_bytes(room, n, bytes + used);
            used += each;
        }
        if (status)
            break;
        const unsigned char *all = rank_link_gather_at_first(&compute->ranks, bytes, used, &n_byte);
        if (!all)
            status = compute_lost(error);
        else if (compute_is_first(compute))
            status = take_records(compute, all, n_byte, room, error);
    }
    free(bytes);
    return status;
}

static enum status write_records(struct shared_fit *shared, struct error *error)
{
    struct compute *compute = shared->compute;
    const struct joint *joint = &shared->fit.joint;
    size_t n = compute->campaign.n_parameter;
    struct fit_record record = {.start = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the records of the fit");
    fit_record_set_arrays(&record, n, arrays);
    enum status status = joint->ranks.gather ? send_records(shared, &record, error) : STATUS_OK;
    for (size_t i = 0; !status && i < joint->n_block && !joint->ranks.gather; i++) {
        if (has_record(shared, i))
            continue;
        status = make_record(shared, i, &record, error);
        if (!status && compute_is_first(compute))
            status = journal_append(compute->journal, &record, error);
    }
    if (!status)
        counter_add(&compute->board->n_finished, joint->n_block);
    free(arrays);
    return status;
}

/* The datasets that were left out. */
static void tell_left_out(struct shared_fit *shared)
{
    const struct joint *joint = &shared->fit.joint;
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
    compute_say(shared->compute,
                "warning: %zu of %zu datasets %s left out of the fit (--leave-out-failed); the "
                "first one, %s: %s",
                n, joint->ranks.n_block, n == 1 ? "is" : "are", name, blame.reason);
}

/* Takes this start's population, if it is the most likely one. */
static enum status take_population(struct shared_fits *fits, const struct mixed_result *result,
                                   struct error *error)
{
    size_t n;
    if (fits->population.objective <= mixed_result_objective(result))
        return STATUS_OK;
    unsigned char *bytes = mixed_result_bytes(result, &n);
    if (!bytes)
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory for what is known of the population");
    free(fits->population.bytes);
    fits->population.bytes = bytes;
    fits->population.n = n;
    fits->population.objective = mixed_result_objective(result);
    return STATUS_OK;
}

/* The journal keeps the population of the most likely start. It is written after each start, before
 * the start's records, with the number of starts that it covers: so a reader sees when records lack
 * their population. result: NULL if the start has none. */
static enum status write_population(struct shared_fit *shared, uint32_t task,
                                    const struct mixed_result *result, struct error *error)
{
    struct compute *compute = shared->compute;
    struct shared_fits *fits = compute->shared_fits;
    enum status status = STATUS_OK;
    if (!compute->campaign.share.random.n || !compute_is_first(compute))
        return STATUS_OK;
    if (result)
        status = take_population(fits, result, error);
    if (!status && fits->population.n_start <= task)
        fits->population.n_start = task + 1;
    return status ? status
                  : journal_keep(compute->journal, FRAME_POPULATION, fits->population.n_start,
                                 fits->population.bytes, fits->population.n, error);
}

/* Writes a row for each dataset of a fit that found no memory although it ran alone. */
static enum status write_shortage(struct shared_fit *shared, uint32_t task, struct error *error)
{
    struct compute *compute = shared->compute;
    const struct components *components = &compute->campaign.share.components;
    const uint32_t *member = components_members(components, shared->fit.component);
    enum status status = write_population(shared, task, NULL, error);
    for (size_t d = 0; !status && d < components_size(components, shared->fit.component); d++) {
        status = compute_journal_failure(compute, member[d], task, OUTCOME_out_of_memory,
                                         "no memory for the fit of all datasets that share "
                                         "parameters", error);
        counter_add(&compute->board->n_finished, 1);
    }
    return status;
}

static enum status fit_start(struct shared_fit *shared, uint32_t task, bool *has_ended,
                             struct error *error)
{
    struct compute *compute = shared->compute;
    enum status status = shared_run_fit(shared, task, NULL, has_ended, error);
    if (!status && *has_ended) {
        const struct mixed *mixed = mixed_of_joint(&shared->fit.joint);
        tell_left_out(shared);
        status = write_population(shared, task,
                                  mixed && mixed->has_result ? &mixed->result : NULL, error);
    }
    if (!status && *has_ended)
        status = write_records(shared, error);
    if (status == STATUS_NO_MEMORY && !compute_repeats(compute) && !compute->ranks.is_joined) {
        *has_ended = true;
        return write_shortage(shared, task, error);
    }
    bool has_failed = !outcome_is_success(shared->fit.joint.end.outcome);
    if (!status && *has_ended && has_failed && compute_is_first(compute))
        counter_add(&compute->board->n_failed, 1);
    return status;
}

bool shared_is_written(const struct compute *compute, size_t component, uint32_t task)
{
    const struct campaign *campaign = &compute->campaign;
    const uint32_t *member = components_members(&campaign->share.components, component);
    const struct shared_fits *fits = compute->shared_fits;
    size_t d = 0, n = 1; /* refits have one record */
    if (task < campaign->n_start)
        n = components_size(&campaign->share.components, component);
    if (task < campaign->n_start && campaign->share.random.n && fits
        && fits->population.n_start <= task)
        return false;
    while (d < n && journal_has(compute->earlier, campaign_number(campaign, member[d], task)))
        d++;
    return d == n;
}

/* Whether a task's records are written, which rank 0 knows. */
static bool is_written(struct shared_fit *shared, uint32_t task)
{
    struct compute *compute = shared->compute;
    bool is_first = compute_is_first(compute);
    unsigned char is_all = is_first && shared_is_written(compute, shared->fit.component, task);
    const unsigned char *found = compute_first_bytes(compute, &is_all, is_first);
    return found && *found;
}

static int64_t elapsed_ns(void *context)
{
    struct shared_fit *shared = context;
    return shared->keeper.before_ns + (int64_t)counter_get(&shared->used_ns);
}

/* The task's files, which rank 0 has, are those of the component's first dataset. */
static void keep_task(struct shared_fit *shared, uint32_t task)
{
    struct compute *compute = shared->compute;
    const struct campaign *campaign = &compute->campaign;
    uint64_t first = *components_members(&campaign->share.components, shared->fit.component);
    counter_set(&shared->used_ns, 0);
    keeper_begin(&shared->keeper, compute_is_first(compute) ? &compute->keepers : NULL,
                 campaign_number(campaign, first, task), elapsed_ns, shared);
}

enum status shared_run_tasks(struct shared_fit *shared, struct error *error)
{
    const struct campaign *campaign = &shared->compute->campaign;
    uint32_t first_refit = campaign->n_start;
    bool goes_on = true;
    enum status status = STATUS_OK;
    for (uint32_t task = 0; !status && goes_on && task < campaign->n_task; task++) {
        if (is_written(shared, task))
            continue;
        keep_task(shared, task);
        if (task >= first_refit && !shared->refits)
            status = joint_refits_open(shared, error);
        if (!status && task >= first_refit && !joint_refits_exist(shared->refits))
            task = campaign->n_task - 1; /* there is no fit to refit */
        else if (!status)
            status = (task < first_refit ? fit_start
                                         : joint_refits_run)(shared, task, &goes_on, error);
        if (!status && goes_on)
            keeper_end(&shared->keeper);
        shared->compute->shared_fits->n_ended += !status && goes_on;
    }
    joint_refits_free(shared->refits);
    shared->refits = NULL;
    return status;
}
