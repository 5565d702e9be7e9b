/* One fit: one dataset from one start, as plain sequential code that asks a host for evaluations.
 * The host may be a coroutine that suspends (run/) or simply an engine (tests). It is a sum of one
 * block, all of whose parameters are above it. Its passes run where it is called, and what the
 * block is evaluated with is kept from pass to pass.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

/* Always fills the record except dataset, start and seconds. The caller provides all its arrays;
 * only the covariance may be NULL. Scratch comes from `arena`, which the fit owns while it runs.
 * Needs up to 16 KiB of stack, in addition to libLBFGS and the C library: coroutine stacks are
 * 64 KiB. */
void fit_run(const struct fit_problem *problem, const struct fit_options *options,
             const struct fit_host *host, struct arena *arena, struct fit_record *record);
