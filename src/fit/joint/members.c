/* The first steps of a fit over many datasets take a random sample of these. Far from the
 * optimum the steps of a sample lead the shared parameters as far as those of all datasets, at a
 * part of the cost.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fit/joint/members.h"

#include "base/random.h"

/* A sample has at least this many datasets, and so many for each parameter, as far as there are
 * as many. It is one of at most MOST_STRIDE, where its cost is a small part already. */
enum { LEAST_SAMPLE = 64, BY_PARAMETER = 4, MOST_STRIDE = 32 };
enum { LEAST_BUDGET = 20 }; /* of evaluations: with less there is none to share */
enum { STREAM = 0x53414d50 };

size_t joint_stride(const struct joint *joint)
{
    size_t least = BY_PARAMETER * joint->n_parameter;
    size_t stride = joint->ranks.n_block / (least > LEAST_SAMPLE ? least : LEAST_SAMPLE);
    if (joint->session || joint->options->optimizer == OPTIMIZER_lbfgs || joint->options->is_near
        || joint->options->evaluates || joint->options->max_evaluations < LEAST_BUDGET)
        return 0;
    if (stride < 1 || joint->levels.n_column > 0 || joint->has_pilots)
        return 1;
    return stride < MOST_STRIDE ? stride : MOST_STRIDE;
}

/* One of each `stride` neighbours, since these are often alike. */
static bool is_sampled(const struct joint *joint, size_t stride, size_t i)
{
    return i % stride == random_below(joint->seed, STREAM, i / stride, stride);
}

size_t joint_sample_size(const struct joint *joint)
{
    size_t stride = joint_stride(joint), n = joint->ranks.n_block, count = stride ? n / stride : n;
    for (size_t i = stride ? n - n % stride : n; i < n; i++)
        count += is_sampled(joint, stride, i);
    return count;
}

static bool takes_part(const struct joint *joint, size_t i)
{
    size_t stride = joint->pass == JOINT_LOOK ? 0 : joint->part.stride;
    return joint_weight(joint, i) != 0 &&
           (stride == 0 || is_sampled(joint, stride, joint->ranks.first + i));
}

bool joint_wants(const struct joint *joint, size_t i)
{
    return joint_evaluates(joint, i) && !joint->block[i].is_out && takes_part(joint, i);
}

static size_t n_groups(const struct joint *joint)
{
    return joint->levels.n_column ? joint->levels.n_group[0] : 0;
}

void joint_activate(struct joint *joint)
{
    const struct joint_levels *levels = &joint->levels;
    size_t base = 0;
    joint->part.n_active = 0;
    for (size_t i = 0; i < joint->n_block; i++)
        if (!joint->block[i].is_out && takes_part(joint, i))
            joint->part.active[joint->part.n_active++] = (uint32_t)i;
    for (size_t c = 0; c < levels->n_column; base += levels->n_group[c++])
        for (size_t k = joint->part.n_active; k-- > 0;)
            joint->part.first[base + levels->group[c][joint->part.active[k]]] =
                joint->part.active[k];
    for (size_t g = 0; joint->above.group && g < n_groups(joint); g++)
        joint->above.group[g].n = 0;
    for (size_t k = 0; joint->above.group && k < joint->part.n_active; k++)
        joint->above.group[levels->group[0][joint->part.active[k]]].n++;
    for (size_t g = 0, n = 0; joint->above.group && g < n_groups(joint); g++) {
        joint->above.group[g].first = n;
        n += joint->above.group[g].n;
        joint->above.group[g].n = 0;
    }
    for (size_t k = 0; joint->above.group && k < joint->part.n_active; k++) {
        struct joint_group *group = &joint->above.group[levels->group[0][joint->part.active[k]]];
        joint->part.member[group->first + group->n++] = joint->part.active[k];
    }
}

bool joint_is_first(const struct joint *joint, size_t i, size_t k)
{
    const struct joint_levels *levels = &joint->levels;
    size_t base = 0, c = levels->level[k];
    if (c < 2)
        return c == 0 || (joint->part.before == 0 && i == joint->part.active[0]);
    for (size_t j = 0; j < c - 2; j++)
        base += levels->n_group[j];
    return joint->part.first[base + levels->group[c - 2][i]] == i;
}

void joint_columns(const struct joint *joint, size_t i, uint32_t *column)
{
    const struct joint_levels *levels = &joint->levels;
    size_t n = joint->above.n_group, k = n,
           first = levels->n_column > 1 ? joint->above.base[1] : joint->above.s;
    for (size_t j = 0; j < n; j++)
        column[j] = (uint32_t)j;
    for (size_t j = 0; j < first; j++)
        column[k++] = (uint32_t)(n + j);
    for (size_t c = 1; c < levels->n_column; c++)
        for (size_t j = 0; j < joint->above.n_of[c]; j++)
            column[k++] = (uint32_t)(n + joint->above.base[c] +
                                     levels->group[c][i] * joint->above.n_of[c] + j);
}
