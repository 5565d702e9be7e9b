/* One side of a profile of a parameter that all datasets share: at each place it is held, and everything else is fitted again
 * over all datasets. Every rank walks the same way, with the parameters of its own datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/joint_refits.h"

#include "fit/joint_ranks.h"
#include "fit/prepare.h"
#include "fit/profile.h"
#include "run/compute/compute_joint.h"
#include "run/compute/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct follow {
    struct search *search;
    const struct joint_refits *refits;
    uint32_t task;
    size_t n_copy;                /* datasets of this process, or 1 */
    double *start, *lower, *upper; /* n_copy x n: the best fit, and bounds */
    uint8_t *fixed;
    size_t n_row;                 /* of all datasets */
    bool has_stopped;
    enum status status;
    struct error *error;
    double n_evaluation, n_step, seconds; /* of all fits and datasets */
};

/* What all datasets have in common, as the first one that takes part has it, for those that do not. */
static enum status fill_others(struct follow *follow)
{
    const struct joint_refits *refits = follow->refits;
    size_t n = refits->n, own = 0;
    double *common = calloc(4 * n + 1, sizeof *common);
    if (!common)
        return error_set(follow->error, STATUS_NO_MEMORY, "out of memory for %zu parameters", n);
    while (own < refits->n_own && !refits->weight[own])
        own++;
    bool is_here = own < refits->n_own;
    for (size_t i = 0; is_here && i < n; i++) {
        common[i] = follow->start[own * n + i];
        common[n + i] = follow->lower[own * n + i];
        common[2 * n + i] = follow->upper[own * n + i];
        common[3 * n + i] = follow->fixed[own * n + i];
    }
    const unsigned char *all = compute_first_bytes(follow->search->compute, common, is_here ? 4 * n * sizeof *common : 0);
    if (all && all != (const unsigned char *)common)
        memcpy(common, all, 4 * n * sizeof *common);
    for (size_t to = 0; all && to < follow->n_copy; to++)
        for (size_t i = 0; i < n && !(to < refits->n_own && refits->weight[to]); i++) {
            follow->start[to * n + i] = common[i];
            follow->lower[to * n + i] = common[n + i];
            follow->upper[to * n + i] = common[2 * n + i];
            follow->fixed[to * n + i] = common[3 * n + i] != 0;
        }
    free(common);
    return all ? STATUS_OK : compute_lost(follow->error);
}

/* Bounds, and what the file holds. */
static enum status read_bounds(struct follow *follow)
{
    struct problem *problem = follow->search->compute->campaign.problem;
    const struct joint_refits *refits = follow->refits;
    struct problem_block block = {.n = 0};
    size_t n = refits->n;
    enum { AT_ONCE = 4096 };
    problem_select(problem, NULL, NULL);
    enum status status = problem_rewind(problem, follow->error);
    memcpy(follow->start, refits->start, refits->n_own * n * sizeof *follow->start);
    while (!status && !(status = problem_read(problem, &block, AT_ONCE, SIZE_MAX, follow->error)) && block.end > block.first)
        for (size_t row = 0; row < block.n; row++) {
            size_t own, bytes = n * sizeof(double);
            if (campaign_fit_of(&follow->search->compute->campaign, block.dataset[row], &own) != &follow->search->fit)
                continue;
            follow->n_row += block.row[block.first_experiment[row + 1]] - block.row[block.first_experiment[row]];
            if (own >= refits->n_own)
                continue;
            memcpy(follow->lower + own * n, block.lower + row * n, bytes);
            memcpy(follow->upper + own * n, block.upper + row * n, bytes);
            memcpy(follow->fixed + own * n, block.fixed + row * n, n);
        }
    problem_block_fini(&block);
    return status ? status : fill_others(follow);
}

static void chi_square_of(const void *context, const struct joint_block *block, double *number)
{
    (void)context;
    *number = block->findings.criteria.chi_square;
}

/* What a profile must know of the fit that has ended. A dataset may have changed its engine: the sum does not notice. */
static bool tell(struct follow *follow, double *end, struct fit_record *record)
{
    struct joint *joint = &follow->search->fit.joint;
    struct joint_facts facts = {.most = 0};
    double chi_square, sum[3] = {0};
    size_t n = follow->refits->n;
    for (size_t i = 0; i < joint->n_block; i++) {
        const struct joint_block *block = &joint->block[i];
        if (!follow->refits->weight[i])
            continue;
        facts.most = fmax(facts.most, (double)block->n_evaluation);
        sum[0] += (double)block->n_evaluation;
        sum[1] += (double)block->n_step;
        sum[2] += block->seconds;
        if (block->is_kept)
            memcpy(end + i * n, block->p, n * sizeof *end);
    }
    joint_agree(joint, &facts);
    follow->n_evaluation += joint_count_up(joint, sum[0]);
    follow->n_step += joint_count_up(joint, sum[1]);
    follow->seconds += joint_count_up(joint, sum[2]);
    if (!joint_totals(joint, 1, chi_square_of, NULL, &chi_square) || !joint_refits_record(follow->search, record))
        return false;
    record->notes &= ~NOTE_changed_engine;
    record->objective = isfinite(record->objective) ? joint->above.f : NAN;
    record->chi_square = chi_square;
    record->n_evaluation = (int64_t)facts.most; /* the budgets are of one dataset */
    record->n_step = 0;
    return true;
}

