/* Handlers that set one flag.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "run/supervise/stop.h"

#include <string.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
enum { N_SIGNAL = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t requested;

static void on_signal(int number)
{
    (void)number;
    requested = 1;
}

void stop_signals(sigset_t *set)
{
    struct sigaction action;
    for (size_t i = 0; i < N_SIGNAL; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, numbers[i]);
}

static void handle(void (*handler)(int))
{
    struct sigaction action;
    sigset_t set;
    sigemptyset(&set);
    stop_signals(&set);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNAL; i++)
        if (sigismember(&set, numbers[i]))
            sigaction(numbers[i], &action, NULL);
}

void stop_catch(void) { handle(on_signal); }
void stop_ignore(void) { handle(SIG_IGN); }
bool stop_is_requested(void) { return requested != 0; }
