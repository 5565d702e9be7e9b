/* Making files that appear whole or not at all and outlive a power failure: temporary names, fsync, rename.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef IO_DURABLE_H
#define IO_DURABLE_H

#include "base/error.h"

enum { DURABLE_PATH = 4096 };

/* The directory that `path` is in, "." for a bare name. STATUS_SYSTEM if it is too long. */
enum status durable_parent(const char *path, char parent[DURABLE_PATH], struct error *error);
/* fsync of an open file; file systems that have none for directories are forgiven. `path` is for messages. */
enum status durable_sync(int file, const char *path, struct error *error);
enum status durable_sync_directory(const char *directory, struct error *error);
/* A hidden name beside `path` that nobody has: *temporary is to be freed. Nothing is created. STATUS_SYSTEM if the
 * directory is not there or may not be written to. */
enum status durable_temporary(const char *path, char **temporary, struct error *error);
/* Brings the closed file `temporary` to disk, gives it the name `path` (what had it is gone), and that to disk. */
enum status durable_replace(const char *temporary, const char *path, struct error *error);

#endif
