/* A ring of blocks between the reading thread and the workers. The items of slot s are numbered from s * block_size *
 * n_item, so a worker finds an item's data by arithmetic. A worker holds an item that has not begun, so the block is not
 * overwritten in the meantime.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/feed.h"

#include <string.h>

enum { ROWS_PER_BLOCK = 65536, MAX_BLOCK = 4096 };

enum status feed_init(struct feed *feed, struct problem *problem, uint64_t n_dataset, uint64_t n_measurement,
                      uint32_t n_item, struct error *error)
{
    memset(feed, 0, sizeof *feed);
    /* A dataset's share of a block: its measurements, and its starts and bounds, which matter if there are many parameters. */
    uint64_t rows_each = (n_dataset ? n_measurement / n_dataset : 0) + problem_n_parameter(problem);
    uint64_t size = ROWS_PER_BLOCK / (rows_each ? rows_each : 1), most = (UINT32_MAX - 1u) / FEED_N_SLOT / n_item;
    size = size < MAX_BLOCK ? size : MAX_BLOCK;
    size = size < most ? size : most;
    feed->problem = problem;
    feed->n_dataset = n_dataset;
    feed->n_item = n_item;
    feed->block_size = size ? (uint32_t)size : 1;
    if (!monitor_init(&feed->monitor))
        return error_set(error, STATUS_NO_MEMORY, "out of memory for the reader of the problem file");
    return STATUS_OK;
}

void feed_fini(struct feed *feed)
{
    if (!feed->problem)
        return;
    for (int i = 0; i < FEED_N_SLOT; i++)
        problem_block_fini(&feed->slot[i].block);
    monitor_fini(&feed->monitor);
    feed->problem = NULL;
}

/* Inside the monitor: whether the slot of the next block is free. */
static bool has_room(struct feed *feed)
{
    struct feed_slot *slot = &feed->slot[feed->n_read % FEED_N_SLOT];
    return slot->n_item == 0 || (feed->n_read - feed->n_handed < FEED_N_SLOT && counter_get(&slot->n_begun) == slot->n_item);
}

enum status feed_read(struct feed *feed, int wait_ms, bool *did, struct error *error)
{
    *did = false;
    monitor_enter(&feed->monitor);
    if ((feed->ended || feed->is_read || !has_room(feed)) && !feed->is_woken)
        monitor_wait(&feed->monitor, wait_ms);
    feed->is_woken = false;
    bool room = !feed->ended && !feed->is_read && has_room(feed);
    struct feed_slot *slot = &feed->slot[feed->n_read % FEED_N_SLOT];
    monitor_leave(&feed->monitor);
    if (!room)
        return STATUS_OK;

    enum status status = problem_read(feed->problem, &slot->block, feed->block_size, SIZE_MAX, error);
    if (!status && slot->block.n && feed->prepare)
        status = feed->prepare(feed->context, &slot->block, error);
    if (status)
        return status;
    monitor_enter(&feed->monitor);
    bool is_last = slot->block.end == slot->block.first || slot->block.end >= feed->n_dataset;
    feed->is_read = is_last && feed->goes_on;
    feed->ended = feed->ended || (is_last && !feed->goes_on);
    slot->n_item = (uint64_t)slot->block.n * feed->n_item;
    counter_set(&slot->n_begun, 0);
    feed->n_read += slot->block.n > 0;
    monitor_notify(&feed->monitor);
    monitor_leave(&feed->monitor);
    *did = true;
    return STATUS_OK;
}

void feed_end(struct feed *feed)
{
    monitor_enter(&feed->monitor);
    feed->ended = true;
    feed->n_handed = feed->n_read;
    monitor_notify(&feed->monitor);
    monitor_leave(&feed->monitor);
}

void feed_again(struct feed *feed) { feed->is_read = false; }

void feed_wake(struct feed *feed)
{
    monitor_enter(&feed->monitor);
    feed->is_woken = true;
    monitor_notify(&feed->monitor);
    monitor_leave(&feed->monitor);
}

bool feed_next(struct feed *feed, uint32_t *first, uint32_t *last)
{
    monitor_enter(&feed->monitor);
    while (!feed->ended && feed->n_handed == feed->n_read)
        monitor_wait(&feed->monitor, -1);
    bool there = feed->n_handed < feed->n_read;
    if (there) {
        uint32_t i_slot = (uint32_t)(feed->n_handed++ % FEED_N_SLOT);
        *first = i_slot * feed->block_size * feed->n_item;
        *last = *first + (uint32_t)feed->slot[i_slot].n_item;
    }
    monitor_leave(&feed->monitor);
    return there;
}

static struct feed_slot *slot_of(struct feed *feed, uint32_t item)
{
    return &feed->slot[item / feed->n_item / feed->block_size];
}

const struct problem_block *feed_block(struct feed *feed, uint32_t item, size_t *row, uint32_t *number)
{
    const struct problem_block *block = &slot_of(feed, item)->block;
    *row = item / feed->n_item % feed->block_size;
    *number = item % feed->n_item;
    return block;
}

void feed_begun(struct feed *feed, uint32_t item)
{
    struct feed_slot *slot = slot_of(feed, item);
    uint64_t n_item = slot->n_item; /* read before the slot may be reused */
    if (counter_add(&slot->n_begun, 1) == n_item)
        feed_wake(feed);
}
