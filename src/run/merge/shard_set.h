/* The shards of a problem as files in its folder: their names and number, and the progress of
 * each, or of a whole run, counted from outside, during or after the run. Separate because
 * submit, status and merge all need it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { SHARD_SET_MAX = 100000 };

/* The path of the result of `stiffit run PROBLEM --shard k/n`; n = 0: of the whole run. free()
 * it. NULL: out of memory. */
char *shard_result_path(const char *problem, uint32_t k, uint32_t n);
char *shard_journal_path(const char *problem, uint32_t k, uint32_t n);

/* The number of shards, from the results and journals in the problem's folder; *n = 0: there are
 * none. Files that disagree about the number are STATUS_USAGE, which names them. */
enum status shard_set_find(const char *problem, uint32_t *n, struct error *error);

enum shard_state {
    SHARD_WAITING, /* no process has written anything for it */
    /* it has a journal, to which a process appends or from which one makes the result */
    SHARD_RUNNING,
    /* it has a journal and no process: it was stopped or killed, and resumes when it is run
     * again */
    SHARD_STOPPED,
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

/* For shard k of n; n = 0: for the whole run. output: where its result goes; NULL: to the path
 * that the problem's gives. Reads HDF5 if there is a result. */
enum status shard_look(struct shard_progress *progress, const char *problem, const char *output,
                       uint32_t k, uint32_t n, struct error *error);
