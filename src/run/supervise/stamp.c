/* Compares a file's device, inode, size and time of change instead of its bytes: enough against accidents, at no cost.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/stamp.h"

#include <sys/stat.h>

void stamp_take(struct stamp *stamp, const char *path)
{
    struct stat found;
    *stamp = (struct stamp){.is_taken = true};
    if (stat(path, &found) != 0)
        return;
    stamp->is_there = true;
    stamp->device = (uint64_t)found.st_dev;
    stamp->inode = (uint64_t)found.st_ino;
    stamp->size = (uint64_t)found.st_size;
    stamp->changed_s = (int64_t)found.st_mtim.tv_sec;
    stamp->changed_ns = (int64_t)found.st_mtim.tv_nsec;
}

bool stamp_holds(const struct stamp *stamp, const char *path)
{
    struct stamp now;
    stamp_take(&now, path);
    if (!stamp->is_taken)
        return true;
    return now.is_there == stamp->is_there && now.device == stamp->device && now.inode == stamp->inode &&
           now.size == stamp->size && now.changed_s == stamp->changed_s && now.changed_ns == stamp->changed_ns;
}
