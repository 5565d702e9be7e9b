/* Shared memory that survives exec: an unlinked file whose descriptor is passed in the
 * environment. What is offered follows the board, and from the next page on the slots, whose
 * number only a compute process knows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/board.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static const char variable[] = "STIFFIT_BOARD";
enum { CACHE_LINE = 64 };

static int anonymous_file(void)
{
#ifdef __linux__
    int fd = memfd_create("stiffit-board", MFD_ALLOW_SEALING);
    if (fd >= 0)
        return fd;
#endif
    char path[] = "/tmp/stiffit-board-XXXXXX";
    int file = mkstemp(path);
    if (file >= 0)
        unlink(path);
    return file;
}

/* The offset of the slots, a multiple of the page size, as mappings require. */
static size_t head_bytes(size_t n_offered)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t unit = page > 0 ? (size_t)page : 4096;
    return (sizeof(struct board) + n_offered + unit - 1) / unit * unit;
}

/* A model that cuts every open file would kill all processes that have this one mapped. It may
 * still grow. */
static void keep_from_shrinking(int fd)
{
#ifdef F_ADD_SEALS
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL); /* fails for a file on disk */
#else
    (void)fd;
#endif
}

static void *map(int fd, size_t offset, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

struct board *board_new(const void *offered, size_t n)
{
    int fd = anonymous_file();
    if (fd < 0)
        return NULL;
    struct board *board =
        ftruncate(fd, (off_t)head_bytes(n)) == 0 ? map(fd, 0, sizeof *board) : NULL;
    if (!board || (n && pwrite(fd, offered, n, sizeof *board) != (ssize_t)n)) {
        if (board)
            munmap(board, sizeof *board);
        close(fd);
        return NULL;
    }
    keep_from_shrinking(fd);
    board->descriptor = fd;
    board->supervisor = (int)getpid();
    board->n_offered = n;
    board->n_head = head_bytes(n);
    board_offer(board);
    return board;
}

void board_offer(const struct board *board)
{
    char number[32];
    snprintf(number, sizeof number, "%d", board->descriptor);
    setenv(variable, number, 1);
}

bool board_shrink(struct board *board)
{
    struct board_size size = board->size;
    if (size.n_worker * size.n_lane <= 1)
        return false;
    if (size.n_worker > 1)
        size.n_worker /= 2;
    else
        size.n_lane /= 2;
    board->most = size;
    return true;
}

void board_free(struct board *board)
{
    if (!board)
        return;
    close(board->descriptor);
    munmap(board, sizeof *board);
}

/* The descriptor in the environment; -1: there is none, or it is of something else. */
static int offered_file(void)
{
    const char *number = getenv(variable);
    struct stat info;
    int fd = number ? atoi(number) : -1;
    return fd < 3 || fstat(fd, &info) || info.st_size < (off_t)head_bytes(0) ? -1 : fd;
}

unsigned char *board_offered(size_t *n)
{
    struct board board;
    int fd = offered_file();
    if (fd < 0 || pread(fd, &board, sizeof board, 0) != (ssize_t)sizeof board ||
        board.descriptor != fd || board.n_offered == 0)
        return NULL;
    unsigned char *bytes = malloc(board.n_offered);
    *n = board.n_offered;
    if (bytes && pread(fd, bytes, *n, sizeof board) == (ssize_t)*n)
        return bytes;
    free(bytes);
    return NULL;
}

struct board *board_attach(struct board *private_board)
{
    int fd = offered_file();
    private_board->descriptor = -1;
    unsetenv(variable);
    if (fd < 0)
        return private_board;
    struct board *board = map(fd, 0, sizeof *board);
    if (!board)
        return NULL;
    if (board->descriptor != fd || board->supervisor <= 0) {
        munmap(board, sizeof *board);
        return private_board;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return board;
}

bool board_die_with_supervisor(const struct board *board)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    return board->supervisor == 0 || board->supervisor == (int)getppid();
}

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

void board_make_expendable(struct board *board)
{
    offer_to_kernel();
#ifdef __GLIBC__
    on_exit(leave, board);
#endif
}

/* Workers do not share cache lines. */
static void lay_out(struct board_slots *slots, size_t n_slot, size_t n_lane, size_t n_parameter)
{
    size_t bytes = sizeof(struct board_slot) + n_parameter * sizeof(double);
    slots->n = n_slot;
    slots->n_lane = n_lane;
    slots->n_parameter = n_parameter;
    slots->stride = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    slots->bytes = n_slot * slots->stride;
}

bool board_slots_make(struct board *board, size_t n_slot, size_t n_lane, size_t n_parameter,
                      struct board_slots *slots)
{
    board_slots_fini(slots);
    counter_set(&board->n_slot, 0);
    lay_out(slots, n_slot, n_lane, n_parameter);
    struct stat info;
    off_t end = (off_t)(board->n_head + slots->bytes);
    /* It never shrinks, because the supervisor may be reading. */
    if (board->descriptor >= 0 && fstat(board->descriptor, &info) == 0 &&
        (info.st_size >= end || ftruncate(board->descriptor, end) == 0))
        slots->memory = map(board->descriptor, board->n_head, slots->bytes);
    if (slots->memory) {
        memset(slots->memory, 0, slots->bytes);
        counter_set(&board->n_parameter, n_parameter);
        counter_set(&board->n_lane, n_lane);
        counter_set(&board->n_slot, n_slot);
        return true;
    }
    slots->is_private = true;
    slots->memory = aligned_alloc(CACHE_LINE, slots->bytes);
    if (slots->memory)
        memset(slots->memory, 0, slots->bytes);
    return slots->memory != NULL;
}

void board_slots_look(const struct board *board, struct board_slots *slots)
{
    size_t n_slot = counter_get(&board->n_slot), n_parameter = counter_get(&board->n_parameter);
    size_t n_lane = counter_get(&board->n_lane);
    struct stat info;
    if (slots->n == n_slot &&
        ((slots->n_parameter == n_parameter && slots->n_lane == n_lane) || n_slot == 0))
        return;
    board_slots_fini(slots);
    if (n_slot == 0 || n_lane == 0 || board->descriptor < 0 || fstat(board->descriptor, &info))
        return;
    struct board_slots found = {.memory = NULL};
    lay_out(&found, n_slot, n_lane, n_parameter);
    if ((uint64_t)info.st_size >= board->n_head + found.bytes)
        found.memory = map(board->descriptor, board->n_head, found.bytes);
    if (found.memory)
        *slots = found;
}

void board_slots_fini(struct board_slots *slots)
{
    if (slots->is_private)
        free(slots->memory);
    else if (slots->memory)
        munmap(slots->memory, slots->bytes);
    *slots = (struct board_slots){.memory = NULL};
}
