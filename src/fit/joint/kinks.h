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

/* For a proximal step: what eliminating the own parameters that are not held leaves, with
 * `damping` times their squared scale added; and how they follow a step of those above, in
 * model->step, within bounds and limits. Those that are held move by hold->by. True: a bound or
 * limit stopped some of the others, which hold->stopped tells. */
void joint_damped_schur(struct joint_region *own, struct joint_reduced *reduced,
                        const struct joint_hold *hold, double damping);
bool joint_damped_follow(struct joint_region *own, const struct joint_reduced *reduced,
                         struct joint_hold *hold, double damping, const double *shared_step);
/* At the best point, own->point: holds those that a bound holds. Then those that were stopped,
 * too: where they were stopped, or (stays) where they are. */
void joint_hold_begin(struct joint_region *own, struct joint_hold *hold);
void joint_hold_stopped(const struct joint_region *own, struct joint_hold *hold, bool stays);
