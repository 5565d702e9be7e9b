/* SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/vector.h"

#include <math.h>
#include <string.h>

struct joint_vector_part joint_vector_part(const struct joint *joint, size_t k)
{
    const struct joint_shared *above = &joint->above;
    if (k == 0)
        return (struct joint_vector_part){above->s,
                                          above->theta,
                                          above->trial,
                                          joint->asker.map.size,
                                          joint->asker.map.lower,
                                          joint->asker.map.upper,
                                          joint->asker.map.scale,
                                          NULL};
    if (k <= joint_n_group(joint)) {
        const struct fit_map *map = &above->group_region->asker.map;
        struct joint_group *group = &above->group[k - 1];
        return (struct joint_vector_part){
            above->n_group, group->reduced.theta, group->trial, NULL,
            map->lower,     map->upper,           map->scale,   NULL};
    }
    const struct joint_block *block = joint_active(joint, k - 1 - joint_n_group(joint));
    return (struct joint_vector_part){block->n, block->best.theta,
                                      block->trial.theta,
                                      NULL,
                                      block->box,
                                      block->box + block->n,
                                      joint->scale,
                                      block->file_index};
}

bool joint_vector_make(const struct joint *joint, size_t n_part, struct fit_map *map,
                       double **theta, struct arena *arena)
{
    size_t n = 0, j = 0;
    for (size_t i = 0; i < n_part; i++)
        n += joint_vector_part(joint, i).n;
    *map = (struct fit_map){.n_free = n, .scale = arena_calloc(arena, n + 1, sizeof *map->scale)};
    if (!map->scale || !ARENA_DOUBLES(arena, {theta, n, 1}, {&map->size, n, 1}, {&map->lower, n, 1},
                                      {&map->upper, n, 1}))
        return false;
    for (size_t i = 0; i < n_part; i++) {
        struct joint_vector_part part = joint_vector_part(joint, i);
        for (size_t k = 0; k < part.n; k++, j++) {
            (*theta)[j] = part.best[k];
            map->size[j] = part.size ? part.size[k] : fabs(part.best[k]);
            map->lower[j] = part.lower[k];
            map->upper[j] = part.upper[k];
            map->scale[j] = part.scale[part.index ? part.index[k] : k];
        }
    }
    return true;
}

void joint_vector_put(const struct joint *joint, size_t n_part, const double *theta)
{
    for (size_t k = 0; k < n_part; k++) {
        struct joint_vector_part part = joint_vector_part(joint, k);
        memcpy(part.trial, theta, part.n * sizeof *theta);
        theta += part.n;
    }
}

void joint_vector_columns(const struct joint *joint, size_t i, uint32_t *column)
{
    size_t n = joint->above.n_group;
    joint_columns(joint, i, column);
    for (size_t k = 0; k < joint->above.s_block; k++)
        column[k] = (uint32_t)(column[k] >= n
                                   ? column[k] - n
                                   : joint->above.s + joint->levels.group[0][i] * n + column[k]);
}

size_t joint_vector_size(const struct joint *joint)
{
    return joint->above.s + joint_n_group(joint) * joint->above.n_group;
}

struct sums {
    size_t n, s;
    joint_vector_numbers *get;
    const void *context;
};

static void get_all(const void *context, const struct joint_block *block, double *number)
{
    const struct sums *sums = context;
    for (size_t k = 0; k < sums->s; k++)
        sums->get(sums->context, block, k, number + k * sums->n);
}

bool joint_vector_sums(const struct joint *joint, size_t n, joint_vector_numbers *get,
                       const void *context, double *sum)
{
    const struct sums sums = {n, joint->above.s, get, context};
    uint32_t *column = joint->above.column;
    double number[JOINT_MANY];
    if (joint->levels.n_column == 0)
        return joint_totals(joint, n * joint->above.s, get_all, &sums, sum);
    memset(sum, 0, n * joint_vector_size(joint) * sizeof *sum);
    for (size_t a = 0; a < joint->part.n_active; a++) {
        joint_vector_columns(joint, joint->part.active[a], column);
        for (size_t k = 0; k < joint->above.s_block; k++) {
            get(context, joint_active(joint, a), k, number);
            for (size_t l = 0; l < n; l++)
                sum[column[k] * n + l] += number[l];
        }
    }
    return true;
}
