/* The state of the compute process, and what all of its parts do. compute_run.c sets it up;
 * compute_single.c and compute_joint.c fit, by passes over the datasets (compute_pass.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"
#include "ode/engine.h"
#include "par/monitor.h"
#include "run/supervise/board.h"
#include "run/plan/campaign.h"
#include "run/compute/block_ring.h"
#include "run/compute/record_batch.h"
#include "run/compute/keeper.h"
#include "run/compute/schedule.h"
#include "run/compute/trace.h"
#include "run/run.h"
#include "run/supervise/rank_link.h"
#include "run/supervise/suspects.h"

#include <stdio.h>

/* What goes with a lane of the scheduler. */
struct compute_lane {
    struct fit_job *free_jobs; /* n_free, for the next fits */
    size_t n_free;
    struct board_slot *slot;
    char padding[64]; /* workers do not share cache lines */
};

struct pass_tasks;

/* A pass over all datasets through the pool, for some of the tasks of each. */
struct stage {
    const struct pass_tasks *tasks;
    uint32_t first_task, n_task; /* of each dataset */
    /* whether a dataset takes part; NULL: all do */
    bool (*wanted)(const void *context, uint64_t dataset);
    const void *wanted_context;
    bool apart;                  /* only tasks that were set aside, one after another */
    uint64_t n_before;           /* tasks done before it begins, for the display */
    uint64_t n_wanted;
};

/* The pass under way; compute_pass.c runs it. */
struct pass {
    struct stage stage;
    struct block_ring ring;
    struct schedule *schedule;
    uint64_t *suspects, n_suspect;    /* of the board when the pass began, sorted */
    struct counter n_done, n_put_off; /* tasks; n_done includes those set aside */
};

/* The threads that compute, of all passes. */
struct workers {
    size_t n, n_lane;                 /* lanes of each */
    struct engine_pool *pool;
    struct engine **engine;           /* n */
    struct counter **heartbeat, **thread; /* n */
    uint32_t *cost;                   /* n_lane + 1: as for the scheduler, or NULL */
    struct compute_lane *lanes;       /* n x n_lane */
    struct monitor lock;              /* of the next one; made with `lanes` */
    struct fit_job *free_jobs;        /* those that lanes have too many of */
    struct board_slots slots;
};

/* Why the process may have to end before all is done. */
struct trouble {
    struct counter n_short_of_memory; /* fits that have failed for lack of memory in this process */
    struct counter is_broken;         /* 1: the journal cannot be written */
    struct counter wants_fresh;       /* 1: a new process must do the rest */
    struct monitor lock;
    struct error first;               /* under the lock */
};

/* Datasets of fits over many that crashed in an earlier process or hung; compute_ranks.c. */
struct crashes {
    struct crash {
        uint64_t dataset;
        uint32_t task, outcome;
        char reason[160];
    } *of;
    size_t n;
};

struct compute {
    struct run_options *options;  /* with those of the problem file, once it is open */
    struct campaign campaign;
    struct board private_board, *board;
    struct workers workers;
    struct pass pass;
    struct trouble trouble;
    struct journal *journal;
    struct record_batch batch;    /* for it */
    struct journal_reader *earlier;
    struct death death;           /* on the death of an earlier process; not in `earlier` */
    struct crashes crashes;
    FILE *output;                     /* standard output, hidden from the model; NULL: use stdout */
    struct trace *trace;              /* NULL: none is written */
    struct keepers keepers;           /* what is known of fits that had not ended */
    struct rank_link ranks;           /* if joined: the processes of other ranks */
    struct shared_fits *shared_fits;  /* fits over many datasets, while they run */
    const struct run_hooks *hooks;
    uint64_t n_fit;                   /* tasks of all stages, each once */
    uint64_t n_finished_before;       /* board->n_finished when this process began to fit */
};

/* In place of joint_ranks' for what only rank 0 must have. */
static inline bool compute_is_first(const struct compute *compute)
{
    return !compute->ranks.is_joined || compute->ranks.info.rank == 0;
}
/* Reads what has been journalled until now. */
enum status compute_read_journal(struct compute *compute, struct error *error);

/* Whether a fit over many datasets that found no memory is repeated in a fresh process, which has
 * fewer workers or no fits before this one. This process must then end. */
bool compute_repeats(struct compute *compute);

/* Journals a fit that did not run, or did not end. */
enum status compute_journal_failure(struct compute *compute, uint64_t dataset, uint32_t task,
                                    enum outcome outcome, const char *reason, struct error *error);

/* A line for the user. */
void compute_say(struct compute *compute, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Journals the fits that the death of the compute process before this one was due to. An error if
 * there are too many. Before the workers begin. */
enum status compute_judge(struct compute *compute, struct error *error);

/* Refuses a plugin whose derivatives are certainly wrong at the starts of some datasets. Call
 * before there are other threads. */
enum status compute_spot_check(struct compute *compute, struct error *error);

/* Fits of one dataset each: all passes, each after those whose results it needs. *journal_gone,
 * with an error: another process has removed the journal. */
enum status compute_single(struct compute *compute, bool *journal_gone, struct error *error);

/* Fits over many datasets, as compute_single. The records of each fit are journalled at its end. */
enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error);
/* Main thread, for the display: n fits of which so many had ended before. */
uint64_t compute_n_shared(const struct compute *compute),
    compute_n_shared_before(const struct compute *compute);

/* Shares fits over many datasets with the other ranks that were launched, if any. After
 * campaign_open. */
enum status compute_join(struct compute *compute, struct error *error);

/* Sets compute->crashes.of from the journals of all ranks. */
enum status compute_find_crashes(struct compute *compute, struct error *error);
/* The n bytes of the first rank that has some, until the next call; others have none. NULL:
 * lost. */
const unsigned char *compute_first_bytes(struct compute *compute, const void *bytes, size_t n);
/* The error of a process that the others have left, or that was asked to stop. */
enum status compute_lost(struct error *error);
