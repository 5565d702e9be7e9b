/* A fit of one dataset as a sum of one block, all of whose parameters are above it. Its passes run
 * where it is called, and what the block is evaluated with is kept from pass to pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

/* As fit_run, with the sigmas that are known. */
void joint_one_run(const struct fit_problem *problem, const struct fit_options *options,
                   const struct fit_host *host, struct arena *arena, struct fit_record *record);
