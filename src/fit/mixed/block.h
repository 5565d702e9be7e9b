/* What a dataset does in a pass of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint/internal.h"
#include "fit/mixed/mixed.h"

/* The adapt, accept and run_block of struct joint_upper_method. The latter contributes to the
 * likelihood at mixed->at: value, gradient, information, and what is known of the random
 * parameters given the data. */
bool mixed_block_adapt(const struct joint *joint, struct fit_problem *problem,
                       struct fit_options *options, struct arena *arena);
bool mixed_block_accept(struct joint_work *work);
void mixed_block_pass(struct joint_work *work, struct arena *arena);
