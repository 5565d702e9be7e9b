/* The progress of a run for a person: one line redrawn on a terminal, sparse plain lines elsewhere.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include "base/terminal.h"

#include <stdint.h>

/* The caller brings the time, in seconds since anything, so that tests bring their own. */
struct progress {
    FILE *file;
    const char *unit;       /* what is counted, in the plural: "fits" */
    uint64_t total, before; /* before: done by an earlier run; they do not count for the rate */
    bool shown, redraw, color;
    bool line_is_open;      /* a redrawn line stands on the terminal */
    int width;
    double begun_s, told_s, now_s;
    uint64_t done, failed;  /* of the latest update */
};

/* quiet or WHEN_NEVER: nothing is ever written. */
void progress_init(struct progress *progress, FILE *file, const char *unit, uint64_t total, uint64_t before,
                   enum when when, enum when color, bool quiet, double now_s);
/* `done` counts the earlier ones too. Writes at most ten times a second on a terminal, elsewhere every 30 s. */
void progress_update(struct progress *progress, uint64_t done, uint64_t failed, double now_s);
/* Takes the redrawn line away, so that something else can be written; the next update brings it back. */
void progress_clear(struct progress *progress);
/* The final line, as of the latest update. */
void progress_end(struct progress *progress);

#endif
