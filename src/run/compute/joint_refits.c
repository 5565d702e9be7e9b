/* Refits of a fit over many datasets: where they begin, and bootstrap replicates.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/joint_refits.h"

#include "base/random.h"
#include "fit/joint_ranks.h"
#include "run/compute/compute_joint.h"
#include "run/compute/search.h"
#include "run/plan/best.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM = 0x43415345 };

/* The best fit of the component's datasets from the journal: n parameters of each and its tolerance, NaN if it did not take
 * part. */
static enum status read_best(struct search *search, double *best, struct error *error)
{
    struct compute *compute = search->compute;
    const struct run_identity *identity = &compute->campaign.plan.identity;
    const struct components *components = &compute->campaign.share.components;
    const uint32_t *member = components_members(components, search->fit.component);
    size_t n = identity->n_parameter, n_dataset = components_size(components, search->fit.component);
    struct refit_starts starts = {.journal = NULL};
    double *objective = calloc(identity->n_start, sizeof *objective);
    enum status status = objective ? compute_read_journal(compute, error)
                                   : error_set(error, STATUS_NO_MEMORY, "out of memory for %u starts", identity->n_start);
    if (!status)
        status = refit_starts_init(&starts, compute->earlier, identity, error);
    if (!status)
        status = best_of_sums(compute->earlier, identity, member, n_dataset, objective, &starts.chosen, error);
    for (size_t d = 0; !status && d < n_dataset; d++, best += n + 1) {
        struct error trouble = {.status = STATUS_OK};
        bool is_part = !isnan(objective[starts.chosen])
                       && journal_get(compute->earlier, (uint64_t)member[d] * identity_n_task(identity) + starts.chosen,
                                      &starts.best, &trouble)
                       && outcome_is_success((enum outcome)starts.best.outcome);
        memcpy(best, starts.best.parameter, n * sizeof *best);
        best[n] = is_part ? starts.best.rtol : (double)NAN;
    }
    refit_starts_fini(&starts);
    free(objective);
    return status;
}

enum status joint_refits_open(struct search *search, struct error *error)
{
    struct compute *compute = search->compute;
    struct joint_refits *refits = &search->refits;
    struct campaign_fit *fit = &search->fit;
    bool is_first = compute_is_first(compute), is_good = true;
    if (!fit->joint.block) /* its starts were fitted by an earlier process: only its part of the datasets is used */
        is_good = campaign_fit_init(fit, &compute->campaign, fit->component, 0, NULL, NULL);
    size_t n_dataset = components_size(&compute->campaign.share.components, fit->component);
    size_t n = compute->campaign.n_parameter, first = fit->joint.ranks.first, bytes = n_dataset * (n + 1) * sizeof(double);
    double *best = is_first ? malloc(bytes + 1) : NULL;
    enum status status = STATUS_OK;
    *refits = (struct joint_refits){.n = n, .n_dataset = n_dataset, .first = first, .n_own = fit->joint.n_block};
    refits->all_weights = calloc(n_dataset + 1, sizeof *refits->all_weights);
    refits->drawn = calloc(n_dataset + 1, sizeof *refits->drawn);
    refits->start = calloc(refits->n_own * n + 1, sizeof *refits->start);
    refits->rtol = calloc(refits->n_own + 1, sizeof *refits->rtol);
    if (!is_good || (is_first && !best) || !refits->all_weights || !refits->drawn || !refits->start || !refits->rtol)
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for refits of %zu datasets", n_dataset);
    if (!status && is_first)
        status = read_best(search, best, error);
    const unsigned char *all = status ? NULL : compute_first_bytes(compute, best, is_first ? bytes : 0);
    if (!status && !all)
        status = compute_lost(error);
    for (size_t d = 0; !status && d < n_dataset; d++) {
        const unsigned char *from = all + d * (n + 1) * sizeof(double);
        double rtol;
        memcpy(&rtol, from + n * sizeof rtol, sizeof rtol);
        if (!isnan(rtol))
            refits->drawn[refits->n_drawn++] = (uint32_t)d;
        if (d - first < refits->n_own) {
            memcpy(refits->start + (d - first) * n, from, n * sizeof rtol);
            refits->rtol[d - first] = rtol;
        }
    }
    if (refits->all_weights)
        refits->weight = refits->all_weights + first;
    free(best);
    return status;
}

