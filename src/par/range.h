/* A stealable range of work items [first, last): one atomic word whose value is its whole state.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct range {
    /* first in the high half, last in the low half; empty: first >= last */
    _Alignas(64) _Atomic uint64_t word;
};

/* Owner: takes the first item. False: the range is empty. */
bool range_take(struct range *range, uint32_t *item);
/* Thief: takes the later half, at least one item. False: the range is empty. */
bool range_steal(struct range *range, uint32_t *first, uint32_t *last);
/* Owner: fills an empty range. */
void range_set(struct range *range, uint32_t first, uint32_t last);
uint32_t range_count(const struct range *range);
