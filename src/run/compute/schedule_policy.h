/* The policy of the scheduler without its threads: "worker, what next?" against any clock. The threads of schedule.c and the
 * virtual workers of a simulation drive exactly this code. All functions may be called by several threads, one per worker.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SCHEDULE_POLICY_H
#define RUN_SCHEDULE_POLICY_H

#include "par/monitor.h"
#include "par/range.h"
#include "run/compute/schedule.h"
#include "run/compute/turn_length.h"

enum { POLICY_N_SAMPLE = 16 };

struct policy_worker {
    struct range range; /* fresh items of this worker; others steal from it */
    bool asleep;        /* has been told to wait; under the lock */
    size_t victim;      /* whom to steal from first */
    int n_sample;       /* costs not yet told to the others */
    int64_t sample_ns, sample[POLICY_N_SAMPLE];
};

/* A long job is one that has used more than its first turn. Quantities are under `monitor` unless said otherwise; the atomic
 * ones are written under it and read anywhere. */
struct policy {
    struct monitor monitor; /* notified whenever `event` changes */
    uint64_t event;
    size_t n_worker, long_share, max_suspended;
    struct policy_worker *worker;
    uint32_t offered_first, offered_last; /* a block of fresh items that nobody has taken yet */
    bool no_more;                         /* no block will follow */
    bool finished;
    struct job **waiting; /* a ring: yielded jobs in order of their turns */
    size_t waiting_first, waiting_capacity;
    struct turn_length length;
    int64_t fresh_owed_ns;   /* one worker: time that fresh jobs still get before the next long turn; that worker's own */
    _Atomic size_t n_waiting, n_long, n_long_running, n_asleep; /* n_long: long jobs alive, waiting or running */
    _Atomic bool offered, stopped;
    _Atomic int64_t turn_ns;
};

/* One stay of a job on a worker. */
struct turn {
    struct policy *policy;
    int64_t (*now_ns)(void);
    struct job *job;
    size_t worker;
    int64_t entered_ns, start_ns; /* start of the current turn: later than the entry if nobody waited at its end */
    int64_t used_before_ns;
    uint64_t ticket;
    bool is_long, first, over;
};

enum policy_action {
    POLICY_START,  /* choice->item, a fresh one */
    POLICY_RESUME, /* choice->job */
    POLICY_WAIT,   /* policy_wait for choice->event, then ask again */
    POLICY_END
};
struct policy_choice {
    uint32_t item;
    struct job *job;
    uint64_t event;
};

/* False: out of memory. n_worker is that of the options, at least 1; policy_set_n_worker may lower it before any use. */
bool policy_init(struct policy *policy, const struct schedule_options *options);
void policy_fini(struct policy *policy);
void policy_set_n_worker(struct policy *policy, size_t n_worker);

/* Whether a block of fresh items is wanted now (the last one has been taken), or will never be again because everything has
 * stopped; if not: policy_wait for *event, then ask again. */
bool policy_wants(struct policy *policy, uint64_t *event);
void policy_offer(struct policy *policy, uint32_t first, uint32_t last);
void policy_no_more(struct policy *policy);

/* Sleeps while policy->event is `event`. */
void policy_wait(struct policy *policy, uint64_t event);
enum policy_action policy_next(struct policy *policy, size_t worker, struct policy_choice *choice);
/* Around a job's stay on a worker. `fresh`: its first. After policy_leave with JOB_DONE the job is not touched. */
void policy_enter(struct policy *policy, struct turn *turn, size_t worker, struct job *job, bool fresh, int64_t now_ns);
bool policy_turn_is_over(struct turn *turn, int64_t now_ns);
void policy_leave(struct turn *turn, enum job_state state, int64_t now_ns);

void policy_stop(struct policy *policy);
/* Takes a waiting job off, NULL: none. For the end, when no worker is left. */
struct job *policy_take_waiting(struct policy *policy);

#endif
