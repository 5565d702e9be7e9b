/* Makes files that appear whole or not at all and survive a power failure, by temporary names, fsync and rename.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_DURABLE_H
#define IO_DURABLE_H

#include "base/error.h"

enum { DURABLE_PATH = 4096 };

/* The directory that `path` is in, "." for a bare name. STATUS_SYSTEM if it is too long. */
enum status durable_parent(const char *path, char parent[DURABLE_PATH], struct error *error);
/* fsync of an open file; a file system without fsync for directories is not an error. `path` is for messages. */
enum status durable_sync(int file, const char *path, struct error *error);
enum status durable_sync_directory(const char *directory, struct error *error);
/* An unused hidden name in the folder of `path`; free(*temporary). Creates nothing. STATUS_SYSTEM if the directory does not
 * exist or is not writable. */
enum status durable_temporary(const char *path, char **temporary, struct error *error);
/* Syncs the closed file `temporary`, renames it to `path` (replacing any file there), and syncs the directory. */
enum status durable_replace(const char *temporary, const char *path, struct error *error);

#endif
