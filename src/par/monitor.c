/* Mutex and condition variable on the monotonic clock, so that steps of the wall clock neither
 * wake nor delay a thread.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "par/monitor.h"

#include <time.h>

bool monitor_init(struct monitor *monitor)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    bool ok = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
              pthread_cond_init(&monitor->condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (ok && pthread_mutex_init(&monitor->mutex, NULL)) {
        pthread_cond_destroy(&monitor->condition);
        ok = false;
    }
    return ok;
}

void monitor_fini(struct monitor *monitor)
{
    pthread_cond_destroy(&monitor->condition);
    pthread_mutex_destroy(&monitor->mutex);
}

void monitor_enter(struct monitor *monitor) { pthread_mutex_lock(&monitor->mutex); }
void monitor_leave(struct monitor *monitor) { pthread_mutex_unlock(&monitor->mutex); }
void monitor_notify(struct monitor *monitor) { pthread_cond_broadcast(&monitor->condition); }

void monitor_wait(struct monitor *monitor, int timeout_ms)
{
    if (timeout_ms < 0) {
        pthread_cond_wait(&monitor->condition, &monitor->mutex);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&monitor->condition, &monitor->mutex, &until);
}
