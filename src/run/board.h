/* The board: a little memory that the supervisor shares with its child, so that it sees how far the child is and whether
 * anything moves. Written by the child, read by the supervisor; counters only.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_BOARD_H
#define RUN_BOARD_H

#include "par/monitor.h"

/* PREPARING, which reads an earlier journal however long it is, is not watched. */
enum board_phase {
    BOARD_OPENING, BOARD_LOADING_MODEL, BOARD_CHECKING, BOARD_PREPARING, BOARD_FITTING, BOARD_WRITING, BOARD_DONE
};

struct board {
    struct counter phase;      /* enum board_phase */
    struct counter n_finished; /* fits that this process has journalled */
    struct counter heartbeat;  /* grows while integrators step or files are read */
    int descriptor;            /* the supervisor's */
    int supervisor;            /* its process number */
    bool again;                /* the journal was taken away: this child takes up what is left, --restart or not */
};

/* Supervisor: makes a board and the environment entry through which a child that is started next finds it. NULL: the
 * system has no such memory to give; the run goes on unwatched. */
struct board *board_new(bool again);
void board_free(struct board *board);
/* Child: the supervisor's board, or a private one that nobody reads. Never NULL. */
struct board *board_attach(struct board *private_board);
/* Child: has itself killed when its supervisor dies. False: that has happened already. */
bool board_die_with_supervisor(const struct board *board);

#endif
