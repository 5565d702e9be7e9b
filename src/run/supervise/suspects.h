/* Finds the fits that may have killed a compute process: those that had an evaluation in an
 * engine. A single such fit is guilty at once, and so is a fit that hangs alone in its worker's
 * engine. Several are suspects: they are set aside until all others are done, and then tried
 * alone. A fit that runs out of memory is also tried alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "base/outcome.h"
#include "run/supervise/board.h"

enum { SUSPECTS_HOW = 120, SUSPECTS_REASON = 160 };

/* The result of suspects_judge. */
struct death {
    bool died, hung;
    /* "signal 11 (Segmentation fault)", "the model's code called exit(0)", "no step finished
     * ..." */
    char how[SUSPECTS_HOW];
    size_t n_guilty;
    /* fits, with the slot of each; allocated by suspects_judge, freed by death_fini */
    uint64_t *guilty;
    size_t *slot;
    size_t n_put_off;       /* suspects of this death */
    uint64_t put_off;       /* the first of them */
};
void death_fini(struct death *death);

/* How a process ended, for messages. */
void suspects_how(int wait_status, char how[SUSPECTS_HOW]);

/* Processes the death of the earlier process, if the board records one: finds the guilty among
 * the fits in the slots, adds suspects to the board, and removes suspects that have ended since.
 * `has`: whether a fit has ended. False: out of memory. */
bool suspects_judge(struct board *board, const struct board_slots *slots,
                    bool (*has)(const void *context, uint64_t fit), const void *context,
                    struct death *death);
/* Adds a suspect. False: it is there already, or the board is full. Callers must serialise
 * calls. */
bool suspects_add(struct board *board, uint64_t fit);

/* Why a guilty fit failed: how, and at which parameters, truncated to fit. `names` in the file's
 * order. */
void suspects_reason(const struct death *death, const struct board_slot *slot,
                     const char *const *names, size_t n_parameter, char reason[SUSPECTS_REASON]);

/* A lower bound of the number of fits that crashed a process or hung. */
uint64_t suspects_n_guilty(const struct board *board);
