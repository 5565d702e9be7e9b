/* Done with descriptors, because foreign code shares the C library's `stdout` and its buffer with us.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "base/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

FILE *standard_output_keep(void)
{
    int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *kept = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!kept) {
        if (descriptor >= 0)
            close(descriptor);
        return NULL;
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return kept;
}

void standard_output_restore(FILE *kept)
{
    if (!kept)
        return;
    fflush(stdout);
    clearerr(stdout); /* any failure so far concerned foreign output, not our data */
    dup2(fileno(kept), STDOUT_FILENO);
    fclose(kept);
}
