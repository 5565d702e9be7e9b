/* The child of commands that work on one file for a moment. (`stiffit run` has a supervisor of its own.)
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/contained.h"

#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static bool is_crash(int signal_number)
{
    return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGABRT || signal_number == SIGFPE ||
           signal_number == SIGILL;
}

/* The child sends its exit code through a pipe as well, so that foreign code that calls exit can be told from ours. */
static void run_child(int (*function)(void *context), void *context, int to_parent)
{
    unsigned char code = (unsigned char)function(context);
    ssize_t sent = write(to_parent, &code, 1);
    (void)sent;
    exit(code);
}

/* Ends as the child has ended, so that a shell sees an interrupt as one. */
static int die_likewise(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return 128 + signal_number;
}

int contained_run(int (*function)(void *context), void *context, const char *what, enum when color)
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
    void (*before)(int) = signal(SIGINT, SIG_IGN); /* the terminal's reaches the child too, which decides */
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            break;
    signal(SIGINT, before);
    bool is_ours = read(ends[0], &code, 1) == 1;
    close(ends[0]);
    struct error error;
    if (is_ours && WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    if (WIFEXITED(wait_status)) {
        error_set(&error, STATUS_BAD_MODEL, "%s: code of the model called exit(%d)", what, WEXITSTATUS(wait_status));
        return message_error(&error, color);
    }
    int number = WTERMSIG(wait_status);
    if (!is_crash(number))
        return die_likewise(number);
    error_set(&error, STATUS_BAD_MODEL, "%s: the process that worked on it died of signal %d (%s): the file is damaged in "
              "a way that crashes the HDF5 library, or the model's code crashes", what, number, strsignal(number));
    return message_error(&error, color);
}
