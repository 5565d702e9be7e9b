/* Decides which worker runs what, and when. Each worker keeps its engine full: with evaluations
 * of jobs that it has begun or resumed, and if there are no more of these, with those that other
 * jobs have asked for and no lane has taken yet. The policy keeps long jobs from holding up
 * short ones. It knows nothing of fits, so that it can be tested with clocks alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"
#include "par/monitor.h"
#include "par/range.h"
#include "run/compute/job.h"
#include "run/compute/turn_length.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct schedule_options {
    size_t n_worker, n_lane;  /* lanes of each worker: at most the engines' capacity */
    struct engine *const *engine;     /* n_worker */
    struct counter *const *heartbeat; /* n_worker: see struct engine_turn; or NULL */
    struct counter *const *thread;    /* n_worker: gets the number of the worker's thread; or
                                       * NULL */
    double turn_medians;      /* a turn, in running median costs of a job: 16 */
    int64_t first_turn_ns;    /* before there is a median: 1 ms */
    size_t max_suspended;     /* yielded jobs beyond which fresh ones wait: 1024 */
    int64_t (*now_ns)(void);  /* a monotonic clock; NULL: the system's */
    enum engine_kind kind;    /* the engines' */
    const uint32_t *cost;     /* n_lane + 1: of what a worker's engine does, with so many
                               * evaluations in it, in any unit; NULL: they share no work */
};

#define SCHEDULE_OPTIONS_DEFAULT \
    {.n_worker = 1, .n_lane = 1, .turn_medians = 16, .first_turn_ns = 1000000, \
     .max_suspended = 1024}

struct schedule_client {
    void *context;
    /* Fresh items: blocks until there are some and returns true with [*first, *last), or false
     * if no more will follow. A separate thread calls it, one block ahead of the workers, so
     * that no worker waits in it. After schedule_stop the caller must make it return. Items are
     * numbers below 2^32 - 1. */
    bool (*refill)(void *context, uint32_t *first, uint32_t *last);
    /* Begins item `item`; NULL: it needs no work. */
    struct job *(*start)(void *context, size_t lane, uint32_t item);
    /* Runs a job's code until it has ended (false) or waits for what it has asked for with
     * job_ask. The next call may come from another thread. */
    bool (*resume)(void *context, size_t lane, struct job *job);
    /* The job has ended; the scheduler does not touch it any more. */
    void (*finish)(void *context, size_t lane, struct job *job);
    /* An evaluation enters a lane: for the first time, or after it was set aside. */
    void (*begin)(void *context, size_t lane, struct job *job, struct evaluation *evaluation);
    /* It leaves the lane. For evaluations of the same job calls come one after the other. */
    void (*end)(void *context, size_t lane, struct job *job, struct evaluation *evaluation,
                bool finished);
};

struct schedule;
struct schedule *schedule_new(const struct schedule_options *options,
                              const struct schedule_client *client, struct error *error);
void schedule_free(struct schedule *schedule);
/* Runs all jobs on n_worker threads, and one thread that refills; once per schedule.
 * schedule_start returns at once; schedule_join waits until everything is done or stopped. If
 * some worker threads cannot be created, fewer run (schedule_n_worker); it is an error if none
 * can. After success schedule_join must be called. */
enum status schedule_start(struct schedule *schedule, struct error *error);
void schedule_join(struct schedule *schedule);
/* Any thread, but not a signal handler: starts no more jobs, ends all turns at once, and makes
 * schedule_join return soon. The thread in schedule_join passes suspended jobs to `abandon`
 * after the workers have ended. Only the first call counts. */
void schedule_stop(struct schedule *schedule, void (*abandon)(void *context, struct job *job));
/* Any thread, any time (a progress display). */
size_t schedule_n_worker(const struct schedule *schedule);
size_t schedule_n_suspended(const struct schedule *schedule);

/* The scheduler without its threads: "lane, what next?" against any clock. The threads ask this,
 * and so do the virtual lanes of a simulation. All functions may be called by several threads. A
 * lane is a place for an evaluation in a worker's engine; where an engine holds one, lanes are
 * workers. */
enum { POLICY_N_SAMPLE = 16 };

