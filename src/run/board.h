/* The board: a little memory that the supervisor shares with its child, so that it sees how far the child is and whether
 * anything moves. Written by the child, read by the supervisor; counters only.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RUN_BOARD_H
#define RUN_BOARD_H

#include "par/monitor.h"

enum board_phase { BOARD_OPENING, BOARD_LOADING_MODEL, BOARD_CHECKING, BOARD_FITTING, BOARD_DONE };

struct board {
    struct counter phase;      /* enum board_phase */
    struct counter n_finished; /* fits that this process has journalled */
    struct counter heartbeat;  /* grows while integrators step or files are read */
    int descriptor;            /* the supervisor's */
};

/* Supervisor: makes a board and the environment entry through which a child that is started next finds it. NULL: the
 * system has no such memory to give; the run goes on unwatched. */
struct board *board_new(void);
void board_free(struct board *board);
/* Child: the supervisor's board, or a private one that nobody reads. Never NULL. */
struct board *board_attach(struct board *private_board);

#endif
