/* A bounded pool of what engines need for each evaluation, shared by the engines of all workers. An evaluation that is set
 * aside keeps its slot's content, and so few are set aside that a worker's engine always finds a free slot.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct engine_slot {
    _Alignas(64) atomic_bool taken; /* a cache line each: workers acquire and release all the time */
    void *content;                  /* the owner's */
};

struct engine_slots {
    size_t n, n_spare; /* at most n_spare are set aside */
    struct engine_slot *slot;
    size_t n_worker;
    atomic_size_t n_aside, n_engine;
};

/* False: out of memory. The contents are NULL. */
bool engine_slots_init(struct engine_slots *slots, size_t n, size_t n_spare, size_t n_worker);
void engine_slots_fini(struct engine_slots *slots); /* the contents are the caller's to free, before */
/* Takes a free slot, `preferred` if it is free. */
size_t engine_slots_take(struct engine_slots *slots, size_t preferred);
void engine_slots_give(struct engine_slots *slots, size_t i);
/* Counts a taken slot as set aside, or no longer. False: as many as may be are. */
bool engine_slots_set_aside(struct engine_slots *slots);
void engine_slots_resume(struct engine_slots *slots);
/* Counts engines; *number: how many there were. False: there are as many as workers. */
bool engine_slots_join(struct engine_slots *slots, size_t *number, struct error *error);
void engine_slots_leave(struct engine_slots *slots);
