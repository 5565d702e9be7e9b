/* Which datasets are asked for: --only, --shard, --cost-from.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHARD_ORIGIN = 120 };

/* A part of the problem, given by --shard as k/K or by SLURM's environment. A problem is never
 * sharded unless asked, and unclear requests are refused: a part taken for the whole would be
 * the worst outcome. Part k of n, from 1; n = 0: everything. */
struct shard {
    uint32_t k, n;
    char origin[SHARD_ORIGIN]; /* where `slurm` found it, for display; "" for k/K */
};

/* "k/K" or "slurm". STATUS_USAGE if it is neither, or if SLURM's environment is neither a step
 * nor a complete array.
 *
 * slurm: a step of several tasks (SLURM_STEP_ID; task SLURM_PROCID of SLURM_STEP_NUM_TASKS or
 * SLURM_NTASKS), or an array that starts at 0 or 1 and has no gaps (SLURM_ARRAY_TASK_ID, _MIN,
 * _MAX, _COUNT, _STEP), perhaps with steps of one task in it. A batch script with -n4 is
 * neither: it has SLURM_PROCID = 0, but no step. */
enum status shard_parse(struct shard *shard, const char *text, struct error *error);

/* The request. */
struct selection_request {
    const char *only;         /* --only ID[,ID...]; NULL: all datasets */
    const char *shard_text;   /* --shard k/K or slurm; NULL: not sharded */
    struct shard shard;       /* what it means */
    const char *cost_from;    /* --cost-from RESULT; NULL: shards are interleaved */
};

/* The names of a list NAME[,NAME...], sorted, without duplicates; they point into `copy`. Free
 * both. False: out of memory. */
struct selection_names {
    char *copy;
    char **name;
    size_t n;
};
bool selection_split(struct selection_names *names, const char *list);
void selection_names_fini(struct selection_names *names);

/* What a result is called after the selection: ".shard-3-of-8", ".only-ID" (".only-HASH" for
 * several or strange ones), "". */
void selection_suffix(const struct selection_request *request, char *text, size_t size);

/* Bit d mod 8 of byte d / 8. */
static inline void selection_set(unsigned char *bit, uint64_t dataset)
{
    bit[dataset / 8] |= (unsigned char)(1u << dataset % 8);
}
