/* The items of slot s are numbered from s * block_size * n_item, so a worker finds an item's
 * data by arithmetic. A worker holds an item that has not begun, so the block is not overwritten
 * in the meantime.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/block_ring.h"

#include <string.h>

enum { ROWS_PER_BLOCK = 65536, MAX_BLOCK = 4096 };

enum status block_ring_init(struct block_ring *ring, struct problem *problem, uint64_t n_dataset,
                            uint64_t n_measurement, uint32_t n_item, struct error *error)
{
    memset(ring, 0, sizeof *ring);
    /* A dataset's share of a block: its measurements, and its starts and bounds, which matter if
     * there are many parameters. */
    uint64_t rows_each = (n_dataset ? n_measurement / n_dataset : 0) + problem_n_parameter(problem);
    uint64_t size = ROWS_PER_BLOCK / (rows_each ? rows_each : 1),
             most = (UINT32_MAX - 1u) / RING_N_SLOT / n_item;
    size = size < MAX_BLOCK ? size : MAX_BLOCK;
    size = size < most ? size : most;
    ring->problem = problem;
    ring->n_dataset = n_dataset;
    ring->n_item = n_item;
    ring->block_size = size ? (uint32_t)size : 1;
    if (!monitor_init(&ring->monitor))
        return error_set(error, STATUS_NO_MEMORY,
                         "out of memory for the reader of the problem file");
    return STATUS_OK;
}

void block_ring_fini(struct block_ring *ring)
{
    if (!ring->problem)
        return;
    for (int i = 0; i < RING_N_SLOT; i++)
        problem_block_fini(&ring->slot[i].block);
    monitor_fini(&ring->monitor);
    ring->problem = NULL;
}

/* Inside the monitor: whether the slot of the next block is free. */
static bool has_room(struct block_ring *ring)
{
    struct ring_slot *slot = &ring->slot[ring->n_read % RING_N_SLOT];
    return slot->n_item == 0 || (ring->n_read - ring->n_handed < RING_N_SLOT &&
                                 counter_get(&slot->n_begun) == slot->n_item);
}

enum status block_ring_read(struct block_ring *ring, int wait_ms, bool *did, struct error *error)
{
    *did = false;
    monitor_enter(&ring->monitor);
    if ((ring->ended || ring->is_read || !has_room(ring)) && !ring->is_woken)
        monitor_wait(&ring->monitor, wait_ms);
    ring->is_woken = false;
    bool room = !ring->ended && !ring->is_read && has_room(ring);
    struct ring_slot *slot = &ring->slot[ring->n_read % RING_N_SLOT];
    monitor_leave(&ring->monitor);
    if (!room)
        return STATUS_OK;

    enum status status =
        problem_read(ring->problem, &slot->block, ring->block_size, SIZE_MAX, error);
    if (!status && slot->block.n && ring->prepare)
        status = ring->prepare(ring->context, &slot->block, error);
    if (status)
        return status;
    monitor_enter(&ring->monitor);
    bool is_last = slot->block.end == slot->block.first || slot->block.end >= ring->n_dataset;
    ring->is_read = is_last && ring->goes_on;
    ring->ended = ring->ended || (is_last && !ring->goes_on);
    slot->n_item = (uint64_t)slot->block.n * ring->n_item;
    counter_set(&slot->n_begun, 0);
    ring->n_read += slot->block.n > 0;
    monitor_notify(&ring->monitor);
    monitor_leave(&ring->monitor);
    *did = true;
    return STATUS_OK;
}

void block_ring_end(struct block_ring *ring)
{
    monitor_enter(&ring->monitor);
    ring->ended = true;
    ring->n_handed = ring->n_read;
    monitor_notify(&ring->monitor);
    monitor_leave(&ring->monitor);
}

void block_ring_again(struct block_ring *ring) { ring->is_read = false; }

void block_ring_wake(struct block_ring *ring)
{
    monitor_enter(&ring->monitor);
    ring->is_woken = true;
    monitor_notify(&ring->monitor);
    monitor_leave(&ring->monitor);
}

bool block_ring_next(struct block_ring *ring, uint32_t *first, uint32_t *last)
{
    monitor_enter(&ring->monitor);
    while (!ring->ended && ring->n_handed == ring->n_read)
        monitor_wait(&ring->monitor, -1);
    bool there = ring->n_handed < ring->n_read;
    if (there) {
        uint32_t i_slot = (uint32_t)(ring->n_handed++ % RING_N_SLOT);
        *first = i_slot * ring->block_size * ring->n_item;
        *last = *first + (uint32_t)ring->slot[i_slot].n_item;
    }
    monitor_leave(&ring->monitor);
    return there;
}

static struct ring_slot *slot_of(struct block_ring *ring, uint32_t item)
{
    return &ring->slot[item / ring->n_item / ring->block_size];
}

const struct problem_block *block_ring_item(struct block_ring *ring, uint32_t item, size_t *row,
                                            uint32_t *number)
{
    const struct problem_block *block = &slot_of(ring, item)->block;
    *row = item / ring->n_item % ring->block_size;
    *number = item % ring->n_item;
    return block;
}

void block_ring_begun(struct block_ring *ring, uint32_t item)
{
    struct ring_slot *slot = slot_of(ring, item);
    uint64_t n_item = slot->n_item; /* read before the slot may be reused */
    if (counter_add(&slot->n_begun, 1) == n_item)
        block_ring_wake(ring);
}
