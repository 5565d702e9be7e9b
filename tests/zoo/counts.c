/* A `prepare` that appends a byte to the file that COUNT_FILE names, so that a test sees how many evaluations were really
 * computed, by however many processes, and then sleeps for COUNT_SLEEP_MS: long fits that are no work. Impure on purpose; its
 * numbers are sound. What a forked process calls, as the check of a plugin's derivatives does, is no evaluation of a fit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zoo.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t loaded_by;

__attribute__((constructor)) static void note_process(void)
{
    loaded_by = getpid();
}

static int prepare(const struct stiffit_point *at, double *work)
{
    work[0] = at->p[0];
    if (getpid() != loaded_by)
        return STIFFIT_OK;
    const char *path = getenv("COUNT_FILE"), *sleep_ms = getenv("COUNT_SLEEP_MS");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    if (file >= 0 && write(file, ".", 1) != 1)
        work[0] = NAN;
    if (file >= 0)
        close(file);
    if (sleep_ms)
        poll(NULL, 0, atoi(sleep_ms));
    return STIFFIT_OK;
}

static int rhs(const struct stiffit_point *at, double *ydot)
{
    ydot[0] = -at->work[0] * at->y[0];
    return STIFFIT_OK;
}

/* max_step: nobody looks for pulses, which would count as an evaluation. */
STIFFIT_EXPORT const struct stiffit_model stiffit_model = {ZOO_MODEL("counts"), .n_work = 1, .prepare = prepare, .rhs = rhs,
                                                           .max_step = INFINITY};
