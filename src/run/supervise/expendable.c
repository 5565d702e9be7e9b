/* The score for the out-of-memory killer, and the handler for exit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/expendable.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MORE_EXPENDABLE = 300, MOST_EXPENDABLE = 1000 };

/* Any process may raise its own score. */
static void offer_to_kernel(void)
{
    static const char path[] = "/proc/self/oom_score_adj";
    char text[24] = "";
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t n = read(file, text, sizeof text - 1);
    int score = n > 0 ? atoi(text) + MORE_EXPENDABLE : MORE_EXPENDABLE;
    int size = snprintf(text, sizeof text, "%d", score < MOST_EXPENDABLE ? score : MOST_EXPENDABLE);
    ssize_t written = n > 0 ? pwrite(file, text, (size_t)size, 0) : 0;
    (void)written; /* a failure does not matter */
    close(file);
}

#ifdef __GLIBC__
/* Registered last, so it runs before the handlers of libraries. */
static void leave(int code, void *board)
{
    if (counter_get(&((const struct board *)board)->phase) == BOARD_FITTING)
        _exit(code);
}
#endif

void expendable_become(struct board *board)
{
    offer_to_kernel();
#ifdef __GLIBC__
    on_exit(leave, board);
#endif
}
