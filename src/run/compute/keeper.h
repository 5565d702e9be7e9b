/* A long fit whose process has died goes on where it was, of one dataset or many. The fits of a
 * task (fit_run, one or several, one after another) are numbered; the records of those that have
 * ended and the state of the one under way are written to the task's file (io/journal/states.h).
 * When the task begins again, those get their records at once, and that one goes on from its state.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "fit/objective/types.h"
#include "io/journal/states.h"
#include "par/monitor.h"

/* A state is kept after this much computing time of a task, and again after each such time. A kill
 * costs at most this and one step of the search. Fits that ended before are made again. Writing
 * takes about a nanosecond a byte; large states are written so seldom that it costs no more than a
 * hundredth. */
#define KEEPER_WORTH_NS INT64_C(100000000)
/* A failure of the machine costs at most this. */
#define KEEPER_SYNC_NS INT64_C(10000000000)
enum { KEEPER_NS_PER_BYTE = 100 };

/* Shared by all fits of a run. */
struct keepers {
    struct states_folder *folder;
    struct counter has_trouble; /* 1: a file could not be written, and no more are */
    struct monitor lock;
    struct error trouble;       /* under the lock */
    bool is_reported;
};

/* False: out of memory; nothing is kept then, and keepers_fini is legal. */
bool keepers_init(struct keepers *keepers, const char *journal,
                  const struct run_identity *identity);
/* Looks which tasks have a state. Call while no fit is running. */
void keepers_look(struct keepers *keepers, const char *journal,
                  const struct run_identity *identity);
void keepers_fini(struct keepers *keepers);
/* Whether there is an error that has not been reported yet; one thread. */
bool keepers_tell(struct keepers *keepers, struct error *trouble);

/* Of one task. Zero-initialise. */
struct keeper {
    struct fit_keeper fits;   /* for the fits' host */
    struct keepers *keepers;
    const struct states_folder *folder; /* NULL: nothing is kept */
    uint64_t task;
    int64_t (*elapsed_ns)(void *context); /* computing for the task, in earlier processes, too */
    void *context;
    int64_t before_ns;        /* that of earlier processes alone */
    int64_t written_ns;       /* when the state was kept last */
    size_t n_written;         /* its bytes */
    int64_t synced_ns;        /* when the one that a failure of the machine leaves was kept */
    bool is_there;            /* the task has a file */
    uint64_t n_fit;           /* fits that have begun */
    unsigned char *loaded;    /* what an earlier process has left; NULL: nothing */
    size_t n_loaded;
    unsigned char *records;   /* of fits that have ended, in the form of the file */
    size_t n_record, capacity;
    unsigned char *state;     /* to be written: n_state bytes of the fit that began last */
    size_t n_state;
    bool is_pending;          /* something is to be written */
};

/* Another task; `keepers` NULL: nothing is kept. */
void keeper_begin(struct keeper *keeper, struct keepers *keepers, uint64_t task,
                  int64_t (*elapsed_ns)(void *context), void *context);
/* Writes what is to be kept; not within the code of a fit. */
void keeper_write(struct keeper *keeper);
/* Drops what is not written yet, and keeps nothing from now on: some part of the task has found
 * no memory. */
void keeper_stop(struct keeper *keeper);
/* The task's record is in the journal. */
void keeper_end(struct keeper *keeper);
void keeper_fini(struct keeper *keeper); /* the file stays */
