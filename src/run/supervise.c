/* The supervisor: a process without threads, HDF5, plugin or OpenBLAS that starts the compute child and then the finisher,
 * passes signals on, and tells what became of them. Whatever a model or a broken file does, this process is there to report it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/clock.h"
#include "run/board.h"
#include "run/stop.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A child that shows no sign of life for so long before its first fit has ended is taken for hung; one that has been asked
 * to stop has so long until it is ended. Counted in waits of a second, not by a clock: time during which we ourselves
 * were stopped (Ctrl-Z) counts for nothing. */
enum { HUNG_AFTER_S = 60, STOP_WITHIN_S = 10, MAX_AGAIN = 3 };

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
    bool hung, asked_to_stop;
    uint64_t n_finished;
    enum board_phase phase;
};

/* Signals from the terminal reach the child by themselves (it is in the same process group); those sent to us alone are
 * passed on. Whoever asks again, a second later or more, wants it ended at once. */
static void stop_child(struct ending *ending, const siginfo_t *info, pid_t child, int64_t *asked_ns)
{
    if (!ending->asked_to_stop)
        *asked_ns = clock_now_ns();
    if (ending->asked_to_stop && clock_now_ns() - *asked_ns > INT64_C(1000000000))
        kill(child, SIGKILL);
    else if (info->si_code <= 0)
        kill(child, info->si_signo);
    ending->asked_to_stop = true;
}

static bool is_watched(const struct board *board)
{
    return counter_get(&board->n_finished) == 0 && counter_get(&board->phase) != BOARD_PREPARING;
}

static struct ending watch_child(pid_t child, const sigset_t *set, const struct board *board)
{
    struct ending ending = {.hung = false};
    int idle_s = 0, stopping_s = 0;
    int64_t asked_ns = 0;
    uint64_t heartbeat = 0;
    for (;;) {
        pid_t gone = waitpid(child, &ending.wait_status, WNOHANG);
        if (gone == child || (gone < 0 && errno != EINTR))
            break;
        siginfo_t info;
        const struct timespec second = {.tv_sec = 1};
        int signal_number = sigtimedwait(set, &info, &second);
        if (signal_number > 0 && signal_number != SIGCHLD)
            stop_child(&ending, &info, child, &asked_ns);
        if (signal_number >= 0 || errno != EAGAIN)
            continue;
        if (ending.asked_to_stop && ++stopping_s >= STOP_WITHIN_S)
            kill(child, SIGKILL);
        if (!board)
            continue;
        uint64_t now_heartbeat = counter_get(&board->heartbeat);
        idle_s = now_heartbeat == heartbeat && is_watched(board) ? idle_s + 1 : 0;
        heartbeat = now_heartbeat;
        if (idle_s >= HUNG_AFTER_S && !ending.asked_to_stop) {
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
    case BOARD_PREPARING: return "while preparing the fits";
    case BOARD_WRITING: return "while writing";
    case BOARD_FITTING: return "while fitting";
    default: return "at its end";
    }
}

/* The exit code for a child that was killed by a signal, had to be, or was ended by foreign code calling exit. */
static int report_death(const struct ending *ending, const char *what, const struct run_options *options,
                        struct error *error)
{
    char how[120];
    if (WIFSIGNALED(ending->wait_status))
        snprintf(how, sizeof how, "signal %d (%s)%s", WTERMSIG(ending->wait_status),
                 strsignal(WTERMSIG(ending->wait_status)),
                 WTERMSIG(ending->wait_status) == SIGKILL ? ", perhaps sent because memory was short" : "");
    else if (ending->phase == BOARD_OPENING)
        snprintf(how, sizeof how, "exit code %d; is a limit (ulimit -a) too low for it to begin?",
                 WEXITSTATUS(ending->wait_status));
    else
        snprintf(how, sizeof how, "code of the model called exit(%d)", WEXITSTATUS(ending->wait_status));
    if (ending->asked_to_stop) {
        error_set(error, STATUS_STOPPED, "%s: stopped by a signal; %s did not end by itself and was ended. Every finished "
                  "fit is in the journal: the same command resumes", options->problem, what);
        return status_exit_code(STATUS_STOPPED);
    }
    if (ending->n_finished == 0 && ending->phase != BOARD_WRITING) {
        if (ending->hung)
            error_set(error, STATUS_BAD_MODEL, "%s: %s hung %s: no sign of life for %d s, so it was ended. "
                      "Check the model with `stiffit model check`", options->problem, what, phase_text(ending->phase),
                      HUNG_AFTER_S);
        else
            error_set(error, STATUS_BAD_MODEL, "%s: %s died %s, before the first fit ended: %s%s", options->problem,
                      what, phase_text(ending->phase), how,
                      ending->phase == BOARD_OPENING ? "" : ". Check the model with `stiffit model check`");
        return status_exit_code(STATUS_BAD_MODEL);
    }
    error_set(error, STATUS_SYSTEM, "%s: %s died %s: %s. Every finished fit is in the journal: the same command resumes",
              options->problem, what, phase_text(ending->phase), how);
    return status_exit_code(STATUS_SYSTEM);
}

int run_supervise(const struct run_options *options, int argc, char **argv, struct error *error)
{
    static const struct { const char *command, *what; } stage[] = {
        {"__compute", "the computing process"}, {"__finish", "the process that writes the result"}};
    sigset_t set;
    error->status = STATUS_OK;
    sigemptyset(&set);
    stop_signals(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* its constructor would start a thread per core in the child */
    setenv("OMP_NUM_THREADS", "1", 1);

    for (int i = 0, n_again = 0; i < 2;) {
        struct board *board = board_new(n_again > 0);
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
        if (code == RUN_EXIT_AGAIN && n_again++ < MAX_AGAIN && !ending.asked_to_stop)
            i = 0;
        else if (code == RUN_EXIT_AGAIN)
            return status_exit_code(error_set(error, STATUS_SYSTEM, "%s: another process keeps removing this run's "
                                              "journal: let one of them work at a time", options->problem));
        else if (code || i == 1)
            return code;
        else
            i++;
    }
    return 0;
}
