/* The supervisor: a process without threads, HDF5, plugin or OpenBLAS. It starts the compute
 * process, replaces it if it dies because of a fit, then starts the finisher, and reports how
 * they ended. Whatever a model or a damaged file does, this process survives to report it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

#include "base/clock.h"
#include "base/destination.h"
#include "io/journal/journal.h"
#include "run/supervise/board.h"
#include "run/supervise/child.h"
#include "run/supervise/ranks.h"
#include "run/supervise/suspects.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often another process may remove the journal; and how often the compute process may die
 * while no fit is running, that is, with no fit to set aside. */
enum { MAX_AGAIN = 3, MAX_UNEXPLAINED = 3 };

struct supervisor {
    const struct run_request *request;
    struct watch watch;
    int n_again, n_unexplained;
    bool have_all_ended; /* all ranks, with the same exit code */
};

static const char *phase_text(enum board_phase phase)
{
    switch (phase) {
    case BOARD_OPENING: return "while opening the problem file";
    case BOARD_LOADING_MODEL: return "while loading the model";
    case BOARD_CHECKING: return "while checking the data";
    case BOARD_OPENING_ENGINE: return "while opening its engine or the device's driver";
    case BOARD_PREPARING: return "while preparing the fits";
    case BOARD_WRITING: return "while writing";
    case BOARD_FITTING: return "while fitting";
    default: return "at its end";
    }
}

/* Whether a child was killed or crashed. A child that had no memory to begin with cannot report
 * this on the board. */
static bool has_died(const struct board *board, const struct ending *ending)
{
    if (!WIFEXITED(ending->wait_status))
        return true;
    enum board_phase phase = board ? (enum board_phase)counter_get(&board->phase) : BOARD_DONE;
    return phase != BOARD_DONE && !(phase == BOARD_OPENING && WEXITSTATUS(ending->wait_status) ==
                                                                  status_exit_code(STATUS_SYSTEM));
}

static int report_stop(const struct supervisor *supervisor, struct error *error)
{
    return status_exit_code(error_set(error, STATUS_STOPPED,
                                      "%s: stopped by %s. Every finished fit is in the journal: "
                                      "the same command resumes",
                                      supervisor->request->problem,
                                      supervisor->watch.time_is_up ? "--time-limit" : "a signal"));
}

static int report_again(const struct supervisor *supervisor, struct error *error)
{
    return status_exit_code(error_set(error, STATUS_SYSTEM,
                                      "%s: the run's journal, problem or result was changed or "
                                      "removed again and again, by another process or by the "
                                      "model's code: let one run work at a time",
                                      supervisor->request->problem));
}

/* It may have been a file server that was being restarted, so that scripts should try again. */
static int report_wait(const struct supervisor *supervisor, const char *what, struct error *error)
{
    const struct board *board = supervisor->watch.board;
    enum board_phase phase = board ? (enum board_phase)counter_get(&board->phase) : BOARD_OPENING;
    bool may_be_model = phase == BOARD_LOADING_MODEL || phase == BOARD_CHECKING;
    error_set(error, STATUS_SYSTEM,
              "%s: %s waited %s for %d s without computing, so it was killed: the file system does "
              "not answer%s. The same command resumes",
              supervisor->request->problem, what, phase_text(phase),
              SLOW_DISK_FACTOR * supervisor->watch.hang_s,
              may_be_model ? ", or the model's code waits for something" : "");
    return status_exit_code(STATUS_SYSTEM);
}

/* What to do about a death or a hang before the first fit ended. */
static const char *advice(enum board_phase phase, bool hung, bool killed)
{
    if (killed)
        return "It needs more memory, or fewer workers (-j); the same command goes on";
    if (phase == BOARD_OPENING_ENGINE)
        return "Try another --engine";
    if (phase != BOARD_OPENING)
        return "Check the model with `stiffit model check`";
    return hung ? "The file may be damaged" : "";
}

/* The exit code for a child that was killed by a signal, was killed by us, or ended because
 * foreign code called exit, if no fit can be blamed. */
