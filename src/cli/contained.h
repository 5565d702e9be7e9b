/* Running foreign code (a model's plugin) and reading foreign files where a crash can be told from outside.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_CONTAINED_H
#define CLI_CONTAINED_H

#include "base/terminal.h"

/* Calls function(context) in a child process and returns its exit code. If the child is killed by a crash, says so with
 * `what` (the files it worked on) and returns 3. Where no process can be made, the function runs in this one. To be called
 * before threads, HDF5 or plugins are at work: the child is a fork. */
int contained_run(int (*function)(void *context), void *context, const char *what, enum when color);

#endif
