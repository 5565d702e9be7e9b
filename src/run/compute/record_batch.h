/* Records of short fits on their way to the journal: one system call for many of them. Separate
 * because the journal itself is for single records, and knows no threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/journal.h"
#include "par/monitor.h"

struct record_batch {
    struct monitor lock;
    struct journal *journal;
    unsigned char *bytes; /* complete records, n bytes of them */
    size_t n;
};

/* `journal` is open as long as the batch is used. False: out of memory. */
bool record_batch_init(struct record_batch *batch, struct journal *journal);
/* Flush it first. */
void record_batch_fini(struct record_batch *batch);
/* Thread-safe. The journal has the record of a fit that took long when this returns; that of a
 * short fit at the next flush at the latest. After an error the records since the last flush are
 * not in the journal. */
enum status record_batch_add(struct record_batch *batch, const struct fit_record *record,
                             struct error *error);
/* Thread-safe; called every few milliseconds by the thread that keeps time: a death of the
 * process costs the fits since then. */
enum status record_batch_flush(struct record_batch *batch, struct error *error);
