/* Refits of a fit over all datasets: where they begin, and bootstrap replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/joint_refits.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 0x43415345 };

enum status joint_refits_open(struct joint_refits *refits, struct compute *compute, struct error *error)
{
    const struct run_identity *identity = &compute->campaign.plan.identity;
    struct refit_starts *best = &refits->best;
    size_t n = (size_t)identity->n_dataset;
    double *objective = calloc(identity->n_start, sizeof *objective);
    refits->weight = calloc(n, sizeof *refits->weight);
    refits->drawn = calloc(n, sizeof *refits->drawn);
    enum status status = objective && refits->weight && refits->drawn
                             ? compute_read_journal(compute, error)
                             : error_set(error, STATUS_NO_MEMORY, "out of memory for refits of %zu datasets", n);
    if (!status)
        status = refit_starts_init(best, compute->earlier, identity, error);
    if (!status)
        status = best_of_sums(compute->earlier, identity, objective, &best->chosen, error);
    for (size_t d = 0; !status && !isnan(objective[best->chosen]) && d < n; d++) {
        struct error trouble = {.status = STATUS_OK};
        if (journal_get(compute->earlier, d * identity_n_task(identity) + best->chosen, &best->best, &trouble)
            && outcome_is_success((enum outcome)best->best.outcome))
            refits->drawn[refits->n_drawn++] = (uint32_t)d;
    }
    free(objective);
    return status;
}

void joint_refits_fini(struct joint_refits *refits)
{
    refit_starts_fini(&refits->best);
    free(refits->weight);
    free(refits->drawn);
}

static void draw(struct joint_refits *refits, uint64_t seed, uint32_t task)
{
    uint64_t stream = random_stream(STREAM, task - refits->best.identity->n_start);
    memset(refits->weight, 0, (size_t)refits->best.identity->n_dataset * sizeof *refits->weight);
    for (uint64_t k = 0; k < refits->n_drawn; k++)
        refits->weight[refits->drawn[random_below(seed, stream, k, refits->n_drawn)]]++;
}

/* Only shared parameters have values for all datasets. */
static enum status write_replicate(struct compute *compute, struct error *error)
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

enum status joint_refits_replicate(struct joint_refits *refits, struct compute *compute, uint32_t task, bool *journal_gone,
                                   bool *has_ended, struct error *error)
{
    struct joint_request request = {.weight = refits->weight, .options = compute->campaign.fit, .keeps = true,
                                    .prepare = refit_starts_put, .context = &refits->best};
    request.options.is_near = true;
    request.options.certify = false;
    draw(refits, (uint64_t)compute->campaign.plan.recipe.seed, task);
    enum status status = compute_joint_fit(compute, task, &request, journal_gone, has_ended, error);
    return status || !*has_ended ? status : write_replicate(compute, error);
}
