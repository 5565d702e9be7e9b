/* The board: memory that the supervisor shares with its compute processes, one after another,
 * and that outlives each of them. A process records its progress and the current fit of each
 * worker. When it dies, the supervisor records how, and the next process finds the suspects
 * there.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "io/file/durable.h"
#include "par/monitor.h"
#include "run/run.h"

#include <string.h>

/* PREPARING is not watched, because it may read a long journal. */
enum board_phase {
    BOARD_OPENING,
    BOARD_LOADING_MODEL,
    BOARD_CHECKING,
    BOARD_OPENING_ENGINE,
    BOARD_PREPARING,
    BOARD_FITTING,
    BOARD_WRITING,
    BOARD_DONE
};

/* As many as engines hold at once, on a GPU. */
enum { BOARD_MAX_SUSPECT = 1 << 16 };

/* A compute process has n_worker workers, each with n_lane fits in its engine at once. */
struct board_size { size_t n_worker, n_lane; };

struct board {
    /* Written by the process, read by the supervisor. */
    struct counter phase;      /* enum board_phase */
    struct counter n_finished; /* fits journalled since the supervisor began */
    struct counter n_failed;   /* starts among them that failed */
    struct counter heartbeat;  /* of its main thread; workers have their own */
    struct counter trace_row;  /* 1: a row of the trace is begun but not ended */
    struct counter n_slot, n_lane, n_parameter; /* of the slots; n_slot 0: there are none */
    /* Written by the supervisor. */
    int descriptor;            /* the same number in all processes */
    int supervisor;            /* its process number; 0: a private board */
    /* bytes for the children, behind the board; the slots begin at n_head */
    size_t n_offered, n_head;
    int n_process;             /* compute processes before this one */
    struct counter time_is_up; /* 1: --time-limit stops the run */
    bool died;                 /* the process before this one; until suspects_judge: */
    /* it was killed because some slots (`hung`) were silent for hang_s */
    bool hung;
    int wait_status, hang_s;
    /* By the compute process, for the finisher. */
    struct stamp problem, result; /* the files as they were when it began */
    /* sums over the engines (struct engine) of all processes that ended by themselves */
    uint64_t n_seat, n_held;
    /* of this command: the plan may be that of another one, which is at the same fits */
    struct run_shown shown;
    /* Left by a compute process for the next one; run/supervise/suspects.h. */
    uint64_t n_before;         /* fits done when the run began, at begun_ns */
    int64_t begun_ns;          /* 0: not yet */
    /* done, as last displayed; a new process first has to count the finished fits */
    uint64_t n_shown;
    bool is_apart;             /* suspects are being tried, one at a time and nothing else */
    uint64_t n_guilty, n_group_death, n_short_of_memory;
    struct board_size size;    /* of this process */
    struct board_size most;    /* limit of later processes where memory is short; 0: none */
    uint64_t n_told;           /* fits at once in the last message of this; 0: there was none */
    /* The next process has one fit at a time, and repeats those that found no memory before. */
    bool is_alone;
    uint64_t n_suspect, suspect[BOARD_MAX_SUSPECT]; /* numbers of fits */
};

/* What a lane of a worker's engine is at; n_lane of them, one after the other, are one worker's.
 * The worker alone writes, but for `hung`. */
struct board_slot {
    /* 1 + number of the fit that has an evaluation here, or whose code runs; 0: none */
    struct counter fit;
    /* in the worker's first slot: grows with every evaluation and every step of its engine */
    struct counter heartbeat;
    struct counter is_asked;  /* 0: no evaluation has begun since the fit was taken up */
    struct counter thread;    /* in the worker's first slot: the number of its thread; 0: unknown */
    struct counter hung;      /* by the supervisor: no sign of life for too long */
    /* n_parameter: of the latest evaluation, natural scale, the file's order */
    double parameter[];
};

/* A mapping of the slots of a board; zero-initialise. */
struct board_slots {
    unsigned char *memory;
    size_t n, n_lane, n_parameter, stride, bytes;
    bool is_private; /* no other process sees them */
};

/* Supervisor: makes a board with n bytes for its children, and the environment entry through
 * which the next child finds it. NULL: the system cannot provide the memory. */
struct board *board_new(const void *offered, size_t n);
void board_free(struct board *board);
/* Supervisor, before each child: the environment entry. */
void board_offer(const struct board *board);
/* Child, before it attaches: the supervisor's bytes; free() them. NULL: there are none, or out
 * of memory. */
unsigned char *board_offered(size_t *n);
/* Child: the supervisor's board, or a private one if the supervisor has none. NULL: the
 * supervisor's board cannot be mapped (out of memory), and an invisible process would be taken
 * for dead. It stays mapped until the process ends. */
struct board *board_attach(struct board *private_board);
/* Child: asks to be killed when its supervisor dies. False: the supervisor is dead already. */
bool board_die_with_supervisor(const struct board *board);
/* Compute process: when memory is short, the kernel should kill it, not its supervisor. If the
 * model's code calls exit while fits are running, the process ends at once, because cleaning up
 * while workers run could hang. */
void board_make_expendable(struct board *board);

/* Memory was short: the next compute process has half as many workers as this one, or half as many
 * fits in the engine of its only one. False: it had one fit at a time. */
bool board_shrink(struct board *board);

/* Child: makes empty slots, which replace those of an earlier process. They are private if the
 * board has no memory for them. False: out of memory. */
bool board_slots_make(struct board *board, size_t n_slot, size_t n_lane, size_t n_parameter,
                      struct board_slots *slots);
/* Any process: the current slots, mapped again only if they have changed. n is 0 if there are
 * none. */
void board_slots_look(const struct board *board, struct board_slots *slots);
void board_slots_fini(struct board_slots *slots);
static inline struct board_slot *board_slot(const struct board_slots *slots, size_t i)
{
    return (struct board_slot *)(void *)(slots->memory + i * slots->stride);
}

/* The slot that has the heartbeat of the same worker. */
static inline struct board_slot *board_heartbeat(const struct board_slots *slots, size_t i)
{
    return board_slot(slots, i - i % slots->n_lane);
}

/* Worker: the fit comes, and goes. */
static inline void board_slot_enter(struct board_slot *slot, uint64_t fit)
{
    counter_set(&slot->is_asked, 0);
    counter_set(&slot->fit, 1 + fit);
}
static inline void board_slot_leave(struct board_slot *slot) { counter_set(&slot->fit, 0); }
/* Its evaluation at p (n_parameter of the slots) begins; the heartbeat is the worker's. */
static inline void board_slot_ask(struct board_slot *slot, struct counter *heartbeat,
                                  const double *p, size_t n_parameter)
{
    memcpy(slot->parameter, p, n_parameter * sizeof *p);
    counter_set(&slot->is_asked, 1);
    counter_set(heartbeat, counter_get(heartbeat) + 1);
}
