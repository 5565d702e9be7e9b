/* The problem of one dataset, out of a block of the problem file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem_block.h"
#include "run/plan/campaign.h"

/* Fills the problem of dataset `row` of the block, for its task `number`; of a refit the block's
 * start is the best fit. Copies what it needs into the arena, so that the block may go. False:
 * out of memory. */
bool dataset_problem(struct fit_problem *problem, const struct campaign *campaign,
                     const struct problem_block *block, size_t row, uint32_t number,
                     struct arena *arena);
