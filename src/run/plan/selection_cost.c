/* Shards of equal work. Work is measured in integrator steps. Unlike seconds these are the same
 * on every machine, so all shards compute the same deal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_cost.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "io/result.h"

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

enum status deal_by_cost(const uint64_t *cost, uint64_t n, uint32_t k, uint32_t n_shard,
                         unsigned char *bit, struct error *error)
{
    enum status status = STATUS_OK;
    struct item *item = malloc((size_t)(n + 1) * sizeof *item);
    struct part *heap = malloc((size_t)n_shard * sizeof *heap);
    if (!item || !heap) {
        status = error_set(error, STATUS_NO_MEMORY, "out of memory for dealing %llu datasets",
                           (unsigned long long)n);
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

static enum status other_problem(const struct result_block *rows, size_t i, const char *path,
                                 const struct problem *problem, struct error *error)
{
    return error_set(error, STATUS_BAD_PROBLEM,
                     "--cost-from %s: row %" PRIu64 " is dataset '%.100s', which is not in %s"
                     ": it is the result of another problem",
                     path, rows->first + i, rows->id[i], problem_info(problem)->path);
}

/* Rows must be the problem's datasets, in its order. */
static enum status take_rows(struct costs *costs, const struct result_block *rows, const char *path,
                             struct problem *problem, struct error *error)
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

static enum status read_costs(struct costs *costs, const char *path, struct problem *problem,
                              struct error *error)
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

static void describe(const struct shard *shard, const struct costs *costs,
                     char text[IDENTITY_SELECTION])
{
    struct sha256 hash;
    char hex[SHA256_HEX];
    sha256_begin(&hash);
    for (uint64_t d = 0; d < costs->n; d++)
        sha256_add_uint64(&hash, costs->cost[d]);
    sha256_end_hex(&hash, hex);
    snprintf(text, IDENTITY_SELECTION, "shard=%u/%u cost-from=%.32s", shard->k, shard->n, hex);
}

enum status selection_by_cost(const struct shard *shard, const char *result_path,
                              struct problem *problem, unsigned char *bit,
                              char text[IDENTITY_SELECTION], struct error *error)
{
    struct costs costs = {.n = problem_info(problem)->n_dataset};
    costs.cost = calloc((size_t)costs.n + 1, sizeof *costs.cost);
    costs.known = calloc((size_t)(costs.n / 8 + 1), 1);
    enum status status =
        costs.cost && costs.known
            ? read_costs(&costs, result_path, problem, error)
            : error_set(error, STATUS_NO_MEMORY, "out of memory for %" PRIu64 " costs", costs.n);
    if (!status) {
        fill_gaps(&costs);
        describe(shard, &costs, text);
        status = deal_by_cost(costs.cost, costs.n, shard->k, shard->n, bit, error);
    }
    arena_fini(&costs.arena);
    free(costs.cost);
    free(costs.known);
    return status;
}
