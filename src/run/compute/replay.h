/* Replay: a long fit whose process has died goes on where it was. The answers to its evaluations are kept (io/answers.h); asked
 * the same again, the fit gets them instead of computed ones. Evaluations are pure, so nothing of the fit changes by that.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_REPLAY_H
#define RUN_REPLAY_H

#include "io/answers.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

/* Computing of a fit before its answers are worth a file, and between two writes to it: what a kill may cost it. */
#define REPLAY_WORTH_NS INT64_C(100000000)

/* Shared by all fits of a run. */
struct replays {
    struct answers_folder *folder;
    struct counter n_replayed;  /* evaluations that were not computed again */
    struct counter has_trouble; /* 1 since a file could not be written; then nothing more is kept */
    struct monitor lock;
    struct error trouble;       /* under the lock */
    bool is_told;
};

/* False: out of memory; nothing is kept then, and replays_fini is legal. */
bool replays_init(struct replays *replays, const char *journal, const struct run_identity *identity);
/* What is there by now; while no fit is under way. */
void replays_look(struct replays *replays, const char *journal, const struct run_identity *identity);
void replays_fini(struct replays *replays);
/* Whether there is a trouble that nobody has been told yet; from one thread. */
bool replays_tell(struct replays *replays, struct error *trouble);

/* Of one fit. */
struct replay {
    struct replays *replays;
    struct answers answers;
    int64_t written_ns;      /* computing of the fit when its file was last written */
    size_t n_model;
    size_t payload;          /* of the longest answer until now */
    unsigned char *request;  /* scratch */
    size_t capacity;
};

/* Zero-initialise before the first. `replays` NULL: nothing is kept or replayed. n_model parameters, n_row measurements. */
void replay_begin(struct replay *replay, struct replays *replays, uint64_t fit, size_t n_model, size_t n_row);
/* Fills in the next answer that is known to one of n evaluations that are not finished, which then is; and how long the fit had
 * been computing then. Evaluations that were asked for at once may have been answered in any order. */
bool replay_answer(struct replay *replay, struct evaluation *const *evaluations, size_t n, int64_t *elapsed_ns);
/* An evaluation was computed; the fit has been computing for elapsed_ns. */
void replay_keep(struct replay *replay, const struct evaluation *evaluation, int64_t elapsed_ns);
/* The fit is given up for now: what is worth it goes to the file. */
void replay_leave(struct replay *replay, int64_t elapsed_ns);
/* The fit has ended and its record is in the journal. */
void replay_end(struct replay *replay);
void replay_fini(struct replay *replay);

#endif
