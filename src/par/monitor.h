/* A mutex with a condition variable, and atomic counters: the only primitives that higher layers
 * need from threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct monitor {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
};

bool monitor_init(struct monitor *monitor); /* false: no memory */
void monitor_fini(struct monitor *monitor);
void monitor_enter(struct monitor *monitor);
void monitor_leave(struct monitor *monitor);
/* Inside: waits for a notification, for at most `timeout_ms` (< 0: no limit). May return
 * spuriously. */
void monitor_wait(struct monitor *monitor, int timeout_ms);
void monitor_notify(struct monitor *monitor); /* inside; wakes all waiting threads */

/* A number that any thread may add to or read; lock-free, and so also usable in memory shared by
 * processes. */
struct counter {
    _Atomic uint64_t value;
};
static inline uint64_t counter_add(struct counter *counter, uint64_t n) /* returns the new value */
{
    return atomic_fetch_add_explicit(&counter->value, n, memory_order_acq_rel) + n;
}
static inline void counter_set(struct counter *counter, uint64_t n)
{
    atomic_store_explicit(&counter->value, n, memory_order_release);
}
static inline uint64_t counter_get(const struct counter *counter)
{
    return atomic_load_explicit(&((struct counter *)(uintptr_t)counter)->value,
                                memory_order_acquire);
}
