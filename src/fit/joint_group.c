/* Groups of datasets with parameters in common: eliminated after the blocks and before the shared parameters, and moved in the
 * opposite order. A group has its own trust region, which follows its own decreases; its step is judged on the sum.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_first.h"
#include "fit/joint_kinks.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHORTER = 0.25, POOR = 0.25, GOOD = 0.75;

static size_t n_groups(const struct joint *joint) { return joint->levels.n_column ? joint->levels.n_group[0] : 0; }

void joint_activate(struct joint *joint)
{
    const struct joint_levels *levels = &joint->levels;
    size_t base = 0;
    joint->n_active = 0;
    for (size_t i = 0; i < joint->n_block; i++)
        if (!joint->block[i].is_out && joint_takes_part(joint, i))
            joint->active[joint->n_active++] = (uint32_t)i;
    for (size_t c = 0; c < levels->n_column; base += levels->n_group[c++])
        for (size_t k = joint->n_active; k-- > 0;)
            joint->first[base + levels->group[c][joint->active[k]]] = joint->active[k];
    for (size_t g = 0; joint->group && g < n_groups(joint); g++)
        joint->group[g].n = 0;
    for (size_t k = 0; joint->group && k < joint->n_active; k++)
        joint->group[levels->group[0][joint->active[k]]].n++;
    for (size_t g = 0, n = 0; joint->group && g < n_groups(joint); g++) {
        joint->group[g].first = n;
        n += joint->group[g].n;
        joint->group[g].n = 0;
    }
    for (size_t k = 0; joint->group && k < joint->n_active; k++) {
        struct joint_group *group = &joint->group[levels->group[0][joint->active[k]]];
        joint->member[group->first + group->n++] = joint->active[k];
    }
}

bool joint_is_first(const struct joint *joint, size_t i, size_t k)
{
    const struct joint_levels *levels = &joint->levels;
    size_t base = 0, c = levels->level[k];
    if (c < 2)
        return c == 0 || (joint->before == 0 && i == joint->active[0]);
    for (size_t j = 0; j < c - 2; j++)
        base += levels->n_group[j];
    return joint->first[base + levels->group[c - 2][i]] == i;
}

bool joint_groups_init(struct joint *joint, const struct fit_map *map, const uint32_t *order)
{
    struct arena *arena = &joint->arena;
    size_t n = joint->n_group, s = joint->s, all = n + s, count = n_groups(joint);
    if (count == 0)
        return true;
    joint->group = arena_calloc(arena, count, sizeof *joint->group);
    joint->group_own = arena_calloc(arena, 1, sizeof *joint->group_own);
    joint->member = arena_calloc(arena, joint->n_block + 1, sizeof *joint->member);
    if (!joint->group || !joint->group_own || !joint->member || !joint_own_init(joint->group_own, map, order, n, s, arena))
        return false;
    for (size_t g = 0; g < count; g++) {
        struct joint_group *group = &joint->group[g];
        struct joint_side *side = &group->side;
        group->radius = INFINITY;
        group->is_held = arena_calloc(arena, n + 1, sizeof *group->is_held);
        group->hold.is_held = arena_calloc(arena, n + 1, sizeof *group->is_held);
        group->hold.is_stopped = arena_calloc(arena, n + 1, sizeof *group->is_held);
        if (!group->is_held || !group->hold.is_held || !group->hold.is_stopped
            || !ARENA_DOUBLES(arena, {&side->theta, n, 1}, {&side->triangle, all, all}, {&side->rhs, all, 1},
                              {&side->scale, n, 1}, {&side->rest, s, s}, {&side->rest_rhs, s, 1}, {&group->trial, n, 1},
                              {&group->length, n, 1}, {&group->error_rows, n, all}, {&group->line, n, 1},
                              {&group->line_scale, n, 1}, {&group->hold.by, n, 1}))
            return false;
        memcpy(side->theta, joint->group_own->asker.map.start, n * sizeof(double));
    }
    joint_activate(joint);
    return true;
}

void joint_columns(const struct joint *joint, size_t i, uint32_t *column)
{
    const struct joint_levels *levels = &joint->levels;
    size_t n = joint->n_group, k = n, first = levels->n_column > 1 ? joint->base[1] : joint->s;
    for (size_t j = 0; j < n; j++)
        column[j] = (uint32_t)j;
    for (size_t j = 0; j < first; j++)
        column[k++] = (uint32_t)(n + j);
    for (size_t c = 1; c < levels->n_column; c++)
        for (size_t j = 0; j < joint->n_of[c]; j++)
            column[k++] = (uint32_t)(n + joint->base[c] + levels->group[c][i] * joint->n_of[c] + j);
}

/* What the getters need. */
struct reduction {
    struct joint *joint;
    const struct joint_group *group;
    enum joint_which which;
};

