/* What all parts of the compute process do: tell the user, and read and append to the journal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/compute.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void compute_say(struct compute *compute, const char *format, ...)
{
    char line[2200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    compute->hooks->say(compute->hooks->context, line);
}

/* Reading may take any time, so the supervisor does not watch it. */
enum status compute_read_journal(struct compute *compute, struct error *error)
{
    struct counter *phase = &compute->board->phase;
    uint64_t before = counter_get(phase);
    journal_reader_free(compute->earlier);
    compute->earlier = NULL;
    counter_set(phase, BOARD_PREPARING);
    const struct run_plan *plan = &compute->campaign.plan;
    enum status status = record_batch_flush(&compute->batch, error);
    if (!status)
        status = journal_read(&compute->earlier, plan->paths.journal, &plan->identity, error);
    counter_set(phase, before);
    return status;
}

bool compute_repeats(struct compute *compute)
{
    struct board *board = compute->board;
    if (board == &compute->private_board)
        return false;
    bool is_fresh = counter_add(&compute->trouble.n_short_of_memory, 1) == 1
                    && counter_get(&board->n_finished) == compute->n_finished_before;
    bool repeats = board_shrink(board) || !is_fresh || counter_get(&compute->trouble.wants_fresh);
    if (repeats)
        counter_set(&compute->trouble.wants_fresh, 1);
    return repeats;
}

enum status compute_journal_failure(struct compute *compute, uint64_t dataset, uint32_t task,
                                    enum outcome outcome, const char *reason, struct error *error)
{
    size_t n = compute->campaign.n_parameter;
    struct fit_record record = {.dataset = dataset, .start = task};
    void *arrays = calloc(1, fit_record_array_bytes(n));
    if (!arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the record of a fit");
    fit_record_set_arrays(&record, n, arrays);
    fit_record_begin(&record, n, 0);
    fit_record_fail(&record, outcome, reason);
    enum status status = journal_append(compute->journal, &record, error);
    if (!status && trace_wants(compute->trace, dataset))
        trace_end(compute->trace, &record);
    if (!status && task < compute->campaign.n_start)
        counter_add(&compute->board->n_failed, 1);
    free(arrays);
    return status;
}
