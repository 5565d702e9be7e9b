/* Checks shards: all of the same run and deal, each present once. Joins their facts to one list.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_shards.h"

#include "run/plan/selection.h"

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

static enum status add(struct merge_facts *facts, const char *name, const char *value,
                       struct error *error)
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

enum status merge_facts_take(struct merge_facts *facts, const struct provenance *provenance,
                             struct error *error)
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

enum status merge_facts_set(struct merge_facts *facts, const char *name, const char *value,
                            struct error *error)
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
    return (struct provenance){facts->n, (const char *const *)facts->name,
                               (const char *const *)facts->value};
}

void merge_facts_fini(struct merge_facts *facts)
{
    for (size_t i = 0; i < facts->n; i++) {
        free(facts->name[i]);
        free(facts->value[i]);
    }
    facts->n = 0;
}

void merge_shards_fini(struct merge_shards *shards)
{
    merge_facts_fini(&shards->facts);
    result_close(shards->first);
    free(shards->shard);
    *shards = (struct merge_shards){.shard = NULL};
}

/* The text of a selection after k/K: the rest of the deal, which all shards must share. */
static const char *deal_of(const char *selection) { return selection + strcspn(selection, " "); }

static enum status check_same_run(const struct result_info *first, const struct result_info *other,
                                  struct error *error)
{
    struct run_identity a = first->identity, b = other->identity;
    uint32_t k, n_first = 0, n_other = 0;
    char difference[900];
    selection_is_shard(a.selection, &k, &n_first);
    selection_is_shard(b.selection, &k, &n_other);
    if (n_first != n_other)
        return error_set(error, STATUS_SYSTEM,
                         "%s is a shard of %u, %s of %u: they do not belong together", first->path,
                         n_first, other->path, n_other);
    if (strcmp(deal_of(a.selection), deal_of(b.selection)))
        return error_set(error, STATUS_SYSTEM,
                         "%s and %s were dealt by different costs (--cost-from): they do not "
                         "belong together",
                         first->path, other->path);
    a.selection[0] = b.selection[0] = '\0';
    if (!own_columns_equal(&first->column, &other->column))
        return error_set(error, STATUS_SYSTEM,
                         "%s and %s have different columns of datasets (/columns): the "
                         "problem was edited between the shards",
                         first->path, other->path);
    if (identity_equal(&a, &b))
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM, "%s and %s are shards of different runs: %s",
                     first->path, other->path,
                     identity_difference(&a, &b, difference, sizeof difference));
}

static int compare_k(const void *left, const void *right)
{
    const struct merge_shard *a = left, *b = right;
    return (a->k > b->k) - (a->k < b->k);
}

static void list_missing(struct merge_shards *shards)
{
    size_t used = 0, i = 0;
    for (uint32_t k = 1; k <= shards->n_shard; k++) {
        if (i < shards->n && shards->shard[i].k == k) {
            i++;
            continue;
        }
        uint32_t next = i < shards->n ? shards->shard[i].k : shards->n_shard + 1;
        char range[32];
        if (next - 1 > k)
            snprintf(range, sizeof range, "%u-%u", k, next - 1);
        else
            snprintf(range, sizeof range, "%u", k);
        if (used + strlen(range) + 8 < sizeof shards->missing)
            used += (size_t)sprintf(shards->missing + used, "%s%s", used ? ", " : "", range);
        else if (strcmp(shards->missing + used - 3, "..."))
            used += (size_t)sprintf(shards->missing + used, ", ...");
        k = next - 1;
    }
}

/* Adds a shard: its identity, its columns and its facts. */
static enum status look_at(struct merge_shards *shards, const char *path, struct result *result,
                           struct error *error)
{
    const struct result_info *info = result_info(result);
    struct merge_shard *shard = &shards->shard[shards->n++];
    shard->file.path = path;
    if (!selection_is_shard(info->identity.selection, &shard->k, &shards->n_shard))
        return error_set(error, STATUS_SYSTEM, "%s: is not the result of a shard (%s)", path,
                         info->identity.selection[0] ? info->identity.selection
                                                     : "it has all datasets");
    if (!result_has(result, FIT_COLUMN_DATASET))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: /fits/dataset is missing", path);
    shards->n_row += info->n_fit;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (i != FIT_COLUMN_DATASET && result_has(result, (enum fit_column)i))
            shards->parts |= fit_column_part((enum fit_column)i);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        shards->has_table[table] =
            shards->has_table[table] || result_has_kept(result, (enum kept_table)table);
    enum status status = shards->info ? check_same_run(shards->info, info, error) : STATUS_OK;
    return status ? status : merge_facts_take(&shards->facts, &info->provenance, error);
}

static enum status check_one(struct merge_shards *shards, const char *path, struct error *error)
{
    struct result *result = NULL;
    stamp_take(&shards->shard[shards->n].file.stamp, path);
    enum status status = result_open(&result, path, error);
    if (!status)
        status = look_at(shards, path, result, error);
    if (!status && !shards->first) {
        shards->first = result;
        shards->info = result_info(result);
    } else {
        result_close(result);
    }
    return status;
}

enum status merge_shards_check(struct merge_shards *shards, const struct merge_request *request,
                               struct error *error)
{
    enum status status = STATUS_OK;
    shards->shard = calloc(request->n + 1, sizeof *shards->shard);
    if (!shards->shard)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu shards", request->n);
    for (size_t i = 0; i < request->n && !status; i++)
        status = check_one(shards, request->path[i], error);
    if (status)
        return status;
    qsort(shards->shard, shards->n, sizeof *shards->shard, compare_k);
    for (size_t i = 1; i < shards->n; i++)
        if (shards->shard[i].k == shards->shard[i - 1].k)
            return error_set(error, STATUS_SYSTEM, "%s and %s are both shard %u of %u",
                             shards->shard[i - 1].file.path, shards->shard[i].file.path,
                             shards->shard[i].k,
                             shards->n_shard);
    list_missing(shards);
    if (shards->missing[0] && !request->partial)
        return error_set(error, STATUS_SYSTEM,
                         "missing of %u shards: %s. Run them (the same command fits what is left), "
                         "or merge what is there with --partial",
                         shards->n_shard, shards->missing);
    return STATUS_OK;
}
