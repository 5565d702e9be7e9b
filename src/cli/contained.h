/* Runs foreign code (a model's plugin), or reads foreign files, in a process that may crash without taking this one along.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_CONTAINED_H
#define CLI_CONTAINED_H

#include "base/terminal.h"

/* Calls function(context) in a child process and returns its exit code. If the child crashes, prints a message with `what` (the
 * files it worked on) and returns 3. If no process can be made, calls the function in this one. Call it before starting
 * threads, HDF5 or plugins: the child is a fork. */
int contained_run(int (*function)(void *context), void *context, const char *what, enum when color);
/* The same for a function that reads files and computes almost nothing: HDF5 loops forever on some damaged files. A child that
 * computes for a minute without reading or writing is killed, with a message; returns 3. Needs /proc. */
int contained_read(int (*function)(void *context), void *context, const char *what, enum when color);

#endif
