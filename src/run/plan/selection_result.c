/* Selections by what is in an earlier result: shards of equal work, and what failed. Work is measured in integrator steps.
 * Unlike seconds these are the same on every machine, so all shards compute the same deal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_source.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "run/plan/recipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest processing time first, with a heap of shards. */
struct item {
    uint64_t cost;
    uint32_t dataset;
};

struct part {
    uint64_t load;
    uint32_t k; /* from 0 */
};

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return (a->dataset > b->dataset) - (a->dataset < b->dataset);
}

static int is_less(const struct part *a, const struct part *b)
{
    return a->load != b->load ? a->load < b->load : a->k < b->k;
}

/* The root's cost has grown: restores the heap. */
static void sink(struct part *heap, uint32_t n)
{
    for (uint32_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_less(&heap[child + 1], &heap[child]))
            child++;
        if (!is_less(&heap[child], &heap[i]))
            break;
        struct part swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard, unsigned char *bit,
                         struct error *error)
{
    enum status status = STATUS_OK;
    struct item *item = malloc((size_t)(n + 1) * sizeof *item);
    struct part *heap = malloc((size_t)n_shard * sizeof *heap);
    if (!item || !heap) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for dealing %llu datasets", (unsigned long long)n);
        goto done;
    }
    for (uint64_t d = 0; d < n; d++)
        item[d] = (struct item){cost[d] ? cost[d] : 1, (uint32_t)d};
    for (uint32_t i = 0; i < n_shard; i++)
        heap[i] = (struct part){0, i};
    qsort(item, (size_t)n, sizeof *item, compare_items);
    for (uint64_t i = 0; i < n; i++) {
        if (heap[0].k == k - 1)
            bit[item[i].dataset / 8] |= (unsigned char)(1u << item[i].dataset % 8);
        heap[0].load += item[i].cost;
        sink(heap, n_shard);
    }
done:
    free(item);
    free(heap);
    return status;
}

enum { ROWS_AT_ONCE = 4096 };

struct costs {
    uint64_t n, n_known, next; /* next: later rows belong to this dataset or later ones */
    uint64_t *cost;
    unsigned char *known;
    struct arena arena;
};

static enum status other_problem(const struct result_block *rows, size_t i, const char *path, const struct problem *problem,
                                 struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM, "--cost-from %s: row %" PRIu64 " is dataset '%.100s', which is not in %s"
                     ": it is the result of another problem", path, rows->first + i, rows->id[i], problem_info(problem)->path);
}

/* Rows must be the problem's datasets, in its order. */
static enum status take_rows(struct costs *costs, const struct result_block *rows, const char *path, struct problem *problem,
                             struct error *error)
{
    uint64_t first = rows->record[0].dataset, last = rows->record[rows->n - 1].dataset;
    if (first < costs->next || last < first || last >= costs->n)
        return other_problem(rows, 0, path, problem, error);
    size_t n = (size_t)(last - first + 1);
    arena_reset(&costs->arena);
    char **id = arena_calloc(&costs->arena, n, sizeof *id);
    enum status status = id ? problem_read_ids(problem, first, n, &costs->arena, id, error)
                            : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
    for (size_t i = 0; !status && i < rows->n; i++) {
        uint64_t d = rows->record[i].dataset;
        if (d < costs->next || d > last || strcmp(id[d - first], rows->id[i]))
            return other_problem(rows, i, path, problem, error);
        costs->cost[d] = rows->record[i].n_step > 0 ? (uint64_t)rows->record[i].n_step : 0;
        selection_set(costs->known, d);
        costs->n_known++;
        costs->next = d + 1;
    }
    return status;
}

static enum status read_costs(struct costs *costs, const char *path, struct problem *problem, struct error *error)
{
    struct result *result = NULL;
    struct result_block rows = {0};
    enum status status = result_open(&result, path, error);
    if (!status)
        result_read_only(result, FIT_COLUMN_STEPS, FIT_COLUMN_DATASET);
    while (!status && result_next(result, &rows, ROWS_AT_ONCE, &status, error))
        status = take_rows(costs, &rows, path, problem, error);
    if (!status && costs->n_known == 0 && costs->n > 0)
        status = error_set(error, STATUS_BAD_PROBLEM, "--cost-from %s: has no rows", path);
    result_block_fini(&rows);
    result_close(result);
    return status;
}

static void fill_gaps(struct costs *costs)
{
    unsigned __int128 sum = 0;
    for (uint64_t d = 0; d < costs->n; d++)
        sum += costs->cost[d];
    for (uint64_t d = 0; costs->n_known && d < costs->n; d++)
        if (!(costs->known[d / 8] >> d % 8 & 1))
            costs->cost[d] = (uint64_t)(sum / costs->n_known);
}

static void describe(struct selection *selection, const struct shard *shard, const struct costs *costs)
{
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX];
    sha256_begin(&hash);
    for (uint64_t d = 0; d < costs->n; d++)
        sha256_add_uint64(&hash, costs->cost[d]);
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    snprintf(selection->text, sizeof selection->text, "shard=%u/%u cost-from=%.32s", shard->k, shard->n, hex);
}

