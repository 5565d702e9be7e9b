/* Reading ids in blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io/problem_ids.h"

#include "io/problem_internal.h"

#include <stdlib.h>

enum status problem_read_ids(struct problem *problem, struct problem_ids *ids, uint64_t first, size_t n,
                             struct error *error)
{
    uint64_t n_dataset = problem->info.n_dataset;
    ids->first = first;
    ids->n = 0;
    if (first >= n_dataset)
        return STATUS_OK;
    if (n > n_dataset - first)
        n = (size_t)(n_dataset - first);
    if (!ids->arena)
        ids->arena = calloc(1, sizeof *ids->arena);
    if (ids->arena)
        arena_reset(ids->arena);
    ids->id = ids->arena ? arena_calloc(ids->arena, n, sizeof *ids->id) : NULL;
    if (!ids->id)
        return error_set(error, STATUS_NO_MEMORY, "out of memory for %zu ids", n);
    enum status status = hdf5_column_read_strings(&problem->id, first, n, PROBLEM_MAX_NAME, ids->arena, ids->id, error);
    if (!status)
        ids->n = n;
    return status;
}

void problem_ids_fini(struct problem_ids *ids)
{
    if (ids->arena)
        arena_fini(ids->arena);
    free(ids->arena);
    *ids = (struct problem_ids){0};
}
