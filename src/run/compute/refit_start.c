/* Best fits as starts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/refit_start.h"

#include "run/plan/best.h"

#include <stdlib.h>
#include <string.h>

enum status refit_starts_init(struct refit_starts *starts, struct journal_reader *journal,
                              const struct run_identity *identity, struct error *error)
{
    size_t bytes = (fit_record_array_bytes(identity->n_parameter) + 7) / 8 * 8;
    *starts = (struct refit_starts){.journal = journal, .identity = identity, .arrays = calloc(2, bytes)};
    if (!starts->arrays)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u parameters", (unsigned)identity->n_parameter);
    fit_record_set_arrays(&starts->best, identity->n_parameter, starts->arrays);
    fit_record_set_arrays(&starts->other, identity->n_parameter, (char *)starts->arrays + bytes);
    return STATUS_OK;
}

void refit_starts_fini(struct refit_starts *starts)
{
    free(starts->arrays);
    starts->arrays = NULL;
}

enum status refit_starts_put(void *refit_starts, struct problem_block *block, struct error *error)
{
    static char no_fit[] = "there is no successful fit to begin at";
    struct refit_starts *starts = refit_starts;
    size_t n = starts->identity->n_parameter;
    struct starts_tally tally;
    for (size_t row = 0; row < block->n; row++) {
        if (block->fault[row])
            continue;
        enum status status = best_of_starts(starts->journal, starts->identity, block->dataset[row], &starts->best,
                                            &starts->other, &tally, NULL, NULL, error);
        if (status)
            return status;
        if (tally.n_start < starts->identity->n_start) {
            starts->incomplete = true;
            return error_set(error, STATUS_SYSTEM, "fits have been removed from the journal meanwhile");
        }
        if (!tally.any || !outcome_is_success((enum outcome)starts->best.outcome)) {
            block->fault[row] = no_fit;
            continue;
        }
        memcpy(block->start + row * n, starts->best.parameter, n * sizeof *block->start);
        block->rtol[row] = starts->best.rtol;
    }
    return STATUS_OK;
}
