/* The first steps of a fit over many datasets, which some of these take for all: pilots and a sample.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint_internal.h"

/* Pilots, in joint_pilot.c. False: out of memory. */
bool joint_pilot_init(struct joint *joint);
bool joint_has_pilots(const struct joint *joint), joint_is_pilot(const struct joint *joint, size_t i);
void joint_pilot_run(struct joint *joint, size_t i, const struct fit_problem *problem, const struct fit_options *options,
                     const struct fit_host *host, struct arena *arena);
/* After the pass: sets the shared parameters to the medians (false: too few pilots converged); back to the start (true);
 * and sets a block's own parameters to the medians. */
bool joint_pilot_take(struct joint *joint), joint_pilot_leave(struct joint *joint);
void joint_pilot_begin(const struct joint_work *work);

/* The sample of the first steps, in joint_sample.c. Decides whether there is one; begins with it, after JOINT_LOOK (true);
 * whether block i takes part; whether half of a budget is used up; lets all take part (true); */
void joint_sample_begin(struct joint *joint);
bool joint_sample_take(struct joint *joint), joint_takes_part(const struct joint *joint, size_t i);
bool joint_sample_is_tired(const struct joint *joint), joint_sample_leave(struct joint *joint);
/* and fits a block's own parameters to the shared ones, from its start to block->best.theta, where those of the sample stay if
 * they are as good. */
void joint_sample_follow(struct joint_work *work, const struct fit_problem *problem, const struct fit_host *host,
                         struct arena *arena);
/* A fit of a block by itself; its record lasts as long as the arena. False: it has no result. */
bool joint_fit_alone(const struct joint *joint, const struct fit_problem *problem, const struct fit_options *options,
                     const struct fit_host *host, struct arena *arena, struct fit_record *record);
