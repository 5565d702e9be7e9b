/* Which datasets this process works on: all of the problem's, one shard of them (--shard), or a few by name (--only).
 * What a fit comes to does not depend on it: a selection's rows are the whole run's rows, bit for bit.
 *
 * The result of a selection (stiffit-file(5), "Shards") is an ordinary result with
 *   - rows of the selected datasets alone, in the problem's order, and /fits/dataset, their row numbers in the problem,
 *   - tables /starts, /profiles, /bootstrap whose `dataset` is that number too,
 *   - /provenance@identity_selection, the text of struct selection, and @selection, the same for people,
 *   - everything else as the whole run has it: equal identity_* mean that shards belong together.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SELECTION_H
#define RUN_SELECTION_H

#include "io/journal.h"
#include "io/problem.h"
#include "io/result.h"
#include "run/plan/run_options.h"

struct selection {
    uint64_t n_dataset, n;  /* of the problem; selected */
    unsigned char *bit;     /* bit d mod 8 of byte d / 8; NULL: all */
    /* Part of the run's identity: "" (everything), "shard=k/K" (k from 1; dataset i, from 0, belongs to shard i mod K + 1),
     * "shard=k/K cost-from=HASH" (dealt by costs, whose hash it is) or "only=N:HASH"; behind it " retry=N:HASH" while failed
     * datasets are fitted anew. */
    char text[IDENTITY_SELECTION];
};

/* What the options ask for. selection_fini is legal after a failure and on a zeroed struct. */
enum status selection_open(struct selection *selection, const struct run_options *options, struct problem *problem,
                           struct error *error);
void selection_fini(struct selection *selection);

bool selection_has(const struct selection *selection, uint64_t dataset);
/* The same, as problem_select wants it. */
bool selection_wants(const void *selection, uint64_t dataset);
/* --retry-failed: narrows the selection (which is as selection_open made it) to what failed in the result, none perhaps, and
 * adds "retry=N:HASH" to its text; the hash is of the result's identity, its earlier retries and the datasets. `now`: this
 * run, whose options may differ; the problem, the model, the seed, what is minimised and the selection may not. */
enum status selection_by_failure(struct selection *selection, const char *result_path, const struct run_identity *now,
                                 struct error *error);
/* How often rows of this result have been retried. */
unsigned selection_n_retry(const struct result_info *info);

/* Keeps those of the selected datasets whose bit is set; takes over `bit` (malloc'ed), and adds the words to the text. */
void selection_narrow(struct selection *selection, unsigned char *bit, const char *words);

/* "shard 3 of 8: 125 of 1000 datasets"; "" where everything is selected. Returns `text`. */
const char *selection_describe(const struct selection *selection, char *text, size_t size);
/* Whether such a text is a shard's, and which: k from 1. */
bool selection_is_shard(const char *text, uint32_t *k, uint32_t *n);
/* What a result is called after the selection: ".shard-3-of-8", ".only-ID" (".only-HASH" for several or strange ones), "". */
void selection_suffix(const struct run_options *options, char *text, size_t size);

#endif
