/* One fit: one dataset from one start, as plain sequential code that asks a host for
 * evaluations. The host may be a coroutine that suspends (run/) or simply an engine (tests).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"

/* Always fills the record except dataset, start and seconds. The caller provides all its arrays;
 * only the covariance may be NULL. Scratch comes from `arena`, which the fit owns while it runs.
 * Needs up to 16 KiB of stack, in addition to libLBFGS and the C library: coroutine stacks are
 * 64 KiB. */
void fit_run(const struct fit_problem *problem, const struct fit_options *options,
             const struct fit_host *host, struct arena *arena, struct fit_record *record);
