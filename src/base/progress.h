/* The progress display of a run: one line redrawn on a terminal, occasional plain lines elsewhere.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/terminal.h"

#include <stdint.h>

/* The caller supplies the time, in seconds since any moment, so that tests can supply their own. */
struct progress {
    FILE *file;
    const char *unit;       /* the unit of the counts, in the plural: "fits" */
    uint64_t total, before; /* before: done by an earlier run, and not part of the rate */
    bool shown, redraw, color;
    bool line_is_open;      /* a redrawn line is on the terminal */
    int width;
    double begun_s, told_s, now_s;
    uint64_t done, failed;  /* of the latest update, like: */
    bool has_where;
    char where[120];
};

/* What the user asks for; is_quiet or WHEN_NEVER: nothing is ever written. */
struct progress_wish {
    enum when when, color;
    bool is_quiet;
};
void progress_init(struct progress *progress, FILE *file, const char *unit, uint64_t total,
                   uint64_t before, struct progress_wish wish, double now_s);
/* `done` includes the earlier ones. Writes at most ten times a second on a terminal, elsewhere
 * every 30 s. `where`: how far those have come that are not done, in place of a forecast, as
 * these may differ by any factor; NULL: they are alike. */
void progress_update(struct progress *progress, uint64_t done, uint64_t failed, const char *where,
                     double now_s);
/* Erases the redrawn line, so that other text can be written; the next update redraws it. */
void progress_clear(struct progress *progress);
/* The final line, as of the latest update. */
void progress_end(struct progress *progress);
