/* Who is to blame when a compute process dies: the fits that had an evaluation in an engine. One that was alone in all of them
 * is guilty at once, and so is one that hangs alone in its worker's; several are suspects, who are put off until all others are
 * done and then tried alone. One who asks for more memory than there is gets a trial
 * alone too.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_SUSPECTS_H
#define RUN_SUSPECTS_H

#include "base/outcome.h"
#include "run/supervise/board.h"

enum { SUSPECTS_HOW = 120, SUSPECTS_REASON = 160 };

/* What suspects_judge found. */
struct verdict {
    bool died, hung;
    char how[SUSPECTS_HOW]; /* "signal 11 (Segmentation fault)", "the model's code called exit(0)", "no step finished for 60 s" */
    size_t n_guilty;
    uint64_t *guilty;       /* fits, with the slot that each was on; suspects_judge allocates, verdict_fini frees */
    size_t *slot;
    size_t n_put_off;       /* suspects of this death */
    uint64_t put_off;       /* the first of them */
};
void verdict_fini(struct verdict *verdict);

/* How a process ended, for people. */
void suspects_how(int wait_status, char how[SUSPECTS_HOW]);

/* Takes the death of the earlier process, if there was one, off the board: finds the guilty among the fits of the slots,
 * writes the suspects onto the board and strikes those off that have ended meanwhile. `has` tells whether a fit has ended.
 * False: out of memory. */
bool suspects_judge(struct board *board, const struct board_slots *slots, bool (*has)(const void *context, uint64_t fit),
                    const void *context, struct verdict *verdict);
/* Adds one. False: it is there, or the board is full. Callers see to it that only one does so at a time. */
bool suspects_add(struct board *board, uint64_t fit);

/* Why a guilty fit failed: how, and at which parameters as far as they fit in. `names` in the file's order, to_model as in
 * struct campaign. */
void suspects_reason(const struct verdict *verdict, const struct board_slot *slot, const char *const *names,
                     const uint32_t *to_model, size_t n_parameter, char reason[SUSPECTS_REASON]);

/* Fits that are known to have brought a process down or to have hung, at the least. */
uint64_t suspects_n_guilty(const struct board *board);

#endif
