/* Blocks leave the starts of their own parameters by themselves (joint/block.c); here those of
 * shared ones leap, one after the other, by sums over blocks.
 * SPDX-License-Identifier: BSD-3-Clause */

#include "fit/joint/model.h"
#include "fit/joint/vector.h"

#include <math.h>
#include <string.h>

static void sums_of(const void *context, const struct joint_block *block, size_t k, double *number)
{
    (void)context;
    memcpy(number, &block->leap[k], sizeof *block->leap);
}

static double best_of(const struct joint_block *block) { return block->best.f; }
static double trial_of(const struct joint_block *block) { return block->trial.f; }
static double squares_of(const struct joint_block *block)
{
    return block->best.mean_square * (double)block->n_row;
}

/* The parameters above the blocks. */
struct above {
    struct joint *joint;
    struct fit_leap leap;
    struct fit_map map;
    double *theta;            /* of the best point */
};

/* Sums over the blocks, whose latest trials are the best points, for each value. Where there are
 * groups, all blocks are here. The values of a parameter, one for each group, leap together.
 * False: memory is out. */
static bool add_up(struct above *above)
{
    struct joint *joint = above->joint;
    struct fit_leap *leap = &above->leap;
    bool is_good = joint_vector_sums(joint, sizeof *leap->sums / sizeof(double), sums_of, NULL,
                                     (double *)leap->sums);
    for (size_t i = 0; i < joint->part.n_active && joint->levels.n_column > 0; i++) {
        joint_vector_columns(joint, joint->part.active[i], joint->above.column);
        for (size_t k = 0; k < joint->above.s_block; k++)
            leap->unit[joint->above.column[k]] = (uint32_t)k;
    }
    for (size_t j = 0; j < above->map.n_free; j++) {
        leap->natural[j] = fit_scale_to_natural(above->map.scale[j], above->theta[j]);
        leap->chain[j] = above->map.scale[j] == SCALE_LIN
                           ? 1
                           : leap->natural[j] / fit_map_size(&above->map, j, 0);
    }
    return is_good;
}

/* Tries the leap: all other parameters stay. *is_good: its end is the best point. */
static enum joint_went try(struct above *above, bool *is_good)
{
    struct joint *joint = above->joint;
    struct fit_leap *leap = &above->leap;
    *is_good = false;
    joint_vector_put(joint, joint_vector_above(joint), leap->theta);
    for (size_t i = 0; i < joint->part.n_active; i++) {
        struct joint_block *block = joint_active(joint, i);
        memcpy(block->trial.theta, block->best.theta, block->n * sizeof(double));
    }
    enum joint_went went = joint_run_pass(joint, JOINT_LEAP);
    if (went != JOINT_COUNTS)
        return went;
    joint_renew(joint);
    double after = joint_some_failed(joint) ? (double)NAN : joint_total(joint, trial_of);
    *is_good = fit_leap_is_good(leap, &above->map, joint_total(joint, best_of), after);
    if (*is_good) {
        joint_take(joint);
        memcpy(above->theta, leap->theta, above->map.n_free * sizeof *above->theta);
        memcpy(joint->asker.map.size, above->map.size, joint->above.s * sizeof(double));
        joint->search.n_iteration++;
    }
    return JOINT_COUNTS;
}

enum joint_went joint_leap(struct joint *joint, bool *any)
{
    struct arena own = {0}, *arena = joint->n_block == 1 ? joint->arena : &own;
    struct above above = {.joint = joint};
    struct fit_leap *leap = &above.leap;
    enum joint_went went = JOINT_COUNTS;
    bool shrinks = joint->descends || joint->asker.accuracy.gradient == GRADIENT_differences ||
                   joint->model->abi.noise;
    bool is_new = true;
    bool has_memory = joint_vector_make(joint, joint_vector_above(joint), &above.map, &above.theta,
                                        arena) &&
                      fit_leap_init(leap, above.map.n_free, shrinks, arena);
    *any = false;
    while (went == JOINT_COUNTS && has_memory) {
        bool measures = is_new && joint->asker.accuracy.gradient == GRADIENT_adjoint;
        if (measures)
            went = joint_run_pass(joint, JOINT_MEASURE);
        if (went != JOINT_COUNTS || (measures && joint_some_failed(joint)))
            break;
        has_memory = !is_new || add_up(&above);
        double squares = 0.5 * joint_total(joint, squares_of);
        if (!has_memory || !fit_leap_choose(leap, &above.map, above.theta, squares,
                                            joint->search.stopping.beyond.scale))
            break;
        went = try(&above, &is_new);
        *any = *any || is_new;
    }
    arena_fini(&own);
    if (has_memory)
        return went;
    joint_end_short(joint);
    return JOINT_ENDED;
}
