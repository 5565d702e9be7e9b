/* The shards of a merge: checks that they belong together, and reads them one at a time, so that neither memory nor open
 * files grow with their number. Separate from merge.c, which copies rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_SHARDS_H
#define RUN_MERGE_SHARDS_H

#include "io/result.h"
#include "io/result_kept.h"
#include "run/merge/merge.h"
#include "run/merge/merge_facts.h"
#include "run/supervise/stamp.h"

struct merge_shard {
    const char *path;   /* the request's */
    uint32_t k;         /* from 1 */
    struct stamp stamp; /* of the file that was checked */
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

/* Checks all shards, one after another. merge_shards_fini is legal after a failure and on a zeroed struct. */
enum status merge_shards_check(struct merge_shards *shards, const struct merge_request *request, struct error *error);
void merge_shards_fini(struct merge_shards *shards);
/* Opens shard i (from 0) again; the caller closes it. STATUS_SYSTEM: the file has changed. */
enum status merge_shards_open(const struct merge_shards *shards, size_t i, struct result **result, struct error *error);

#endif
