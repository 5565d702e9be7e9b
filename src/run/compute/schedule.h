/* Decides which worker runs what, and when. Each worker keeps its engine full: with evaluations of jobs that it has begun or
 * resumed, and if there are no more of these, with those that other jobs have asked for and no lane has taken yet. The
 * policy keeps long jobs from holding up short ones. It knows nothing of fits, so that it can be tested with clocks alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"
#include "run/compute/job.h"
#include "run/compute/schedule_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule_client {
    void *context;
    /* Fresh items: blocks until there are some and returns true with [*first, *last), or false if no more will follow. A
     * separate thread calls it, one block ahead of the workers, so that no worker waits in it. After schedule_stop the caller
     * must make it return. Items are numbers below 2^32 - 1. */
    bool (*refill)(void *context, uint32_t *first, uint32_t *last);
    /* Begins item `item`; NULL: it needs no work. */
    struct job *(*start)(void *context, size_t lane, uint32_t item);
    /* Runs a job's code until it has ended (false) or waits for what it has asked for with job_ask. The next call may come from
     * another thread. */
    bool (*resume)(void *context, size_t lane, struct job *job);
    /* The job has ended; the scheduler does not touch it any more. */
    void (*finish)(void *context, size_t lane, struct job *job);
    /* An evaluation enters a lane: for the first time, or after it was set aside. */
    void (*begin)(void *context, size_t lane, struct job *job, struct evaluation *evaluation);
    /* It leaves the lane. For evaluations of the same job calls come one after the other. */
    void (*end)(void *context, size_t lane, struct job *job, struct evaluation *evaluation, bool finished);
};

struct schedule;
struct schedule *schedule_new(const struct schedule_options *options, const struct schedule_client *client,
                              struct error *error);
void schedule_free(struct schedule *schedule);
/* Runs all jobs on n_worker threads, and one thread that refills; once per schedule. schedule_start returns at once;
 * schedule_join waits until everything is done or stopped. If some worker threads cannot be created, fewer run
 * (schedule_n_worker); it is an error if none can. After success schedule_join must be called. */
enum status schedule_start(struct schedule *schedule, struct error *error);
void schedule_join(struct schedule *schedule);
/* Any thread, but not a signal handler: starts no more jobs, ends all turns at once, and makes schedule_join return soon. The
 * thread in schedule_join passes suspended jobs to `abandon` after the workers have ended. Only the first call counts. */
void schedule_stop(struct schedule *schedule, void (*abandon)(void *context, struct job *job));
/* Any thread, any time (a progress display). */
size_t schedule_n_worker(const struct schedule *schedule);
size_t schedule_n_suspended(const struct schedule *schedule);
