/* Fits of single blocks by themselves, in a fit over many datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"

/* Pilots. Room for their fits; false: out of memory. Whether there are some, and whether block i
 * is one. */
bool joint_pilot_init(struct joint *joint);
bool joint_has_pilots(const struct joint *joint),
    joint_is_pilot(const struct joint *joint, size_t i);
void joint_pilot_run(struct joint *joint, size_t i, const struct fit_problem *problem,
                     const struct fit_options *options, const struct fit_host *host,
                     struct arena *arena);
/* After their fits: sets the shared parameters to the medians; false: too few pilots converged.
 * Then a block's own ones. */
bool joint_pilot_take(struct joint *joint);
void joint_pilot_begin(const struct joint_work *work);
/* Fits a block's own parameters to the shared ones, from its start to block->best.theta, where
 * those of the sample stay if they are as good. */
void joint_follow_shared(struct joint_work *work, const struct fit_problem *problem,
                         const struct fit_host *host, struct arena *arena);