static int report_death(const struct supervisor *supervisor, const struct ending *ending,
                        const char *what, struct error *error)
{
    const struct board *board = supervisor->watch.board;
    const char *problem = supervisor->request->problem;
    enum board_phase phase = board ? (enum board_phase)counter_get(&board->phase) : BOARD_OPENING;
    char how[SUSPECTS_HOW + 60];
    suspects_how(ending->wait_status, how);
    if (WIFEXITED(ending->wait_status) && phase == BOARD_OPENING)
        snprintf(how, sizeof how, "exit code %d; is a limit (ulimit -a) too low for it to start?",
                 WEXITSTATUS(ending->wait_status));
    if (supervisor->watch.asked_to_stop)
        return report_stop(supervisor, error);
    if (ending->waited)
        return report_wait(supervisor, what, error);
    if ((!board || counter_get(&board->n_finished) == 0) && phase != BOARD_WRITING) {
        bool killed = !ending->hung && WIFSIGNALED(ending->wait_status)
                      && WTERMSIG(ending->wait_status) == SIGKILL;
        enum status status =
            killed || phase == BOARD_OPENING_ENGINE ? STATUS_SYSTEM : STATUS_BAD_MODEL;
        const char *what_to_do = advice(phase, ending->hung, killed);
        if (ending->hung)
            error_set(error, status,
                      "%s: %s hung %s: it computed for %d s without a sign of life, so it was "
                      "killed. %s",
                      problem, what, phase_text(phase), supervisor->watch.hang_s, what_to_do);
        else
            error_set(error, status, "%s: %s died %s, before the first fit ended: %s%s%s", problem,
                      what, phase_text(phase), how, *what_to_do ? ". " : "", what_to_do);
        return status_exit_code(status);
    }
    if (ending->hung)
        snprintf(how, sizeof how, "it showed no sign of life for too long, so it was killed");
    error_set(error, STATUS_SYSTEM,
              "%s: %s died %s: %s. Every finished fit is in the journal: the same command resumes",
              problem, what, phase_text(phase), how);
    return status_exit_code(STATUS_SYSTEM);
}

/* Whether the process may have died because memory was short: the kernel killed it; or addresses
 * are limited, and a library crashed after a failed allocation. The latter counts only before fits
 * begin, since a model that crashes later must not reduce the workers. */
static bool may_be_short(int wait_status, enum board_phase phase)
{
    struct rlimit limit;
    bool is_limited = phase < BOARD_FITTING && getrlimit(RLIMIT_AS, &limit) == 0
                      && limit.rlim_cur != RLIM_INFINITY;
    return WIFSIGNALED(wait_status) && (is_limited || WTERMSIG(wait_status) == SIGKILL);
}

/* Whether another compute process may continue without the fits that killed this one; if so, the
 * board tells it which. */
static bool may_go_on(struct supervisor *supervisor, const struct ending *ending)
{
    struct board *board = supervisor->watch.board;
    if (!board || supervisor->watch.asked_to_stop || ending->hung || ending->waited)
        return false;
    enum board_phase phase = (enum board_phase)counter_get(&board->phase);
    bool has_shrunk = may_be_short(ending->wait_status, phase) && board_shrink(board);
    if (phase != BOARD_FITTING)
        return has_shrunk && phase < BOARD_FITTING;
    if (!ending->was_busy && ++supervisor->n_unexplained > MAX_UNEXPLAINED)
        return false;
    board->died = true;
    board->hung = ending->worker_hung;
    board->hang_s = supervisor->watch.hang_s;
    board->wait_status = ending->wait_status;
    return true;
}

static int start_and_watch(struct supervisor *supervisor, const struct child_command *command,
                           struct ending *ending, struct error *error)
{
    struct board *board = supervisor->watch.board;
    if (board) {
        board_offer(board);
        counter_set(&board->phase, BOARD_OPENING);
    }
    if (supervisor->watch.ranks)
        ranks_offer(supervisor->watch.ranks);
    pid_t child = child_start(command, error);
    if (supervisor->watch.ranks)
        ranks_offered(supervisor->watch.ranks);
    if (child < 0)
        return status_exit_code(error->status);
    *ending = child_watch(child, &supervisor->watch);
    /* A child that has only just started is killed by a request to stop. */
    if (WIFSIGNALED(ending->wait_status) &&
        sigismember(&supervisor->watch.set, WTERMSIG(ending->wait_status)) == 1)
        supervisor->watch.asked_to_stop = true;
    return 0;
}

enum { ALL_IN_JOURNAL = -1 };

/* What follows the end of a compute process: another one (RANK_AGAIN), what all ranks have
 * agreed on (RANK_OK), or the end of them all with *code, maybe ALL_IN_JOURNAL. */
static enum rank_flag judge_ending(struct supervisor *supervisor, const struct ending *ending,
                                   int *code, struct error *error)
{
    if (has_died(supervisor->watch.board, ending)) {
        if (may_go_on(supervisor, ending))
            return RANK_AGAIN;
        *code = report_death(supervisor, ending, "the computing process", error);
        return RANK_END;
    }
    *code = WEXITSTATUS(ending->wait_status);
    if (*code == RUN_EXIT_RANKS)
        return RANK_OK;
    if (*code == 0)
        *code = ALL_IN_JOURNAL;
    else if (*code == RUN_EXIT_COMPLETE || *code == RUN_EXIT_COMPLETE_FAILED)
        *code = status_exit_code(*code == RUN_EXIT_COMPLETE ? STATUS_OK : STATUS_FITS_FAILED);
    else if ((*code == RUN_EXIT_AGAIN || *code == RUN_EXIT_FRESH) &&
             supervisor->watch.asked_to_stop)
        *code = report_stop(supervisor, error);
    else if (*code == RUN_EXIT_AGAIN && supervisor->n_again++ >= MAX_AGAIN)
        *code = report_again(supervisor, error);
    else if (*code == RUN_EXIT_AGAIN || *code == RUN_EXIT_FRESH)
        return RANK_AGAIN;
    return RANK_END;
}

