/* A ring of blocks: one thread reads the problem file block by block, and the workers take
 * ranges of items from it. An item is a task of a dataset; all datasets have the same number of
 * tasks. Only datasets chosen by problem_select are read. A block is reused as soon as its last
 * item has begun, so memory does not depend on the number of datasets.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/problem/problem.h"
#include "par/monitor.h"

#include <stdbool.h>
#include <stdint.h>

enum { RING_N_SLOT = 4 };

struct ring_slot {
    struct problem_block block;
    struct counter n_begun; /* items of the block that have begun (or were skipped) */
    uint64_t n_item;        /* 0: the slot is free */
};

/* Called by the reading thread for each block that it has read, before any other thread sees it. */
typedef enum status block_prepare(void *context, struct problem_block *block, struct error *error);

struct block_ring {
    struct problem *problem;
    uint64_t n_dataset; /* of the whole problem */
    uint32_t block_size, n_item; /* datasets of a block at the most; items of a dataset */
    uint64_t n_read, n_handed; /* blocks; under the monitor */
    bool ended;                /* no block will follow */
    bool goes_on;              /* at the end of the file another pass may follow */
    bool is_read;              /* the file's end is reached; the reading thread's */
    bool is_woken;             /* block_ring_wake was called since block_ring_read last waited */
    block_prepare *prepare;     /* NULL: nothing */
    void *context;
    struct monitor monitor;
    struct ring_slot slot[RING_N_SLOT];
};

/* The problem must have been validated; reading continues at its current position. */
enum status block_ring_init(struct block_ring *ring, struct problem *problem, uint64_t n_dataset,
                            uint64_t n_measurement, uint32_t n_item, struct error *error);
void block_ring_fini(struct block_ring *ring);

/* The reading thread: reads one block if there is room and more to read, and sets *did.
 * Otherwise waits up to wait_ms. */
enum status block_ring_read(struct block_ring *ring, int wait_ms, bool *did, struct error *error);
/* The reading thread, of a ring that goes on: begins another pass, after problem_select and
 * problem_rewind. */
void block_ring_again(struct block_ring *ring);
/* Any thread: wakes the reading thread, or makes its next wait return at once. */
void block_ring_wake(struct block_ring *ring);
/* The reading thread: no block will follow; waiting workers return. */
void block_ring_end(struct block_ring *ring);

/* A worker: waits for the next range of items. False at the end. Item numbers belong to the
 * block's slot in the ring, and are reused once all its items have begun. */
bool block_ring_next(struct block_ring *ring, uint32_t *first, uint32_t *last);
/* A worker: the data of an item that it has taken but not begun, and the item's number within
 * its dataset. */
const struct problem_block *block_ring_item(struct block_ring *ring, uint32_t item, size_t *row,
                                            uint32_t *number);
/* A worker: this item has begun (its data have been copied) or needs no data. */
void block_ring_begun(struct block_ring *ring, uint32_t item);
