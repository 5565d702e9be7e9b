/* The provenance of a merge: the facts of its shards, each once if all shards agree. Separate because nothing else needs the
 * facts of all shards at once.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_MERGE_FACTS_H
#define RUN_MERGE_FACTS_H

#include "io/result.h"

enum { MERGE_MAX_FACT = 128 };

/* Zero-initialise. If shards differ, the value lists theirs, "A; B", truncated to fit. */
struct merge_facts {
    size_t n;
    char *name[MERGE_MAX_FACT], *value[MERGE_MAX_FACT];
    bool differ[MERGE_MAX_FACT];
};

/* Adds the facts of one shard, without those that only concern the shard itself. */
enum status merge_facts_take(struct merge_facts *facts, const struct provenance *provenance, struct error *error);
/* Sets a fact of the merge itself, replacing the shards'. */
enum status merge_facts_set(struct merge_facts *facts, const char *name, const char *value, struct error *error);
/* The shards' values of a fact if they differ; NULL: they agree. */
const char *merge_facts_difference(const struct merge_facts *facts, const char *name);
/* Points into the facts. */
struct provenance merge_facts_provenance(const struct merge_facts *facts);
void merge_facts_fini(struct merge_facts *facts);

#endif
