/* How far a shard is, or a whole run: counted in its journal or its result, from outside, while it runs or after.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SHARD_PROGRESS_H
#define RUN_SHARD_PROGRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum shard_state {
    SHARD_WAITING, /* nothing is there */
    SHARD_BEGUN,   /* a journal is there: it runs, or was stopped */
    SHARD_COMPLETE /* its result is there */
};

struct shard_progress {
    enum shard_state state;
    bool is_known;       /* n_dataset */
    uint64_t n_dataset;  /* that are its own */
    uint64_t n_finished; /* of them: all their starts and refits are there */
    uint64_t n_failed;   /* of the finished */
    uint64_t n_fit;      /* finished fits; starts and refits count one by one */
    time_t last;         /* when something was last written; 0: never */
};

/* Of shard k of n; n = 0: of the whole run. Reads HDF5 where the result is there. */
enum status shard_look(struct shard_progress *progress, const char *problem, uint32_t k, uint32_t n, struct error *error);

#endif
