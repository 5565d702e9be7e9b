/* Makes files that appear whole or not at all and survive a power failure, by temporary names,
 * fsync and rename; and detects that a file was changed or replaced.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/destination.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { DURABLE_PATH = DESTINATION_PATH };

/* fsync of an open file; a file system without fsync for directories is not an error. `path` is
 * for messages. */
enum status durable_sync(int file, const char *path, struct error *error);
enum status durable_sync_directory(const char *directory, struct error *error);
/* An unused hidden name beside the file that `path` leads to; free(*temporary). Creates nothing.
 * STATUS_SYSTEM if no file may be written there (base/destination.h). */
enum status durable_temporary(const char *path, char **temporary, struct error *error);
/* Syncs the closed file *temporary, renames it to what `path` leads to (replacing any file there),
 * syncs the directory, frees the name. */
enum status durable_replace(char **temporary, const char *path, struct error *error);
/* Removes the file *temporary, if there is one, and frees the name. *temporary may be NULL. */
void durable_drop(char **temporary);
/* All this for a file of these bytes. */
enum status durable_write(const char *path, mode_t mode, const void *bytes, size_t n_byte,
                          struct error *error);

/* For a file that a run reads at its beginning and reads again or replaces at its end, and that
 * other processes may change meanwhile. Device, inode, size and time of change instead of the
 * bytes: enough against accidents, at no cost. */
struct stamp {
    bool is_taken, is_there; /* all zero: not taken */
    uint64_t device, inode, size;
    int64_t changed_s, changed_ns;
};

void stamp_take(struct stamp *stamp, const char *path);
/* Whether the file is as it was when the stamp was taken; true if none was. */
bool stamp_holds(const struct stamp *stamp, const char *path);
