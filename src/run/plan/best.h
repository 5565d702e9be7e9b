/* The best of a dataset's starts, read from the journal: for its row of the result, and as the
 * start of its refits.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"
#include "io/problem/problem.h"

/* Summary of a dataset's starts. */
struct starts_tally {
    bool any;                /* there is a start */
    uint32_t n_start;        /* number of starts found */
    struct fit_record work;  /* only its columns of work, over all of them */
};

/* Called for each start found, in order; a status other than OK ends the search. */
typedef enum status visit_start(void *context, const struct fit_record *record,
                                struct error *error);

/* How to read a dataset's starts. */
struct starts_reading {
    struct journal_reader *journal;
    const struct run_identity *identity;
    uint32_t chosen;    /* the start that wins, whatever its objective; or BY_OBJECTIVE */
    visit_start *visit; /* or NULL */
    void *context;
};
/* The best start as in fit/objective/start.h, with its note. `best` and `other` have arrays, which
 * may be exchanged. */
enum status best_of_starts(const struct starts_reading *reading, uint64_t dataset,
                           struct fit_record *best, struct fit_record *other,
                           struct starts_tally *tally, struct error *error);
/* The start of a fit over n_dataset datasets, with one record for each of them. Successes precede
 * failures, and starts that left out fewer datasets precede others, because sums of fewer terms
 * cannot be compared with theirs. objective[k] is the sum of start k, NaN if another start precedes
 * it; *chosen is the lowest one, or 0 if no start has any objective. */
enum status best_of_sums(struct journal_reader *journal, const struct run_identity *identity,
                         const uint32_t *dataset, size_t n_dataset, double *objective,
                         uint32_t *chosen, struct error *error);
enum { BY_OBJECTIVE = UINT32_MAX };

/* The starts of refits: a dataset's best fit replaces its starts. Zero-initialise before
 * refit_starts_init; refit_starts_fini is legal after a failure. */
struct refit_starts {
    struct journal_reader *journal; /* the caller's; one thread */
    const struct run_identity *identity;
    uint32_t chosen;                /* as in best_of_starts; refit_starts_init: BY_OBJECTIVE */
    struct fit_record best, other;
    void *arrays;
    bool incomplete; /* starts have disappeared from the journal */
};

enum status refit_starts_init(struct refit_starts *starts, struct journal_reader *journal,
                              const struct run_identity *identity, struct error *error);
void refit_starts_fini(struct refit_starts *starts);
/* The best fit of a dataset, in starts->best; is_fitted: it is a success. A dataset with missing
 * starts is an error, because the best of only some starts may be a different fit. */
enum status refit_starts_find(struct refit_starts *starts, uint64_t dataset, bool *is_fitted,
                              struct error *error);
/* A block_prepare. A dataset without a successful fit becomes faulty and has no refits. */
enum status refit_starts_put(void *refit_starts, struct problem_block *block, struct error *error);
