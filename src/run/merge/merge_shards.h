/* The shards of a merge: checks that they belong together, and reads them one at a time, so that
 * neither memory nor open files grow with their number, and merges their rows by dataset.
 * Separate from merge.c, which copies rows of each table.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/durable.h"
#include "io/result.h"
#include "io/result_tables.h"
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

/* Checks all shards, one after another. merge_shards_fini is legal after a failure and on a
 * zeroed struct. */
enum status merge_shards_check(struct merge_shards *shards, const struct merge_request *request,
                               struct error *error);
void merge_shards_fini(struct merge_shards *shards);
/* Opens shard i (from 0) again; the caller closes it. STATUS_SYSTEM: the file has changed. */
enum status merge_shards_open(const struct merge_shards *shards, size_t i, struct result **result,
                              struct error *error);

/* bytes of rows in memory at once, over all shards */
enum { MERGE_MEMORY = 64 << 20, MERGE_MIN_ROWS = 4 };

/* A table to be merged. Shards are numbered from 0. */
struct merge_kind {
    const char *column; /* the column with the dataset, for messages */
    /* Reads rows of a shard into memory, from `first` on; *n of them, 0: there are no more. */
    enum status (*load)(void *context, size_t shard, uint64_t first, size_t *n,
                        struct error *error);
    /* Row `at` of those: returns its dataset; takes it as the next row. */
    uint64_t (*dataset)(const void *context, size_t shard, size_t at);
    enum status (*take)(void *context, size_t shard, size_t at, struct error *error);
};

/* STATUS_BAD_PROBLEM: a shard's datasets decrease or are not in the problem. */
enum status merge_rows(const struct merge_shards *shards, const struct merge_kind *kind,
                       void *context, struct error *error);
/* How many rows of `row_bytes` each shard may have in memory. */
size_t merge_rows_at_once(const struct merge_shards *shards, size_t row_bytes);
