/* Numbers datasets and experiments in the order of their first rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "import/owners.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between the ids of dataset and experiment: the unit separator, which no table has. */
enum { SEPARATOR = 0x1f };

static char *join(const char *dataset, const char *experiment)
{
    size_t n = strlen(dataset), m = strlen(experiment);
    char *key = malloc(n + m + 2);
    if (key)
        sprintf(key, "%s%c%s", dataset, SEPARATOR, experiment);
    return key;
}

uint32_t import_owner_add(struct import_owners *owners, const char *dataset, const char *experiment)
{
    char *key = join(dataset, experiment);
    uint32_t d = id_table_add(&owners->dataset, dataset), n = owners->experiment.n;
    uint32_t e = key && d != ID_NO_MEMORY ? id_table_add(&owners->experiment, key) : ID_NO_MEMORY;
    free(key);
    if (e == ID_NO_MEMORY ||
        !array_grow(&owners->dataset_of, n, &owners->room, sizeof *owners->dataset_of))
        return ID_NO_MEMORY;
    owners->dataset_of[e] = d;
    return e;
}

uint32_t import_owner_find(const struct import_owners *owners, const char *dataset,
                           const char *experiment)
{
    char *key = join(dataset, experiment);
    uint32_t e = key ? id_table_find(&owners->experiment, key) : ID_NONE;
    free(key);
    return e;
}

const char *import_experiment_id(const struct import_owners *owners, uint32_t experiment)
{
    return strrchr(owners->experiment.id[experiment], SEPARATOR) + 1;
}

enum status import_owners_order(const struct import_owners *owners, uint32_t **order,
                                uint32_t **first, struct error *error)
{
    uint32_t n_dataset = owners->dataset.n, n = owners->experiment.n;
    uint32_t *at = calloc((size_t)n_dataset + 2, sizeof *at),
             *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    *order = sorted;
    *first = at;
    if (!at || !sorted)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %u experiments", n);
    for (uint32_t e = 0; e < n; e++)
        at[owners->dataset_of[e] + 1]++;
    for (uint32_t d = 0; d < n_dataset; d++)
        at[d + 1] += at[d];
    for (uint32_t e = 0; e < n; e++) /* at[d] becomes the end of dataset d */
        sorted[at[owners->dataset_of[e]]++] = e;
    memmove(at + 1, at, n_dataset * sizeof *at);
    at[0] = 0;
    return STATUS_OK;
}

void import_owners_fini(struct import_owners *owners)
{
    id_table_fini(&owners->dataset);
    id_table_fini(&owners->experiment);
    free(owners->dataset_of);
    memset(owners, 0, sizeof *owners);
}
