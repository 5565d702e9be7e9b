/* What this process does at each signal. Libraries install handlers of their own when they are
 * loaded or begin to work (UCX, PSM2, OpenMPI, LLVM). With those, a terminal that closes would end
 * a run under nohup, and a crash would print a library's backtrace. So what was in force before is
 * kept, and restored afterwards.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <signal.h>

enum { SIGNALS_END = 65 }; /* Linux has signals 1 to 64 */

struct signals {
    struct sigaction action[SIGNALS_END]; /* by number */
};

void signals_keep(struct signals *kept);
/* Undoes what has changed since, but for SIGPROF, which belongs to profilers. */
void signals_restore(const struct signals *kept);
