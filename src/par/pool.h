/* Threads that start together and are joined together: names, stacks and signal masks in one place.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct pool;

/* Creates up to n_thread threads, which wait for pool_run. They block all signals except those
 * that report a fault of their own, so that signals reach the thread that handles them. Fewer
 * threads than requested are no error; NULL: there are none. */
struct pool *pool_new(size_t n_thread, const char *name, struct error *error);
size_t pool_n_thread(const struct pool *pool);
/* Makes the threads call work(context, i) with i = 0 ... n - 1, each once. At most once in a
 * pool's life. */
void pool_run(struct pool *pool, void (*work)(void *context, size_t thread), void *context);
/* Waits until the threads have returned (or ends them if there was no pool_run) and frees the
 * pool. NULL is legal. */
void pool_join(struct pool *pool);
