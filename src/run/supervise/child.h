/* A child of the supervisor: started, watched for signs of life, and stopped with the run.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "run/supervise/board.h"
#include "run/supervise/ranks.h"

#include <signal.h>
#include <sys/types.h>

enum { SLOW_DISK_FACTOR = 10 }; /* how much longer a file server may be silent than a model */

/* How a child ended. */
struct ending {
    int wait_status;
    bool waited;      /* it was killed because it neither computed nor showed a sign of life ... */
    bool hung;        /* ... or because it computed without one ... */
    bool worker_hung; /* ... or because the workers marked on the board showed none */
    bool was_busy;    /* fits were running when it died */
};

/* Over all children of a run. */
struct watch {
    sigset_t set;        /* SIGCHLD and the stop signals, all blocked */
    struct board *board; /* NULL: nothing to look at */
    struct ranks *ranks; /* served while a child runs; NULL: there are none */
    int hang_s;          /* time on the processor without a sign of life that counts as hanging */
    int64_t deadline_ns; /* --time-limit; INT64_MAX: none */
    bool asked_to_stop, time_is_up;
    /* when it was asked to stop; when it is killed if it still runs (finished fits are safe) */
    int64_t asked_ns, end_ns;
};

/* Blocks the signals of the set in this process permanently. */
void watch_init(struct watch *watch, struct board *board);

/* What a child does: `run` with these arguments, after a fork; where a fork is not safe, this
 * program with `word` before them. */
struct child_command {
    const char *word, *name; /* name: of the process */
    int (*run)(int argc, char **argv); /* the exit code */
    int argc;
    char **argv;
};
/* -1 and `error` on failure. */
pid_t child_start(const struct child_command *command, struct error *error);
/* Returns when the child has ended. */
struct ending child_watch(pid_t child, struct watch *watch);
