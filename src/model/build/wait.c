/* Signals and heartbeats while a model is compiled.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model/build/compile.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

static const int stop_signal[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
enum { N_STOP_SIGNAL = sizeof stop_signal / sizeof *stop_signal };

void wait_begin(struct build_wait *wait, const struct build_listener *listener)
{
    sigset_t blocked;
    *wait = (struct build_wait){.begun_ns = clock_now_ns()};
    if (listener)
        wait->listener = *listener;
    sigemptyset(&wait->stop);
    /* Ignored signals are left out: blocked, they would become pending. */
    for (int i = 0; i < N_STOP_SIGNAL; i++) {
        struct sigaction action;
        if (sigaction(stop_signal[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&wait->stop, stop_signal[i]);
    }
    blocked = wait->stop;
    sigaddset(&blocked, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &blocked, &wait->before);
}

void wait_end(struct build_wait *wait) { pthread_sigmask(SIG_SETMASK, &wait->before, NULL); }

bool wait_is_stopped(const struct build_wait *wait)
{
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < N_STOP_SIGNAL; i++)
        if (sigismember(&wait->stop, stop_signal[i]) == 1 && sigismember(&pending, stop_signal[i]) == 1)
            return true;
    return false;
}

bool wait_ms(struct build_wait *wait, int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &time);
    if (wait->listener.beat)
        wait->listener.beat(wait->listener.context);
    return !wait_is_stopped(wait);
}

void wait_tell_if_long(struct build_wait *wait, const char *line)
{
    enum { LONG_S = 2 };
    if (wait->told || clock_now_ns() - wait->begun_ns < INT64_C(1000000000) * LONG_S)
        return;
    wait->told = true;
    wait_tell(wait, "%s", line);
}

void wait_tell(const struct build_wait *wait, const char *format, ...)
{
    char line[1000];
    va_list arguments;
    if (!wait->listener.tell)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    wait->listener.tell(wait->listener.context, line);
}
