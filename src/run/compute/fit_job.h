/* A fit as a job of the scheduler: a coroutine with its data, which asks a worker's engine for evaluations. Jobs are reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal.h"
#include "ode/engine.h"
#include "run/plan/campaign.h"
#include "run/compute/replay.h"
#include "run/compute/job.h"
#include "run/compute/trace.h"

struct fit_job;

/* NULL: out of memory. `replays`: NULL, or where long fits record the answers to their evaluations. `trace`: NULL, or where the
 * selected fits are traced; these never yield. */
struct fit_job *fit_job_new(const struct campaign *campaign, struct replays *replays, struct trace *trace);
/* Not while a fit is suspended in it. */
void fit_job_free(struct fit_job *job);

/* Task `number` of dataset `row` of the block; of a refit the block's start is the best fit. Copies what it needs, so that the
 * block may go. A traced fit never yields. False: out of memory. */
bool fit_job_begin(struct fit_job *job, const struct problem_block *block, size_t row, uint32_t number,
                   enum job_yields yields);
/* Runs the fit's code until it has ended (false) or has asked for evaluations; those that are known from an earlier process are
 * answered already. */
bool fit_job_resume(struct fit_job *job);
/* Around each evaluation that is computed; for those of the same fit one after the other. */
void fit_job_begin_evaluation(struct fit_job *job, const struct evaluation *evaluation);
void fit_job_end_evaluation(struct fit_job *job, const struct evaluation *evaluation);
/* The number of the fit that has begun in it: dataset * n_task + task. */
uint64_t fit_job_number(const struct fit_job *job);
/* After its end, once its record is in the journal: its answers may go. */
void fit_job_forget(struct fit_job *job);
/* Abandons an unfinished fit, so that the job may be freed or reused; its answers are kept for another process. */
void fit_job_abandon(struct fit_job *job, struct engine_pool *pool);
/* After its end: the record to journal; valid until the next fit_job_begin. */
const struct fit_record *fit_job_record(struct fit_job *job);

/* Free jobs are kept in lists through this link. */
struct fit_job **fit_job_link(struct fit_job *job);
