/* What is still to be done: executions of events and ends of infusions.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ode/stops_parts.h"

#include "ode/outcome.h"

#include <stdlib.h>
#include <string.h>

void *pending_grow(void *array, size_t n, size_t *most, size_t size)
{
    if (n < *most)
        return array;
    void *grown = realloc(array, (2 * n + 4) * size);
    if (grown)
        *most = 2 * n + 4;
    return grown;
}

bool pending_no_memory(struct simulation *sim)
{
    return outcome_fail(sim, EVALUATION_NO_MEMORY, "no memory for doses and events");
}

double *pending_numbers(const struct stops *s, size_t i)
{
    return s->pending.number + i * s->pending.stride;
}

double *pending_add(struct simulation *sim, struct pending_item later)
{
    struct stops *s = sim->stops;
    size_t most = s->pending.max;
    struct pending_item *grown =
        pending_grow(s->pending.entry, s->pending.n, &most, sizeof *s->pending.entry);
    if (grown)
        s->pending.entry = grown;
    double *numbers = grown && most > s->pending.max
                          ? realloc(s->pending.number, most * s->pending.stride * sizeof *numbers)
                          : s->pending.number;
    if (!grown || !numbers) {
        pending_no_memory(sim);
        return NULL;
    }
    s->pending.number = numbers;
    s->pending.max = most;
    later.order = s->pending.n_made++;
    s->pending.entry[s->pending.n] = later;
    numbers = pending_numbers(s, s->pending.n++);
    memset(numbers, 0, s->pending.stride * sizeof *numbers);
    return numbers;
}

void pending_remove(struct stops *s, size_t i)
{
    size_t last = --s->pending.n;
    s->pending.entry[i] = s->pending.entry[last];
    if (i != last)
        memcpy(pending_numbers(s, i), pending_numbers(s, last), s->pending.stride * sizeof(double));
}

bool pending_is_due(const struct stops *s, const struct pending_item *later)
{
    return !later->is_end && later->t <= s->limit && !later->is_waiting &&
           (s->is_late || !later->is_late);
}

void pending_cancel(struct stops *s, size_t event)
{
    bool can_lapse = stops_kind(s, event) & STIFFIT_EVENT_CAN_LAPSE;
    for (size_t i = s->pending.n; i-- > 0;)
        if (!s->pending.entry[i].is_end && s->pending.entry[i].index == event &&
            (can_lapse || s->pending.entry[i].is_waiting))
            pending_remove(s, i);
}
