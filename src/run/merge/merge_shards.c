/* Checks shards: all of the same run and deal, each present once.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_shards.h"

#include "run/plan/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void merge_shards_fini(struct merge_shards *shards)
{
    merge_facts_fini(&shards->facts);
    result_close(shards->first);
    free(shards->shard);
    *shards = (struct merge_shards){.shard = NULL};
}

/* The text of a selection after k/K: the rest of the deal, which all shards must share. */
static const char *deal_of(const char *selection) { return selection + strcspn(selection, " "); }

static enum status check_same_run(const struct result_info *first, const struct result_info *other, struct error *error)
{
    struct run_identity a = first->identity, b = other->identity;
    uint32_t k, n_first = 0, n_other = 0;
    char difference[900];
    selection_is_shard(a.selection, &k, &n_first);
    selection_is_shard(b.selection, &k, &n_other);
    if (n_first != n_other)
        return error_set(error, STATUS_SYSTEM, "%s is a shard of %u, %s of %u: they do not belong together", first->path,
                         n_first, other->path, n_other);
    if (strcmp(deal_of(a.selection), deal_of(b.selection)))
        return error_set(error, STATUS_SYSTEM, "%s and %s are shards of different deals (--cost-from): they do not belong "
                         "together", first->path, other->path);
    a.selection[0] = b.selection[0] = '\0';
    if (identity_equal(&a, &b))
        return STATUS_OK;
    return error_set(error, STATUS_SYSTEM, "%s and %s are shards of different runs: %s", first->path, other->path,
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

static enum status look_at_tables(struct merge_shards *shards, struct result *result, struct error *error)
{
    struct kept_sources tables = {{NULL}};
    enum status status = kept_sources_open(&tables, result, 0, error);
    for (int table = 0; table < N_KEPT_TABLE; table++)
        shards->has_table[table] = shards->has_table[table] || tables.of[table];
    kept_sources_close(&tables);
    return status;
}

/* Adds a shard: its identity, its columns and its facts. */
static enum status look_at(struct merge_shards *shards, const char *path, struct result *result, struct error *error)
{
    const struct result_info *info = result_info(result);
    struct merge_shard *shard = &shards->shard[shards->n++];
    shard->path = path;
    if (!selection_is_shard(info->identity.selection, &shard->k, &shards->n_shard))
        return error_set(error, STATUS_SYSTEM, "%s: is no shard's result (%s)", path,
                         info->identity.selection[0] ? info->identity.selection : "it has all datasets");
    if (!result_has(result, FIT_COLUMN_DATASET))
        return error_set(error, STATUS_BAD_PROBLEM, "%s: /fits/dataset is missing", path);
    shards->n_row += info->n_fit;
    for (int i = 0; i < N_RESULT_COLUMN; i++)
        if (i != FIT_COLUMN_DATASET && result_has(result, (enum fit_column)i))
            shards->parts |= fit_column_part((enum fit_column)i);
    enum status status = shards->info ? check_same_run(shards->info, info, error) : STATUS_OK;
    if (!status)
        status = look_at_tables(shards, result, error);
    return status ? status : merge_facts_take(&shards->facts, &info->provenance, error);
}

static enum status check_one(struct merge_shards *shards, const char *path, struct error *error)
{
    struct result *result = NULL;
    stamp_take(&shards->shard[shards->n].stamp, path);
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

enum status merge_shards_check(struct merge_shards *shards, const struct merge_request *request, struct error *error)
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
            return error_set(error, STATUS_SYSTEM, "%s and %s are both shard %u of %u", shards->shard[i - 1].path,
                             shards->shard[i].path, shards->shard[i].k, shards->n_shard);
    list_missing(shards);
    if (shards->missing[0] && !request->partial)
        return error_set(error, STATUS_SYSTEM, "missing of %u shards: %s. Run them (the same command fits what is left), or "
                         "merge what is there with --partial", shards->n_shard, shards->missing);
    return STATUS_OK;
}

enum status merge_shards_open(const struct merge_shards *shards, size_t i, struct result **result, struct error *error)
{
    const struct merge_shard *shard = &shards->shard[i];
    enum status status = result_open(result, shard->path, error);
    if (!status && !stamp_holds(&shard->stamp, shard->path))
        status = error_set(error, STATUS_SYSTEM, "%s: has been changed meanwhile", shard->path);
    return status;
}
