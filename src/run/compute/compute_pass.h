/* A pass over the datasets: the workers carry out tasks of each, and the main thread reads
 * the datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "run/compute/compute.h"

/* Whose tasks these are: those of fits of one dataset, or the evaluations of fits over many. */
struct pass_tasks {
    /* Workers. Item `number` of a dataset is this task; false: there is nothing to do for it. */
    bool (*find)(const struct compute *compute, uint64_t dataset, uint32_t number, uint32_t *task);
    /* The task has ended; is_short: some part of the fit found no memory. The record is valid until
     * the call returns. True: it is in the journal, and what was kept of the task may go. */
    bool (*finish)(struct compute *compute, const struct fit_record *record, bool is_short);
    /* It cannot begin; or it is a suspect, which is tried later, alone. */
    void (*fail)(struct compute *compute, uint64_t dataset, uint32_t task, enum outcome outcome,
                 const char *reason);
    void (*put_off)(struct compute *compute, uint64_t dataset);
    /* The main thread: shows the progress. */
    void (*show)(struct compute *compute);
    /* The main thread, between reads: begins the next pass over the file, until nothing is left
     * to wait for. NULL: there is one pass. */
    enum status (*serve)(struct compute *compute, bool *goes_on, struct error *error);
};

/* Also OK if it was stopped. `prepare`: as in block_ring.h, or NULL. *journal_gone, with an error:
 * another process has removed the journal. */
enum status compute_run_pass(struct compute *compute, const struct stage *stage,
                             block_prepare *prepare, void *context,
                             bool *journal_gone, struct error *error);
/* A pass as compute_run_pass makes it, followed by one of what was set aside in it. */
enum status compute_stage(struct compute *compute, const struct stage *stage,
                          block_prepare *prepare, void *context, bool *journal_gone,
                          struct error *error);
/* Worker: a task of the stage is done; or set aside. */
void compute_count_done(struct compute *compute), compute_count_put_off(struct compute *compute);
/* Whether a fit of this dataset is a suspect; the context is the struct compute. */
bool compute_has_suspects(const void *context, uint64_t dataset);
/* Frees the jobs that are kept for other fits; no worker runs. */
void compute_free_jobs(struct workers *workers);
/* Whether the last stage did all that was wanted. */
bool compute_is_complete(const struct compute *compute);
