/* Who runs what when: work stealing among workers, and the policy that keeps long jobs from holding up short ones.
 * It knows nothing of fits: jobs are opaque, so that the policy can be tested with clocks alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the scheduler keeps of a job: the first member of the caller's own struct. The caller leaves it alone, and need not
 * initialise it. */
struct job {
    int64_t used_ns;      /* before this stay on a worker */
    uint64_t cost_ticket; /* of its sample in the running median; 0: none */
};

/* Handed to run(): tells whether the job has used up its turn and somebody else is waiting. */
struct turn;
bool turn_is_over(struct turn *turn);

enum job_state { JOB_DONE, JOB_YIELDS };

struct schedule_client {
    void *context;
    /* More fresh items: blocks until some are there and returns true with [*first, *last), or false at the end for good.
     * Called by a thread of its own, one block ahead of the workers, so that none of them waits in it. After schedule_stop it
     * is the caller's task to let it return. Items are numbers below 2^32 - 1. */
    bool (*refill)(void *context, uint32_t *first, uint32_t *last);
    /* Begins item `item` on `worker`; NULL: nothing to do for it. */
    struct job *(*start)(void *context, size_t worker, uint32_t item);
    /* Runs a job on `worker` until it is done (the client has let go of it) or it yields because turn_is_over said so.
     * A yielded job is run again later, perhaps by another worker. May go on past the end of its turn. Once a job is done the
     * scheduler does not touch its memory any more. */
    enum job_state (*run)(void *context, size_t worker, struct job *job, struct turn *turn);
};

struct schedule_options {
    size_t n_worker;
    double turn_medians;      /* a turn, in running median costs of a job: 16 */
    int64_t first_turn_ns;    /* before there is a median: 1 ms */
    size_t max_suspended;     /* yielded jobs beyond which fresh ones wait: 1024 */
    int64_t (*now_ns)(void);  /* a monotonic clock; NULL: the system's */
};

#define SCHEDULE_OPTIONS_DEFAULT {.n_worker = 1, .turn_medians = 16, .first_turn_ns = 1000000, .max_suspended = 1024}

struct schedule;
struct schedule *schedule_new(const struct schedule_options *options, const struct schedule_client *client,
                              struct error *error);
void schedule_free(struct schedule *schedule);
/* Once. Runs everything on n_worker threads (and one that refills). The calling thread does not work: schedule_start returns
 * at once, schedule_join waits until all is done, or stopped. A worker thread that cannot be created is an error only if none
 * can (fewer run then; schedule_n_worker tells). After a success schedule_join must be called. */
enum status schedule_start(struct schedule *schedule, struct error *error);
void schedule_join(struct schedule *schedule);
/* Any thread (not a signal handler): start nothing new, let turns be over at once, return from join soon. Jobs that were
 * suspended are handed to `abandon` by the thread in schedule_join, after the workers have ended. Only the first call
 * counts. */
void schedule_stop(struct schedule *schedule, void (*abandon)(void *context, struct job *job));
/* Any thread, any time (a progress display). */
size_t schedule_n_worker(const struct schedule *schedule);
size_t schedule_n_suspended(const struct schedule *schedule);

#endif
