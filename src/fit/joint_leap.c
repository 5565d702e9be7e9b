/* Blocks leave the starts of their own parameters by themselves (joint_block.c); here those of shared ones leap, one after the
 * other, by the sums over all blocks. Parameters of groups that are eliminated do not.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_leap.h"

#include "fit/joint_model.h"
#include "fit/leap.h"

#include <math.h>
#include <string.h>

struct shared {
    const struct joint *joint;
    size_t j;
};

static void get_sums(const void *context, const struct joint_block *block, double *number)
{
    const struct shared *shared = context;
    const struct joint_shared *above = &shared->joint->above;
    memset(number, 0, sizeof *block->leap);
    joint_columns(shared->joint, (size_t)(block - shared->joint->block), above->column);
    for (size_t k = above->n_group; k < above->s_block; k++)
        if (above->column[k] == above->n_group + shared->j)
            memcpy(number, &block->leap[k], sizeof *block->leap);
}

static double best_of(const struct joint_block *block) { return block->best.f; }
static double trial_of(const struct joint_block *block) { return block->trial.f; }
static double squares_of(const struct joint_block *block) { return block->best.mean_square * (double)block->n_row; }

/* Sums over the blocks, whose latest trials are the best points. False: memory is out. */
static bool add_up(const struct joint *joint, struct fit_leap *leap)
{
    const struct fit_map *map = &joint->asker.map;
    for (size_t j = 0; j < joint->above.s; j++) {
        const struct shared shared = {joint, j};
        double sums[sizeof *leap->sums / sizeof(double)];
        if (!joint_totals(joint, sizeof sums / sizeof *sums, get_sums, &shared, sums))
            return false;
        memcpy(&leap->sums[j], sums, sizeof sums);
        leap->natural[j] = fit_scale_to_natural(map->scale[j], joint->above.theta[j]);
        leap->chain[j] = map->scale[j] == SCALE_LIN ? 1 : leap->natural[j] / fit_map_size(map, j, 0);
    }
    return true;
}

/* Tries the leap: all other parameters stay. *is_good: its end is the best point. */
static enum joint_went try(struct joint *joint, struct fit_leap *leap, bool *is_good)
{
    *is_good = false;
    struct joint_shared *above = &joint->above;
    memcpy(above->trial, leap->theta, above->s * sizeof *above->trial);
    for (size_t g = 0; g < joint_n_group(joint); g++)
        memcpy(above->group[g].trial, above->group[g].reduced.theta, above->n_group * sizeof(double));
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        memcpy(block->trial.theta, block->best.theta, block->n * sizeof(double));
    }
    enum joint_went went = joint_run_pass(joint, JOINT_LEAP);
    if (went != JOINT_COUNTS)
        return went;
    struct joint_facts facts = {.any = 0};
    for (size_t i = 0; i < joint->part.n_active; i++)
        facts.any |= joint_active(joint, i)->has_failed;
    joint_agree(joint, &facts);
    double after = facts.any ? (double)NAN : joint_total(joint, trial_of);
    *is_good = fit_leap_is_good(leap, &joint->asker, joint_total(joint, best_of), after);
    if (*is_good) {
        joint_take(joint);
        joint->search.n_iteration++;
    }
    return JOINT_COUNTS;
}

enum joint_went joint_leap(struct joint *joint, bool *any)
{
    struct arena arena = {0};
    *any = false;
    struct fit_leap leap;
    enum joint_went went = JOINT_COUNTS;
    bool has_memory = fit_leap_init(&leap, &joint->asker, joint->descends, &arena), is_new = true;
    while (went == JOINT_COUNTS && has_memory) {
        has_memory = !is_new || add_up(joint, &leap);
        double squares = 0.5 * joint_total(joint, squares_of);
        if (!has_memory
            || !fit_leap_choose(&leap, &joint->asker.map, joint->above.theta, squares, joint->search.stopping.beyond.scale))
            break;
        went = try(joint, &leap, &is_new);
        *any = *any || is_new;
    }
    arena_fini(&arena);
    if (has_memory)
        return went;
    joint->agreement.is_short = true;
    fit_asker_end(&joint->asker, OUTCOME_out_of_memory, "no memory for the shared parameters");
    joint_end(joint, OUTCOME_out_of_memory);
    return JOINT_ENDED;
}