static void fit(void *context, const double *start, const uint8_t *fixed, double unit, const struct fit_options *options,
                double *end, struct fit_record *record)
{
    struct follow *follow = context;
    const struct joint_refits *refits = follow->refits;
    const struct joint_request request = {.weight = refits->weight, .options = *options, .start = start, .held = fixed,
                                          .rtol = refits->rtol};
    bool has_ended = false;
    (void)unit; /* which Laplace's errors have */
    if (!follow->status && !follow->has_stopped)
        follow->status = search_fit(follow->search, follow->task, &request, &has_ended, follow->error);
    follow->search->request = NULL;
    memcpy(end, start, follow->n_copy * refits->n * sizeof *end);
    fit_clear(record, refits->n, 0);
    if (has_ended && !tell(follow, end, record))
        follow->status = compute_lost(follow->error);
    follow->has_stopped = !has_ended;
    if (follow->status || !has_ended)
        record->outcome = OUTCOME_not_run;
}

static enum status write_side(struct follow *follow, const struct fit_profile *profile, uint32_t parameter,
                              struct fit_record *record)
{
    struct compute *compute = follow->search->compute;
    record->dataset = components_members(&compute->campaign.share.components, follow->search->fit.component)[0];
    record->start = follow->task;
    record->n_evaluation = (int64_t)follow->n_evaluation;
    record->n_step = (int64_t)follow->n_step;
    record->seconds = follow->seconds;
    record->parameter[parameter] = profile->value;
    record->limit = (uint8_t)profile->limit;
    record->n_point = (uint8_t)profile->n_point;
    record->point = profile->point;
    counter_add(&compute->board->n_finished, 1);
    return compute_is_first(compute) ? journal_append(compute->journal, record, follow->error) : STATUS_OK;
}

enum status joint_refits_profile(struct search *search, uint32_t task, bool *has_ended, struct error *error)
{
    const struct campaign *campaign = &search->compute->campaign;
    struct joint_refits *refits = &search->refits;
    struct arena arena = {.first = NULL};
    size_t n = refits->n, n_copy = refits->n_own ? refits->n_own : 1;
    const struct refit refit = refit_plan_get(&campaign->plan.refits, task - campaign->n_start);
    const struct fit_profile_request request = {.parameter = refit.parameter, .side = refit.side};
    struct fit_profile profile = {.max_point = FIT_MAX_POINT};
    struct fit_record record = {.start = task};
    struct fit_options options = campaign->fit;
    struct follow follow = {.search = search, .refits = refits, .task = task, .n_copy = n_copy, .error = error,
                            .fixed = arena_calloc(&arena, n_copy * n + 1, 1)};
    void *arrays = arena_calloc(&arena, 1, fit_record_array_bytes(n) + 1);
    *has_ended = false;
    options.certify = false;
    options.optimizer = OPTIMIZER_trf;
    memset(refits->all_weights, 0, refits->n_dataset * sizeof *refits->all_weights);
    for (size_t k = 0; k < refits->n_drawn; k++)
        refits->all_weights[refits->drawn[k]] = 1;
    if (!arrays || !follow.fixed
        || !ARENA_DOUBLES(&arena, {&follow.start, n_copy, n}, {&follow.lower, n_copy, n}, {&follow.upper, n_copy, n},
                          {&profile.point, 2, FIT_MAX_POINT})) {
        arena_fini(&arena);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a profile over %zu datasets", n_copy);
    }
    fit_record_set_arrays(&record, n, arrays);
    follow.status = read_bounds(&follow);
    const struct fit_profile_subject subject = {
        .n_parameter = n, .n_copy = n_copy, .n_row = follow.n_row,
        .start = follow.start, .lower = follow.lower, .upper = follow.upper, .fixed = follow.fixed, .scale = campaign->scale,
        .prior = campaign->prior, .max_look = options.max_evaluations, .fit = fit, .context = &follow};
    if (!follow.status)
        fit_profile_follow(&subject, &options, &arena, &request, &record, &profile);
    *has_ended = !follow.status && !follow.has_stopped;
    enum status status = *has_ended ? write_side(&follow, &profile, refit.parameter, &record) : follow.status;
    arena_fini(&arena);
    return status;
}
