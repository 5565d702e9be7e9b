/* Another start of a fit over many datasets: the medians of some datasets' own fits, in which no parameter is shared. From a
 * start far away the shared steps of all datasets together may lead to a local optimum that a dataset by itself does not have.
 * The search goes on from the lower one of the two starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_first.h"

#include "fit/pilot.h"

#include <math.h>
#include <string.h>

enum { N_PILOT = 16, LEAST = 4, MOST_EVALUATIONS = 200 };

/* The number of block i of all processes among the pilots, or N_PILOT. */
static size_t pilot_of(const struct joint *joint, size_t i)
{
    size_t n = joint->ranks.n_block, n_pilot = n < N_PILOT ? n : N_PILOT, k = fit_pilot_number(n, n_pilot, i);
    return k < n_pilot ? k : N_PILOT;
}

bool joint_pilot_init(struct joint *joint)
{
    return ARENA_DOUBLES(&joint->arena, {&joint->pilot, joint->n_parameter, N_PILOT}, {&joint->middle, joint->n_parameter, 1});
}

bool joint_has_pilots(const struct joint *joint)
{
    return joint->has_pilots && joint->ranks.n_block >= LEAST && joint->levels.n_column == 0 && joint->s > 0 && !joint->descent;
}

bool joint_is_pilot(const struct joint *joint, size_t i)
{
    return pilot_of(joint, joint->ranks.first + i) < N_PILOT;
}

void joint_pilot_run(struct joint *joint, size_t i, const struct fit_problem *problem, const struct fit_options *options,
                     const struct fit_host *host, struct arena *arena)
{
    struct joint_block *block = &joint->block[i];
    struct fit_options own = *options;
    struct fit_record record;
    size_t n = joint->n_parameter;
    double *found = joint->pilot + pilot_of(joint, joint->ranks.first + i) * n;
    own.certify = own.statistics = false;
    own.max_evaluations = (options->max_evaluations - block->n_evaluation) / 2;
    if (own.max_evaluations > MOST_EVALUATIONS)
        own.max_evaluations = MOST_EVALUATIONS;
    own.max_total_steps = (options->max_total_steps - block->n_step) / 2;
    bool is_good = joint_fit_alone(joint, problem, &own, host, arena, &record);
    for (size_t k = 0; k < n; k++)
        found[k] = is_good ? fit_scale_from_natural(joint->scale[k], record.parameter[k]) : (double)NAN;
    block->n_evaluation += record.n_evaluation;
    block->n_step += record.n_step;
}

static double within(const struct fit_map *map, size_t j, double theta)
{
    return fmin(map->upper[j], fmax(map->lower[j], theta));
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
    const unsigned char *all = joint_gather(joint, joint->pilot + (count ? first : 0) * n, count * n * sizeof(double), &n_all);
    if (all && n_all <= N_PILOT * n * sizeof(double))
        memcpy(joint->pilot, all, n_all);
}

bool joint_pilot_take(struct joint *joint)
{
    size_t n = joint->n_parameter, most = joint->ranks.n_block < N_PILOT ? joint->ranks.n_block : N_PILOT, n_good = 0;
    gather_pilots(joint);
    for (size_t k = 0; k < n; k++) {
        double value[N_PILOT];
        n_good = 0;
        for (size_t i = 0; i < most; i++)
            if (isfinite(joint->pilot[k + i * n]))
                value[n_good++] = joint->pilot[k + i * n];
        joint->middle[k] = fit_pilot_median(value, n_good);
        if (2 * n_good < most || n_good < LEAST)
            return false;
    }
    for (size_t j = 0; j < joint->s; j++)
        joint->theta[j] = within(&joint->asker.map, j, joint->middle[joint->asker.map.file_index[j]]);
    joint->from_middle = true;
    return true;
}

bool joint_pilot_leave(struct joint *joint)
{
    memcpy(joint->theta, joint->asker.map.start, joint->s * sizeof *joint->theta);
    joint->from_middle = false;
    joint->restarts = true;
    joint->pass = JOINT_START;
    return true;
}

void joint_pilot_begin(const struct joint_work *work)
{
    const struct fit_map *map = &work->own.asker.map;
    work->block->radius = INFINITY;
    memset(work->block->best.scale, 0, work->n * sizeof(double));
    for (size_t k = 0; k < work->n; k++)
        work->block->best.theta[k] = within(map, k, work->joint->middle[work->asker->map.file_index[work->order[k]]]);
}
