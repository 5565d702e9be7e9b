/* A job as the scheduler sees it, and the evaluations that it has asked for, which lie between
 * the lanes that carry them out. Most jobs ask for one at a time and need no lock. It is at
 * rest, or lanes are at it: one runs its code, or any number carry out evaluations. The last of
 * them to finish resumes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/clock.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

#include <assert.h>

/* Whom a job makes room for when its turn is over. */
enum job_yields { YIELDS_TO_OTHERS, YIELDS_TO_STOP, YIELDS_NEVER };
enum job_state { JOB_DONE, JOB_YIELDS };

/* The first member of the caller's own struct. Under the lock if it is open, else its only
 * lane's, if not said otherwise. */
struct job {
    enum job_yields yields;      /* the caller's, set before it starts */
    /* computing for it, by all lanes together: the clock that its turns are measured with */
    _Atomic int64_t used_ns;
    _Atomic int64_t since_ns;    /* its code has been running since then; 0: it is not */
    struct monitor lock;
    /* asked for and not in a lane, linked by `next`; those that were set aside come first */
    struct evaluation *pending;
    size_t n_left;               /* asked for and not finished */
    size_t n_active;             /* lanes that are at it */
    /* the lane that takes its next evaluation; others come when they have nothing else */
    size_t keeper;
    /* the policy's */
    bool is_open;                /* in the list of jobs that other lanes may help */
    struct job *next_open;
    uint64_t cost_ticket;        /* of its sample in the running median; 0: none */
    _Atomic int64_t turn_start_ns;
    _Atomic bool is_over;
    _Atomic bool is_apart;       /* its latest evaluation shares no work with others in an engine */
    bool is_long, is_first_turn;
};

/* Zero-initialise before. False: out of memory. */
static inline bool job_init(struct job *job) { return monitor_init(&job->lock); }
static inline void job_fini(struct job *job) { monitor_fini(&job->lock); }

static inline void job_lock(struct job *job)
{
    if (job->is_open)
        monitor_enter(&job->lock);
}

static inline void job_unlock(struct job *job)
{
    if (job->is_open)
        monitor_leave(&job->lock);
}

/* The job's code, before it returns to the scheduler: what it waits for. */
static inline void job_ask(struct job *job, struct evaluation *const *evaluations, size_t n)
{
    job_lock(job);
    assert(job->n_left == 0 && !job->pending);
    struct evaluation **end = &job->pending;
    for (size_t k = 0; k < n; k++) {
        evaluations[k]->is_finished = false;
        *end = evaluations[k];
        end = &evaluations[k]->next;
    }
    *end = NULL;
    job->n_left = n;
    job_unlock(job);
}

/* Computing for it until now, its own code's included; nanoseconds. Lanes that help may ask while
 * its code runs. */
static inline int64_t job_elapsed_ns(const struct job *job)
{
    struct job *own = (struct job *)(uintptr_t)job;
    int64_t used_ns = atomic_load_explicit(&own->used_ns, memory_order_relaxed),
            since_ns = atomic_load_explicit(&own->since_ns, memory_order_relaxed);
    return used_ns + (since_ns ? clock_now_ns() - since_ns : 0);
}

/* What a lane that is at the job does next, when it has no evaluation of it (any more). */
enum job_step {
    JOB_RESUME, /* all answers are there: run its code */
    JOB_WORK,   /* on *evaluation; *is_more: there are others that no lane has taken */
    JOB_LEAVE,  /* other lanes are still at it */
    JOB_REST    /* this was the last one: the job goes into the policy's queue */
};

static inline struct evaluation *job_take_pending(struct job *job)
{
    struct evaluation *evaluation = job->pending;
    job->pending = evaluation->next;
    return evaluation;
}

static inline enum job_step job_next(struct job *job, size_t lane, bool is_over,
                                     struct evaluation **evaluation, bool *is_more)
{
    enum job_step step = JOB_LEAVE;
    job_lock(job);
    if (job->n_left == 0 && job->n_active == 1 && !is_over) {
        job->keeper = lane;
        step = JOB_RESUME;
    } else if (job->pending && job->keeper == lane && !is_over) {
        *evaluation = job_take_pending(job);
        *is_more = job->pending != NULL;
        step = JOB_WORK;
    } else if (--job->n_active == 0) {
        step = JOB_REST;
    }
    job_unlock(job);
    return step;
}

/* An evaluation of the job has left this lane, finished or not; `end`, unless NULL, is called
 * under the lock. */
static inline void job_return(struct job *job, struct evaluation *evaluation, bool finished,
                              void (*end)(void *context, size_t lane, struct job *job,
                                          struct evaluation *evaluation, bool finished),
                              void *context, size_t lane)
{
    job_lock(job);
    evaluation->is_finished = finished;
    if (finished) {
        job->n_left--;
    } else {
        evaluation->next = job->pending;
        job->pending = evaluation;
    }
    if (end)
        end(context, lane, job, evaluation, finished);
    job_unlock(job);
}

/* An additional lane takes an evaluation of an open job; NULL: there is none. */
static inline struct evaluation *job_help(struct job *job)
{
    struct evaluation *evaluation = NULL;
    job_lock(job);
    if (job->pending && job->n_active > 0) { /* else it is being put to rest */
        evaluation = job_take_pending(job);
        job->n_active++;
    }
    job_unlock(job);
    return evaluation;
}
