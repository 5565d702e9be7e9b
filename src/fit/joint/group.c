/* Groups of datasets with parameters in common: eliminated after the blocks and before the
 * shared parameters, and moved in the opposite order. A group has its own trust region, which
 * follows its own decreases; its step is judged on the sum.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/kinks.h"
#include "fit/joint/vector.h"

#include "fit/objective/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHORTER = 0.25;

bool joint_groups_init(struct joint *joint, const struct fit_map *map, const uint32_t *order)
{
    struct arena *arena = joint->arena;
    size_t n = joint->above.n_group, s = joint->above.s, all = n + s;
    size_t count = joint->levels.n_column ? joint->levels.n_group[0] : 0;
    if (count == 0)
        return true;
    joint->above.group = arena_calloc(arena, count, sizeof *joint->above.group);
    joint->above.group_region = arena_calloc(arena, 1, sizeof *joint->above.group_region);
    joint->part.member = arena_calloc(arena, joint->n_block + 1, sizeof *joint->part.member);
    if (!joint->above.group || !joint->above.group_region || !joint->part.member
        || !joint_region_init(joint->above.group_region, map, order, n, s, arena))
        return false;
    for (size_t g = 0; g < count; g++) {
        struct joint_group *group = &joint->above.group[g];
        struct joint_reduced *reduced = &group->reduced;
        group->reach = trust_reach_begin(joint->options->is_near);
        group->is_held = arena_calloc(arena, n + 1, sizeof *group->is_held);
        group->hold.is_held = arena_calloc(arena, n + 1, sizeof *group->is_held);
        group->hold.is_stopped = arena_calloc(arena, n + 1, sizeof *group->is_held);
        if (!group->is_held || !group->hold.is_held || !group->hold.is_stopped ||
            !ARENA_DOUBLES(arena, {&reduced->theta, n, 1}, {&reduced->triangle, all, all},
                           {&reduced->rhs, all, 1}, {&reduced->scale, n, 1},
                           {&reduced->schur, s, s}, {&reduced->schur_rhs, s, 1},
                           {&group->trial, n, 1}, {&group->error_rows, n, all},
                           {&group->hold.by, n, 1}))
            return false;
        group->length = joint->above.length + s + g * n;
        group->line_scale = joint->line.scale + s + g * n;
        memcpy(reduced->theta, joint->above.group_region->asker.map.start, n * sizeof(double));
    }
    joint_activate(joint);
    return true;
}

/* What the getters need. */
struct reduction {
    struct joint *joint;
    const struct joint_group *group;
    enum joint_which which;
};

static struct joint_rows rows_of_side(const struct joint_reduced *reduced, size_t n)
{
    return (struct joint_rows){.schur = reduced->schur, .rhs = reduced->schur_rhs, .n = n};
}

static struct joint_rows rows_of_block(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint_block *block = joint_active(reduction->joint, k);
    return rows_of_side(joint_reduced_of(block, reduction->which), reduction->joint->above.s);
}

static struct joint_rows rows_of_member(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint *joint = reduction->joint;
    uint32_t i = joint->part.member[reduction->group->first + k];
    struct joint_block *block = &joint->block[i];
    struct joint_rows rows =
        rows_of_side(joint_reduced_of(block, reduction->which), joint->above.s_block);
    joint_columns(joint, i, joint->above.column);
    rows.column = joint->above.column;
    return rows;
}

static struct joint_rows rows_of_group(void *context, size_t g)
{
    const struct joint *joint = ((const struct reduction *)context)->joint;
    return rows_of_side(&joint->above.group[g].reduced, joint->above.s);
}

/* Squared. */
static void length_of(const void *context, const struct joint_block *block, size_t k,
                      double *square)
{
    const struct reduction *reduction = context;
    const struct joint_reduced *reduced = joint_reduced_of((struct joint_block *)(uintptr_t)block,
                                                           reduction->which);
    size_t column = block->n + k, all = block->n + block->s;
    *square = matrix_squares(column + 1, reduced->triangle + column * all);
}

/* The lengths of all columns above the blocks. False: out of memory. */
static bool sum_lengths(const struct joint *joint, const struct reduction *reduction)
{
    bool is_good = joint_vector_sums(joint, 1, length_of, reduction, joint->above.length);
    for (size_t k = 0; k < joint_vector_size(joint) && is_good; k++)
        joint->above.length[k] = sqrt(joint->above.length[k]);
    return is_good;
}

