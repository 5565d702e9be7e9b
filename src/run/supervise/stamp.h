/* Whether a file is still the one that was looked at before: for the files that a run reads at its beginning and again, or
 * replaces, at its end, while anybody may do what they like with them.
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
/* True too where no stamp was taken. */
bool stamp_holds(const struct stamp *stamp, const char *path);

#endif
