/* Detects that a file was changed or replaced: for files that a run reads at its beginning and reads again or replaces at
 * its end, while other processes may change them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_STAMP_H
#define RUN_STAMP_H

#include <stdbool.h>
#include <stdint.h>

struct stamp {
    bool is_taken, is_there; /* all zero: not taken */
    uint64_t device, inode, size;
    int64_t changed_s, changed_ns;
};

void stamp_take(struct stamp *stamp, const char *path);
/* Also true if no stamp was taken. */
bool stamp_holds(const struct stamp *stamp, const char *path);

#endif
