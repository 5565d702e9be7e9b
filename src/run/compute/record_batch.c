/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/compute/record_batch.h"

#include <stdlib.h>

enum { BATCH_BYTES = 16384 };
/* A fit that took so long, in seconds, is journalled at once. */
static const double LONG = 0.01;

bool record_batch_init(struct record_batch *batch, struct journal *journal)
{
    *batch = (struct record_batch){.journal = journal, .bytes = malloc(BATCH_BYTES)};
    if (batch->bytes && monitor_init(&batch->lock))
        return true;
    free(batch->bytes);
    batch->bytes = NULL;
    return false;
}

void record_batch_fini(struct record_batch *batch)
{
    if (!batch->bytes)
        return;
    monitor_fini(&batch->lock);
    free(batch->bytes);
}

/* Under the lock. */
static enum status flush(struct record_batch *batch, struct error *error)
{
    size_t n = batch->n;
    batch->n = 0;
    return n ? journal_append_bytes(batch->journal, batch->bytes, n, error) : STATUS_OK;
}

enum status record_batch_add(struct record_batch *batch, const struct fit_record *record,
                             struct error *error)
{
    enum status status = STATUS_OK;
    size_t size = journal_size(batch->journal, record);
    if (size > BATCH_BYTES || !(record->seconds < LONG))
        return journal_append(batch->journal, record, error);
    monitor_enter(&batch->lock);
    if (size > BATCH_BYTES - batch->n)
        status = flush(batch, error);
    if (!status)
        batch->n += journal_encode(batch->journal, record, batch->bytes + batch->n);
    monitor_leave(&batch->lock);
    return status;
}

enum status record_batch_flush(struct record_batch *batch, struct error *error)
{
    if (!batch->bytes)
        return STATUS_OK;
    monitor_enter(&batch->lock);
    enum status status = flush(batch, error);
    monitor_leave(&batch->lock);
    return status;
}
