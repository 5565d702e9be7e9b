/* The part of a problem that a process fits, given by --shard as k/K or by SLURM's environment. A problem is never sharded
 * unless asked, and unclear requests are refused: a part taken for the whole would be the worst outcome.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SHARD_H
#define RUN_SHARD_H

#include "base/error.h"

#include <stdint.h>

enum { SHARD_ORIGIN = 120 };

/* Part k of n, from 1; n = 0: everything. */
struct shard {
    uint32_t k, n;
    char origin[SHARD_ORIGIN]; /* where `slurm` found it, for display; "" for k/K */
};

/* "k/K" or "slurm". STATUS_USAGE if it is neither, or if SLURM's environment is neither a step nor a complete array.
 *
 * slurm: a step of several tasks (SLURM_STEP_ID; task SLURM_PROCID of SLURM_STEP_NUM_TASKS or SLURM_NTASKS), or an array that
 * starts at 0 or 1 and has no gaps (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT, _STEP), perhaps with steps of one task in it. A
 * batch script with -n4 is neither: it has SLURM_PROCID = 0, but no step. */
enum status shard_parse(struct shard *shard, const char *text, struct error *error);

#endif
