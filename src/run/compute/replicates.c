/* Bootstrap replicates of a fit over all datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/replicates.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 0x43415345 };

enum status replicates_open(struct replicates *replicates, struct compute *compute, struct error *error)
{
    const struct run_identity *identity = &compute->campaign.plan.identity;
    struct refit_starts *best = &replicates->best;
    size_t n = (size_t)identity->n_dataset;
    double *objective = calloc(identity->n_start, sizeof *objective);
    replicates->weight = calloc(n, sizeof *replicates->weight);
    replicates->drawn = calloc(n, sizeof *replicates->drawn);
    enum status status = objective && replicates->weight && replicates->drawn
                             ? compute_read_journal(compute, error)
                             : error_set(error, STATUS_NO_MEMORY, "out of memory for bootstrap replicates of %zu datasets", n);
    if (!status)
        status = refit_starts_init(best, compute->earlier, identity, error);
    if (!status)
        status = best_of_sums(compute->earlier, identity, objective, &best->chosen, error);
    for (size_t d = 0; !status && !isnan(objective[best->chosen]) && d < n; d++) {
        struct error trouble = {.status = STATUS_OK};
        if (journal_get(compute->earlier, d * identity_n_task(identity) + best->chosen, &best->best, &trouble)
            && outcome_is_success((enum outcome)best->best.outcome))
            replicates->drawn[replicates->n_drawn++] = (uint32_t)d;
    }
    free(objective);
    return status;
}

void replicates_fini(struct replicates *replicates)
{
    refit_starts_fini(&replicates->best);
    free(replicates->weight);
    free(replicates->drawn);
}

void replicates_draw(struct replicates *replicates, uint64_t seed, uint32_t task)
{
    uint64_t stream = random_stream(STREAM, task - replicates->best.identity->n_start);
    memset(replicates->weight, 0, (size_t)replicates->best.identity->n_dataset * sizeof *replicates->weight);
    for (uint64_t k = 0; k < replicates->n_drawn; k++)
        replicates->weight[replicates->drawn[random_below(seed, stream, k, replicates->n_drawn)]]++;
}

enum status replicates_write(struct compute *compute, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    struct joint *joint = campaign->joint;
    size_t n = campaign->n_parameter;
    struct fit_record record = {.start = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a replicate");
    fit_record_set_arrays(&record, n, arrays);
    joint_record(joint, joint->active[0], &record);
    record.dataset = 0;
    record.seconds = 0;
    for (size_t i = 0; i < joint->n_block; i++)
        record.seconds += joint->block[i].seconds;
    for (size_t i = 0; i < n; i++)
        if (campaign->share.levels.level[i] != 1)
            record.parameter[i] = record.standard_error[i] = NAN;
    enum status status = journal_append(compute->journal, &record, error);
    counter_add(&compute->board->n_finished, 1);
    free(arrays);
    return status;
}
