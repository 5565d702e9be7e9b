/* A stealable range of work items [first, last): one atomic word whose value is its whole state.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAR_RANGE_H
#define PAR_RANGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct range {
    _Alignas(64) _Atomic uint64_t word; /* first in the high half, last in the low half; empty: first >= last */
};

/* Takes the first item (the owner). */
bool range_take(struct range *range, uint32_t *item);
/* Takes the later half, at least one item (a thief). */
bool range_steal(struct range *range, uint32_t *first, uint32_t *last);
/* Fills an empty range (the owner). */
void range_set(struct range *range, uint32_t first, uint32_t last);
uint32_t range_count(const struct range *range);

#endif
