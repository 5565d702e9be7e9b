/* The supervisor: a process without threads, HDF5, plugin or OpenBLAS that starts the compute child and then the finisher,
 * passes signals on, and tells what became of them. Whatever a model or a broken file does, this process is there to report it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/clock.h"
#include "run/board.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A child that shows no sign of life for so long before its first fit has ended is taken for hung. */
static const int64_t hung_after_ns = 60 * INT64_C(1000000000);

static const int watched_signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};

static const char *own_path(void)
{
    return access("/proc/self/exe", X_OK) == 0 ? "/proc/self/exe" : getenv("STIFFIT_EXECUTABLE");
}

/* Starts ourselves as `command` with the same arguments; -1 and `error` on failure. posix_spawn, because a bare fork
 * would run the fork handlers of whatever libraries are loaded. */
static pid_t start_child(const char *command, int argc, char **argv, struct error *error)
{
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    pid_t child = -1;
    posix_spawnattr_t attributes;
    if (!arguments || posix_spawnattr_init(&attributes)) {
        free(arguments);
        error_set(error, STATUS_NO_MEMORY, "out of memory when starting a process");
        return -1;
    }
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    arguments[0] = (char *)(uintptr_t)"stiffit";
    arguments[1] = (char *)(uintptr_t)command;
    for (int i = 0; i < argc; i++)
        arguments[2 + i] = argv[i];
    const char *self = own_path();
    int failure = self ? posix_spawn(&child, self, NULL, &attributes, arguments, environ) : ENOENT;
    posix_spawnattr_destroy(&attributes);
    free(arguments);
    if (failure) {
        error_system(error, failure, "cannot start a process");
        return -1;
    }
    return child;
}

/* What the supervisor knows of a child that has gone. */
struct ending {
    int wait_status;
    bool hung;
    uint64_t n_finished;
    enum board_phase phase;
};

/* Signals from the terminal reach the child by themselves (it is in the same process group); those sent to us alone are
 * passed on. */
static void pass_signal_on(const siginfo_t *info, pid_t child)
{
    if (info->si_code <= 0)
        kill(child, info->si_signo);
}

static struct ending watch_child(pid_t child, const sigset_t *set, struct board *board)
{
    struct ending ending = {.hung = false};
    int64_t last_sign = clock_now_ns();
    uint64_t heartbeat = 0;
    for (;;) {
        pid_t gone = waitpid(child, &ending.wait_status, WNOHANG);
        if (gone == child || (gone < 0 && errno != EINTR))
            break;
        siginfo_t info;
        const struct timespec second = {.tv_sec = 1};
        int signal_number = sigtimedwait(set, &info, &second);
        if (signal_number > 0 && signal_number != SIGCHLD)
            pass_signal_on(&info, child);
        if (!board)
            continue;
        uint64_t now_heartbeat = counter_get(&board->heartbeat);
        bool watched = counter_get(&board->n_finished) == 0 && counter_get(&board->phase) != BOARD_CHECKING;
        if (now_heartbeat != heartbeat || !watched) {
            heartbeat = now_heartbeat;
            last_sign = clock_now_ns();
        } else if (clock_now_ns() - last_sign > hung_after_ns && !ending.hung) {
            ending.hung = true;
            kill(child, SIGKILL);
        }
    }
    if (board) {
        ending.n_finished = counter_get(&board->n_finished);
        ending.phase = (enum board_phase)counter_get(&board->phase);
    }
    return ending;
}

static const char *phase_text(enum board_phase phase)
{
    switch (phase) {
    case BOARD_OPENING: return "while opening the problem file";
    case BOARD_LOADING_MODEL: return "while loading the model";
    case BOARD_CHECKING: return "while checking the data";
    case BOARD_FITTING: return "while fitting";
    default: return "at its end";
    }
}

/* The exit code for a child that was killed by a signal, had to be, or was ended by foreign code calling exit. */
static int report_death(const struct ending *ending, const char *what, const struct run_options *options,
                        struct error *error)
{
    char how[80];
    if (WIFSIGNALED(ending->wait_status))
        snprintf(how, sizeof how, "signal %d (%s)", WTERMSIG(ending->wait_status),
                 strsignal(WTERMSIG(ending->wait_status)));
    else
        snprintf(how, sizeof how, "code of the model called exit(%d)", WEXITSTATUS(ending->wait_status));
    if (ending->n_finished == 0) {
        if (ending->hung)
            error_set(error, STATUS_BAD_MODEL, "%s: %s hung %s: no sign of life for %d s, so it was ended. "
                      "Check the model with `stiffit model check`", options->problem, what, phase_text(ending->phase),
                      (int)(hung_after_ns / 1000000000));
        else
            error_set(error, STATUS_BAD_MODEL, "%s: %s died %s, before the first fit ended: %s. "
                      "Check the model with `stiffit model check`, or whether memory is short", options->problem, what,
                      phase_text(ending->phase), how);
        return status_exit_code(STATUS_BAD_MODEL);
    }
    error_set(error, STATUS_SYSTEM, "%s: %s died %s after %llu fits: %s. Every finished fit is in the journal: "
              "the same command resumes", options->problem, what, phase_text(ending->phase),
              (unsigned long long)ending->n_finished, how);
    return status_exit_code(STATUS_SYSTEM);
}

int run_supervise(const struct run_options *options, int argc, char **argv, struct error *error)
{
    error->status = STATUS_OK;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof watched_signals / sizeof *watched_signals; i++)
        sigaddset(&set, watched_signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* its constructor would start a thread per core in the child */
    setenv("OMP_NUM_THREADS", "1", 1);

    static const struct { const char *command, *what; } stage[] = {
        {"__compute", "the computing process"}, {"__finish", "the process that writes the result"}};
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++) {
        struct board *board = board_new();
        pid_t child = start_child(stage[i].command, argc, argv, error);
        if (child < 0) {
            board_free(board);
            return status_exit_code(error->status);
        }
        struct ending ending = watch_child(child, &set, board);
        bool own_exit = WIFEXITED(ending.wait_status) && (!board || ending.phase == BOARD_DONE);
        board_free(board);
        if (!own_exit)
            return report_death(&ending, stage[i].what, options, error);
        int code = WEXITSTATUS(ending.wait_status);
        if (code == RUN_EXIT_COMPLETE)
            return status_exit_code(STATUS_OK);
        if (code == RUN_EXIT_COMPLETE_FAILED)
            return status_exit_code(STATUS_FITS_FAILED);
        if (code || i == sizeof stage / sizeof *stage - 1)
            return code;
    }
    return 0;
}
