/* The shards of a merge: checks that they belong together, one at a time, so that open files do not
 * grow with their number, and joins what they say of themselves. Separate from merge.c, which
 * writes their rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/result/gather.h"
#include "run/merge/merge_request.h"

enum { MERGE_MAX_FACT = 128 };

/* The provenance of a merge: the facts of its shards, each once if all shards agree.
 * Zero-initialise. If shards differ, the value lists theirs, "A; B", truncated to fit. */
struct merge_facts {
    size_t n;
    char *name[MERGE_MAX_FACT], *value[MERGE_MAX_FACT];
    bool differ[MERGE_MAX_FACT];
};

/* Adds the facts of one shard, without those that only concern the shard itself. */
enum status merge_facts_take(struct merge_facts *facts, const struct provenance *provenance,
                             struct error *error);
/* Sets a fact of the merge itself, replacing the shards'. */
enum status merge_facts_set(struct merge_facts *facts, const char *name, const char *value,
                            struct error *error);
/* The shards' values of a fact if they differ; NULL: they agree. */
const char *merge_facts_difference(const struct merge_facts *facts, const char *name);
/* Points into the facts. */
struct provenance merge_facts_provenance(const struct merge_facts *facts);
void merge_facts_fini(struct merge_facts *facts);

struct merge_shard {
    struct gather_file file; /* as it was checked */
    uint32_t k;              /* from 1 */
};

struct merge_shards {
    struct merge_shard *shard;   /* n, in order of k */
    size_t n;
    uint32_t n_shard;            /* of the deal */
    uint64_t n_row;
    unsigned parts;              /* bits of enum fit_part that any of them has */
    bool has_table[N_KEPT_TABLE];
    char missing[400];           /* "3, 7-9"; "": none */
    struct merge_facts facts;
    struct result *first;        /* the first one that was named; stays open */
    const struct result_info *info; /* of the first shard; common to all */
};

/* Checks all shards, one after another. merge_shards_fini is legal after a failure and on a
 * zeroed struct. */
enum status merge_shards_check(struct merge_shards *shards, const struct merge_request *request,
                               struct error *error);
void merge_shards_fini(struct merge_shards *shards);
