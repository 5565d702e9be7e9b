/* What a dataset does in a pass of a fit with random parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/joint_internal.h"
#include "fit/mixed.h"

/* Contributes to the likelihood at mixed->at: value, gradient, information, and what is known of
 * the random parameters given the data. */
void mixed_block_pass(struct joint_work *work, struct arena *arena);
