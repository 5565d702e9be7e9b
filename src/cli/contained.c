/* The child process of commands that work on one file. (`stiffit run` has a supervisor of its own.)
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/contained.h"

#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { HANG_S = 60, LOOK_MS = 1000 };

static bool is_crash(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGABRT || signal_number == SIGFPE ||
           signal_number == SIGILL;
}

/* The child also sends its exit code through a pipe, which distinguishes our exit from one called by foreign code. */
static void run_child(int (*function)(void *context), void *context, int to_parent)
{
    unsigned char code = (unsigned char)function(context);
    ssize_t sent = write(to_parent, &code, 1);
    (void)sent;
    exit(code);
}

/* Ends like the child, so that a shell sees an interrupt as one. */
static int die_likewise(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return 128 + signal_number;
}

/* What /proc reports about a process; '\0': nothing. */
static void read_about(pid_t process, const char *what, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, what);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
}

/* Returns when the child has ended. True: it has computed for hang_s without a read or write. */
static bool wait_or_hang(pid_t child, int from_child, int hang_s)
{
    struct pollfd ending = {.fd = from_child}; /* polls for no event: reports only that the other end is closed */
    char before[512] = "", now[512], state[512];
    for (int silent = 0; silent < hang_s;) {
        int n = poll(&ending, 1, LOOK_MS);
        if (n > 0 || (n < 0 && errno != EINTR))
            return false;
        read_about(child, "io", now, sizeof now);
        read_about(child, "stat", state, sizeof state);
        const char *end_of_name = strrchr(state, ')');
        bool computes = end_of_name && !strncmp(end_of_name, ") R", 3);
        silent = computes && now[0] && !strcmp(now, before) ? silent + 1 : 0;
        memcpy(before, now, sizeof before);
    }
    return true;
}

static int contain(int (*function)(void *context), void *context, const char *what, enum when color, int hang_s)
{
    int ends[2] = {-1, -1};
    fflush(NULL);
    pid_t parent = getpid(), child = pipe2(ends, O_CLOEXEC) ? -1 : fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return function(context);
    }
    if (child == 0) {
        close(ends[0]);
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(status_exit_code(STATUS_STOPPED));
#endif
        run_child(function, context, ends[1]);
    }
    close(ends[1]);
    int wait_status = 0;
    unsigned char code;
    void (*before)(int) = signal(SIGINT, SIG_IGN); /* the terminal's signal also reaches the child, which decides */
    bool hung = hang_s && wait_or_hang(child, ends[0], hang_s);
    if (hung)
        kill(child, SIGKILL);
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            break;
    signal(SIGINT, before);
    bool is_ours = read(ends[0], &code, 1) == 1;
    close(ends[0]);
    struct error error;
    if (hung) {
        error_set(&error, STATUS_BAD_MODEL, "%s: the process that read it hung (no sign of life for %d s) and was killed. The "
                                            "file is damaged in a way that makes the HDF5 library loop forever", what, hang_s);
        return message_error(&error, color);
    }
    if (is_ours && WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    if (WIFEXITED(wait_status)) {
        error_set(&error, STATUS_BAD_MODEL, "%s: the model's code called exit(%d)", what, WEXITSTATUS(wait_status));
        return message_error(&error, color);
    }
    int number = WTERMSIG(wait_status);
    if (!is_crash(number))
        return die_likewise(number);
    error_set(&error, STATUS_BAD_MODEL, "%s: the process that worked on it died of signal %d (%s): the file is damaged in "
              "a way that crashes the HDF5 library, or the model's code crashes", what, number, strsignal(number));
    return message_error(&error, color);
}

int contained_run(int (*function)(void *context), void *context, const char *what, enum when color)
{
    return contain(function, context, what, color, 0);
}

int contained_read(int (*function)(void *context), void *context, const char *what, enum when color)
{
    const char *seconds = getenv("STIFFIT_HANG_SECONDS"); /* for tests */
    int hang_s = seconds ? atoi(seconds) : 0;
    return contain(function, context, what, color, hang_s > 0 ? hang_s : HANG_S);
}
