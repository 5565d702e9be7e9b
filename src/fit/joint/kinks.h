/* What blocks and groups do in the search for inner steps (joint/line.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

/* In joint_reduce: eliminates a group's own parameters. Then they follow the shared step to
 * group->trial. */
void joint_kinks_reduce(struct joint *joint, struct joint_group *group);
void joint_kinks_groups_step(struct joint *joint);

/* Of a block. The numbers of its predictions at a point; keeps those of work->at. Its inner step
 * becomes the last candidate if joint->line says so. And the two passes; false: out of memory. */
size_t joint_kinks_n_at(const struct joint_work *work);
void joint_kinks_keep(const struct joint_work *work, struct joint_reduced *reduced);
void joint_kinks_take(struct joint_work *work);
bool joint_kinks_rows(struct joint_work *work, struct arena *arena);
bool joint_kinks_value(struct joint_work *work, struct arena *arena);
/* Of the only block: the model of the parameters above gets its step. */
bool joint_kinks_alone(struct joint_work *work, struct arena *arena);
