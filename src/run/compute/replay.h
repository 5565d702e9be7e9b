/* Replay: a long fit whose process has died continues where it was. The answers to its
 * evaluations are recorded (io/journal/answers.h). When the fit runs again and asks for the same
 * evaluations, it gets the recorded answers. Evaluations are pure, so the fit is the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/journal/answers.h"
#include "ode/evaluation.h"
#include "par/monitor.h"

/* A fit's answers are written after this much computing time, and again after each such time. A
 * kill costs it at most this. */
#define REPLAY_WORTH_NS INT64_C(100000000)

/* Shared by all fits of a run. */
struct replays {
    struct answers_folder *folder;
    struct counter n_replayed;  /* evaluations that were not computed again */
    /* 1: a file could not be written, and no more answers are recorded */
    struct counter has_trouble;
    struct monitor lock;
    struct error trouble;       /* under the lock */
    bool is_reported;
};

/* False: out of memory; nothing is recorded then, and replays_fini is legal. */
bool replays_init(struct replays *replays, const char *journal,
                  const struct run_identity *identity);
/* Reads the recorded answers. Call while no fit is running. */
void replays_look(struct replays *replays, const char *journal,
                  const struct run_identity *identity);
void replays_fini(struct replays *replays);
/* Whether there is an error that has not been reported yet; one thread. */
bool replays_tell(struct replays *replays, struct error *trouble);

/* State of one fit. */
struct replay {
    struct replays *replays;
    struct answers answers;
    int64_t written_ns;      /* computing time of the fit when its file was last written */
    size_t n_model;
    const struct ode_task *task;
    size_t payload;          /* of the longest answer so far */
    unsigned char *request;  /* scratch */
    size_t capacity;
};

/* Whether there may be recorded answers for the fit; see replay_answer. */
static inline bool replay_is_on(const struct replay *replay) { return replay->answers.is_reading; }
/* Zero-initialise before the first call. `replays` NULL: nothing is recorded or replayed.
 * n_model parameters of the model; the tasks of all evaluations, one for each experiment. */
void replay_begin(struct replay *replay, struct replays *replays, uint64_t fit, size_t n_model,
                  const struct ode_task *task, size_t n_task);
/* Gives the next recorded answer to that one of n unfinished evaluations which it belongs to,
 * which is then finished; *elapsed_ns: how long the fit had been computing. False: there is none.
 * Evaluations that were asked for at once may have been answered in any order. */
bool replay_answer(struct replay *replay, struct evaluation *const *evaluations, size_t n,
                   int64_t *elapsed_ns);
/* An evaluation was computed; the fit has been computing for elapsed_ns. */
void replay_keep(struct replay *replay, const struct evaluation *evaluation, int64_t elapsed_ns);
/* The fit is abandoned for now: writes its answers to the file if they are worth it. */
void replay_leave(struct replay *replay, int64_t elapsed_ns);
/* The fit has ended and its record is in the journal. */
void replay_end(struct replay *replay);
void replay_fini(struct replay *replay);
