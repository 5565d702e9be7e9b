/* Threads that start together and are joined together: names, stacks and signal masks in one place.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAR_POOL_H
#define PAR_POOL_H

#include "base/error.h"

#include <stddef.h>

struct pool;

/* Creates up to n_thread threads, which wait for pool_run. They block all signals but those that report a fault of their own,
 * so that signals reach the thread that is meant to have them. Fewer threads than asked for are no error, none at all is:
 * then NULL. */
struct pool *pool_new(size_t n_thread, const char *name, struct error *error);
size_t pool_n_thread(const struct pool *pool);
/* Lets all threads call work(context, 0 ... n - 1), each once. At most once in a pool's life. */
void pool_run(struct pool *pool, void (*work)(void *context, size_t thread), void *context);
/* Waits until they have returned (or sends them home if there was no pool_run) and frees the pool. NULL is legal. */
void pool_join(struct pool *pool);

#endif
