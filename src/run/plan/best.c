/* Choosing among starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/best.h"

#include "fit/objective/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status best_of_starts(const struct starts_reading *reading, uint64_t dataset,
                           struct fit_record *best, struct fit_record *other,
                           struct starts_tally *tally, struct error *error)
{
    const bool by_objective = reading->chosen == BY_OBJECTIVE;
    double lowest_success = INFINITY;
    *tally = (struct starts_tally){.any = false};
    for (uint32_t start = 0; start < reading->identity->n_start; start++) {
        if (!journal_get_task(reading->journal, dataset, start, other, error)) {
            if (error->status)
                return error->status;
            continue;
        }
        fit_record_add_work(&tally->work, other);
        tally->n_start++;
        enum status status =
            reading->visit ? reading->visit(reading->context, other, error) : STATUS_OK;
        if (status)
            return status;
        if (outcome_is_success((enum outcome)other->outcome))
            lowest_success = fmin(lowest_success, other->objective);
        if (!tally->any ||
            (by_objective ? fit_start_beats(other, best) : start == reading->chosen)) {
            struct fit_record swap = *best;
            *best = *other;
            *other = swap;
        }
        tally->any = true;
    }
    if (tally->any && by_objective)
        fit_start_note(best, lowest_success);
    return STATUS_OK;
}

enum status refit_starts_init(struct refit_starts *starts, struct journal_reader *journal,
                              const struct run_identity *identity, struct error *error)
{
    size_t bytes = (fit_record_array_bytes(identity->n_parameter) + 7) / 8 * 8;
    *starts = (struct refit_starts){.journal = journal,
                                    .identity = identity, .chosen = BY_OBJECTIVE,
                                    .arrays = calloc(2, bytes)};
    if (!starts->arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters",
                         (unsigned)identity->n_parameter);
    fit_record_set_arrays(&starts->best, identity->n_parameter, starts->arrays);
    fit_record_set_arrays(&starts->other, identity->n_parameter, (char *)starts->arrays + bytes);
    return STATUS_OK;
}

void refit_starts_fini(struct refit_starts *starts)
{
    free(starts->arrays);
    starts->arrays = NULL;
}

enum status best_of_sums(struct journal_reader *journal, const struct run_identity *identity,
                         const uint32_t *dataset, size_t n_dataset, double *objective,
                         uint32_t *chosen, struct error *error)
{
    struct refit_starts room;
    enum status status = refit_starts_init(&room, journal, identity, error);
    double lowest = INFINITY;
    uint64_t most = 0;
    bool is_short = false; /* a start found no memory: it might have been the best one */
    *chosen = 0;
    for (uint32_t start = 0; !status && start < identity->n_start; start++) {
        double sum = 0;
        uint64_t n = 0;
        bool is_success = false;
        for (size_t d = 0; !status && d < n_dataset; d++) {
            if (journal_get_task(journal, dataset[d], start, &room.best, error)) {
                bool is_part = !isnan(room.best.objective); /* not one that was left out */
                sum += is_part ? room.best.objective : 0;
                n += is_part;
                is_success = is_success || outcome_is_success((enum outcome)room.best.outcome);
                is_short = is_short || room.best.outcome == OUTCOME_out_of_memory;
            }
            status = error->status;
        }
        if (is_short) {
            objective[start] = NAN;
            *chosen = start;
            break;
        }
        n += is_success ? n_dataset : 0; /* more than any failure has */
        for (uint32_t k = 0; n > most && k < start; k++)
            objective[k] = NAN;
        lowest = n > most ? (double)INFINITY : lowest;
        most = n > most ? n : most;
        objective[start] = n > 0 && n == most ? sum : (double)NAN;
        if (objective[start] < lowest) {
            lowest = sum;
            *chosen = start;
        }
    }
    refit_starts_fini(&room);
    return status;
}

enum status refit_starts_find(struct refit_starts *starts, uint64_t dataset, bool *is_fitted,
                              struct error *error)
{
    struct starts_tally tally;
    *is_fitted = false;
    const struct starts_reading reading = {starts->journal, starts->identity, starts->chosen,
                                           NULL, NULL};
    enum status status =
        best_of_starts(&reading, dataset, &starts->best, &starts->other, &tally, error);
    if (status)
        return status;
    if (tally.n_start < starts->identity->n_start) {
        starts->incomplete = true;
        return error_set(error, STATUS_SYSTEM, "fits have been removed from the journal meanwhile");
    }
    *is_fitted = tally.any && outcome_is_success((enum outcome)starts->best.outcome);
    return STATUS_OK;
}

enum status refit_starts_put(void *refit_starts, struct problem_block *block, struct error *error)
{
    static char no_fit[] = "there is no successful fit to begin at";
    struct refit_starts *starts = refit_starts;
    size_t n = starts->identity->n_parameter;
    for (size_t row = 0; row < block->n; row++) {
        bool is_fitted;
        if (block->fault[row])
            continue;
        enum status status = refit_starts_find(starts, block->dataset[row], &is_fitted, error);
        if (status)
            return status;
        if (!is_fitted) {
            block->fault[row] = no_fit;
            continue;
        }
        memcpy(block->start + row * n, starts->best.parameter, n * sizeof *block->start);
        block->rtol[row] = starts->best.rtol;
        block->n_noise[row] = starts->best.n_own_noise;
    }
    return STATUS_OK;
}