void joint_refits_fini(struct joint_refits *refits)
{
    free(refits->all_weights);
    free(refits->drawn);
    free(refits->start);
    free(refits->rtol);
    *refits = (struct joint_refits){.n = 0};
}

bool joint_refits_record(struct search *search, struct fit_record *record)
{
    struct compute *compute = search->compute;
    struct joint *joint = &search->fit.joint;
    size_t n = compute->campaign.n_parameter, n_array = fit_record_array_bytes(n), bytes = sizeof *record + n_array;
    struct fit_record one = {.start = 0};
    void *arrays = calloc(1, n_array + 1);
    unsigned char *own = malloc(bytes);
    const unsigned char *all = NULL;
    if (arrays && own) {
        fit_record_set_arrays(&one, n, arrays);
        if (joint->part.n_active > 0)
            joint_record(joint, joint->part.active[0], &one);
        memcpy(own, &one, sizeof one);
        memcpy(own + sizeof one, arrays, n_array);
        all = compute_first_bytes(compute, own, joint->part.n_active > 0 ? bytes : 0);
    }
    if (all) {
        memcpy(&one, all, sizeof one);
        memcpy(arrays, all + sizeof one, n_array);
        fit_record_set_arrays(&one, n, arrays);
        fit_record_copy(record, &one, n);
    }
    free(arrays);
    free(own);
    return all;
}

static void draw(struct joint_refits *refits, const struct run_identity *identity, uint64_t seed, uint32_t task)
{
    uint64_t stream = random_stream(STREAM, task - identity->n_start);
    memset(refits->all_weights, 0, refits->n_dataset * sizeof *refits->all_weights);
    for (uint64_t k = 0; k < refits->n_drawn; k++)
        refits->all_weights[refits->drawn[random_below(seed, stream, k, refits->n_drawn)]]++;
}

/* Only shared parameters have values for all datasets. */
static enum status write_replicate(struct search *search, struct error *error)
{
    struct compute *compute = search->compute;
    const struct campaign *campaign = &compute->campaign;
    const struct joint *joint = &search->fit.joint;
    size_t n = campaign->n_parameter;
    struct fit_record record = {.start = 0};
    double seconds = 0;
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a replicate");
    fit_record_set_arrays(&record, n, arrays);
    for (size_t i = 0; i < joint->n_block; i++)
        seconds += joint->block[i].seconds;
    enum status status = joint_refits_record(search, &record) ? STATUS_OK : compute_lost(error);
    record.dataset = components_members(&campaign->share.components, search->fit.component)[0];
    record.seconds = joint_count_up(joint, seconds);
    for (size_t i = 0; i < n && !status; i++)
        if (joint->levels.level[i] != 1)
            record.parameter[i] = record.standard_error[i] = NAN;
    if (!status && compute_is_first(compute))
        status = journal_append(compute->journal, &record, error);
    counter_add(&compute->board->n_finished, 1);
    free(arrays);
    return status;
}

enum status joint_refits_replicate(struct search *search, uint32_t task, bool *has_ended, struct error *error)
{
    const struct campaign *campaign = &search->compute->campaign;
    struct joint_refits *refits = &search->refits;
    struct joint_request request = {.weight = refits->weight, .options = campaign->fit, .keeps = true, .start = refits->start,
                                    .rtol = refits->rtol};
    request.options.is_near = true;
    request.options.certify = false;
    draw(refits, &campaign->plan.identity, (uint64_t)campaign->plan.recipe.seed, task);
    enum status status = search_fit(search, task, &request, has_ended, error);
    return status || !*has_ended ? status : write_replicate(search, error);
}
