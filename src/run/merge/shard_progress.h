/* The progress of a shard or a whole run, counted in its journal or result, from outside, during or after the run.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SHARD_PROGRESS_H
#define RUN_SHARD_PROGRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum shard_state {
    SHARD_WAITING, /* it has no files */
    SHARD_BEGUN,   /* it has a journal: it is running, or was stopped */
    SHARD_COMPLETE /* it has a result */
};

struct shard_progress {
    enum shard_state state;
    bool is_known;       /* n_dataset */
    uint64_t n_dataset;  /* of this shard */
    uint64_t n_finished; /* of them with all starts and refits */
    uint64_t n_failed;   /* of the finished */
    uint64_t n_fit;      /* finished fits; starts and refits count one by one */
    time_t last;         /* time of the last write; 0: never */
};

/* For shard k of n; n = 0: for the whole run. Reads HDF5 if there is a result. */
enum status shard_look(struct shard_progress *progress, const char *problem, uint32_t k, uint32_t n, struct error *error);

#endif
