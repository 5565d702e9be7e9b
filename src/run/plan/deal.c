/* Longest processing time first, with a heap of shards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/plan/deal.h"

#include <stdlib.h>

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