struct policy_lane {
    bool asleep;        /* was sent to wait; under the lock */
    _Atomic bool is_apart; /* as its job's */
    int n_sample;       /* costs not yet shared with the others */
    int64_t sample_ns, sample[POLICY_N_SAMPLE];
};

/* Lanes of a worker are asked for by one thread. */
struct policy_worker {
    struct range range; /* its fresh items; other workers steal from it */
    size_t victim;      /* the worker to steal from first */
    size_t n_awake;     /* lanes that were not sent to wait; under the lock */
};

/* A long job is one that has used more than its first turn. All fields are protected by
 * `monitor` unless stated otherwise; the atomic ones are written under it and read anywhere. */
struct policy {
    struct monitor monitor; /* notified whenever `event` changes */
    _Atomic uint64_t event;
    size_t n_lane, long_share, max_suspended;
    struct policy_lane *lane;
    size_t n_each;        /* lanes of each worker, one worker's after the other's */
    size_t n_worker;
    struct policy_worker *worker;
    const uint32_t *cost; /* as in schedule_options */
    uint32_t offered_first, offered_last; /* a block of fresh items that no worker has taken yet */
    bool no_more;                         /* no block will follow */
    bool finished;
    struct job **waiting; /* a ring: yielded jobs in order of their turns */
    size_t waiting_first, waiting_capacity;
    struct turn_length length;
    struct job *open;        /* jobs whose evaluations other lanes may take */
    int64_t fresh_owed_ns;   /* one lane: time that fresh jobs still get before the next long
                              * turn; that lane's own */
    _Atomic size_t n_waiting, n_long, n_long_running, n_asleep; /* n_long: long jobs alive,
                                                                 * waiting or running */
    _Atomic bool offered, stopped;
    _Atomic int64_t turn_ns;
};

enum policy_action {
    POLICY_START,  /* choice->item, a fresh one */
    POLICY_RESUME, /* choice->job */
    POLICY_HELP,   /* choice->evaluation of choice->job, which other lanes are at */
    POLICY_WAIT,   /* policy_wait for choice->event, then ask again */
    POLICY_END
};
struct policy_choice {
    uint32_t item;
    struct job *job;
    struct evaluation *evaluation;
    uint64_t event;
};

/* False: out of memory. There are n_worker x n_lane lanes, at least 1; policy_set_n_lane may
 * lower that before any use. */
bool policy_init(struct policy *policy, const struct schedule_options *options);
void policy_fini(struct policy *policy);
void policy_set_n_lane(struct policy *policy, size_t n_lane);

/* True: a block of fresh items is wanted now, because the last one has been taken, or everything
 * has stopped and none is ever wanted again. False: call policy_wait for *event, then ask again. */
bool policy_wants(struct policy *policy, uint64_t *event);
void policy_offer(struct policy *policy, uint32_t first, uint32_t last);
void policy_no_more(struct policy *policy);

/* Sleeps while policy->event is `event`. */
void policy_wait(struct policy *policy, uint64_t event);
bool policy_has_news(const struct policy *policy, uint64_t event);
enum policy_action policy_next(struct policy *policy, size_t lane, struct policy_choice *choice);
/* Around a job's stay on lanes, a turn or more; `fresh`: its first. The job's clock is
 * job->used_ns. After policy_leave with JOB_DONE the job is not touched. */
void policy_enter(struct policy *policy, struct job *job, size_t lane, bool fresh);
/* An evaluation begins in a lane; is_apart: it shares no work with others in the engine. */
void policy_begin(struct policy *policy, struct job *job, size_t lane, bool is_apart);
bool policy_turn_is_over(struct policy *policy, struct job *job);
void policy_leave(struct policy *policy, struct job *job, size_t lane, enum job_state state);
/* The job has evaluations that no lane has taken: others may. */
void policy_open(struct policy *policy, struct job *job);
/* Whether a lane that helps a job should rather do something else. */
bool policy_has_better(const struct policy *policy);

void policy_stop(struct policy *policy);
/* Removes a waiting job; NULL: none. For the end, when no worker is left. */
struct job *policy_take_waiting(struct policy *policy);
