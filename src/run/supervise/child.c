/* Waits for a child: signals, the time limit, and the heartbeats on the board, in one loop of
 * one thread.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/child.h"

#include "base/clock.h"
#include "base/process.h"
#include "run/supervise/stop.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

extern char **environ;

/* Silence is counted in checks, one per second, not by a clock, so that time during which this
 * process or the child was stopped (Ctrl-Z) does not count; and of each second only the time that
 * the child was on the processor, so that a loaded machine does not count. What waits for a disk or
 * a file server has more time: a restarted server takes minutes to answer. A child that is asked to
 * stop has a moment before it is killed. A second request within AGAIN_NS is the same request (a
 * signal sent both to the process group and to us); a later one kills the child at once. */
enum { GRACE_LOOKS = 2, LOOK_MS = 1000 };
static const int64_t SECOND_NS = 1000000000, STOP_WITHIN_NS = 700000000, AGAIN_NS = 100000000;

void watch_init(struct watch *watch, struct board *board)
{
    *watch = (struct watch){.board = board, .hang_s = process_hang_seconds(),
                             .deadline_ns = INT64_MAX, .end_ns = INT64_MAX};
    sigemptyset(&watch->set);
    stop_signals(&watch->set);
    sigaddset(&watch->set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &watch->set, NULL);
}

/* Without /proc: the path under which this program was started. */
static const char *own_path(void)
{
    if (access("/proc/self/exe", X_OK) == 0)
        return "/proc/self/exe";
#ifdef __linux__
    return (const char *)(uintptr_t)getauxval(AT_EXECFN);
#else
    return getenv("STIFFIT_EXECUTABLE");
#endif
}

static pid_t spawn_child(const struct child_command *command, struct error *error)
{
    char **arguments = calloc((size_t)command->argc + 3, sizeof *arguments);
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
    arguments[1] = (char *)(uintptr_t)command->word;
    for (int i = 0; i < command->argc; i++)
        arguments[2 + i] = command->argv[i];
    const char *self = own_path();
    int failure = self ? posix_spawn(&child, self, NULL, &attributes, arguments, environ) : ENOENT;
    posix_spawnattr_destroy(&attributes);
    free(arguments);
    if (failure) {
        error_system(error, failure, "cannot start a process of %s", self ? self : "stiffit");
        return -1;
    }
    return child;
}

/* The child of a fork. This process has loaded all libraries, which takes as long as the rest of
 * a small run's start, but has used none of them. */
static void be_child(const struct child_command *command)
{
    sigset_t none;
#ifdef __linux__
    prctl(PR_SET_NAME, command->name);
#endif
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    exit(command->run(command->argc, command->argv));
}

static pid_t fork_child(const struct child_command *command, struct error *error)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_child(command);
    if (child < 0)
        error_system(error, errno, "cannot start a process");
    return child;
}

/* A library that is loaded may have started threads (OpenBLAS does, one per core): then a fork
 * is no copy of this process and may deadlock. */
pid_t child_start(const struct child_command *command, struct error *error)
{
    return process_number(PROCESS_N_THREAD) == 1 ? fork_child(command, error)
                                                 : spawn_child(command, error);
}

/* For how long a thread or a process has shown no sign of life: while it computed, and while it
 * waited. */
struct quiet {
    int64_t cpu_ms, silent_ms, waiting_ms; /* cpu_ms: as of the last check */
};

struct silence {
    struct board_slots slots;
    struct worker_silence {
        uint64_t fit, heartbeat;
        struct quiet quiet;
    } *worker;
    size_t n_worker;
    uint64_t heartbeat;
    struct quiet quiet; /* of the whole process */
};

static void silence_fini(struct silence *silence)
{
    board_slots_fini(&silence->slots);
    free(silence->worker);
}

/* Adds the second since the last check, in which there was no sign of life. `sleeps`: what sleeps,
 * too, counts as computing: a model has nothing to wait for. Where the system says nothing, the
 * second counts. */
static void quiet_add(struct quiet *quiet, const struct process_look *look, bool sleeps)
{
    int64_t used = look->cpu_ms - quiet->cpu_ms;
    if (!look->is_known || (sleeps && look->state == 'S') || used > LOOK_MS)
        used = LOOK_MS;
    if (used > 0)
        quiet->silent_ms += used;
    else if (look->state != 'R')
        quiet->waiting_ms += LOOK_MS;
}