static struct joint_rows rows_of_side(const struct joint_side *side, size_t n)
{
    return (struct joint_rows){.rest = side->rest, .rhs = side->rest_rhs, .n = n};
}

static struct joint_rows rows_of_block(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint_block *block = joint_active(reduction->joint, k);
    return rows_of_side(joint_side_of(block, reduction->which), reduction->joint->s);
}

static struct joint_rows rows_of_member(void *context, size_t k)
{
    const struct reduction *reduction = context;
    struct joint *joint = reduction->joint;
    uint32_t i = joint->member[reduction->group->first + k];
    struct joint_block *block = &joint->block[i];
    struct joint_rows rows = rows_of_side(joint_side_of(block, reduction->which), joint->s_block);
    joint_columns(joint, i, joint->column);
    rows.column = joint->column;
    return rows;
}

static struct joint_rows rows_of_group(void *context, size_t g)
{
    const struct joint *joint = ((const struct reduction *)context)->joint;
    return rows_of_side(&joint->group[g].side, joint->s);
}

struct lengths {
    const struct joint *joint;
    enum joint_which which;
};

/* Squared, of the shared parameters, where there are no groups. */
static void lengths_of(const void *context, const struct joint_block *block, double *square)
{
    const struct lengths *lengths = context;
    const struct joint_side *side = joint_side_of((struct joint_block *)(uintptr_t)block, lengths->which);
    size_t n = block->n, s = lengths->joint->s, all = n + s;
    for (size_t c = 0; c < s; c++)
        square[c] = matrix_squares(n + c + 1, side->triangle + (n + c) * all);
}

/* The lengths of all columns above the blocks. False: out of memory. */
static bool sum_lengths(struct joint *joint, enum joint_which which)
{
    size_t n = joint->n_group, s = joint->s_block;
    if (joint->levels.n_column == 0) {
        const struct lengths lengths = {joint, which};
        if (!joint_totals(joint, joint->s, lengths_of, &lengths, joint->length))
            return false;
        for (size_t c = 0; c < joint->s; c++)
            joint->length[c] = sqrt(joint->length[c]);
        return true;
    }
    memset(joint->length, 0, joint->s * sizeof *joint->length);
    for (size_t g = 0; g < n_groups(joint); g++)
        memset(joint->group[g].length, 0, n * sizeof(double));
    for (size_t k = 0; k < joint->n_active; k++) {
        size_t i = joint->active[k];
        struct joint_block *block = &joint->block[i];
        const struct joint_side *side = joint_side_of(block, which);
        joint_columns(joint, i, joint->column);
        for (size_t c = 0; c < s; c++) {
            size_t column = block->n + c, all = block->n + s;
            double *length = c < n ? &joint->group[joint->levels.group[0][i]].length[c] : &joint->length[joint->column[c] - n];
            *length += matrix_squares(column + 1, side->triangle + column * all);
        }
    }
    for (size_t c = 0; c < joint->s; c++)
        joint->length[c] = sqrt(joint->length[c]);
    for (size_t g = 0; g < n_groups(joint); g++)
        for (size_t c = 0; c < n; c++)
            joint->group[g].length[c] = sqrt(joint->group[g].length[c]);
    return true;
}

