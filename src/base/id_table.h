/* Dataset ids in order of first appearance, found by hashing.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/arena.h"

#include <stdint.h>

enum { ID_NONE = 0xffffffff, ID_NO_MEMORY = 0xfffffffe };

/* Zero-initialise. */
struct id_table {
    struct arena arena;
    const char **id;    /* n */
    uint32_t n, capacity;
    uint32_t *slot;     /* index + 1, 0: empty; n_slot is a power of two */
    uint32_t n_slot;
};

/* The number of this id, which is added if it is new; or ID_NO_MEMORY. */
uint32_t id_table_add(struct id_table *table, const char *id);
/* The number of this id, or ID_NONE. */
uint32_t id_table_find(const struct id_table *table, const char *id);
/* Removes the latest ones, so that n are left. */
void id_table_drop(struct id_table *table, uint32_t n);
void id_table_fini(struct id_table *table);