/* After a check, at which it was alive or not. */
static void quiet_update(struct quiet *quiet, const struct process_look *look, bool is_silent,
                         bool sleeps)
{
    if (is_silent)
        quiet_add(quiet, look, sleeps);
    else
        quiet->silent_ms = quiet->waiting_ms = 0;
    quiet->cpu_ms = look->cpu_ms;
}

/* Both kinds on one scale. */
static int64_t quiet_ms(const struct quiet *quiet)
{
    int64_t waiting = quiet->waiting_ms / SLOW_DISK_FACTOR;
    return quiet->silent_ms > waiting ? quiet->silent_ms : waiting;
}

/* The seconds of computing within which the whole process must show a sign of life, as it may hang
 * while reading or loading the model. They are more where a slow disk must not cost finished work.
 * INT_MAX: it is not watched. */
static int patience(const struct watch *watch)
{
    enum board_phase phase = (enum board_phase)counter_get(&watch->board->phase);
    if (phase == BOARD_PREPARING)
        return INT_MAX;
    if (phase == BOARD_WRITING ||
        (phase == BOARD_FITTING && counter_get(&watch->board->n_finished)))
        return SLOW_DISK_FACTOR * watch->hang_s;
    return watch->hang_s;
}

/* What the workers do. */
struct activity {
    bool any_alive, any_silent; /* some worker has made progress; some is at a fit and has not */
    int64_t longest_ms;         /* the longest silence of a worker */
};

static void look_at_workers(struct silence *silence, pid_t child, struct activity *activity)
{
    if (silence->slots.n != silence->n_worker) {
        free(silence->worker);
        silence->worker = calloc(silence->slots.n + 1, sizeof *silence->worker);
        silence->n_worker = silence->worker ? silence->slots.n : 0;
    }
    for (size_t i = 0; i < silence->n_worker; i++) {
        const struct board_slot *slot = board_slot(&silence->slots, i);
        const struct board_slot *first = board_heartbeat(&silence->slots, i);
        struct worker_silence *worker = &silence->worker[i];
        uint64_t fit = counter_get(&slot->fit), heartbeat = counter_get(&first->heartbeat);
        bool is_silent = fit && fit == worker->fit && heartbeat == worker->heartbeat;
        struct process_look look = {.is_known = true};
        if (fit)
            look = process_look(child, (long)counter_get(&first->thread));
        activity->any_alive = activity->any_alive || heartbeat != worker->heartbeat;
        activity->any_silent = activity->any_silent || is_silent;
        worker->fit = fit;
        worker->heartbeat = heartbeat;
        quiet_update(&worker->quiet, &look, is_silent, true);
        if (quiet_ms(&worker->quiet) > activity->longest_ms)
            activity->longest_ms = quiet_ms(&worker->quiet);
    }
}

enum alive { ALIVE, WORKERS_HANG, HANGS, WAITS };

static enum alive judge_process(const struct watch *watch, const struct quiet *quiet)
{
    int most_s = patience(watch);
    if (most_s == INT_MAX)
        return ALIVE;
    if (quiet->silent_ms >= (int64_t)most_s * LOOK_MS)
        return HANGS;
    return quiet->waiting_ms >= (int64_t)SLOW_DISK_FACTOR * watch->hang_s * LOOK_MS ? WAITS : ALIVE;
}

/* One check, a second after the last. Marks workers that hang. After the first of them it waits
 * a little, so that workers that began to hang a moment later are included. */
static enum alive look(const struct watch *watch, pid_t child, struct silence *silence)
{
    struct board *board = watch->board;
    board_slots_look(board, &silence->slots);
    uint64_t heartbeat = counter_get(&board->heartbeat);
    struct activity activity = {.any_alive = heartbeat != silence->heartbeat};
    if (counter_get(&board->phase) == BOARD_FITTING)
        look_at_workers(silence, child, &activity);
    struct process_look process = process_look(child, 0);
    bool is_silent = !activity.any_alive && !activity.any_silent && patience(watch) != INT_MAX;
    quiet_update(&silence->quiet, &process, is_silent, false);
    silence->heartbeat = heartbeat;
    if (activity.longest_ms < (int64_t)(watch->hang_s + GRACE_LOOKS) * LOOK_MS)
        return judge_process(watch, &silence->quiet);
    for (size_t i = 0; i < silence->n_worker; i++)
        if (quiet_ms(&silence->worker[i].quiet) >= (int64_t)watch->hang_s * LOOK_MS)
            counter_set(&board_slot(&silence->slots, i)->hung, 1);
    return WORKERS_HANG;
}

