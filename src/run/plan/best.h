/* The best of a dataset's starts, read back from the journal: for its row of the result, and for its refits to begin at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_BEST_H
#define RUN_BEST_H

#include "io/journal.h"

/* What a dataset's starts came to. */
struct starts_tally {
    bool any;                /* some start is there */
    uint32_t n_start;        /* those that are */
    double seconds;          /* of all of them, as are the counts */
    int64_t n_iteration, n_evaluation, n_step;
};

/* Called for each start that is there, in order; another status than OK ends the search. */
typedef enum status visit_start(void *context, const struct fit_record *record, struct error *error);

/* The lowest objective wins, whatever its start's status; where the certificate's evaluation does not confirm it, what it may
 * be off by is added. Where a success and a failure differ by less than 0.001 of the errors' variance, the success wins.
 * NOTE_lower_start is set in a failure that is lower than all successes. `best` and `other` have arrays, which
 * may change hands. visit may be NULL. */
enum status best_of_starts(struct journal_reader *journal, const struct run_identity *identity, uint64_t dataset,
                           struct fit_record *best, struct fit_record *other, struct starts_tally *tally,
                           visit_start *visit, void *context, struct error *error);

#endif