static bool reduce_group(struct joint *joint, struct joint_group *group, enum joint_which which)
{
    struct reduction reduction = {.joint = joint, .group = group, .which = which};
    struct joint_side *side = &group->side;
    struct joint_own *own = joint->group_own;
    double *at = which == JOINT_TRIAL && joint->pass == JOINT_STEP ? group->trial : side->theta, *kept = side->theta;
    if (!joint_sum(group->n, joint->n_group + joint->s, rows_of_member, &reduction, side->triangle, side->rhs)
        || !joint_add_least(joint->n_group + joint->s, joint->n_group, group->length, joint->least, side->triangle, side->rhs))
        return false;
    if (which == JOINT_INNER) {
        joint_kinks_reduce(joint, group);
        return true;
    }
    side->theta = at;
    joint_own_rest(own, side, joint->least, &group->radius);
    side->theta = kept;
    for (size_t j = 0; j < joint->n_group; j++)
        group->is_held[j] = fit_point_is_held(&own->asker.map, &own->point, j);
    return true;
}

bool joint_reduce(struct joint *joint, enum joint_which which, double *triangle, double *rhs)
{
    struct reduction reduction = {.joint = joint, .which = which};
    bool is_good = sum_lengths(joint, which);
    for (size_t g = 0; is_good && g < n_groups(joint); g++)
        is_good = reduce_group(joint, &joint->group[g], which);
    if (is_good && joint->group)
        is_good = joint_sum(n_groups(joint), joint->s, rows_of_group, &reduction, triangle, rhs);
    else if (is_good)
        is_good = joint_sum_all(joint, joint->s, rows_of_block, &reduction, triangle, rhs);
    double damping = sqrt(joint->line.damping);
    return is_good && joint_add_least(joint->s, joint->s, joint->length, joint->least, triangle, rhs)
           && (which != JOINT_INNER || joint_add_least(joint->s, joint->s, joint->line.scale, damping, triangle, rhs));
}

void joint_groups_look(const struct joint *joint, struct joint_side *all)
{
    for (size_t g = 0; g < n_groups(joint); g++) {
        const struct joint_side *side = &joint->group[g].side;
        all->promise += side->promise;
        all->promise_free += side->promise_free;
        all->gradient_norm = fmax(all->gradient_norm, side->gradient_norm);
        all->single = fmax(all->single, side->single);
        all->is_restricted = all->is_restricted || side->is_restricted;
    }
}

void joint_groups_step(struct joint *joint)
{
    struct joint_own *own = joint->group_own;
    for (size_t g = 0; g < n_groups(joint); g++) {
        struct joint_group *group = &joint->group[g];
        for (size_t k = 0; k < joint->s; k++)
            own->rhs[k] = joint->trial[k] - joint->theta[k];
        joint_own_set(own, &group->side, group->side.theta, own->rhs, &group->radius);
        if (joint->n_group > 0)
            trust_model_step(&own->model, &own->point);
        trust_model_target(&own->model, &own->point, group->trial);
        group->step = own->model.length;
        group->is_restricted = own->model.is_restricted;
    }
}

void joint_groups_adapt(struct joint *joint)
{
    for (size_t g = 0; g < n_groups(joint); g++) {
        struct joint_group *group = &joint->group[g];
        double decrease = 0, promise = 0;
        bool has_failed = false;
        for (size_t k = 0; k < group->n; k++) {
            const struct joint_block *block = &joint->block[joint->member[group->first + k]];
            has_failed = has_failed || block->has_failed;
            decrease += block->decrease;
            promise += block->promise;
        }
        double ratio = has_failed ? -1 : promise > 0 ? decrease / promise : 1;
        if (ratio < POOR && group->step > 0)
            group->radius = SHORTER * fmin(group->radius, group->step);
        else if (ratio > GOOD || !group->is_restricted)
            group->radius = fmax(group->radius, 2 * group->step);
    }
}

void joint_groups_take(struct joint *joint)
{
    for (size_t g = 0; g < n_groups(joint); g++)
        memcpy(joint->group[g].side.theta, joint->group[g].trial, joint->n_group * sizeof(double));
}
