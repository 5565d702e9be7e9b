/* The feed: one thread reads the problem file block by block, the workers take ranges of items from it. An item is one of
 * a dataset's tasks; each dataset has equally many. Only the datasets that problem_select chose come along. A block is reused
 * as soon as its last item has begun, so memory stays the same however many datasets there are.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_FEED_H
#define RUN_FEED_H

#include "io/problem.h"
#include "par/monitor.h"

#include <stdbool.h>
#include <stdint.h>

enum { FEED_N_SLOT = 4 };

struct feed_slot {
    struct problem_block block;
    struct counter n_begun; /* items of the block that have begun (or were skipped) */
    uint64_t n_item;        /* 0: the slot is free */
};

/* Called by the reading thread for each block that it has read, before anybody else sees it. */
typedef enum status feed_prepare(void *context, struct problem_block *block, struct error *error);

struct feed {
    struct problem *problem;
    uint64_t n_dataset; /* of the problem, wanted or not */
    uint32_t block_size, n_item; /* datasets of a block at the most; items of a dataset */
    uint64_t n_read, n_handed; /* blocks; under the monitor */
    bool ended;                /* nothing more will come */
    feed_prepare *prepare;     /* NULL: nothing */
    void *context;
    struct monitor monitor;
    struct feed_slot slot[FEED_N_SLOT];
};

/* The problem must have been validated, and is read from where it stands. */
enum status feed_init(struct feed *feed, struct problem *problem, uint64_t n_dataset, uint64_t n_measurement,
                      uint32_t n_item, struct error *error);
void feed_fini(struct feed *feed);

/* The reading thread: reads one block if there is room and more to read; *did tells. Otherwise
 * waits up to wait_ms. */
enum status feed_read(struct feed *feed, int wait_ms, bool *did, struct error *error);
/* Any thread: the reading thread's wait ends early. */
void feed_wake(struct feed *feed);
/* The reading thread: nothing more will come; waiting workers go home. */
void feed_end(struct feed *feed);

/* A worker: the next range of items; waits. False at the end. Numbers are those of the block's place in the ring: they come
 * again once its items have begun. */
bool feed_next(struct feed *feed, uint32_t *first, uint32_t *last);
/* A worker: where the data of an item is that it has taken and not yet begun, and its number within its dataset. */
const struct problem_block *feed_block(struct feed *feed, uint32_t item, size_t *row, uint32_t *number);
/* A worker: this item has begun (its data has been copied) or needs nothing. */
void feed_begun(struct feed *feed, uint32_t item);

#endif
