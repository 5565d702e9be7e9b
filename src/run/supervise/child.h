/* A child of the supervisor: started by exec of this program, watched for signs of life, and stopped with the run.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include "base/error.h"
#include "run/supervise/board.h"

#include <signal.h>
#include <sys/types.h>

/* How a child ended. */
struct ending {
    int wait_status;
    bool hung;        /* it was killed because it showed no sign of life ... */
    bool worker_hung; /* ... or because the workers marked on the board showed none */
    bool was_busy;    /* fits were running when it died */
};

/* Over all children of a run. */
struct watch {
    sigset_t set;        /* SIGCHLD and the stop signals, all blocked */
    struct board *board; /* NULL: nothing to look at */
    int hang_s;          /* time without a sign of life that counts as hanging */
    int64_t deadline_ns; /* --time-limit; INT64_MAX: none */
    bool asked_to_stop, time_is_up;
    int64_t asked_ns, end_ns; /* when it was asked to stop; when it is killed if it still runs (finished fits are safe) */
};

/* Blocks the signals of the set in this process permanently. */
void watch_init(struct watch *watch, struct board *board);

/* Starts this program as `command` with the same arguments; -1 and `error` on failure. */
pid_t child_start(const char *command, int argc, char **argv, struct error *error);
/* Returns when the child has ended. */
struct ending child_watch(pid_t child, struct watch *watch);

#endif
