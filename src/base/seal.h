/* A line at the end of a file that the program made for itself, by which it sees later that nobody
 * has changed the file, and that it may be replaced. HDF5 ignores what is behind its own bytes,
 * and removes it when it changes the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Appends the line, with a hash of what is before it. STATUS_SYSTEM if that fails. */
enum status seal_put(const char *path, struct error *error);
/* Whether the file is as seal_put left it; false if it cannot be read. */
bool seal_holds(const char *path);
