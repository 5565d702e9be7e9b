/* The starts of refits: replaces the starts of a block's datasets by their best fits from the journal.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_REFIT_START_H
#define RUN_REFIT_START_H

#include "io/journal.h"
#include "io/problem.h"

/* Zero-initialise before refit_starts_init; refit_starts_fini is legal after a failure. */
struct refit_starts {
    struct journal_reader *journal; /* the caller's; one thread */
    const struct run_identity *identity;
    struct fit_record best, other;
    void *arrays;
    bool incomplete; /* starts have disappeared from the journal */
};

enum status refit_starts_init(struct refit_starts *starts, struct journal_reader *journal,
                              const struct run_identity *identity, struct error *error);
void refit_starts_fini(struct refit_starts *starts);
/* A feed_prepare. A dataset without a successful fit becomes faulty and has no refits. A dataset with missing starts is an
 * error, because the best of only some starts may be a different fit. */
enum status refit_starts_put(void *refit_starts, struct problem_block *block, struct error *error);

#endif
