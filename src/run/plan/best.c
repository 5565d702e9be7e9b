/* Choosing among starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/best.h"

#include <math.h>

static bool is_better(const struct fit_record *a, const struct fit_record *b)
{
    bool a_success = outcome_is_success((enum outcome)a->outcome), b_success = outcome_is_success((enum outcome)b->outcome);
    if (a_success != b_success)
        return a_success;
    return a->objective < b->objective || (isnan(b->objective) && !isnan(a->objective));
}

enum status best_of_starts(struct journal_reader *journal, const struct run_identity *identity, uint64_t dataset,
                           struct fit_record *best, struct fit_record *other, struct starts_tally *tally,
                           visit_start *visit, void *context, struct error *error)
{
    *tally = (struct starts_tally){.any = false};
    for (uint32_t start = 0; start < identity->n_start; start++) {
        error->status = STATUS_OK;
        if (!journal_get(journal, dataset * identity_n_task(identity) + start, other, error)) {
            if (error->status)
                return error->status;
            continue;
        }
        tally->seconds += other->seconds;
        tally->n_iteration += other->n_iteration;
        tally->n_evaluation += other->n_evaluation;
        tally->n_step += other->n_step;
        tally->n_start++;
        enum status status = visit ? visit(context, other, error) : STATUS_OK;
        if (status)
            return status;
        if (!tally->any || is_better(other, best)) {
            struct fit_record swap = *best;
            *best = *other;
            *other = swap;
        }
        tally->any = true;
    }
    return STATUS_OK;
}
