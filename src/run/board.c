/* Shared memory that survives exec: an unlinked file whose descriptor's number is passed in the environment.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/board.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static const char variable[] = "STIFFIT_BOARD";

static int anonymous_file(void)
{
#ifdef __linux__
    int fd = memfd_create("stiffit-board", 0);
    if (fd >= 0)
        return fd;
#endif
    char path[] = "/tmp/stiffit-board-XXXXXX";
    int file = mkstemp(path);
    if (file >= 0)
        unlink(path);
    return file;
}

struct board *board_new(bool again)
{
    int fd = anonymous_file();
    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, sizeof(struct board)) == 0)
        memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char number[32];
    snprintf(number, sizeof number, "%d", fd);
    if (memory == MAP_FAILED || setenv(variable, number, 1)) {
        close(fd);
        return NULL;
    }
    struct board *board = memory;
    board->descriptor = fd;
    board->supervisor = (int)getpid();
    board->again = again;
    return board;
}

void board_free(struct board *board)
{
    if (!board)
        return;
    close(board->descriptor);
    munmap(board, sizeof *board);
}

struct board *board_attach(struct board *private_board)
{
    const char *number = getenv(variable);
    if (!number)
        return private_board;
    int fd = atoi(number);
    unsetenv(variable);
    struct stat info;
    if (fd < 3 || fstat(fd, &info) || info.st_size != (off_t)sizeof(struct board))
        return private_board;
    void *memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? private_board : memory;
}

bool board_die_with_supervisor(const struct board *board)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    return board->supervisor == 0 || board->supervisor == (int)getppid();
}