enum status selection_by_cost(struct selection *selection, const struct shard *shard, const char *result_path,
                              struct problem *problem, struct error *error)
{
    struct costs costs = {.n = selection->n_dataset};
    costs.cost = calloc((size_t)costs.n + 1, sizeof *costs.cost);
    costs.known = calloc((size_t)(costs.n / 8 + 1), 1);
    enum status status = costs.cost && costs.known
                             ? read_costs(&costs, result_path, problem, error)
                             : error_set(error, STATUS_NO_MEMORY, "out of memory for %" PRIu64 " costs", costs.n);
    if (!status) {
        fill_gaps(&costs);
        describe(selection, shard, &costs);
        status = deal_by_cost(costs.cost, costs.n, shard->k, shard->n, selection->bit, error);
    }
    arena_fini(&costs.arena);
    free(costs.cost);
    free(costs.known);
    return status;
}

unsigned selection_n_retry(const struct result_info *info)
{
    unsigned n = 0;
    char name[40];
    do
        snprintf(name, sizeof name, "retry_%u_selection", ++n);
    while (provenance_fact(&info->provenance, name));
    return n - 1;
}

/* The words of a description that say what is minimised. */
static void objective_words(const char *description, char text[RECIPE_TEXT])
{
    struct recipe recipe;
    struct recipe_uses uses;
    recipe_read(&recipe, &uses, description);
    recipe_print_objective(&recipe, &uses, text);
}

static enum status check_same(const struct result_info *info, const struct run_identity *now, const char *selection,
                              struct error *error)
{
    char before_words[RECIPE_TEXT], now_words[RECIPE_TEXT], difference[900];
    struct run_identity like = *now; /* with what may differ made equal */
    const struct run_identity *before = &info->identity;
    memcpy(like.options, before->options, sizeof like.options);
    memcpy(like.description, before->description, sizeof like.description);
    snprintf(like.selection, sizeof like.selection, "%s", selection);
    like.n_start = before->n_start;
    like.n_refit = before->n_refit;
    if (!identity_equal(before, &like))
        return error_set(error, STATUS_SYSTEM, "--retry-failed: %s is not a result of this run: %s", info->path,
                         identity_difference(before, &like, difference, sizeof difference));
    objective_words(before->description, before_words);
    objective_words(now->description, now_words);
    if (strcmp(before_words, now_words))
        return error_set(error, STATUS_SYSTEM, "--retry-failed: %s: it minimised another objective (%.100s then, %.100s now), "
                                               "so the rows could not be compared", info->path, before_words, now_words);
    return STATUS_OK;
}

/* Bits of the failed ones; damaged rows are an error. */
static enum status find_failed(struct result *result, uint64_t n_dataset, unsigned char *bit, struct sha256 *hash,
                               uint64_t *n_failed, struct error *error)
{
    struct result_block rows = {0};
    const struct result_info *info = result_info(result);
    uint64_t next = 0;
    enum status status = STATUS_OK;
    result_read_only(result, FIT_COLUMN_STATUS, FIT_COLUMN_DATASET);
    while (result_next(result, &rows, ROWS_AT_ONCE, &status, error))
        for (size_t i = 0; !status && i < rows.n; i++) {
            uint64_t d = rows.record[i].dataset;
            if (d < next || d >= n_dataset) {
                status = error_set(error, STATUS_BAD_PROBLEM, "'%s': /fits/dataset row %llu is damaged", info->path,
                                   (unsigned long long)(rows.first + i));
            } else if (!outcome_is_success((enum outcome)rows.record[i].outcome)) {
                selection_set(bit, d);
                sha256_add_uint64(hash, d);
                ++*n_failed;
            }
            next = d + 1;
        }
    result_block_fini(&rows);
    return status;
}

enum status selection_by_failure(struct selection *selection, const char *result_path, const struct run_identity *now,
                                 struct error *error)
{
    struct result *result = NULL;
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES], *bit = NULL;
    char hex[SHA256_HEX], words[80];
    uint64_t n_failed = 0;
    enum status status = result_open(&result, result_path, error);
    if (status) {
        error_context(error, "--retry-failed needs a complete result: run the same command without it first");
        return status;
    }
    const struct result_info *info = result_info(result);
    status = check_same(info, now, selection->text, error);
    if (!status && !(bit = calloc((size_t)(selection->n_dataset / 8 + 1), 1)))
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for what failed");
    sha256_begin(&hash);
    sha256_add(&hash, info->identity.options, sizeof info->identity.options);
    sha256_add_uint64(&hash, selection_n_retry(info));
    if (!status)
        status = find_failed(result, selection->n_dataset, bit, &hash, &n_failed, error);
    if (!status) {
        sha256_end(&hash, digest);
        sha256_hex(digest, hex);
        snprintf(words, sizeof words, "retry=%llu:%.32s", (unsigned long long)n_failed, hex);
        selection_narrow(selection, bit, words);
        bit = NULL;
    }
    free(bit);
    result_close(result);
    return status;
}
