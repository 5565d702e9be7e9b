/* The supervisor's part of a run on several ranks: passes on what its compute process gives, and
 * agrees with the others on how the run ends. Nothing is loaded and MPI is not begun until a
 * compute process asks for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/error.h"
#include "run/supervise/rank_link.h"

#include <signal.h>

struct ranks;

/* NULL: launched alone, or out of memory. */
struct ranks *ranks_new(void);
void ranks_free(struct ranks *ranks); /* ends MPI; NULL is legal */
/* A socket for the next compute process and its environment entry; and once that has started. */
void ranks_offer(struct ranks *ranks);
void ranks_offered(struct ranks *ranks);

/* Does what can be done without waiting. */
void ranks_serve(struct ranks *ranks);
/* Waits until there may be something to do, but only some milliseconds. */
void ranks_wait(struct ranks *ranks, int64_t until_ns);

bool ranks_are_joined(const struct ranks *ranks);
int ranks_number(const struct ranks *ranks); /* 0 as long as they are not */

/* After the compute process has ended, or while none runs: how the ranks go on, once all say so.
 * `flag`: what this rank wants, RANK_AGAIN or RANK_END with an exit code; the reason in `error`,
 * which only rank 0 keeps, also that of another rank. Returns RANK_AGAIN or RANK_END, with the
 * exit code of the run. is_stopping: becomes true at a signal of the set. */
enum rank_flag ranks_conclude(struct ranks *ranks, enum rank_flag flag, int *code,
                              struct error *error, const sigset_t *set, bool *is_stopping);
