/* One side of a profile of a parameter that all datasets share: at each place it is held, and everything else is fitted again
 * over all datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/joint_refits.h"

#include "fit/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct follow {
    struct compute *compute;
    uint32_t task;
    const uint32_t *weight;
    size_t n;                     /* parameters of a dataset */
    double *start, *lower, *upper; /* n_dataset x n: the best fit, and bounds */
    uint8_t *fixed;
    double *rtol;                 /* n_dataset: of the best fit */
    const double *from;           /* where the next fit begins, and what it holds */
    const uint8_t *held;
    bool *journal_gone, has_stopped;
    enum status status;
    struct error *error;
    int64_t n_evaluation, n_step; /* of all fits and datasets */
    double seconds;
};

static enum status read_best(struct follow *follow, struct refit_starts *best)
{
    struct problem *problem = follow->compute->campaign.problem;
    struct problem_block block = {.n = 0};
    size_t n = follow->n, n_dataset = (size_t)follow->compute->campaign.n_dataset;
    enum { AT_ONCE = 4096 };
    problem_select(problem, NULL, NULL);
    enum status status = problem_rewind(problem, follow->error);
    while (!status && !(status = problem_read(problem, &block, AT_ONCE, SIZE_MAX, follow->error)) && block.end > block.first) {
        status = refit_starts_put(best, &block, follow->error);
        for (size_t row = 0; !status && row < block.n; row++) {
            size_t to = (size_t)block.dataset[row], bytes = n * sizeof(double);
            memcpy(follow->start + to * n, block.start + row * n, bytes);
            memcpy(follow->lower + to * n, block.lower + row * n, bytes);
            memcpy(follow->upper + to * n, block.upper + row * n, bytes);
            memcpy(follow->fixed + to * n, block.fixed + row * n, n);
            follow->rtol[to] = block.rtol[row];
        }
    }
    problem_block_fini(&block);
    size_t from = 0;
    while (from < n_dataset && !follow->weight[from])
        from++;
    for (size_t to = 0; !status && to < n_dataset; to++) { /* no other dataset tells the best fit's shared parameters */
        if (follow->weight[to])
            continue;
        memcpy(follow->start + to * n, follow->start + from * n, n * sizeof(double));
        memcpy(follow->lower + to * n, follow->lower + from * n, n * sizeof(double));
        memcpy(follow->upper + to * n, follow->upper + from * n, n * sizeof(double));
        memcpy(follow->fixed + to * n, follow->fixed + from * n, n);
    }
    return status;
}

/* A feed_prepare. */
static enum status put(void *context, struct problem_block *block, struct error *error)
{
    const struct follow *follow = context;
    size_t n = follow->n;
    (void)error;
    for (size_t row = 0; row < block->n; row++) {
        size_t from = (size_t)block->dataset[row];
        if (block->fault[row] || !follow->weight[from])
            continue;
        memcpy(block->start + row * n, follow->from + from * n, n * sizeof *block->start);
        memcpy(block->fixed + row * n, follow->held + from * n, n);
        block->rtol[row] = follow->rtol[from];
    }
    return STATUS_OK;
}

/* What a profile must know of the fit that has ended. A dataset may have changed its engine: the sum does not notice. */
static void tell(struct follow *follow, double *end, struct fit_record *record)
{
    struct joint *joint = follow->compute->campaign.joint;
    int64_t most = 0;
    joint_record(joint, joint->active[0], record);
    record->notes &= ~NOTE_changed_engine;
    record->objective = isfinite(record->objective) ? joint->f : NAN;
    record->chi_square = 0;
    for (size_t i = 0; i < joint->n_block; i++) {
        const struct joint_block *block = &joint->block[i];
        if (!follow->weight[i])
            continue;
        most = block->n_evaluation > most ? block->n_evaluation : most;
        record->chi_square += block->criteria.chi_square;
        follow->n_evaluation += block->n_evaluation;
        follow->n_step += block->n_step;
        follow->seconds += block->seconds;
        if (block->is_kept)
            memcpy(end + i * follow->n, block->p, follow->n * sizeof *end);
    }
    record->n_evaluation = most; /* the budgets are of one dataset */
    record->n_step = 0;
}

