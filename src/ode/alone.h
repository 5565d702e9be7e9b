/* An engine with one worker, the caller's thread: evaluations are finished when a call returns. For
 * commands that simulate, and for fits and evaluations in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "ode/engine.h"

struct ode_alone {
    struct engine_pool *pool;
    struct engine *engine;
    /* Ends this process (process_alarm) if the model's code computes for so many seconds between
     * two steps; 0: it may loop for ever. */
    int alarm_s;
};

/* `model` must outlive it. ode_alone_fini is legal after a failure, twice, and on a zeroed
 * struct. */
enum status ode_alone_init(struct ode_alone *alone, const struct model *model,
                           const struct ode_options *options, struct error *error);
void ode_alone_fini(struct ode_alone *alone);

/* As fit_host.ask; the context is the ode_alone. Returns true. */
bool ode_alone_ask(void *alone, struct evaluation *const *evaluations, size_t n);
/* ode_alone_ask, after which CVODES is asked for what lanes cannot integrate. */
bool ode_alone_ask_both(void *alone, struct evaluation *const *evaluations, size_t n);