static bool reduce_group(struct joint *joint, struct joint_group *group, enum joint_which which)
{
    struct reduction reduction = {.joint = joint, .group = group, .which = which};
    struct joint_reduced *reduced = &group->reduced;
    struct joint_region *own = joint->above.group_region;
    double *at = which == JOINT_TRIAL && joint->pass == JOINT_STEP ? group->trial : reduced->theta,
           *kept = reduced->theta;
    if (!joint_sum(group->n, joint->above.n_group + joint->above.s, rows_of_member, &reduction,
                   reduced->triangle, reduced->rhs) ||
        !joint_add_least(joint->above.n_group + joint->above.s, joint->above.n_group, group->length,
                         joint_least(joint), reduced->triangle, reduced->rhs))
        return false;
    if (which == JOINT_INNER) {
        joint_kinks_reduce(joint, group);
        return true;
    }
    reduced->theta = at;
    joint_region_schur(own, reduced, joint_least(joint), &group->reach);
    reduced->theta = kept;
    for (size_t j = 0; j < joint->above.n_group; j++)
        group->is_held[j] = fit_point_is_held(&own->asker.map, &own->point, j);
    return true;
}

bool joint_reduce(struct joint *joint, enum joint_which which, double *triangle, double *rhs)
{
    struct reduction reduction = {.joint = joint, .which = which};
    bool is_good = joint->session || sum_lengths(joint, &reduction);
    for (size_t g = 0; is_good && g < joint_n_group(joint); g++)
        is_good = reduce_group(joint, &joint->above.group[g], which);
    if (is_good && joint->above.group)
        is_good = joint_sum(joint_n_group(joint), joint->above.s, rows_of_group, &reduction,
                            triangle, rhs);
    else if (is_good)
        is_good = joint_sum_all(joint, joint->above.s, rows_of_block, &reduction, triangle, rhs);
    double damping = sqrt(joint->line.damping);
    /* one block has eliminated nothing, whose rounding errors would be left */
    return is_good &&
           (joint->session ||
            joint_add_least(joint->above.s, joint->above.s, joint->above.length, joint_least(joint),
                            triangle, rhs)) &&
           (which != JOINT_INNER || joint_add_least(joint->above.s, joint->above.s,
                                                    joint->line.scale, damping, triangle, rhs));
}

void joint_groups_look(const struct joint *joint, struct joint_reduced *all)
{
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        const struct joint_reduced *reduced = &joint->above.group[g].reduced;
        all->promise += reduced->promise;
        all->promise_free += reduced->promise_free;
        all->gradient_norm = fmax(all->gradient_norm, reduced->gradient_norm);
        all->single = fmax(all->single, reduced->single);
        all->is_restricted = all->is_restricted || reduced->is_restricted;
    }
}

void joint_groups_step(struct joint *joint)
{
    struct joint_region *own = joint->above.group_region;
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        struct joint_group *group = &joint->above.group[g];
        for (size_t k = 0; k < joint->above.s; k++)
            own->rhs[k] = joint->above.trial[k] - joint->above.theta[k];
        joint_region_set(own, &group->reduced, group->reduced.theta, own->rhs, &group->reach);
        if (joint->above.n_group > 0)
            trust_model_step(&own->model, &own->point);
        trust_model_target(&own->model, &own->point, group->trial);
        group->step = own->model.length;
        group->is_restricted = own->model.is_restricted;
        group->is_limited = trust_model_is_limited(&own->model);
    }
}

void joint_groups_adapt(struct joint *joint)
{
    for (size_t g = 0; g < joint_n_group(joint); g++) {
        struct joint_group *group = &joint->above.group[g];
        double decrease = 0, promise = 0;
        bool has_failed = false;
        for (size_t k = 0; k < group->n; k++) {
            const struct joint_block *block = &joint->block[joint->part.member[group->first + k]];
            has_failed = has_failed || block->has_failed;
            decrease += block->decrease;
            promise += block->promise;
        }
        double ratio = has_failed ? -INFINITY : promise > 0 ? decrease / promise : 1;
        if (group->step > 0)
            trust_reach_adapt(&group->reach, group->step, group->is_restricted,
                              group->is_limited ? TRUST_REACH_GROWTH_SHARED : 1, ratio, SHORTER);
    }
}
