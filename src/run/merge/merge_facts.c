/* Facts of many results joined to one list.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOINED = 1000 };
static const char between[] = "; ", and_more[] = "; ...";

/* Facts of a single shard, which the merge sets itself. */
static const char *const own_facts[] = {"selection", "command_line", "merged"};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < sizeof own_facts / sizeof *own_facts; i++)
        if (!strcmp(own_facts[i], name))
            return true;
    return false;
}

static size_t find(const struct merge_facts *facts, const char *name)
{
    size_t i = 0;
    while (i < facts->n && strcmp(facts->name[i], name))
        i++;
    return i;
}

/* Whether one of the joined values is this one. */
static bool says(const char *joined, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = joined; *p;) {
        size_t n_here = (size_t)((strstr(p, between) ? strstr(p, between) : p + strlen(p)) - p);
        if (!strncmp(p, value, n) && (!p[n] || !strncmp(p + n, between, sizeof between - 1)))
            return true;
        p += n_here + (p[n_here] ? sizeof between - 1 : 0);
    }
    return !*joined && !n;
}

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NO_MEMORY, "out of memory for the provenance of shards");
}

static enum status add(struct merge_facts *facts, const char *name, const char *value, struct error *error)
{
    if (facts->n == MERGE_MAX_FACT)
        return STATUS_OK;
    facts->name[facts->n] = strdup(name);
    facts->value[facts->n] = strdup(value);
    facts->n++;
    return facts->name[facts->n - 1] && facts->value[facts->n - 1] ? STATUS_OK : no_memory(error);
}

static enum status join(struct merge_facts *facts, size_t i, const char *value, struct error *error)
{
    const char *before = facts->value[i];
    size_t n = strlen(before), n_more = sizeof and_more - 1;
    if (says(before, value))
        return STATUS_OK;
    facts->differ[i] = true;
    if (n >= n_more && !strcmp(before + n - n_more, and_more))
        return STATUS_OK;
    bool fits = n + strlen(value) <= MAX_JOINED;
    char *joined = malloc(n + strlen(value) + sizeof and_more);
    if (!joined)
        return no_memory(error);
    sprintf(joined, "%s%s%s", before, fits ? between : and_more, fits ? value : "");
    free(facts->value[i]);
    facts->value[i] = joined;
    return STATUS_OK;
}

enum status merge_facts_take(struct merge_facts *facts, const struct provenance *provenance, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < provenance->n && !status; i++) {
        if (is_own(provenance->name[i]))
            continue;
        size_t at = find(facts, provenance->name[i]);
        status = at == facts->n ? add(facts, provenance->name[i], provenance->value[i], error)
                                : join(facts, at, provenance->value[i], error);
    }
    return status;
}

enum status merge_facts_set(struct merge_facts *facts, const char *name, const char *value, struct error *error)
{
    size_t at = find(facts, name);
    if (at == facts->n)
        return add(facts, name, value, error);
    free(facts->value[at]);
    facts->value[at] = strdup(value);
    return facts->value[at] ? STATUS_OK : no_memory(error);
}

const char *merge_facts_difference(const struct merge_facts *facts, const char *name)
{
    size_t at = find(facts, name);
    return at < facts->n && facts->differ[at] ? facts->value[at] : NULL;
}

struct provenance merge_facts_provenance(const struct merge_facts *facts)
{
    return (struct provenance){facts->n, (const char *const *)facts->name, (const char *const *)facts->value};
}

void merge_facts_fini(struct merge_facts *facts)
{
    for (size_t i = 0; i < facts->n; i++) {
        free(facts->name[i]);
        free(facts->value[i]);
    }
    facts->n = 0;
}
