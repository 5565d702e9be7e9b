/* The child of commands that work on one file for a moment. (`stiffit run` has a supervisor of its own.)
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli/contained.h"

#include "cli/message.h"

#include <errno.h>
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

/* Ends as the child has ended, so that a shell sees an interrupt as one. */
static int die_likewise(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return 128 + signal_number;
}

int contained_run(int (*function)(void *context), void *context, const char *what, enum when color)
{
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return function(context);
    if (child == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(status_exit_code(STATUS_STOPPED));
#endif
        exit(function(context));
    }
    int wait_status;
    void (*before)(int) = signal(SIGINT, SIG_IGN); /* the terminal's reaches the child too, which decides */
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return status_exit_code(STATUS_SYSTEM);
    signal(SIGINT, before);
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    if (!is_crash(number))
        return die_likewise(number);
    struct error error;
    error_set(&error, STATUS_BAD_MODEL, "%s: the process that worked on it died of signal %d (%s): the file is damaged in a way "
              "that crashes the HDF5 library, or the model's code crashes", what, number, strsignal(number));
    return message_error(&error, color);
}
