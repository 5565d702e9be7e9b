/* Takes and gives slots without locks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/engine_slots.h"

#include <stdlib.h>

bool engine_slots_init(struct engine_slots *slots, size_t n, size_t n_spare, size_t n_worker)
{
    *slots = (struct engine_slots){.n = n, .n_spare = n_spare, .n_worker = n_worker};
    slots->slot = aligned_alloc(64, n * sizeof *slots->slot);
    for (size_t i = 0; slots->slot && i < n; i++) {
        atomic_init(&slots->slot[i].taken, false);
        slots->slot[i].content = NULL;
    }
    return slots->slot;
}

void engine_slots_fini(struct engine_slots *slots) { free(slots->slot); }

/* A slot is always free, but another worker may take the one tried here; hence the loop. */
size_t engine_slots_take(struct engine_slots *slots, size_t preferred)
{
    for (size_t i = preferred;; i = (i + 1) % slots->n) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&slots->slot[i].taken, &expected, true))
            return i;
    }
}

void engine_slots_give(struct engine_slots *slots, size_t i) { atomic_store(&slots->slot[i].taken, false); }

bool engine_slots_set_aside(struct engine_slots *slots)
{
    size_t n_aside = atomic_load(&slots->n_aside);
    do {
        if (n_aside >= slots->n_spare)
            return false;
    } while (!atomic_compare_exchange_weak(&slots->n_aside, &n_aside, n_aside + 1));
    return true;
}

void engine_slots_resume(struct engine_slots *slots) { atomic_fetch_sub(&slots->n_aside, 1); }

bool engine_slots_join(struct engine_slots *slots, size_t *number, struct error *error)
{
    *number = atomic_fetch_add(&slots->n_engine, 1);
    if (*number < slots->n_worker)
        return true;
    atomic_fetch_sub(&slots->n_engine, 1);
    error_set(error, STATUS_INTERNAL, "more engines than the %zu workers that the pool was made for", slots->n_worker);
    return false;
}

void engine_slots_leave(struct engine_slots *slots) { atomic_fetch_sub(&slots->n_engine, 1); }