static void fit(void *context, const double *start, const uint8_t *fixed, double unit, const struct fit_options *options,
                double *end, struct fit_record *record)
{
    struct follow *follow = context;
    const struct joint_request request = {.weight = follow->weight, .options = *options, .prepare = put, .context = follow};
    bool has_ended = false;
    (void)unit; /* which Laplace's errors have */
    follow->from = start;
    follow->held = fixed;
    if (!follow->status)
        follow->status = compute_joint_fit(follow->compute, follow->task, &request, follow->journal_gone, &has_ended,
                                           follow->error);
    memcpy(end, start, (size_t)follow->compute->campaign.n_dataset * follow->n * sizeof *end);
    fit_clear(record, follow->n, 0);
    record->outcome = OUTCOME_not_run;
    follow->has_stopped = !has_ended;
    if (has_ended)
        tell(follow, end, record);
}

static enum status write_side(struct follow *follow, const struct fit_profile *profile, uint32_t parameter,
                              struct fit_record *record)
{
    record->dataset = 0;
    record->start = follow->task;
    record->n_evaluation = follow->n_evaluation;
    record->n_step = follow->n_step;
    record->seconds = follow->seconds;
    record->parameter[parameter] = profile->value;
    record->limit = (uint8_t)profile->limit;
    record->n_point = (uint8_t)profile->n_point;
    record->point = profile->point;
    counter_add(&follow->compute->board->n_finished, 1);
    return journal_append(follow->compute->journal, record, follow->error);
}

enum status joint_refits_profile(struct joint_refits *refits, struct compute *compute, uint32_t task, bool *journal_gone,
                                 bool *has_ended, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    struct arena arena = {.first = NULL};
    size_t n = campaign->n_parameter, n_dataset = (size_t)campaign->n_dataset;
    const struct refit refit = refit_plan_get(&campaign->plan.refits, task - campaign->n_start);
    const struct fit_profile_request request = {.parameter = refit.parameter, .side = refit.side};
    struct fit_profile profile = {.max_point = FIT_MAX_POINT};
    struct fit_record record = {.start = task};
    struct fit_options options = campaign->fit;
    struct follow follow = {.compute = compute, .task = task, .weight = refits->weight, .n = n, .journal_gone = journal_gone,
                            .error = error, .fixed = arena_calloc(&arena, n_dataset * n + 1, 1)};
    void *arrays = arena_calloc(&arena, 1, fit_record_array_bytes(n));
    *has_ended = false;
    options.certify = false;
    options.optimizer = OPTIMIZER_trf;
    for (size_t k = 0; k < refits->n_drawn; k++)
        refits->weight[refits->drawn[k]] = 1;
    if (!arrays || !follow.fixed
        || !ARENA_DOUBLES(&arena, {&follow.start, n_dataset, n}, {&follow.lower, n_dataset, n}, {&follow.upper, n_dataset, n},
                          {&follow.rtol, n_dataset, 1}, {&profile.point, 2, FIT_MAX_POINT})) {
        arena_fini(&arena);
        return error_set(error, STATUS_NO_MEMORY, "out of memory for a profile over %zu datasets", n_dataset);
    }
    fit_record_set_arrays(&record, n, arrays);
    follow.status = read_best(&follow, &refits->best);
    const struct fit_profile_subject subject = {
        .n_parameter = n, .n_copy = n_dataset, .n_row = (size_t)problem_info(campaign->problem)->n_measurement,
        .start = follow.start, .lower = follow.lower, .upper = follow.upper, .fixed = follow.fixed, .scale = campaign->scale,
        .prior = campaign->prior, .max_look = options.max_evaluations, .fit = fit, .context = &follow};
    if (!follow.status)
        fit_profile_follow(&subject, &options, &arena, &request, &record, &profile);
    *has_ended = !follow.status && !follow.has_stopped;
    enum status status = *has_ended ? write_side(&follow, &profile, refit.parameter, &record) : follow.status;
    arena_fini(&arena);
    return status;
}
