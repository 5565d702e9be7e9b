/* Fits of single blocks by themselves, in a fit over many datasets.
 *
 * Pilots are another start: the medians of some datasets' own fits, in which no parameter is
 * shared. From a start far away the shared steps of all datasets together may lead to a local
 * optimum that a dataset by itself does not have.
 *
 * Once a sample of the datasets has little more to say, each dataset fits its own parameters to
 * the shared ones from its start, and the search goes on with all of them. Those of the sample
 * do so too, and keep the lower one of two ends: while the shared parameters were wrong, some
 * may have been led to a local optimum, which would hold up all others. So there is a sample of
 * all datasets if these are few.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/alone.h"

#include "fit/joint/pilot.h"

#include <math.h>
#include <string.h>

enum { N_PILOT = 16, LEAST = 4, MOST_EVALUATIONS = 200 };
/* The datasets' own fits end here: the search that follows changes the shared parameters again.
 * Also by what part of the misfit the objective of one of them must be lower to count. */
static const double LOOSE = 1e-4;

/* A fit of a block by itself; its record lasts as long as the arena. False: it has no result. */
static bool fit_alone(const struct joint *joint, const struct fit_problem *problem,
                      const struct fit_options *options, const struct fit_host *host,
                      struct arena *arena, struct fit_record *record)
{
    void *arrays = arena_calloc(arena, fit_record_array_bytes(joint->n_parameter) + 1, 1);
    struct fit_problem alone = *problem;
    alone.start_number = 0;
    *record = (struct fit_record){.dataset = problem->dataset};
    if (!arrays)
        return false;
    fit_record_set_arrays(record, joint->n_parameter, arrays);
    joint->host->fit_alone(&alone, options, host, arena, record);
    return outcome_is_success((enum outcome)record->outcome);
}

/* The number of block i of all processes among the pilots, or N_PILOT. */
static size_t pilot_of(const struct joint *joint, size_t i)
{
    size_t n = joint->ranks.n_block, n_pilot = n < N_PILOT ? n : N_PILOT;
    size_t k = fit_pilot_number(n, n_pilot, i);
    return k < n_pilot ? k : N_PILOT;
}

bool joint_pilot_init(struct joint *joint)
{
    return ARENA_DOUBLES(joint->arena, {&joint->pilots.found, joint->n_parameter, N_PILOT},
                         {&joint->pilots.median, joint->n_parameter, 1});
}

bool joint_has_pilots(const struct joint *joint)
{
    return joint->has_pilots && joint->ranks.n_block >= LEAST && joint->levels.n_column == 0 &&
           joint->above.s > 0 && !joint->descends;
}

bool joint_is_pilot(const struct joint *joint, size_t i)
{
    return pilot_of(joint, joint->ranks.first + i) < N_PILOT;
}

void joint_pilot_run(struct joint *joint, size_t i, const struct fit_problem *problem,
                     const struct fit_options *options, const struct fit_host *host,
                     struct arena *arena)
{
    struct joint_block *block = &joint->block[i];
    struct fit_options own = fit_work_half(options, &block->used);
    struct fit_record record;
    size_t n = joint->n_parameter;
    double *found = joint->pilots.found + pilot_of(joint, joint->ranks.first + i) * n;
    own.certify = own.statistics = false;
    if (own.max_evaluations > MOST_EVALUATIONS)
        own.max_evaluations = MOST_EVALUATIONS;
    bool is_good = fit_alone(joint, problem, &own, host, arena, &record);
    for (size_t k = 0; k < n; k++)
        found[k] =
            is_good ? fit_scale_from_natural(joint->scale[k], record.parameter[k]) : (double)NAN;
    fit_work_add(&block->used, &record);
}

/* Those of all processes. */
static void gather_pilots(struct joint *joint)
{
    size_t n = joint->n_parameter, first = N_PILOT, count = 0, n_all;
    for (size_t i = joint->n_block; i-- > 0;)
        if (joint_is_pilot(joint, i)) {
            first = pilot_of(joint, joint->ranks.first + i);
            count++;
        }
    const unsigned char *all = joint_gather(joint, joint->pilots.found + (count ? first : 0) * n,
                                            count * n * sizeof(double), &n_all);
    if (all && n_all <= N_PILOT * n * sizeof(double))
        memcpy(joint->pilots.found, all, n_all);
}

bool joint_pilot_take(struct joint *joint)
{
    size_t n_pilot = joint->ranks.n_block < N_PILOT ? joint->ranks.n_block : N_PILOT;
    gather_pilots(joint);
    size_t n_good = fit_pilot_medians(joint->n_parameter, n_pilot, joint->pilots.found,
                                      joint->pilots.median);
    if (2 * n_good < n_pilot || n_good < LEAST)
        return false;
    for (size_t j = 0; j < joint->above.s; j++)
        joint->above.theta[j] = fit_map_within(
            &joint->asker.map, j, joint->pilots.median[joint->asker.map.file_index[j]]);
    return true;
}

void joint_pilot_begin(const struct joint_work *work)
{
    const struct fit_map *map = &work->region.asker.map;
    work->block->reach = trust_reach_begin(work->joint->options->is_near);
    memset(work->block->best.scale, 0, work->n * sizeof(double));
    for (size_t k = 0; k < work->n; k++)
        work->block->best.theta[k] = fit_map_within(
            map, k, work->joint->pilots.median[work->asker->map.file_index[work->order[k]]]);
}

void joint_follow_shared(struct joint_work *work, const struct fit_problem *problem,
                         const struct fit_host *host, struct arena *arena)
{
    const struct joint *joint = work->joint;
    bool is_sampled = work->block->used.n_evaluation > 0;
    const struct fit_map *map = &work->asker->map;
    const struct joint_reduced *best = &work->block->best;
    struct fit_options options = *joint->options;
    struct fit_problem own = *problem;
    struct fit_record record;
    size_t n = joint->n_parameter;
    double *start = arena_calloc(arena, n + 1, sizeof *start),
           *p = arena_calloc(arena, n + 1, sizeof *p);
    uint8_t *fixed = arena_calloc(arena, n + 1, 1);
    if (work->n == 0 || !start || !fixed || !p ||
        fit_work_left(&options, &work->asker->used).n_evaluation < 2)
        return;
    memcpy(start, problem->start, n * sizeof *start);
    memcpy(fixed, problem->fixed, n);
    for (size_t k = 0; k < work->n + work->s; k++)
        work->at.theta[work->order[k]] =
            k < work->n ? map->start[work->order[k]] : work->theta[k - work->n];
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
    options = fit_work_half(&options, &work->asker->used);
    options.certify = options.statistics = false;
    options.optimizer = OPTIMIZER_trf;
    options.f_tolerance = fmax(options.f_tolerance, LOOSE);
    bool is_good = fit_alone(joint, &own, &options, host, arena, &record)
                   && (!is_sampled || record.objective < best->f - LOOSE * best->misfit);
    fit_work_add(&work->asker->used, &record);
    for (size_t k = 0; is_good && k < work->n; k++) {
        uint32_t j = work->order[k];
        double found = fit_scale_from_natural(map->scale[j], record.parameter[map->file_index[j]]);
        work->block->best.theta[k] = fit_map_within(map, j, found);
    }
}
