/* Where refits begin: puts the best fits of a block's datasets, which the journal knows, in the place of their starts.
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
    bool incomplete; /* starts that the journal had are there no more */
};

enum status refit_starts_init(struct refit_starts *starts, struct journal_reader *journal,
                              const struct run_identity *identity, struct error *error);
void refit_starts_fini(struct refit_starts *starts);
/* A feed_prepare. A dataset without a successful fit becomes faulty: it has no refits. One without all its starts ends it:
 * the best of some of them is another place to begin at. */
enum status refit_starts_put(void *refit_starts, struct problem_block *block, struct error *error);

#endif
