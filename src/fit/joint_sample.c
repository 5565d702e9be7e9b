/* The first steps of a fit over many datasets take a random sample of these. Far from the optimum the steps of a sample lead
 * the shared parameters as far as those of all datasets, at a part of the cost. Once the sample has little more to say, each
 * dataset fits its own parameters to the shared ones from its start, alone, and the search goes on with all of them. Those of
 * the sample do so too, and keep the lower one of two ends: while the shared parameters were wrong, some may have been led to a
 * local optimum, which would hold up all others. So there is a sample of all datasets if these are few.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_first.h"

#include "base/random.h"
#include "fit/fit.h"

#include <math.h>
#include <string.h>

/* A sample has at least this many datasets, and so many for each parameter, as far as there are as many. It is one of at most
 * MOST_STRIDE, where its cost is a small part already. */
enum { LEAST_SAMPLE = 64, BY_PARAMETER = 4, MOST_STRIDE = 32 };
enum { LEAST_BUDGET = 20 }; /* of evaluations: with less there is none to share */
enum { STREAM = 0x53414d50 };
/* The datasets' own fits end here: the search that follows changes the shared parameters again. Also by what part of the misfit
 * the objective of one of them must be lower to count. */
static const double LOOSE = 1e-4;

static size_t stride_of(const struct joint *joint)
{
    size_t least = BY_PARAMETER * joint->n_parameter;
    size_t stride = joint->ranks.n_block / (least > LEAST_SAMPLE ? least : LEAST_SAMPLE);
    if (joint->options->optimizer == OPTIMIZER_lbfgs || joint->options->is_near
        || joint->options->evaluates || joint->options->max_evaluations < LEAST_BUDGET)
        return 0;
    if (stride < 1 || joint->levels.n_column > 0 || joint->has_pilots)
        return 1;
    return stride < MOST_STRIDE ? stride : MOST_STRIDE;
}

static bool is_sampled(const struct joint *joint, size_t stride, size_t i)
{
    return i % stride == random_below(joint->seed, STREAM, i / stride, stride);
}

size_t joint_sample_size(const struct joint *joint)
{
    size_t stride = stride_of(joint), n = joint->ranks.n_block, count = stride ? n / stride : n;
    for (size_t i = stride ? n - n % stride : n; i < n; i++)
        count += is_sampled(joint, stride, i);
    return count;
}

void joint_sample_begin(struct joint *joint)
{
    joint->stride = stride_of(joint);
    joint->pass = joint->stride > 1 ? JOINT_LOOK : JOINT_START;
    joint_activate(joint);
    joint_count(joint);
}

bool joint_sample_take(struct joint *joint)
{
    joint->pass = JOINT_START;
    joint_activate(joint);
    joint_count(joint);
    return true;
}

/* One of each `stride` neighbours, since these are often alike. */
bool joint_takes_part(const struct joint *joint, size_t i)
{
    if (joint_weight(joint, i) == 0)
        return false;
    return joint->stride == 0 || joint->pass == JOINT_LOOK || is_sampled(joint, joint->stride, joint->ranks.first + i);
}

/* The other half is for what follows. */
bool joint_sample_is_tired(const struct joint *joint)
{
    const struct fit_options *options = joint->options;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->n_active; i++) {
        const struct joint_block *block = joint_active(joint, i);
        facts.any |= block->n_evaluation >= options->max_evaluations / 2 || block->n_step >= options->max_total_steps / 2;
    }
    joint_agree(joint, &facts);
    return facts.any;
}

bool joint_sample_leave(struct joint *joint)
{
    joint->stride = 0;
    joint->grows = true;
    joint->asker.start_f = NAN;
    joint->shared.radius = INFINITY;
    memset(joint->shared.scale, 0, joint->s * sizeof *joint->shared.scale);
    return joint_sample_take(joint);
}

bool joint_fit_alone(const struct joint *joint, const struct fit_problem *problem, const struct fit_options *options,
                     const struct fit_host *host, struct arena *arena, struct fit_record *record)
{
    void *arrays = arena_calloc(arena, fit_record_array_bytes(joint->n_parameter) + 1, 1);
    struct fit_problem alone = *problem;
    alone.start_number = 0;
    *record = (struct fit_record){.dataset = problem->dataset};
    if (!arrays)
        return false;
    fit_record_set_arrays(record, joint->n_parameter, arrays);
    fit_run(&alone, options, host, arena, record);
    return outcome_is_success((enum outcome)record->outcome);
}

void joint_sample_follow(struct joint_work *work, const struct fit_problem *problem, const struct fit_host *host,
                         struct arena *arena)
{
    const struct joint *joint = work->joint;
    bool is_sampled = work->block->n_evaluation > 0;
    const struct fit_map *map = &work->asker->map;
    const struct joint_side *best = &work->block->best;
    struct fit_options options = *joint->options;
    struct fit_problem own = *problem;
    struct fit_record record;
    size_t n = joint->n_parameter;
    double *start = arena_calloc(arena, n + 1, sizeof *start), *p = arena_calloc(arena, n + 1, sizeof *p);
    uint8_t *fixed = arena_calloc(arena, n + 1, 1);
    if (work->n == 0 || !start || !fixed || !p || options.max_evaluations - work->asker->n_evaluation < 2)
        return;
    memcpy(start, problem->start, n * sizeof *start);
    memcpy(fixed, problem->fixed, n);
    for (size_t k = 0; k < work->n + work->s; k++)
        work->at.theta[work->order[k]] = k < work->n ? map->start[work->order[k]] : work->theta[k - work->n];
    if (!fit_map_natural(map, work->at.theta, p))
        return;
    for (size_t k = 0; k < work->s; k++) {
        uint32_t file = map->file_index[work->order[work->n + k]];
        start[file] = p[file];
        fixed[file] = 1;
    }
    own.start = start;
    own.fixed = fixed;
    own.seeks_pulses = false;
    options.certify = options.statistics = false;
    options.optimizer = OPTIMIZER_trf;
    options.f_tolerance = fmax(options.f_tolerance, LOOSE);
    options.max_evaluations = (options.max_evaluations - work->asker->n_evaluation) / 2;
    options.max_total_steps = (options.max_total_steps - work->asker->n_step) / 2;
    bool is_good = joint_fit_alone(joint, &own, &options, host, arena, &record)
                   && (!is_sampled || record.objective < best->f - LOOSE * best->misfit);
    work->asker->n_evaluation += record.n_evaluation;
    work->asker->n_step += record.n_step;
    for (size_t k = 0; is_good && k < work->n; k++) {
        uint32_t j = work->order[k];
        work->block->best.theta[k] = fmin(map->upper[j], fmax(map->lower[j],
                                          fit_scale_from_natural(map->scale[j], record.parameter[map->file_index[j]])));
    }
}
