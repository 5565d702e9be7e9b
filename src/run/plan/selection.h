/* The datasets that this process fits: all of the problem, a shard (--shard), or a few by name
 * (--only). The result of a fit does not depend on the selection: its rows are those of the
 * whole run, bit for bit.
 *
 * The result of a selection (stiffit-file(5), "Shards") is an ordinary result with
 *   - rows of the selected datasets only, in the problem's order, and their row numbers in the
 *     problem in /fits/dataset;
 *   - tables /starts, /profiles, /bootstrap whose `dataset` is that number too;
 *   - /provenance@identity_selection, the text of struct selection, and @selection, a readable
 *     form of it;
 *   - everything else as in the whole run: shards belong together if all their other identity_*
 *     are equal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "io/problem/problem.h"
#include "io/journal/run_identity.h"
#include "run/plan/selection_request.h"

struct selection {
    uint64_t n_dataset, n;  /* of the problem; selected */
    unsigned char *bit;     /* bit d mod 8 of byte d / 8; NULL: all */
    /* Part of the run's identity: "" (everything), "shard=k/K" (k from 1; dataset i, from 0,
     * belongs to shard i mod K + 1), "shard=k/K cost-from=HASH" (dealt by costs, whose hash it
     * is) or "only=N:HASH"; followed by " retry=N:HASH" while failed datasets are fitted again. */
    char text[IDENTITY_SELECTION];
};

/* Makes the selection that is requested. selection_fini is legal after a failure and on a zeroed
 * struct. */
enum status selection_open(struct selection *selection, const struct selection_request *request,
                           struct problem *problem, struct error *error);
void selection_fini(struct selection *selection);

bool selection_has(const struct selection *selection, uint64_t dataset);
/* selection_has in the form that problem_select takes. */
bool selection_wants(const void *selection, uint64_t dataset);
/* The words "retry=..." of such a text; "" if it has none. */
const char *selection_retry_words(const char *text);

/* Keeps only the selected datasets whose bit is set. Takes ownership of `bit` (malloc'ed), and
 * adds the words to the text. */
void selection_narrow(struct selection *selection, unsigned char *bit, const char *words);

/* "shard 3 of 8: 125 of 1000 datasets"; "" if everything is selected. Returns `text`. */
const char *selection_describe(const struct selection *selection, char *text, size_t size);
/* Whether such a text names a shard, and which one: k from 1. */
bool selection_is_shard(const char *text, uint32_t *k, uint32_t *n);
