/* Open addressing with linear probing; the strings lie in an arena.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/id_table.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t max_id = 0x7fffffff;

/* FNV-1a (Fowler, Noll & Vo), 64 bits folded. */
static uint32_t hash(const char *id)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 0x100000001b3u;
    return (uint32_t)(h ^ (h >> 32));
}

/* The slot that holds the id, or the empty one where it belongs. */
static uint32_t place_of(const struct id_table *table, const char *id)
{
    uint32_t mask = table->n_slot - 1, place = hash(id) & mask;
    while (table->slot[place] && strcmp(table->id[table->slot[place] - 1], id))
        place = (place + 1) & mask;
    return place;
}

static int grow(struct id_table *table)
{
    uint32_t capacity = table->capacity ? 2 * table->capacity : 64;
    const char **longer = realloc(table->id, capacity * sizeof *longer);
    if (!longer)
        return 0;
    table->id = longer;
    uint32_t *slot = calloc(4 * (size_t)capacity, sizeof *slot);
    if (!slot)
        return 0;
    free(table->slot);
    table->slot = slot;
    table->n_slot = 4 * capacity;
    table->capacity = capacity;
    for (uint32_t i = 0; i < table->n; i++)
        table->slot[place_of(table, table->id[i])] = i + 1;
    return 1;
}

uint32_t id_table_find(const struct id_table *table, const char *id)
{
    uint32_t place = table->n_slot ? place_of(table, id) : 0;
    return table->n_slot && table->slot[place] ? table->slot[place] - 1 : ID_NONE;
}

uint32_t id_table_add(struct id_table *table, const char *id)
{
    uint32_t found = id_table_find(table, id);
    if (found != ID_NONE)
        return found;
    if (table->n == table->capacity && (table->n >= max_id / 4 || !grow(table)))
        return ID_NO_MEMORY;
    if (!(table->id[table->n] = arena_strdup(&table->arena, id)))
        return ID_NO_MEMORY;
    table->slot[place_of(table, id)] = ++table->n;
    return table->n - 1;
}

void id_table_drop(struct id_table *table, uint32_t n)
{
    while (table->n > n) /* no earlier one was put behind the latest */
        table->slot[place_of(table, table->id[--table->n])] = 0;
}

void id_table_fini(struct id_table *table)
{
    arena_fini(&table->arena);
    free(table->id);
    free(table->slot);
    memset(table, 0, sizeof *table);
}
