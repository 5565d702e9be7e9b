/* One child of the supervisor: started by exec of ourselves, watched for signs of life, stopped when the run is to stop.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include "base/error.h"
#include "run/supervise/board.h"

#include <signal.h>
#include <sys/types.h>

/* What the supervisor knows of a child that has gone. */
struct ending {
    int wait_status;
    bool hung;        /* it was ended because it showed no sign of life ... */
    bool worker_hung; /* ... or rather the workers that are marked on the board */
    bool was_busy;    /* fits were under way when it died */
};

/* Over all children of a run. */
struct watch {
    sigset_t set;        /* SIGCHLD and the stop signals, all blocked */
    struct board *board; /* NULL: nothing to look at */
    int hang_s;          /* silence that counts as hanging */
    int64_t deadline_ns; /* --time-limit; INT64_MAX: none */
    bool asked_to_stop, time_is_up;
    int64_t asked_ns, end_ns; /* since when; when what still runs is ended (it loses nothing that is finished) */
};

/* Blocks the signals of the set in this process for good. */
void watch_init(struct watch *watch, struct board *board);

/* Starts ourselves as `command` with the same arguments; -1 and `error` on failure. */
pid_t child_start(const char *command, int argc, char **argv, struct error *error);
/* Returns when it has gone. */
struct ending child_watch(pid_t child, struct watch *watch);

#endif
