/* What a block of a fit over many datasets works with, and its rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint_internal.h"

#include "fit/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void joint_block_end(struct joint_block *block, enum outcome outcome, const char *reason)
{
    block->outcome = outcome;
    snprintf(block->reason, sizeof block->reason, "%s", reason);
}

bool joint_block_room(const struct joint *joint, struct joint_block *block, size_t n, size_t s)
{
    size_t all = n + s, each = n + all * all + all + n + s * s + s, n_parameter = joint->n_parameter;
    int n_side = block->has_kinks && !joint->descends ? 3 : 2;
    size_t n_number = (size_t)n_side * (each + all) + n_parameter + all + (joint->descends ? 2 * n : 0);
    n_number += s * sizeof *block->leap / sizeof(double);
    double *memory = calloc(n_number + 1, sizeof *memory);
    block->file_index = calloc(2 * all + 1, sizeof *block->file_index);
    block->at_bound = calloc(n_parameter + 1, 1);
    block->p = memory;
    if (!memory || !block->file_index || !block->at_bound)
        return false;
    double *next = memory + n_parameter;
    block->chain = next;
    next += all;
    for (int k = 0; k < n_side; k++) {
        struct joint_reduced *reduced = joint_reduced_of(block, (enum joint_which)k);
        reduced->theta = next;
        reduced->triangle = reduced->theta + n;
        reduced->rhs = reduced->triangle + all * all;
        reduced->scale = reduced->rhs + all;
        reduced->rest = reduced->scale + n;
        reduced->rest_rhs = reduced->rest + s * s;
        next += each;
    }
    block->inner.scale = next;
    block->box = next + (n_side > 2 ? all : 0);
    block->leap = (struct fit_leap_sums *)(block->box + (joint->descends ? 2 * n : 0));
    return true;
}

bool joint_work_make(struct joint_work *work)
{
    struct arena *arena = work->arena;
    const struct fit_map *map = &work->asker->map;
    const struct joint_levels *levels = &work->joint->levels;
    size_t all = map->n_free, n_row = fit_objective_n_row(&work->asker->objective);
    work->order = arena_calloc(arena, all + 1, sizeof *work->order);
    if (!work->order)
        return false;
    for (uint32_t j = 0; j < all; j++)
        if (levels->level[map->file_index[j]] == 0)
            work->order[work->n++] = j;
    for (size_t k = 0; k < levels->n_column + 2; k++) { /* level 2, those of the eliminated groups, comes before 1 */
        size_t level = k == 0 ? 2 : k == 1 ? 1 : k + 1;
        for (uint32_t j = 0; j < all; j++)
            if (levels->level[map->file_index[j]] == level)
                work->order[work->n + work->s++] = j;
    }
    return fit_point_init(&work->at, work->asker, work->asker->accuracy.gradient, arena)
           && joint_region_init(&work->region, map, work->order, work->n, work->s, arena)
           && ARENA_DOUBLES(arena, {&work->rows, n_row, all}, {&work->sorted, n_row, all}, {&work->rhs, n_row, 1},
                            {&work->move, all, 1}, {&work->theta, work->s, 1}, {&work->trial, work->s, 1});
}

bool joint_work_find_above(struct joint_work *work, size_t i)
{
    const struct joint *joint = work->joint;
    uint32_t *column = arena_calloc(work->arena, work->s + 1, sizeof *column);
    size_t n = joint->above.n_group;
    if (!column)
        return false;
    joint_columns(joint, i, column);
    for (size_t k = 0; k < work->s; k++) {
        const struct joint_group *group = k < n ? &joint->above.group[joint->levels.group[0][i]] : NULL;
        work->theta[k] = group ? group->reduced.theta[k] : joint->above.theta[column[k] - n];
        work->trial[k] = group ? group->trial[k] : joint->above.trial[column[k] - n];
    }
    return true;
}

bool joint_block_reduce(struct joint_work *work, const struct fit_answer *answer, enum fit_curvature curvature,
                        const double *step, double *triangle, double *rhs)
{
    const struct fit_objective *objective = &work->asker->objective;
    size_t all = work->n + work->s, n_row = fit_objective_n_row(objective);
    fit_objective_rows(objective, answer, curvature, work->rows, work->rhs);
    for (size_t k = 0; step && k < all; k++)
        for (size_t i = 0; i < n_row && step[k] != 0; i++)
            work->rhs[i] -= work->rows[i + k * n_row] * step[k];
    for (size_t k = 0; k < all; k++)
        memcpy(work->sorted + k * n_row, work->rows + work->order[k] * n_row, n_row * sizeof(double));
    matrix_triangle(n_row, all, work->sorted, work->rhs, triangle, rhs);
    double weight = sqrt(joint_weight(work->joint, (size_t)(work->block - work->joint->block)));
    for (size_t k = 0; k < all * all && weight != 1; k++)
        triangle[k] *= weight;
    bool is_finite = true;
    for (size_t k = 0; k < all && weight != 1; k++)
        rhs[k] *= weight;
    for (size_t k = 0; k < all; k++)
        is_finite = is_finite && isfinite(rhs[k]) && isfinite(matrix_squares(k + 1, triangle + k * all));
    return is_finite;
}
