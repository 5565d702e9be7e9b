/* What the scheduler and its policy are told.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"

#include <stddef.h>
#include <stdint.h>

struct schedule_options {
    size_t n_worker, n_lane;  /* lanes of each worker: at most the engines' capacity */
    struct engine *const *engine;     /* n_worker */
    struct counter *const *heartbeat; /* n_worker: see struct engine_turn; or NULL */
    struct counter *const *thread;    /* n_worker: gets the number of the worker's thread; or NULL */
    double turn_medians;      /* a turn, in running median costs of a job: 16 */
    int64_t first_turn_ns;    /* before there is a median: 1 ms */
    size_t max_suspended;     /* yielded jobs beyond which fresh ones wait: 1024 */
    int64_t (*now_ns)(void);  /* a monotonic clock; NULL: the system's */
};

#define SCHEDULE_OPTIONS_DEFAULT \
    {.n_worker = 1, .n_lane = 1, .turn_medians = 16, .first_turn_ns = 1000000, .max_suspended = 1024}