static bool any_busy(const struct board *board, struct board_slots *slots)
{
    board_slots_look(board, slots);
    for (size_t i = 0; i < slots->n; i++)
        if (counter_get(&board_slot(slots, i)->fit))
            return true;
    return false;
}

/* Returns a signal, or 0 at `until_ns`. */
static int wait_signal(const struct watch *watch, siginfo_t *info, int64_t until_ns)
{
    for (;;) {
        int64_t left = until_ns - clock_now_ns();
        if (left < 0)
            left = 0;
        if (watch->ranks)
            ranks_serve(watch->ranks);
        int64_t wait = watch->ranks ? 0 : left;
        const struct timespec time = {.tv_sec = wait / SECOND_NS, .tv_nsec = wait % SECOND_NS};
        int number = sigtimedwait(&watch->set, info, &time);
        if (number > 0)
            return number;
        if (!watch->ranks || left == 0)
            return 0;
        ranks_wait(watch->ranks, until_ns);
    }
}

static void ask_to_stop(struct watch *watch, pid_t child, int number)
{
    int64_t now = clock_now_ns();
    if (number)
        kill(child, number);
    if (!watch->asked_to_stop) {
        watch->asked_to_stop = true;
        watch->asked_ns = now;
        watch->end_ns = now + STOP_WITHIN_NS;
    } else if (now - watch->asked_ns > AGAIN_NS) {
        watch->end_ns = now;
    }
}

/* Waits for a signal that concerns the child, but at most until `look_ns`. */
static void wait_event(struct watch *watch, pid_t child, int64_t look_ns)
{
    int64_t until_ns = look_ns;
    if (!watch->asked_to_stop && watch->deadline_ns < until_ns)
        until_ns = watch->deadline_ns;
    if (watch->end_ns < until_ns)
        until_ns = watch->end_ns;
    siginfo_t info;
    int number = wait_signal(watch, &info, until_ns);
    /* The terminal's signals reach the child directly, because it is in the same process group. */
    if (number && number != SIGCHLD)
        ask_to_stop(watch, child, info.si_code <= 0 ? number : 0);
    int64_t now = clock_now_ns();
    if (!watch->asked_to_stop && now >= watch->deadline_ns) {
        watch->time_is_up = true;
        if (watch->board)
            counter_set(&watch->board->time_is_up, 1);
        ask_to_stop(watch, child, SIGTERM);
    }
    if (now >= watch->end_ns) {
        kill(child, SIGKILL);
        watch->end_ns = now + SECOND_NS; /* if the kernel is slow */
    }
}

struct ending child_watch(pid_t child, struct watch *watch)
{
    struct ending ending = {.hung = false};
    struct silence silence = {.worker = NULL};
    bool is_stopped = false, is_killed = false;
    int64_t look_ns = clock_now_ns() + SECOND_NS;
    for (;;) {
        pid_t gone = waitpid(child, &ending.wait_status, WNOHANG | WUNTRACED | WCONTINUED);
        if (gone == child && (WIFEXITED(ending.wait_status) || WIFSIGNALED(ending.wait_status)))
            break;
        if (gone == child)
            is_stopped = WIFSTOPPED(ending.wait_status);
        else if (gone < 0 && errno != EINTR)
            break;
        wait_event(watch, child, look_ns);
        if (clock_now_ns() < look_ns)
            continue;
        look_ns = clock_now_ns() + SECOND_NS;
        if (!watch->board || is_stopped || watch->asked_to_stop || is_killed)
            continue;
        enum alive alive = look(watch, child, &silence);
        is_killed = alive != ALIVE;
        ending.waited = alive == WAITS;
        ending.hung = alive == HANGS;
        ending.worker_hung = alive == WORKERS_HANG;
        if (is_killed)
            kill(child, SIGKILL);
    }
    ending.was_busy = watch->board && any_busy(watch->board, &silence.slots);
    silence_fini(&silence);
    return ending;
}
