/* Foreign code runs in a child process: it may crash or hang. Call these functions before starting
 * threads, HDF5 or plugins, because the child is a fork. If no process can be made, they call the
 * function in this one.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/terminal.h"

/* Calls function(context) in a child process and returns its exit code. If the child crashes, or a
 * function of the model computes for a minute (process_alarm), prints a message with `what` (the
 * files it worked on) and returns 3. */
int contained_run(int (*function)(void *context), void *context, const char *what, enum when color);
/* Called in such a child: bounds its time on the processor and its memory, for libraries that know
 * no bounds. */
void contained_limit(int cpu_s, int gib);
/* contained_run for a function that reads files and computes almost nothing: HDF5 loops forever on
 * some damaged files. A child that computes for a minute without reading or writing is killed, too.
 * Needs /proc. */
int contained_read(int (*function)(void *context), void *context, const char *what,
                   enum when color);
/* contained_read for a function in which libSBML reads. The child is also killed if it does nothing
 * for two minutes; messages say that the reader failed, as it does on some legal files. */
int contained_sbml(int (*function)(void *context), void *context, const char *what,
                   enum when color);
