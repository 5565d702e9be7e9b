/* Which blocks take part in a pass, and which parameters above them are theirs.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/ranks.h"

/* Whether the fit has ended: blocks that ended it only confirm, describe or keep its best point. */
static inline bool joint_is_last(const struct joint *joint)
{
    return joint->confirm.is_beyond || joint->pass == JOINT_DESCRIBE || joint->pass == JOINT_KEEP;
}
/* The first steps of a search evaluate a sample, one block in so many; they end early, and steps of
 * all blocks follow. 1: the sample has all blocks; 0: there is none. */
size_t joint_stride(const struct joint *joint);
/* Lists the blocks that take part, and those of each group. */
void joint_activate(struct joint *joint);
/* Whether block i is the first one that takes part and has the same value of parameter k: it
 * carries the prior. */
bool joint_is_first(const struct joint *joint, size_t i, size_t k);
/* The columns of the parameters above block i in a triangle that has its group's parameters first
 * and then all shared ones: the group's, then those shared ones that the block has. */
void joint_columns(const struct joint *joint, size_t i, uint32_t *column);
/* The groups whose parameters are eliminated. */
static inline size_t joint_n_group(const struct joint *joint)
{
    return joint->above.group ? joint->levels.n_group[0] : 0;
}
/* How often block i counts: in a bootstrap replicate a dataset may be drawn more than once. */
static inline double joint_weight(const struct joint *joint, size_t i)
{
    return joint->weight ? (double)joint->weight[i] : 1;
}
/* Whether one block takes part whose parameters are all above it, so that their trust region is
 * that of a fit of one dataset. */
static inline bool joint_is_alone(const struct joint *joint)
{
    return joint->n_block == 1 && joint->ranks.n == 1 && !joint->copies.gather &&
           joint->part.n_active == 1 && joint->levels.n_column == 0 && joint->block->n == 0 &&
           joint_weight(joint, 0) == 1;
}
/* Whether all levels together find their steps (joint/line.c). */
static inline bool joint_takes_line(const struct joint *joint)
{
    return joint->form != JOINT_NEAR && !joint_is_alone(joint);
}
