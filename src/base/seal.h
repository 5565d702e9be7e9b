/* A line with a hash at the end of a file that the program made. While the hash is right, nobody
 * has changed the file, and it may be replaced. HDF5 ignores bytes behind its own, and removes them
 * when it changes the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Appends the line, with a hash of what is before it. STATUS_SYSTEM if that fails. */
enum status seal_put(const char *path, struct error *error);
/* Whether the file is as seal_put left it; false if it cannot be read. */
bool seal_holds(const char *path);
