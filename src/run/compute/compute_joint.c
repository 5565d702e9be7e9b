/* One fit over all datasets: each pass of the search is a stage, in which every dataset is an item of the scheduler, so that
 * its evaluations are spread over workers and lanes like those of independent fits.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include "run/supervise/child.h"

#include <stdio.h>
#include <stdlib.h>

/* What an earlier process journalled of datasets that crashed or hung: they end the fit. Other records are from an end that was
 * interrupted, and are written again. */
static enum status take_crashes(struct compute *compute, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    struct fit_record record = {.reason = ""};
    enum status status = compute_read_journal(compute, error);
    for (uint64_t fit = 0; !status && (fit = journal_next(compute->earlier, fit)) != UINT64_MAX; fit++) {
        struct error trouble = {.status = STATUS_OK};
        if (!journal_get(compute->earlier, fit, &record, &trouble))
            continue;
        bool is_hung = record.outcome == OUTCOME_timeout && record.n_evaluation == 0;
        if (record.outcome == OUTCOME_crashed || is_hung)
            joint_block_fail(campaign->joint, (size_t)(fit / campaign->n_task), (enum outcome)record.outcome, record.reason);
    }
    return status;
}

static enum status write_records(struct compute *compute, struct error *error)
{
    struct campaign *campaign = &compute->campaign;
    size_t n = campaign->n_parameter;
    struct fit_record record = {.start = 0};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    enum status status = arrays ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for the records of the fit");
    if (arrays)
        fit_record_set_arrays(&record, n, arrays);
    for (size_t i = 0; !status && i < campaign->n_dataset; i++) {
        joint_record(campaign->joint, i, &record);
        record.seconds = campaign->joint->block[i].seconds;
        if (!outcome_is_success((enum outcome)record.outcome))
            counter_add(&compute->board->n_failed, 1);
        status = journal_append(compute->journal, &record, error);
        counter_add(&compute->board->n_finished, 1);
    }
    free(arrays);
    return status;
}

enum status compute_joint(struct compute *compute, bool *journal_gone, struct error *error)
{
    const struct campaign *campaign = &compute->campaign;
    const struct stage stage = {.n_task = 1, .n_wanted = campaign->n_dataset};
    bool goes_on = true;
    enum status status = take_crashes(compute, error);
    for (size_t i = 0; i < campaign->n_dataset; i++)
        goes_on = goes_on && campaign->joint->block[i].outcome == OUTCOME_not_run;
    if (!status && !goes_on) {
        joint_advance(campaign->joint);
        compute->stage = stage;
        counter_set(&compute->n_done, campaign->n_dataset);
    }
    while (!status && goes_on) {
        status = compute_stage(compute, &stage, NULL, NULL, journal_gone, error);
        if (status || !compute_is_complete(compute))
            return status;
        goes_on = joint_advance(campaign->joint);
        if (goes_on && stop_is_requested()) {
            counter_set(&compute->n_done, 0);
            return STATUS_OK;
        }
    }
    return status ? status : write_records(compute, error);
}
