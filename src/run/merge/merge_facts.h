/* The provenance of a merge: the facts of its shards, each once where they agree. Separate because nothing else needs all
 * shards' facts at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_FACTS_H
#define RUN_MERGE_FACTS_H

#include "io/result.h"

enum { MERGE_MAX_FACT = 128 };

/* Zero-initialise. Where shards differ, the value is what they say one after the other, "A; B", as far as there is room. */
struct merge_facts {
    size_t n;
    char *name[MERGE_MAX_FACT], *value[MERGE_MAX_FACT];
    bool differ[MERGE_MAX_FACT];
};

/* Takes those of one shard, less what a shard alone can say of itself. */
enum status merge_facts_take(struct merge_facts *facts, const struct provenance *provenance, struct error *error);
/* A fact of the merge's own, instead of what was there. */
enum status merge_facts_set(struct merge_facts *facts, const char *name, const char *value, struct error *error);
/* What the shards say of it if they differ; NULL: they agree. */
const char *merge_facts_difference(const struct merge_facts *facts, const char *name);
/* Points into the facts. */
struct provenance merge_facts_provenance(const struct merge_facts *facts);
void merge_facts_fini(struct merge_facts *facts);

#endif
