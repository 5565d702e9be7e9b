/* Merging sorted rows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/merge/merge_rows.h"

#include <inttypes.h>
#include <stdlib.h>

/* The position in one shard. */
struct cursor {
    uint64_t first;   /* the file's row that is the first in memory */
    size_t n, at;     /* rows in memory, and which of them is next */
    uint64_t dataset; /* of the next row; UINT64_MAX: there are no more */
};

size_t merge_rows_at_once(const struct merge_shards *shards, size_t row_bytes)
{
    size_t n = MERGE_MEMORY / shards->n / row_bytes;
    return n > MERGE_MIN_ROWS ? n : MERGE_MIN_ROWS;
}

/* Moves to the row after `at`, reading more rows if necessary. */
static enum status go_to(const struct merge_shards *shards, const struct merge_kind *kind, void *context, size_t i,
                         struct cursor *cursor, struct error *error)
{
    uint64_t before = cursor->dataset;
    enum status status = STATUS_OK;
    if (cursor->at == cursor->n) {
        cursor->first += cursor->n;
        cursor->at = 0;
        status = kind->load(context, i, cursor->first, &cursor->n, error);
    }
    if (status)
        return status;
    cursor->dataset = cursor->n ? kind->dataset(context, i, cursor->at) : UINT64_MAX;
    if (!cursor->n)
        return STATUS_OK;
    if (cursor->first + cursor->at > 0 && cursor->dataset < before)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s does not increase at row %" PRIu64, shards->shard[i].path,
                         kind->column, cursor->first + cursor->at);
    if (cursor->dataset >= shards->info->identity.n_dataset)
        return error_set(error, STATUS_BAD_PROBLEM, "%s: %s is %" PRIu64 " at row %" PRIu64 "; there are %" PRIu64 " datasets",
                         shards->shard[i].path, kind->column, cursor->dataset, cursor->first + cursor->at,
                         shards->info->identity.n_dataset);
    return STATUS_OK;
}

/* The shard with the lowest next dataset. `soonest`: no row is of an earlier dataset; if shards are dealt in turn, the shard
 * after `last` has it. */
static size_t first_of(const struct cursor *cursor, size_t n, size_t last, uint64_t soonest)
{
    size_t least = last;
    for (size_t step = 0; step < n; step++) {
        size_t i = (last + step) % n;
        if (cursor[i].dataset <= soonest)
            return i;
        if (cursor[i].dataset < cursor[least].dataset)
            least = i;
    }
    return least;
}

enum status merge_rows(const struct merge_shards *shards, const struct merge_kind *kind, void *context, struct error *error)
{
    struct cursor *cursor = calloc(shards->n, sizeof *cursor);
    enum status status = cursor ? STATUS_OK : error_set(error, STATUS_NO_MEMORY, "out of memory for %zu shards", shards->n);
    uint64_t soonest = 0;
    for (size_t i = 0; i < shards->n && !status; i++)
        status = go_to(shards, kind, context, i, &cursor[i], error);
    for (size_t i = 0; !status;) {
        i = first_of(cursor, shards->n, i, soonest);
        if (cursor[i].dataset == UINT64_MAX)
            break;
        uint64_t dataset = cursor[i].dataset;
        status = kind->take(context, i, cursor[i].at, error);
        cursor[i].at++;
        if (!status)
            status = go_to(shards, kind, context, i, &cursor[i], error);
        soonest = cursor[i].dataset == dataset ? dataset : dataset + 1;
    }
    free(cursor);
    return status;
}