/* Whether all ranks begin again, where this one wants `flag`; if not, they end with *code. */
static bool all_begin_again(struct supervisor *supervisor, enum rank_flag flag, int *code,
                            struct error *error)
{
    struct watch *watch = &supervisor->watch;
    if (ranks_are_joined(watch->ranks))
        flag = ranks_conclude(watch->ranks, flag, code, error, &watch->set, &watch->asked_to_stop);
    supervisor->have_all_ended = flag != RANK_AGAIN;
    return flag == RANK_AGAIN;
}

/* Compute processes, one after the other. The exit code, or ALL_IN_JOURNAL. */
static int compute_all(struct supervisor *supervisor, struct error *error)
{
    const struct run_request *request = supervisor->request;
    const struct child_command command = {"__compute", "stiffit-compute", request->compute,
                                          request->argc, request->argv};
    for (;;) {
        struct ending ending;
        int code = start_and_watch(supervisor, &command, &ending, error);
        if (code)
            return code;
        if (supervisor->watch.board)
            supervisor->watch.board->n_process++;
        enum rank_flag flag = judge_ending(supervisor, &ending, &code, error);
        if (flag == RANK_END || !all_begin_again(supervisor, flag, &code, error))
            return code;
    }
}

static int run_all(struct supervisor *supervisor, struct error *error)
{
    struct board *board = supervisor->watch.board;
    for (;;) {
        int code = compute_all(supervisor, error);
        if (code != ALL_IN_JOURNAL)
            return code;
        if (supervisor->request->is_trace || ranks_number(supervisor->watch.ranks) > 0)
            return status_exit_code(STATUS_OK);
        struct ending ending;
        char *journal = (char *)(uintptr_t)supervisor->request->journal; /* which holds the plan */
        if (board)
            counter_set(&board->n_finished,
                        1); /* the fits are in the journal: a death from now on loses nothing */
        const struct child_command command = {"__finish", "stiffit-finish",
                                              supervisor->request->finish, 1, &journal};
        code = start_and_watch(supervisor, &command, &ending, error);
        if (code)
            return code;
        if (has_died(board, &ending))
            return report_death(supervisor, &ending, "the process that writes the result", error);
        code = WEXITSTATUS(ending.wait_status);
        if (code != RUN_EXIT_AGAIN)
            return code;
        if (supervisor->watch.asked_to_stop)
            return report_stop(supervisor, error);
        if (supervisor->n_again++ >= MAX_AGAIN)
            return report_again(supervisor, error);
        if (!all_begin_again(supervisor, RANK_AGAIN, &code, error))
            return code;
    }
}

static const char trace_variable[] = "STIFFIT_TRACE_JOURNAL", trace_name[] = "/journal";

const char *run_trace_journal(void) { return getenv(trace_variable); }

/* The journal of a traced run is in a temporary folder, whose name is passed to the children in
 * the environment. A trace resumes nothing and leaves nothing behind, but its passes and crashes
 * need a journal like those of any run. */
static enum status trace_journal_make(struct error *error)
{
    const char *base = getenv("TMPDIR");
    char path[DESTINATION_PATH + sizeof trace_name];
    base = base && *base ? base : "/tmp";
    if (!destination_scratch(base, "stiffit-trace", path))
        return error_system(error, errno,
                            "cannot make a folder for temporary files in '%s' (set TMPDIR to use "
                            "another)",
                            base);
    strcat(path, trace_name);
    if (setenv(trace_variable, path, 1))
        return error_set(error, STATUS_NO_MEMORY, "out of memory");
    return STATUS_OK;
}

static void trace_journal_remove(void)
{
    struct error ignored;
    const char *journal = run_trace_journal();
    if (!journal)
        return;
    char folder[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(journal) - strlen(trace_name)), journal);
    journal_remove(journal, &ignored);
    rmdir(folder);
}

int run_supervise(const struct run_request *request, struct error *error)
{
    struct supervisor supervisor = {.request = request};
    error->status = STATUS_OK;
    /* its constructor would start a thread per core in the child */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    watch_init(&supervisor.watch, board_new(request->options, request->n_option));
    if (isfinite(request->time_limit_s))
        supervisor.watch.deadline_ns = clock_now_ns() + (int64_t)(1e9 * request->time_limit_s);
    if (request->is_trace && trace_journal_make(error))
        return status_exit_code(error->status);
    supervisor.watch.ranks = request->is_alone ? NULL : ranks_new();
    int code;
    do
        code = run_all(&supervisor, error);
    while (!supervisor.have_all_ended && ranks_are_joined(supervisor.watch.ranks)
           && all_begin_again(&supervisor, RANK_END, &code, error));
    ranks_free(supervisor.watch.ranks);
    if (request->is_trace)
        trace_journal_remove();
    board_free(supervisor.watch.board);
    return code;
}
