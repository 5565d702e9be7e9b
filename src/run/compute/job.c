/* A job's evaluations lie between the lanes that carry them out; most jobs ask for one at a time and
 * need no lock.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/job.h"

#include <assert.h>

static void lock(struct job *job)
{
    if (job->is_open)
        monitor_enter(&job->lock);
}

static void unlock(struct job *job)
{
    if (job->is_open)
        monitor_leave(&job->lock);
}

bool job_init(struct job *job) { return monitor_init(&job->lock); }
void job_fini(struct job *job) { monitor_fini(&job->lock); }

void job_ask(struct job *job, struct evaluation *const *evaluations, size_t n)
{
    lock(job);
    assert(job->n_left == 0 && !job->pending);
    struct evaluation **end = &job->pending;
    for (size_t k = 0; k < n; k++) {
        if (evaluations[k]->is_finished)
            continue;
        *end = evaluations[k];
        end = &evaluations[k]->next;
        job->n_left++;
    }
    *end = NULL;
    unlock(job);
}

static struct evaluation *take_pending(struct job *job)
{
    struct evaluation *evaluation = job->pending;
    job->pending = evaluation->next;
    return evaluation;
}

enum job_step job_next(struct job *job, size_t lane, bool is_over,
                       struct evaluation **evaluation, bool *is_more)
{
    enum job_step step = JOB_LEAVE;
    lock(job);
    if (job->n_left == 0 && job->n_active == 1 && !is_over) {
        job->keeper = lane;
        step = JOB_RESUME;
    } else if (job->pending && job->keeper == lane && !is_over) {
        *evaluation = take_pending(job);
        *is_more = job->pending != NULL;
        step = JOB_WORK;
    } else if (--job->n_active == 0) {
        step = JOB_REST;
    }
    unlock(job);
    return step;
}

void job_return(struct job *job, struct evaluation *evaluation, bool finished,
                void (*end)(void *context, size_t lane, struct job *job,
                            struct evaluation *evaluation, bool finished),
                void *context, size_t lane)
{
    lock(job);
    evaluation->is_finished = finished;
    if (finished) {
        job->n_left--;
    } else {
        evaluation->next = job->pending;
        job->pending = evaluation;
    }
    if (end)
        end(context, lane, job, evaluation, finished);
    unlock(job);
}

struct evaluation *job_help(struct job *job)
{
    struct evaluation *evaluation = NULL;
    lock(job);
    if (job->pending && job->n_active > 0) { /* else it is being put to rest */
        evaluation = take_pending(job);
        job->n_active++;
    }
    unlock(job);
    return evaluation;
}
