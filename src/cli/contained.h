/* Running foreign code (a model's plugin) and reading foreign files where a crash can be told from outside.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_CONTAINED_H
#define CLI_CONTAINED_H

#include "base/terminal.h"

/* Calls function(context) in a child process and returns its exit code. If the child is killed by a crash, says so with
 * `what` (the files it worked on) and returns 3. Where no process can be made, the function runs in this one. To be called
 * before threads, HDF5 or plugins are at work: the child is a fork. */
int contained_run(int (*function)(void *context), void *context, const char *what, enum when color);
/* The same for what reads files and computes next to nothing: HDF5 goes round in circles in some damaged files. A child that
 * computes for a minute and neither reads nor writes meanwhile is ended, which is said; 3. Only where /proc tells of it. */
int contained_read(int (*function)(void *context), void *context, const char *what, enum when color);

#endif
