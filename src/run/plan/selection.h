/* The datasets that this process fits: all of the problem, a shard (--shard), or a few by name (--only). The result of
 * a fit does not depend on the selection: its rows are those of the whole run, bit for bit.
 *
 * The result of a selection (stiffit-file(5), "Shards") is an ordinary result with
 *   - rows of the selected datasets only, in the problem's order, and their row numbers in the problem in /fits/dataset;
 *   - tables /starts, /profiles, /bootstrap whose `dataset` is that number too;
 *   - /provenance@identity_selection, the text of struct selection, and @selection, a readable form of it;
 *   - everything else as in the whole run: shards belong together if all their other identity_* are equal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SELECTION_H
#define RUN_SELECTION_H

#include "base/error.h"
#include "io/journal.h"
#include "io/problem.h"
#include "io/result.h"

#include <stdint.h>

enum { SHARD_ORIGIN = 120 };

/* A part of the problem, given by --shard as k/K or by SLURM's environment. A problem is never sharded unless asked, and
 * unclear requests are refused: a part taken for the whole would be the worst outcome. Part k of n, from 1; n = 0:
 * everything. */
struct shard {
    uint32_t k, n;
    char origin[SHARD_ORIGIN]; /* where `slurm` found it, for display; "" for k/K */
};

/* "k/K" or "slurm". STATUS_USAGE if it is neither, or if SLURM's environment is neither a step nor a complete array.
 *
 * slurm: a step of several tasks (SLURM_STEP_ID; task SLURM_PROCID of SLURM_STEP_NUM_TASKS or SLURM_NTASKS), or an array that
 * starts at 0 or 1 and has no gaps (SLURM_ARRAY_TASK_ID, _MIN, _MAX, _COUNT, _STEP), perhaps with steps of one task in it. A
 * batch script with -n4 is neither: it has SLURM_PROCID = 0, but no step. */
enum status shard_parse(struct shard *shard, const char *text, struct error *error);

/* The request. */
struct selection_request {
    const char *only;         /* --only ID[,ID...]; NULL: all datasets */
    const char *shard_text;   /* --shard k/K or slurm; NULL: not sharded */
    struct shard shard;       /* what it means */
    const char *cost_from;    /* --cost-from RESULT; NULL: shards are interleaved */
};

struct selection {
    uint64_t n_dataset, n;  /* of the problem; selected */
    unsigned char *bit;     /* bit d mod 8 of byte d / 8; NULL: all */
    /* Part of the run's identity: "" (everything), "shard=k/K" (k from 1; dataset i, from 0, belongs to shard i mod K + 1),
     * "shard=k/K cost-from=HASH" (dealt by costs, whose hash it is) or "only=N:HASH"; followed by " retry=N:HASH" while failed
     * datasets are fitted again. */
    char text[IDENTITY_SELECTION];
};

/* Makes the selection that is requested. selection_fini is legal after a failure and on a zeroed struct. */
enum status selection_open(struct selection *selection, const struct selection_request *request, struct problem *problem,
                           struct error *error);
void selection_fini(struct selection *selection);

bool selection_has(const struct selection *selection, uint64_t dataset);
/* The same in the form that problem_select takes. */
bool selection_wants(const void *selection, uint64_t dataset);
/* --retry-failed: narrows the selection (which is as selection_open made it) to what failed in the result, none perhaps, and
 * adds "retry=N:HASH" to its text; the hash is of the result's identity, its earlier retries and the datasets. `now`: this
 * run, whose options may differ; the problem, the model, the seed, what is minimised and the selection may not. */
enum status selection_by_failure(struct selection *selection, const char *result_path, const struct run_identity *now,
                                 struct error *error);
/* The words "retry=..." of such a text; "" if it has none. */
const char *selection_retry_words(const char *text);
/* How often rows of this result have been retried. */
unsigned selection_n_retry(const struct result_info *info);

/* Keeps only the selected datasets whose bit is set. Takes ownership of `bit` (malloc'ed), and adds the words to the text. */
void selection_narrow(struct selection *selection, unsigned char *bit, const char *words);

/* "shard 3 of 8: 125 of 1000 datasets"; "" if everything is selected. Returns `text`. */
const char *selection_describe(const struct selection *selection, char *text, size_t size);
/* Whether such a text names a shard, and which one: k from 1. */
bool selection_is_shard(const char *text, uint32_t *k, uint32_t *n);
/* What a result is called after the selection: ".shard-3-of-8", ".only-ID" (".only-HASH" for several or strange ones), "". */
void selection_suffix(const struct selection_request *request, char *text, size_t size);

#endif
