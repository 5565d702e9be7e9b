/* Shards of equal work. Work is measured in integrator steps. Unlike seconds these are the same
 * on every machine, so all shards compute the same deal.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/selection_cost.h"

#include "base/arena.h"
#include "base/sha256.h"
#include "io/result/gather.h"

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

enum { IDS_AT_ONCE = 4096 };

struct costs {
    uint64_t n, n_known;
    uint64_t *cost;
    unsigned char *known;
    struct problem *problem;
    char **id;           /* n_id ids of the problem, from dataset `first` on */
    uint64_t first, n_id;
    struct arena arena;  /* of them */
};

/* The id of a dataset; calls with increasing ones read each id once. NULL: an error. */
static const char *id_of(struct costs *costs, uint64_t dataset, struct error *error)
{
    if (dataset >= costs->first + costs->n_id) {
        uint64_t left = costs->n - dataset;
        size_t n = left < IDS_AT_ONCE ? (size_t)left : IDS_AT_ONCE;
        arena_reset(&costs->arena);
        costs->first = dataset;
        costs->n_id = 0;
        costs->id = arena_calloc(&costs->arena, n, sizeof *costs->id);
        if (!costs->id) {
            error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
            return NULL;
        }
        if (problem_read_ids(costs->problem, dataset, n, &costs->arena, costs->id, error))
            return NULL;
        costs->n_id = n;
    }
    return costs->id[dataset - costs->first];
}

/* Rows must be the problem's datasets. */
static enum status take_row(struct costs *costs, const struct gathered *row, struct error *error)
{
    uint64_t d = row->record->dataset;
    const char *id = id_of(costs, d, error);
    if (!id)
        return error->status;
    if (strcmp(id, row->id))
        return error_set(error, STATUS_BAD_PROBLEM,
                         "%s: row %" PRIu64 " is dataset '%.100s', which is not in %s: it is the "
                         "result of another problem",
                         row->path, row->row, row->id, problem_info(costs->problem)->path);
    costs->cost[d] = row->record->n_step > 0 ? (uint64_t)row->record->n_step : 0;
    selection_set(costs->known, d);
    costs->n_known++;
    return STATUS_OK;
}

static enum status read_costs(struct costs *costs, const char *path, struct error *error)
{
    static const enum fit_column only[] = {FIT_COLUMN_STEPS, FIT_COLUMN_DATASET};
    struct gather_file file = {.path = path};
    struct gather_request request = {.file = &file, .n = 1, .n_dataset = costs->n, .only = only};
    struct result *result = NULL;
    struct gather *gather = NULL;
    stamp_take(&file.stamp, path);
    enum status status = result_open(&result, path, error);
    if (!status) {
        request.n_parameter = result_info(result)->n_parameter;
        status = gather_new(&gather, &request, error);
    }
    for (struct gathered row; gather_next(gather, &row, &status, error);)
        status = take_row(costs, &row, error);
    if (!status && costs->n_known == 0 && costs->n > 0)
        status = error_set(error, STATUS_BAD_PROBLEM, "%s: has no rows", path);
    gather_free(gather);
    result_close(result);
    return status ? error_context(error, "--cost-from") : STATUS_OK;
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
    struct costs costs = {.n = problem_info(problem)->n_dataset, .problem = problem};
    costs.cost = calloc((size_t)costs.n + 1, sizeof *costs.cost);
    costs.known = calloc((size_t)(costs.n / 8 + 1), 1);
    enum status status =
        costs.cost && costs.known
            ? read_costs(&costs, result_path, error)
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
